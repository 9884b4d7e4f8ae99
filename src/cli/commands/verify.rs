//! `rankweave verify`: checks the certificate of a lower bound, and compares a mapping with it.

use crate::base::error::{Error, ErrorKind, Result};
use crate::base::file;
use crate::base::nouns::counted;
use crate::bounds::{self, Certificate};
use crate::cli::arguments::bound::{check_slots, in_words, most_on_a_slot};
use crate::cli::arguments::instance::{InstanceArgs, ObjectiveValue, cost_of};
use crate::cli::arguments::number_file;
use crate::cli::console::{Exit, output};
use crate::mapping::Objective;
use crate::matrix::SparseMatrix;
use crate::metrics;
use crate::topology::Topology;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  rankweave map --matrix app.graph --topology torus:8x8x8 --out order.txt --certificate bound.json
  rankweave verify --matrix app.graph --topology torus:8x8x8 --mapping order.txt bound.json";

/// The largest certificate that is read.
const LARGEST: u64 = 4 << 30;

/// Check the certificate of a lower bound, and how far a mapping is above the bound
///
/// The bound is computed again from the matrix, the distances and the data in the certificate, without the search. If
/// the certificate does not prove what it states, this is an error (exit code 2).
#[derive(Debug, clap::Args)]
#[command(before_long_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    instance: InstanceArgs,

    /// The mapping: line i (from 0) is the slot of task i
    #[arg(long, value_name = "FILE")]
    mapping: PathBuf,

    /// The certificate that map or eval wrote
    #[arg(value_name = "CERTIFICATE")]
    certificate: PathBuf,
}

impl Args {
    pub(in crate::cli) fn execute(self) -> Result<Exit> {
        let at = |e: Error| e.at(self.certificate.display());
        let bytes = file::read(&self.certificate, LARGEST).map_err(|e| {
            Error::io("cannot read the certificate", &self.certificate, &e)
                .advise("give the file that 'rankweave map --certificate FILE' wrote")
        })?;
        let certificate: Certificate = serde_json::from_slice(&bytes).map_err(|e| {
            at(Error::new(ErrorKind::Format, format!("this is no certificate: {e}")))
                .advise("give the file that 'rankweave map --certificate FILE' wrote")
        })?;
        let objective: Objective = certificate.objective.parse().map_err(at)?;
        let instance = self.instance.load()?;
        let topology = instance.topology.as_ref();
        let mapping = number_file::mapping(&self.mapping)?;
        let capacity = certificate.capacity.max(1);
        metrics::check_mapping(instance.matrix.tasks(), topology, &mapping, u32::MAX)?;
        check_slots(&mapping, &instance.slots)?;
        let refused = |what: String| at(Error::new(ErrorKind::Infeasible, what));
        if most_on_a_slot(&mapping) > capacity {
            let what = format!(
                "it is about mappings with at most {} on a slot, and this one has more",
                counted(capacity, "task")
            );
            return Err(refused(what).advise(
                "compute a certificate for this mapping with 'rankweave eval --certificate FILE'",
            ));
        }
        let cost = match objective {
            Objective::Mc | Objective::Time => cost_of(objective, &instance, 1, &mapping)?,
            _ => ObjectiveValue::Whole(cost(&instance.matrix, topology, &mapping, objective)),
        };
        let proved = bounds::proved(&certificate, &instance.matrix, topology, &instance.slots)
            .map_err(at)?;
        // Sums of real numbers depend on their order in the last digits.
        let is_more =
            |stated: f64| proved.real_bound.is_none_or(|least| stated > least * (1.0 + 1e-9));
        let stated = certificate.real_bound.filter(|&stated| is_more(stated));
        if proved.bound < certificate.bound || stated.is_some() {
            let [stated, proved] = match (stated, proved.real_bound) {
                (Some(stated), Some(proved)) => [stated.to_string(), proved.to_string()],
                _ => [certificate.bound.to_string(), proved.bound.to_string()],
            };
            return Err(refused(format!("it states {stated}, and proves only {proved}"))
                .advise("compute a new certificate with 'rankweave eval --certificate FILE'"));
        }
        let words = in_words(Some(&certificate), cost);
        output::print(&format!("{} {cost}\n{words}the certificate is valid\n", objective.name()))?;
        Ok(Exit::Done)
    }
}

/// The sum of weights multiplied by distances. Nothing is shared with the code that the mapping or its cost came from.
fn cost(
    matrix: &SparseMatrix,
    topology: &dyn Topology,
    mapping: &[usize],
    objective: Objective,
) -> u128 {
    let pairs = matrix.entries().filter(|(i, j, _)| i != j).map(|(i, j, traffic)| {
        let distance = topology.distance(mapping[i as usize], mapping[j as usize]);
        let weight = if objective == Objective::TotalHops { 1 } else { traffic.bytes };
        u128::from(weight) * u128::from(distance)
    });
    let halves = matrix.counts_halves() && objective != Objective::TotalHops;
    pairs.sum::<u128>().div_ceil(if halves { 2 } else { 1 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::Traffic;

    #[test]
    fn the_cost_is_the_sum_of_weights_and_distances() {
        let entry = |i, j, bytes| (i, j, Traffic { bytes, messages: 1 });
        let matrix =
            SparseMatrix::from_entries(3, &[entry(0, 1, 5), entry(1, 2, 7), entry(2, 2, 9)]);
        let topology = crate::topology::parse("mesh:4").unwrap();
        let by = |objective| cost(&matrix, topology.as_ref(), &[3, 0, 1], objective);
        assert_eq!(by(Objective::HopBytes), 5 * 3 + 7);
        assert_eq!(by(Objective::TotalHops), 4);
    }
}
