//! `--bound` and `--certificate` of `map` and `eval`: a lower bound for all mappings, and its proof.

use super::instance::{Instance, ObjectiveValue};
use crate::base::error::{Error, ErrorKind, Result};
use crate::bounds::{self, Certificate, Effort};
use crate::cli::console::output;
use crate::mapping::Objective;
use std::path::PathBuf;

/// Options of the bound.
#[derive(Debug, Clone, clap::Args)]
pub(in crate::cli) struct BoundArgs {
    /// How long to look for a lower bound of the objective: off, quick or best [default: off; with --certificate: quick]
    ///
    /// No mapping with as many tasks on a slot can cost less than this bound. Bounds are known for hop-bytes, sum-com,
    /// total-hops, mc and time. Often quick takes longer than a mapping of the preset fast, and best takes seconds.
    #[arg(long, value_name = "EFFORT")]
    #[arg(value_parser = clap::builder::PossibleValuesParser::new(Effort::ALL.map(Effort::name)))]
    #[arg(hide_possible_values = true)]
    bound: Option<String>,

    /// Write the bound and its proof to this file, for 'rankweave verify'
    #[arg(long, value_name = "FILE")]
    certificate: Option<PathBuf>,
}

impl BoundArgs {
    /// How long to look for a bound.
    fn effort(&self) -> Result<Effort> {
        match (&self.bound, &self.certificate) {
            (Some(name), _) => name.parse(),
            (None, Some(_)) => Ok(Effort::Quick),
            (None, None) => Ok(Effort::Off),
        }
    }

    /// Whether the user asked for a bound. Errors if there is none for the objective, or none to write to the file.
    pub(in crate::cli) fn wanted(&self, objective: Objective) -> Result<bool> {
        let wanted = self.effort()? != Effort::Off;
        if wanted && !bounds::known(objective.name()) {
            let what = format!("no lower bound of {} is known", objective.name());
            let known = bounds::KNOWN;
            return Err(Error::new(ErrorKind::Usage, what)
                .advise(format!("leave --bound and --certificate out, or use {known}")));
        }
        if !wanted && self.certificate.is_some() {
            let what = "--bound off computes no lower bound that --certificate could write";
            return Err(Error::new(ErrorKind::Usage, what).advise("use --bound quick"));
        }
        Ok(wanted)
    }

    /// The certificate for mappings with as many tasks on a slot as `mapping`; written to the file that the user gave.
    pub(in crate::cli) fn find(
        &self,
        instance: &Instance,
        mapping: &[usize],
        objective: Objective,
    ) -> Result<Option<Certificate>> {
        if !self.wanted(objective)? {
            return Ok(None);
        }
        let effort = self.effort()?;
        check_slots(mapping, &instance.slots)?;
        let capacity = most_on_a_slot(mapping);
        let topology = instance.topology.as_ref();
        let found =
            bounds::find(&instance.matrix, topology, &instance.slots, capacity, objective, effort)?;
        if let (Some(path), Some(certificate)) = (&self.certificate, &found) {
            let text = serde_json::to_string(certificate).map_err(|e| {
                Error::new(ErrorKind::Format, format!("cannot encode the certificate: {e}"))
            })?;
            output::write_to(Some(path.as_path()), |out| {
                writeln!(out, "{text}").map_err(crate::formats::write_error)
            })?;
        }
        Ok(found)
    }
}

/// Errors if a mapping uses other slots than those that a bound is about.
pub(in crate::cli) fn check_slots(mapping: &[usize], slots: &[usize]) -> Result<()> {
    let allowed: std::collections::HashSet<usize> = slots.iter().copied().collect();
    match mapping.iter().find(|slot| !allowed.contains(slot)) {
        None => Ok(()),
        Some(slot) => {
            let what = format!("the mapping uses slot {slot}, which is not among those of --slots");
            Err(Error::new(ErrorKind::Infeasible, what)
                .advise("give --slots with all slots of the mapping; a bound is about these slots"))
        }
    }
}

/// The most tasks that a mapping puts on one slot, at least 1.
pub(in crate::cli) fn most_on_a_slot(mapping: &[usize]) -> u32 {
    let mut counts = std::collections::HashMap::new();
    mapping.iter().for_each(|slot| *counts.entry(slot).or_insert(0u32) += 1);
    counts.into_values().max().unwrap_or(1)
}

/// The bound of a certificate, as a real number where the objective is one.
pub(in crate::cli) fn lower_bound(certificate: &Certificate) -> ObjectiveValue {
    match certificate.real_bound {
        Some(bound) => ObjectiveValue::Real(bound),
        None => ObjectiveValue::Whole(u128::from(certificate.bound)),
    }
}

/// What a bound says about a mapping, in one line; nothing without a bound.
pub(in crate::cli) fn in_words(certificate: Option<&Certificate>, cost: ObjectiveValue) -> String {
    let Some(Certificate { bound, real_bound, found_by, .. }) = certificate else {
        return String::new();
    };
    let (least, is_reached, above) = match (cost, real_bound) {
        (ObjectiveValue::Whole(cost), _) => {
            (bound.to_string(), cost == u128::from(*bound), cost as f64 / *bound as f64)
        }
        (ObjectiveValue::Real(cost), Some(least)) => {
            (least.to_string(), cost <= least * (1.0 + 1e-9), cost / least)
        }
        (ObjectiveValue::Real(cost), None) => (bound.to_string(), false, cost / *bound as f64),
    };
    let words = format!("no mapping costs less than {least} (found by {found_by})");
    let words = match above.is_finite() {
        _ if is_reached => format!("{words}: this one is optimal"),
        true => {
            format!("{words}; this one is at most {:.1} % above the best", 100.0 * (above - 1.0))
        }
        false => words,
    };
    words + "\n"
}
