//! Groups of hosts from a table with a value of each pair: small values inside groups, large ones between them.
//!
//! A threshold between two values makes a relation: pairs below it are *near*. If there are switches, this
//! relation is an equivalence, apart from noise. Noise alone does not look like one: if a is near b and b is
//! near c, then a and c are not more likely to be near. Groups are joined by average linkage of this relation
//! (the neighbour joining of HierTopoMap, Wu et al. 2015, section 3.1.1, after Subramoni et al. 2012, on
//! measured instead of known distances), and count only if the relation agrees with them.
//!
//! Limits: the time is cubic in the number of hosts; tables are for tens of hosts.

use super::session::Measured;
use crate::base::sorting::Arrange;

/// Thresholds that are tried: the widest relative gaps between values.
const TRIED: usize = 12;

/// A value of each pair of hosts; NaN where nothing is known.
#[derive(Debug, Clone)]
pub(super) struct PairTable {
    hosts: usize,
    values: Vec<f64>,
}

impl PairTable {
    /// The median value of each measured pair; of two values the smaller one.
    pub fn new(hosts: usize, measured: &[Measured]) -> PairTable {
        let mut table = PairTable { hosts, values: vec![f64::NAN; hosts * hosts] };
        let mut sorted: Vec<Measured> =
            measured.iter().map(|&(a, b, value)| (a.min(b), a.max(b), value)).collect();
        sorted.arrange_by(|a, b| (a.0, a.1).cmp(&(b.0, b.1)).then(a.2.total_cmp(&b.2)));
        for of_pair in sorted.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
            let (a, b, value) = of_pair[(of_pair.len() - 1) / 2];
            table.values[a as usize * hosts + b as usize] = value;
            table.values[b as usize * hosts + a as usize] = value;
        }
        table
    }

    fn at(&self, a: usize, b: usize) -> f64 {
        self.values[a * self.hosts + b]
    }

    /// All known values of pairs.
    pub fn known(&self) -> impl Iterator<Item = (usize, usize, f64)> {
        let pairs = (0..self.hosts).flat_map(|a| (0..a).map(move |b| (a, b)));
        pairs.map(|(a, b)| (a, b, self.at(a, b))).filter(|&(.., value)| !value.is_nan())
    }
}

/// Groups of hosts, and how well they explain the values.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Partition {
    /// Group of each host, numbered by first appearance.
    pub group: Vec<u32>,
    /// Pairs below it are near.
    pub threshold: f64,
    /// The smaller of the two shares of pairs that agree with the groups.
    pub agreement: f64,
    /// Of the pairs that are near or inside a group, the part that is both (the index of Jaccard). The two shares
    /// would prefer groups that are split, because most pairs are across groups.
    pub overlap: f64,
}

/// How pairs agree with groups.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Agreement {
    near_inside: usize,
    inside: usize,
    far_across: usize,
    across: usize,
}

impl Agreement {
    pub fn add(&mut self, is_inside: bool, is_near: bool) {
        match is_inside {
            true => {
                self.inside += 1;
                self.near_inside += usize::from(is_near);
            }
            false => {
                self.across += 1;
                self.far_across += usize::from(!is_near);
            }
        }
    }

    fn overlap(&self) -> f64 {
        let either = self.inside + self.across - self.far_across;
        self.near_inside as f64 / either.max(1) as f64
    }

    /// The smaller of both shares; 0 if one of them is of fewer than `least` pairs.
    pub fn share(&self, least: usize) -> f64 {
        if self.inside.min(self.across) < least.max(1) {
            return 0.0;
        }
        let inside = self.near_inside as f64 / self.inside as f64;
        inside.min(self.far_across as f64 / self.across as f64)
    }
}

/// The partitions that explain the values, each of them different, the best first. The median value across
/// groups is at least `ratio` times that inside them, and both shares of pairs that agree are at least
/// `agreement`. At least two groups have two hosts or more: if not,
/// switches would make no difference for the order of ranks.
pub(super) fn partitions(table: &PairTable, ratio: f64, agreement: f64) -> Vec<Partition> {
    let mut values: Vec<f64> = table.known().map(|(.., value)| value).collect();
    values.arrange_by(f64::total_cmp);
    let mut gaps: Vec<(f64, f64)> =
        values.windows(2).map(|w| (w[1] / w[0], (w[0] * w[1]).sqrt())).collect();
    gaps.retain(|&(gap, _)| gap > 1.0);
    gaps.arrange_by(|a, b| b.0.total_cmp(&a.0));
    gaps.truncate(TRIED);
    // Values at fixed ratios to a low quantile: the widest gaps may all be between outliers.
    let low = values.get(values.len() / 50).copied().unwrap_or(0.0);
    let fixed = [1.2, 1.4, 1.6, 1.8, 2.0, 2.3].map(|factor| (1.0, low * factor));
    let mut found: Vec<Partition> = Vec::new();
    for (_, threshold) in gaps.into_iter().chain(fixed) {
        let group = groups(table, threshold);
        let partition = judged(table, group, threshold, ratio);
        let Some(new) = partition else { continue };
        match found.iter_mut().find(|known| known.group == new.group) {
            Some(known) if known.overlap < new.overlap => *known = new,
            Some(_) => {}
            None => found.push(new),
        }
    }
    found.retain(|partition| partition.agreement >= agreement);
    found.arrange_by(|a, b| b.overlap.total_cmp(&a.overlap));
    found
}

/// Groups that agree with the values at a threshold better than `group`, if joining finds such ones.
pub(super) fn improved(table: &PairTable, group: Vec<u32>, threshold: f64) -> Vec<u32> {
    let overlap = |group: &[u32]| {
        let mut agreement = Agreement::default();
        table.known().for_each(|(a, b, v)| agreement.add(group[a] == group[b], v <= threshold));
        agreement.overlap()
    };
    let joined = groups(table, threshold);
    if overlap(&joined) > overlap(&group) { joined } else { group }
}

/// The groups at a threshold: as long as two groups have more near pairs than others between them, the two
/// with the largest share are joined.
fn groups(table: &PairTable, threshold: f64) -> Vec<u32> {
    let n = table.hosts;
    let mut group: Vec<usize> = (0..n).collect();
    // Near pairs and known pairs between groups.
    let mut counts = vec![(0usize, 0usize); n * n];
    for (a, b, value) in table.known() {
        let near = usize::from(value <= threshold);
        counts[a * n + b] = (near, 1);
        counts[b * n + a] = (near, 1);
    }
    let mut alive: Vec<usize> = (0..n).collect();
    loop {
        let mut best = (0.5, 0, (0, 0));
        for (k, &a) in alive.iter().enumerate() {
            for &b in &alive[..k] {
                let (near, known) = counts[a * n + b];
                let share = near as f64 / known.max(1) as f64;
                if share > best.0 || share == best.0 && share > 0.5 && known > best.1 {
                    best = (share, known, (a, b));
                }
            }
        }
        let (a, b) = best.2;
        if a == b {
            break;
        }
        for &c in &alive {
            let (near, known) = counts[a * n + c];
            for at in [b * n + c, c * n + b] {
                counts[at] = (counts[at].0 + near, counts[at].1 + known);
            }
        }
        alive.retain(|&c| c != a);
        group.iter_mut().filter(|g| **g == a).for_each(|g| *g = b);
    }
    crate::base::numbering::by_first_appearance(group).0
}

fn judged(table: &PairTable, group: Vec<u32>, threshold: f64, ratio: f64) -> Option<Partition> {
    let mut sizes = vec![0usize; group.len()];
    group.iter().for_each(|&g| sizes[g as usize] += 1);
    if sizes.iter().filter(|&&size| size >= 2).count() < 2 {
        return None;
    }
    let mut agreement = Agreement::default();
    let (mut inside, mut across) = (Vec::new(), Vec::new());
    for (a, b, value) in table.known() {
        let same = group[a] == group[b];
        agreement.add(same, value <= threshold);
        if same { inside.push(value) } else { across.push(value) }
    }
    let (agreement, overlap) = (agreement.share(1), agreement.overlap());
    let apart = median(&mut across)? / median(&mut inside)?;
    // For later measurements: between the usual value inside and the low values across.
    let low = across.get(across.len() / 10).copied()?;
    let middle = (median(&mut inside)? * low).sqrt();
    let threshold = if low > middle { middle } else { threshold };
    (apart >= ratio).then_some(Partition { group, threshold, agreement, overlap })
}

/// The median; `None` of no values.
pub(super) fn median(values: &mut [f64]) -> Option<f64> {
    values.arrange_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

/// Whether a level of groups says more than one with fewer groups around it: pairs that only the coarse groups
/// join have at least `ratio` times the value of pairs inside the fine ones.
pub(super) fn are_distinct(table: &PairTable, fine: &[u32], coarse: &[u32], ratio: f64) -> bool {
    let (mut inside, mut between) = (Vec::new(), Vec::new());
    for (a, b, value) in table.known() {
        match (fine[a] == fine[b], coarse[a] == coarse[b]) {
            (true, _) => inside.push(value),
            (false, true) => between.push(value),
            (false, false) => {}
        }
    }
    median(&mut between)
        .zip(median(&mut inside))
        .is_some_and(|(between, inside)| between >= ratio * inside)
}

/// Whether each group of `fine` is inside one group of `coarse`.
pub(super) fn refines(fine: &[u32], coarse: &[u32]) -> bool {
    let mut around = vec![u32::MAX; fine.len()];
    fine.iter().zip(coarse).all(|(&f, &c)| {
        let known = &mut around[f as usize];
        let fits = *known == u32::MAX || *known == c;
        *known = c;
        fits
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::random::SplitMix64;

    fn table(hosts: u32, mut value: impl FnMut(u32, u32) -> f64) -> PairTable {
        let pairs = (0..hosts).flat_map(|a| (0..a).map(move |b| (a, b)));
        let measured: Vec<Measured> = pairs.map(|(a, b)| (a, b, value(a, b))).collect();
        PairTable::new(hosts as usize, &measured)
    }

    #[test]
    fn switches_are_found_in_spite_of_outliers() {
        let mut exact = 0;
        for seed in 0..50 {
            let mut random = SplitMix64::new(seed);
            let table = table(16, |a, b| {
                let true_value = if a % 4 == b % 4 { 1.0 } else { 2.0 + 2.0 * random.unit() };
                let outlier = if random.unit() < 0.04 { 2.5 } else { 1.0 };
                true_value * outlier * (1.0 + 0.2 * random.unit())
            });
            let found = partitions(&table, 1.5, 0.7);
            let expected: Vec<u32> = (0..16).map(|host| host % 4).collect();
            exact += usize::from(found[0].group == expected);
        }
        assert!(exact >= 40, "{exact} of 50");
    }

    #[test]
    fn equal_values_and_single_hosts_are_no_groups() {
        assert!(partitions(&table(8, |_, _| 1.0), 1.1, 0.7).is_empty());
        let lonely = table(8, |a, b| if a == 3 || b == 3 { 9.0 } else { 1.0 });
        assert!(partitions(&lonely, 1.1, 0.7).is_empty());
        assert!(partitions(&PairTable::new(3, &[]), 1.1, 0.7).is_empty());
    }

    #[test]
    fn all_levels_are_found() {
        let table = table(16, |a, b| match () {
            () if a / 4 == b / 4 => 1.0,
            () if a / 8 == b / 8 => 1.5,
            () => 2.2,
        });
        let found = partitions(&table, 1.1, 0.7);
        let has = |size: u32| {
            let group: Vec<u32> = (0..16).map(|host| host / size).collect();
            found.iter().any(|p| p.group == group)
        };
        assert!(has(4) && has(8));
        assert!(refines(&[0, 0, 1, 2], &[0, 0, 1, 1]) && !refines(&[0, 0, 1, 1], &[0, 1, 1, 1]));
    }
}
