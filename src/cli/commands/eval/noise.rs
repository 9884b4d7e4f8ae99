//! `rankweave eval --noise`: how much a mapping loses if the matrix is not exact.

use crate::base::error::{Error, ErrorKind, Result};
use crate::base::nouns::counted;
use crate::cli::arguments::instance::{Instance, no_links};
use crate::cli::console::progress::metered;
use crate::cli::console::{Exit, output};
use crate::mapping::{self, Budget, Noise, Objective, Preset, Sample, Study};
use serde::Serialize;

/// Options of the study.
#[derive(Debug, clap::Args)]
pub(super) struct NoiseArgs {
    /// Study how much worse mappings become if the matrix is not exact: all, or kinds of noise
    ///
    /// gaussian-additive, gaussian-multiplicative, uniform-additive, uniform-multiplicative, or a
    /// list of them (TopoMatch paper, 5.5). A mapping is computed from each noisy matrix and
    /// evaluated with the true one.
    #[arg(long, value_name = "KINDS", value_delimiter = ',')]
    noise: Vec<String>,

    /// With --noise: intensities k, as multiples
    ///
    /// k times the largest element (additive) or k times the element itself (multiplicative) is the
    /// standard deviation (gaussian) or the largest deviation (uniform).
    #[arg(long, value_name = "K,…", value_delimiter = ',', requires = "noise")]
    #[arg(default_value = "0,0.1,0.25,0.5,1,2,4")]
    noise_levels: Vec<f64>,

    /// With --noise: noisy matrices for each kind and k
    #[arg(long, value_name = "N", default_value_t = 10, requires = "noise")]
    samples: usize,

    /// With --noise: the algorithm that computes the mappings
    #[arg(long, value_name = "NAME", default_value = "auto", requires = "noise")]
    algorithm: String,

    /// With --noise: how much effort each mapping takes: fast, default or strong
    #[arg(long, value_name = "NAME", default_value = "fast", requires = "noise")]
    #[arg(value_parser = clap::builder::PossibleValuesParser::new(Preset::ALL.map(Preset::name)))]
    #[arg(hide_possible_values = true)]
    preset: String,

    /// With --noise: seed of noise and mappings
    #[arg(long, value_name = "N", default_value_t = 1, requires = "noise")]
    seed: u64,

    /// With --noise: show progress even if standard error is no terminal
    #[arg(long, requires = "noise")]
    progress: bool,
}

/// One kind of noise at one intensity.
#[derive(Serialize)]
struct NoiseLevel {
    noise: &'static str,
    k: f64,
    mean: f64,
    ci95: f64,
    samples: usize,
}

/// The whole study; field names are those of the JSON.
#[derive(Serialize)]
struct NoiseSummary {
    schema: u32,
    objective: &'static str,
    algorithm: String,
    given_order: f64,
    random: f64,
    random_ci95: f64,
    exact: f64,
    levels: Vec<NoiseLevel>,
}

impl NoiseArgs {
    pub(super) fn wanted(&self) -> bool {
        !self.noise.is_empty()
    }

    pub(in crate::cli) fn execute(
        &self,
        instance: &Instance,
        objective: Objective,
        json: bool,
    ) -> Result<Exit> {
        let kinds: Vec<Noise> = match self.noise.as_slice() {
            [all] if all == "all" => Noise::ALL.to_vec(),
            names => names
                .iter()
                .map(|name| name.trim().parse().map_err(|e: Error| e.at("--noise")))
                .collect::<Result<_>>()?,
        };
        if objective.needs_links() && instance.topology.network().is_none() {
            return Err(no_links(objective, instance.topology.as_ref()));
        }
        if instance.slots.len() < instance.matrix.tasks() {
            let (tasks, slots) = (instance.matrix.tasks(), instance.slots.len());
            return Err(Error::new(
                ErrorKind::Infeasible,
                format!("{} on {}", counted(tasks, "task"), counted(slots, "slot")),
            )
            .at("--noise")
            .advise("use at least as many slots as tasks"));
        }
        let study = Study {
            matrix: &instance.matrix,
            topology: instance.topology.as_ref(),
            slots: &instance.slots,
            mapper: mapping::by_name(&self.algorithm)?,
            objective,
            preset: self.preset.parse()?,
            seed: self.seed,
            samples: self.samples,
        };
        let mut budget = Budget::unlimited();
        let (progress, meter) = metered(Budget::unlimited(), self.progress);
        let total = (kinds.len() * self.noise_levels.len()) as u64;
        let random = study.random()?;
        let mut answer = NoiseSummary {
            schema: 1,
            objective: objective.name(),
            algorithm: self.algorithm.clone(),
            given_order: study.given_order()?,
            random: random.mean,
            random_ci95: random.ci95,
            exact: study.exact(&mut budget)?,
            levels: Vec::new(),
        };
        for kind in kinds {
            for &k in &self.noise_levels {
                progress.report("noise", answer.levels.len() as u64, total);
                let Sample { mean, ci95, count: samples } = study
                    .noisy(kind, k, &mut budget)
                    .map_err(|e| if e.place().is_none() { e.at("--noise-levels") } else { e })?;
                answer.levels.push(NoiseLevel { noise: kind.name(), k, mean, ci95, samples });
            }
        }
        drop(meter);
        output::print_as(json, || &answer, || text(&answer))?;
        Ok(Exit::Done)
    }
}

fn text(answer: &NoiseSummary) -> String {
    let percent = |x: f64| match answer.exact {
        exact if exact > 0.0 => format!("{:+8.1} %", 100.0 * (x / exact - 1.0)),
        _ => format!("{:>10}", "-"),
    };
    let line = |name: &str, k: &str, value: f64, ci95: f64| {
        format!("{name:<28}{k:>8}{value:>18.1} ±{ci95:<14.1}{}\n", percent(value))
    };
    let mut out = format!(
        "{:<28}{:>8}{:>18} {:<15}{:>10}\n",
        "mapping from", "k", answer.objective, "95 % interval", "to exact"
    );
    out += &line("the exact matrix", "", answer.exact, 0.0);
    out += &line("no matrix: launcher's order", "", answer.given_order, 0.0);
    out += &line("no matrix: random", "", answer.random, answer.random_ci95);
    for level in &answer.levels {
        out += &line(level.noise, &level.k.to_string(), level.mean, level.ci95);
    }
    out
}
