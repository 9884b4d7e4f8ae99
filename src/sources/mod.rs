//! Where a launch learns the network above its nodes.
//!
//! [`ALL`] lists the sources in the order of trust. [`choose`] asks them and says what each of them answered.
//! A source that knows only some of the nodes is used if no source knows all of them: the other nodes are then as
//! far from all others as the network is wide.

mod batch_files;
mod description;
mod fabric_files;
mod flat;
mod host;
mod host_network;
mod joined;
mod measured;
mod name_pattern;
mod names;
mod site;
mod site_check;
mod site_file;
mod slurm_address;
mod slurm_files;
mod source;
#[cfg(test)]
mod tests;
mod tree_of_names;

pub use description::nameless;
pub use fabric_files::fabric_files;
pub use flat::Flat;
pub use host::Host;
pub use host_network::HostNetwork;
pub use site_check::{CheckedSite, check_site_file};
pub use site_file::{SITE_FILE_EXAMPLE, SiteFiles};
pub use source::{Answer, Source, Surroundings};

use crate::base::error::{Error, ErrorKind};
use crate::options::NetworkChoice;

/// All sources, the most trusted first.
pub static ALL: [&dyn Source; 9] = [
    &site::Site,
    &slurm_address::SlurmAddress,
    &slurm_files::SlurmFiles,
    &batch_files::PBS_NODES,
    &batch_files::FLUX_RESOURCES,
    &names::Names,
    &fabric_files::FabricFiles,
    &measured::Measured,
    &Flat,
];

/// What one source answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// Name of the source.
    pub source: &'static str,
    /// Whether its network is used.
    pub used: bool,
    /// What it knows, or why it is not used.
    pub finding: String,
    /// Why its description cannot be used, if it has one that cannot.
    pub error: Option<Error>,
    /// What it would take for this source to know the network; empty if it is used.
    pub needs: &'static str,
}

/// The choice among the sources.
#[derive(Clone)]
pub struct Choice {
    /// The network that is used; `None`: all nodes are equally far from each other.
    pub network: Option<HostNetwork>,
    /// What each source answered, in the order of trust, and why the others were not asked.
    pub reports: Vec<Report>,
    /// No source may be asked (`--network off`).
    pub is_off: bool,
}

impl Choice {
    /// The choice in one sentence: `network: Slurm (topology.conf): 16 nodes below 4 switches`.
    pub fn sentence(&self) -> String {
        match &self.network {
            Some(network) => format!("network: {}: {}", network.origin, network.shape()),
            None if self.is_off => {
                "network: no source is asked (--network off), all nodes count as equally far from each other".into()
            }
            None => "network: not known, all nodes count as equally far from each other".into(),
        }
    }

    /// The report of the source that is used; `None` if no source knows the network.
    pub fn used(&self) -> Option<&Report> {
        self.reports.iter().find(|report| report.used)
    }

    /// Why descriptions that are there cannot be used.
    pub fn problems(&self) -> impl Iterator<Item = &Error> {
        self.reports.iter().filter_map(|report| report.error.as_ref())
    }
}

/// Asks the sources that `wanted` allows, and chooses: the first one that knows all nodes, else the one that
/// knows the most, if these are at least half of the nodes. The sources that were not asked have reports too.
pub fn choose(surroundings: &Surroundings, wanted: &NetworkChoice) -> Choice {
    let mut reports = Vec::new();
    let mut partial: Option<(usize, HostNetwork)> = None;
    let mut complete = None;
    let all = surroundings.hosts.len();
    for source in &ALL {
        let report = Report {
            source: source.name(),
            used: false,
            finding: String::new(),
            error: None,
            needs: source.needs(),
        };
        if let Some(why) = not_asked(source.name(), wanted, complete.is_some()) {
            let is_flat = source.name() == Flat.name();
            reports.extend((!is_flat).then_some(Report { finding: why, ..report }));
            continue;
        }
        let (mut report, found) = answered(report, *source, surroundings);
        if let Some(network) = found {
            if network.known() == all {
                (report.used, report.needs) = (true, "");
                complete = Some(network);
            } else {
                let most = partial.as_ref().map_or(0, |(_, best)| best.known());
                if network.known() > most && 2 * network.known() >= all {
                    partial = Some((reports.len(), network));
                }
            }
        }
        reports.push(report);
    }
    if let Some((index, _)) = partial.as_ref().filter(|_| complete.is_none()) {
        (reports[*index].used, reports[*index].needs) = (true, "");
    }
    let network = complete.or(partial.map(|(_, network)| network));
    Choice { network, reports, is_off: *wanted == NetworkChoice::Off }
}

/// Why a source is not asked; `None` if it is.
fn not_asked(source: &str, wanted: &NetworkChoice, is_complete: bool) -> Option<String> {
    match wanted {
        NetworkChoice::Off => Some("not asked, because --network is off".into()),
        NetworkChoice::Only(only) if !wanted.allows(source) => {
            Some(format!("not asked, because --network is {only}"))
        }
        _ => is_complete.then(|| "not asked, because a more trusted source knows all nodes".into()),
    }
}

/// Asks a source. Returns its report, and the network that it knows.
fn answered(
    mut report: Report,
    source: &dyn Source,
    surroundings: &Surroundings,
) -> (Report, Option<HostNetwork>) {
    let network = match source.find(surroundings) {
        Ok(Answer::Network(network)) => network,
        Ok(Answer::Nothing(why)) => return (Report { finding: why, ..report }, None),
        Err(error) => {
            // The description may be right, and say that there is nothing to know.
            let is_right = error.kind() == ErrorKind::NotFound;
            report.finding = match is_right {
                true => error.to_string(),
                false => format!("cannot be used: {error}"),
            };
            report.error = (!is_right).then_some(error);
            return (report, None);
        }
    };
    report.finding = format!("{}: {}", network.origin, network.shape());
    if 2 * network.known() < surroundings.hosts.len() {
        report.finding.push_str("; it is not used, because these are fewer than half");
    }
    (report, Some(network))
}
