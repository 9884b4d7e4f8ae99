//! `--bound` and `--certificate` of `map` and `eval`: a lower bound for all mappings, and its proof.

use super::instance::{Instance, ObjectiveValue};
use crate::base::error::Result;
use crate::bounds::{self, Certificate, Effort};
use crate::cli::console::output;
use crate::mapping::Objective;
use std::path::PathBuf;

/// Options of the bound.
#[derive(Debug, Clone, clap::Args)]
pub(in crate::cli) struct BoundArgs {
    /// How long to look for a lower bound of the objective: off, quick or best
    ///
    /// No mapping with as many tasks on a slot can cost less than this bound. Bounds are known for hop-bytes, sum-com and
    /// total-hops.
    #[arg(long, value_name = "EFFORT", default_value = "quick")]
    #[arg(value_parser = clap::builder::PossibleValuesParser::new(Effort::ALL.map(Effort::name)))]
    #[arg(hide_possible_values = true)]
    bound: String,

    /// Write the bound and its proof to this file, for 'rankweave verify'
    #[arg(long, value_name = "FILE")]
    certificate: Option<PathBuf>,
}

impl BoundArgs {
    /// The certificate for mappings with as many tasks on a slot as `mapping`; written to the file that the user gave.
    pub(in crate::cli) fn find(
        &self,
        instance: &Instance,
        mapping: &[usize],
        objective: Objective,
    ) -> Result<Option<Certificate>> {
        let effort: Effort = self.bound.parse()?;
        let capacity = most_on_a_slot(mapping);
        let topology = instance.topology.as_ref();
        let found =
            bounds::find(&instance.matrix, topology, &instance.slots, capacity, objective, effort)?;
        if let (Some(path), Some(certificate)) = (&self.certificate, &found) {
            let text = serde_json::to_string(certificate).unwrap_or_default();
            output::write_to(Some(path.as_path()), |out| {
                writeln!(out, "{text}").map_err(crate::formats::write_error)
            })?;
        }
        Ok(found)
    }
}

/// The most tasks that a mapping puts on one slot, at least 1.
pub(in crate::cli) fn most_on_a_slot(mapping: &[usize]) -> u32 {
    let mut counts = std::collections::HashMap::new();
    mapping.iter().for_each(|slot| *counts.entry(slot).or_insert(0u32) += 1);
    counts.into_values().max().unwrap_or(1)
}

/// What a bound says about a mapping, in one line.
pub(in crate::cli) fn in_words(certificate: Option<&Certificate>, cost: ObjectiveValue) -> String {
    let Some(Certificate { bound, found_by, .. }) = certificate else {
        return "no lower bound was computed".into();
    };
    match cost {
        ObjectiveValue::Whole(cost) if cost == u128::from(*bound) => {
            format!("no mapping costs less than {bound} (found by {found_by}): this one is optimal")
        }
        ObjectiveValue::Whole(cost) if *bound > 0 => format!(
            "no mapping costs less than {bound} (found by {found_by}); this one is at most {:.1} % above the best",
            100.0 * (cost as f64 / *bound as f64 - 1.0)
        ),
        _ => format!("no mapping costs less than {bound} (found by {found_by})"),
    }
}
