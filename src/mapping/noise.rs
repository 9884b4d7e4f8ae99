//! How much worse a mapping is if the matrix that it was made from is not exact.
//!
//! The study of the TopoMatch paper (Jeannot, JPDC 2022, section 5.5): every element of the matrix
//! gets noise of one of four kinds, negative results become 0, a mapping is computed from the noisy
//! matrix and evaluated with the true one. The paper ran the program; here the evaluator computes the cost.
//!
//! Additive noise gives traffic to pairs without any, so its matrices are full. The number of tasks is
//! limited for it.

use super::engine::{Rng, seeded, shuffled};
use super::evaluation::value_of;
use super::problem::refused;
use super::{Budget, Mapper, Objective, Preset, Problem};
use crate::base::error::{Error, ErrorKind, Result};
use crate::base::named_enum::named_enum;
use crate::matrix::{Graph, SparseMatrix, Traffic};
use crate::topology::Topology;

/// Most tasks for additive noise: 16 million pairs.
pub const ADDITIVE_LIMIT: usize = 4096;

named_enum! {
    /// The kinds of noise, in the paper's order; m is an element of the matrix, M the largest one, k the
    /// intensity.
    ///
    /// In the paper, the additive kinds have k in bytes. Here k counts in multiples of M, so the same
    /// k means the same for every matrix.
    pub enum Noise, "kind of noise" {
        /// m + M·N(0, k): normal with standard deviation k.
        GaussianAdditive = "gaussian-additive",
        /// m + m·N(0, k).
        GaussianMultiplicative = "gaussian-multiplicative",
        /// m + M·U(−k, k).
        UniformAdditive = "uniform-additive",
        /// m + m·U(−k, k).
        UniformMultiplicative = "uniform-multiplicative",
    }
}

impl Noise {
    /// True if this kind of noise gives traffic to pairs that have none.
    pub fn is_additive(self) -> bool {
        matches!(self, Noise::GaussianAdditive | Noise::UniformAdditive)
    }

    fn draw(self, k: f64, rng: &mut Rng) -> f64 {
        // 53 bits, never 0: the logarithm below has to be finite.
        let mut unit = || ((rng.next_u64() >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
        match self {
            Noise::UniformAdditive | Noise::UniformMultiplicative => k * (2.0 * unit() - 1.0),
            Noise::GaussianAdditive | Noise::GaussianMultiplicative => {
                // Box and Muller 1958; the crate's own functions, alike on every machine.
                let radius = libm::sqrt(-2.0 * libm::log(unit()));
                k * radius * libm::cos(2.0 * std::f64::consts::PI * unit())
            }
        }
    }
}

/// The matrix with noise on every element off the diagonal. Bytes are scaled, so that small numbers do not
/// vanish in rounding. Only the ratios of bytes matter to a mapping.
///
/// Errors: additive noise for more than [`ADDITIVE_LIMIT`] tasks; a k that is negative or no
/// number.
pub fn with_noise(matrix: &SparseMatrix, kind: Noise, k: f64, seed: u64) -> Result<SparseMatrix> {
    let n = matrix.tasks();
    if !(0.0..=1e9).contains(&k) {
        return Err(Error::new(
            ErrorKind::Usage,
            format!(
                "the noise level {k} is not a number from 0 \
                                                         to 1e9"
            ),
        )
        .advise("give numbers from 0, such as 0,0.1,0.5,1"));
    }
    if kind.is_additive() && n > ADDITIVE_LIMIT {
        let kind = kind.name();
        return Err(refused(format!(
            "{kind} fills the whole matrix, which is possible for at most {ADDITIVE_LIMIT} tasks; \
             this matrix has {n}"
        ))
        .advise("use a multiplicative kind of noise"));
    }
    let largest = matrix.entries().map(|(_, _, t)| t.bytes).max().unwrap_or(0) as f64;
    let scale = if largest > 0.0 { (f64::from(1u32 << 30) / largest).max(1e-12) } else { 0.0 };
    let mut rng = seeded(seed).fork(0x4015e);
    let mut entries = Vec::new();
    for i in 0..n {
        let row = matrix.row(i).map(|(j, t)| (j as usize, t.bytes));
        let mut elements: Vec<(usize, u64)> = Vec::new();
        if kind.is_additive() {
            elements.extend((0..n).map(|j| (j, 0)));
            row.for_each(|(j, bytes)| elements[j].1 = bytes);
        } else {
            elements.extend(row);
        }
        for (j, bytes) in elements.into_iter().filter(|&(j, _)| j != i) {
            let m = bytes as f64;
            let size = if kind.is_additive() { largest } else { m };
            let noisy = ((m + size * kind.draw(k, &mut rng)) * scale).round();
            if noisy >= 1.0 {
                let bytes = noisy.min(u64::MAX as f64 / 2.0) as u64;
                entries.push((i as u32, j as u32, Traffic { bytes, messages: 1 }));
            }
        }
    }
    // The scale is free, so the unit of the matrix does not matter.
    Ok(SparseMatrix::from_entries(n, &entries))
}

/// Several values of one quantity.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample {
    /// Mean.
    pub mean: f64,
    /// Half of the 95 % confidence interval of the mean by Student's t; 0 for one value.
    pub ci95: f64,
    /// The number of values.
    pub count: usize,
}

impl Sample {
    fn of(values: &[f64]) -> Sample {
        /// 97.5 % quantiles of Student's t for 1 to 30 degrees of freedom.
        const T: [f64; 30] = [
            12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179,
            2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064,
            2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
        ];
        let n = values.len().max(1) as f64;
        let mean = values.iter().sum::<f64>() / n;
        let mut ci95 = 0.0;
        if values.len() > 1 {
            let variance = values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / (n - 1.0);
            let t = T.get(values.len() - 2).copied().unwrap_or(1.96);
            ci95 = t * (variance / n).sqrt();
        }
        Sample { mean, ci95, count: values.len() }
    }
}

/// The inputs of a study that are the same for all kinds and intensities of noise.
pub struct Study<'a> {
    /// The true matrix.
    pub matrix: &'a SparseMatrix,
    /// The machine.
    pub topology: &'a dyn Topology,
    /// The allowed slots in the given order.
    pub slots: &'a [usize],
    /// The algorithm that computes the mappings.
    pub mapper: &'a dyn Mapper,
    /// The objective of the algorithm, and of the values that the study reports.
    pub objective: Objective,
    /// Effort.
    pub preset: Preset,
    /// Seed of mappings and noise.
    pub seed: u64,
    /// Noisy matrices for each kind and k.
    pub samples: usize,
}

impl Study<'_> {
    /// Values, by the true matrix, of mappings made from noisy ones.
    ///
    /// Errors: those of [`with_noise`] and of the algorithm; an objective that the topology does
    /// not have.
    pub fn noisy(&self, kind: Noise, k: f64, budget: &mut Budget) -> Result<Sample> {
        if k == 0.0 {
            return Ok(Sample::of(&[self.exact(budget)?]));
        }
        let values: Result<Vec<f64>> = (0..self.samples.max(1) as u64)
            .map(|s| {
                let seed = self.seed.wrapping_mul(1_000_003).wrapping_add(s);
                let noisy = with_noise(self.matrix, kind, k, seed)?;
                self.value_of_mapping_from(&noisy, budget)
            })
            .collect();
        values.map(|v| Sample::of(&v))
    }

    /// The value of the mapping made from the true matrix.
    pub fn exact(&self, budget: &mut Budget) -> Result<f64> {
        self.value_of_mapping_from(self.matrix, budget)
    }

    /// Value of the given order.
    pub fn given_order(&self) -> Result<f64> {
        let tasks = self.matrix.tasks();
        self.value(&self.slots[..tasks.min(self.slots.len())])
    }

    /// Values of random mappings.
    pub fn random(&self) -> Result<Sample> {
        let mut rng = seeded(self.seed).fork(0x7a11d0);
        let mut permutation = Vec::new();
        let random = |_| {
            shuffled(&mut rng, self.slots.len(), &mut permutation);
            let chosen = permutation.iter().take(self.matrix.tasks());
            self.value(&chosen.map(|&k| self.slots[k as usize]).collect::<Vec<usize>>())
        };
        let values: Result<Vec<f64>> = (0..self.samples.max(1)).map(random).collect();
        values.map(|v| Sample::of(&v))
    }

    fn value_of_mapping_from(&self, matrix: &SparseMatrix, budget: &mut Budget) -> Result<f64> {
        let graph = Graph::from_traffic(matrix);
        let problem = Problem::builder(&graph, self.topology)
            .slots(self.slots)
            .traffic(matrix)
            .objective(self.objective)
            .preset(self.preset)
            .seed(self.seed)
            .build()?;
        self.value(&self.mapper.map(&problem, budget)?.slot_of_task)
    }

    fn value(&self, slot_of_task: &[usize]) -> Result<f64> {
        let graph = Graph::default();
        let matrix = Some(self.matrix);
        value_of(self.objective, &graph, matrix, self.topology, slot_of_task).ok_or_else(|| {
            refused(format!(
                "the objective {} has no value for this topology",
                self.objective.name()
            ))
            .at(self.topology.name())
            .advise("use --objective hop-bytes, and as many slots as tasks")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mapping::by_name;
    use crate::matrix::synthetic::pattern;
    use crate::topology::parse;

    fn stencil() -> SparseMatrix {
        let graph = pattern("stencil:8x8,shuffle=1").unwrap();
        let entries: Vec<_> = (0..64u32)
            .flat_map(|v| {
                graph
                    .arcs(v as usize)
                    .map(move |(t, w)| (v, t, Traffic { bytes: 1000 * w, messages: 1 }))
                    .collect::<Vec<_>>()
            })
            .collect();
        SparseMatrix::from_entries(64, &entries)
    }

    #[test]
    fn kinds_do_what_they_say() {
        let matrix = stencil();
        let unit = f64::from(1u32 << 30);
        for kind in Noise::ALL {
            assert_eq!(kind.name().parse::<Noise>().unwrap(), kind);
            let same = with_noise(&matrix, kind, 0.0, 1).unwrap();
            assert_eq!(same.pairs(), matrix.pairs(), "{}", kind.name());
            assert!(same.entries().all(|(_, _, t)| t.bytes as f64 == unit));
            let noisy = with_noise(&matrix, kind, 0.2, 1).unwrap();
            assert_eq!(noisy, with_noise(&matrix, kind, 0.2, 1).unwrap());
            assert_ne!(noisy, with_noise(&matrix, kind, 0.2, 2).unwrap());
            let on: Vec<f64> = matrix
                .entries()
                .map(|(i, j, _)| noisy.get(i as usize, j as usize).bytes as f64 / unit - 1.0)
                .collect();
            let mean = on.iter().sum::<f64>() / on.len() as f64;
            let deviation = (on.iter().map(|x| x * x).sum::<f64>() / on.len() as f64).sqrt();
            // Uniform on ±k deviates by k/√3.
            let uniform = matches!(kind, Noise::UniformAdditive | Noise::UniformMultiplicative);
            let expected = if uniform { 0.2 / 3f64.sqrt() } else { 0.2 };
            assert!(mean.abs() < 0.05, "{} {mean}", kind.name());
            assert!((deviation / expected - 1.0).abs() < 0.2, "{} {deviation}", kind.name());
            if uniform {
                assert!(on.iter().all(|x| x.abs() <= 0.2 + 1e-9));
            }
            // Half of the pairs without traffic get positive noise. Multiplicative noise gives them no traffic.
            let silent = noisy.pairs() - matrix.pairs();
            match kind.is_additive() {
                true => assert!((1700..2100).contains(&silent), "{silent}"),
                false => assert_eq!(silent, 0),
            }
        }
    }

    #[test]
    fn noise_costs_quality_up_to_that_of_random_mappings() {
        let matrix = stencil();
        let topology = parse("tree:4:4:4@1:10:100").unwrap();
        let slots: Vec<usize> = (0..64).collect();
        let study = Study {
            matrix: &matrix,
            topology: topology.as_ref(),
            slots: &slots,
            mapper: by_name("auto").unwrap(),
            objective: Objective::HopBytes,
            preset: Preset::Fast,
            seed: 3,
            samples: 4,
        };
        let mut budget = Budget::unlimited();
        let exact = study.exact(&mut budget).unwrap();
        let random = study.random().unwrap();
        assert!(exact < study.given_order().unwrap() && exact < random.mean / 2.0);
        for kind in Noise::ALL {
            let none = study.noisy(kind, 0.0, &mut budget).unwrap();
            assert_eq!((none.mean, none.ci95, none.count), (exact, 0.0, 1));
            let much = study.noisy(kind, 100.0, &mut budget).unwrap();
            assert!(much.mean > exact && much.mean < 1.2 * random.mean, "{}", kind.name());
        }
        // With this intensity, only the additive kinds hide the matrix completely.
        let additive = study.noisy(Noise::GaussianAdditive, 100.0, &mut budget).unwrap();
        assert!(additive.mean > 0.85 * random.mean, "{} {}", additive.mean, random.mean);
    }

    #[test]
    fn limits_and_statistics() {
        let large = SparseMatrix::empty(ADDITIVE_LIMIT + 1);
        assert!(with_noise(&large, Noise::UniformAdditive, 1.0, 1).is_err());
        assert!(with_noise(&large, Noise::UniformMultiplicative, 1.0, 1).is_ok());
        assert!(with_noise(&stencil(), Noise::UniformAdditive, -1.0, 1).is_err());
        assert!("white".parse::<Noise>().is_err());
        let sample = Sample::of(&[1.0, 2.0, 3.0]);
        assert_eq!((sample.mean, sample.count), (2.0, 3));
        assert!((sample.ci95 - 4.303 / 3f64.sqrt()).abs() < 1e-9);
    }
}
