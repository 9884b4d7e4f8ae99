//! `rankweave verify`: checks the certificate of a lower bound, and compares a mapping with it.

use crate::base::error::{Error, ErrorKind, Result};
use crate::bounds::{self, Certificate};
use crate::cli::arguments::bound::{in_words, most_on_a_slot};
use crate::cli::arguments::instance::{InstanceArgs, no_links, value_of};
use crate::cli::arguments::number_file;
use crate::cli::console::{Exit, output};
use crate::mapping::Objective;
use crate::metrics;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  rankweave map --matrix app.graph --topology torus:8x8x8 --out order.txt --certificate bound.json
  rankweave verify --matrix app.graph --topology torus:8x8x8 --mapping order.txt bound.json";

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
        let text = std::fs::read_to_string(&self.certificate)
            .map_err(|e| at(Error::new(ErrorKind::Usage, format!("cannot be read: {e}"))))?;
        let certificate: Certificate = serde_json::from_str(&text)
            .map_err(|e| at(Error::new(ErrorKind::Usage, format!("is no certificate: {e}"))))?;
        let instance = self.instance.load()?;
        let topology = instance.topology.as_ref();
        let mapping = number_file::mapping(&self.mapping)?;
        let evaluation = metrics::evaluate(&instance.matrix, topology, &mapping)?;
        let objective: Objective = certificate.objective.parse().map_err(at)?;
        let cost = value_of(objective, &evaluation).ok_or_else(|| no_links(objective, topology))?;
        let refused = |what: String| at(Error::new(ErrorKind::Infeasible, what));
        if most_on_a_slot(&mapping) > certificate.capacity.max(1) {
            let what = "the mapping puts more tasks on a slot than the bound allows";
            return Err(refused(what.into())
                .advise("compute a certificate for this mapping with 'rankweave eval'"));
        }
        if let Some(slot) = mapping.iter().find(|slot| !instance.slots.contains(slot)) {
            return Err(refused(format!("the mapping uses slot {slot}, which is not allowed"))
                .advise("give the same --slots as for the certificate"));
        }
        let proved = bounds::proved(&certificate, &instance.matrix, topology, &instance.slots)
            .map_err(at)?;
        if proved < certificate.bound {
            return Err(refused(format!(
                "it states {}, and proves only {proved}",
                certificate.bound
            ))
            .advise("compute a new certificate with 'rankweave eval --certificate FILE'"));
        }
        let words = in_words(Some(&certificate), cost);
        output::print(&format!(
            "{} {cost}\n{words}\nthe certificate is valid\n",
            objective.name()
        ))?;
        Ok(Exit::Done)
    }
}
