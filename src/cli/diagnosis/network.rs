//! What is known of the network between the nodes of a launch before it starts: which source of the network is used, why
//! the others are not, and what that would take.
//!
//! The hosts are those of the command line or of the batch system. Limit: what only the nodes themselves tell, their
//! switches in an address of Slurm and their physical positions, is known with `--probe`.

use crate::cli::arguments::origin::origin;
use crate::cli::launcher::{Launcher, LocatedLauncher};
use crate::cli::placement;
use crate::launch::choice_for;
use crate::options::{Mode, Settings};
use crate::sources::{Choice, Host, Report};
use crate::store::Store;
use serde::Serialize;

/// The source whose answer each node gives itself, and its variables.
const OF_NODES: &str = "slurm-address";
const ADDRESSES: [&str; 2] = ["RANKWEAVE_ADDRESS", "SLURM_TOPOLOGY_ADDR"];

/// What one source says.
#[derive(Debug, Serialize)]
pub(in crate::cli) struct SourceKnown {
    pub source: &'static str,
    pub used: bool,
    /// What it knows, or why it is not used.
    pub finding: String,
    /// What it would take to use it; empty if it is used.
    pub needs: &'static str,
}

/// What is known of the network of a launch.
#[derive(Debug, Serialize)]
pub(in crate::cli) struct NetworkKnown {
    /// Which source is used, in one sentence.
    pub text: String,
    /// The hosts of the launch; `None` if they are not known before it.
    pub hosts: Option<usize>,
    /// All sources, the most trusted first.
    pub sources: Vec<SourceKnown>,
}

impl NetworkKnown {
    /// What is known before the launch. `None` if the network does not matter: nothing is reordered, or the launch has fewer than three nodes.
    pub(super) fn before(
        found: &LocatedLauncher,
        command: &[String],
        settings: &Settings,
        store: Option<&Store>,
    ) -> Option<NetworkKnown> {
        if matches!(settings.mode, Mode::Off | Mode::Shuffle) {
            return None;
        }
        if let Some(topology) = &settings.topology {
            let text = format!(
                "given by the user ({}): {topology}; no source is asked",
                origin("topology")
            );
            return Some(NetworkKnown { text, hosts: None, sources: Vec::new() });
        }
        let variable = |name: &str| std::env::var(name).ok();
        let Some(names) = placement::host_names(found, command, variable) else {
            // Without hosts, these launchers start all ranks on this node.
            let here = matches!(found.launcher, Launcher::OpenMpi | Launcher::Hydra);
            let text = "not known before the launch, because its nodes are not known; try: --probe, or 'rankweave topo \
                        -- LAUNCHER …'";
            let unknown = NetworkKnown { text: text.into(), hosts: None, sources: Vec::new() };
            return (!here).then_some(unknown);
        };
        let hosts: Vec<Host> = names.iter().map(|name| Host::named(name)).collect();
        let choice = choice_for(settings, &hosts, store)?;
        let told_here = ADDRESSES.into_iter().find(|name| variable(name).is_some());
        Some(NetworkKnown::of(&choice, hosts.len(), told_here))
    }

    /// `told_here` is the variable that tells the switches above this node.
    fn of(choice: &Choice, hosts: usize, told_here: Option<&str>) -> NetworkKnown {
        let sentence = choice.sentence();
        let mut text = sentence.strip_prefix("network: ").unwrap_or(&sentence).to_string();
        let mut sources: Vec<SourceKnown> = choice.reports.iter().map(known).collect();
        let used = sources.iter().position(|source| source.used).unwrap_or(sources.len());
        let mut before = sources.iter_mut().take(used);
        let is_open =
            |source: &&mut SourceKnown| source.source == OF_NODES && !is_not_asked(&source.finding);
        let nodes = before.find(is_open);
        if let Some(source) = nodes {
            source.finding = match told_here {
                Some(name) => {
                    text.push_str(&format!(
                        "; but {name} is set on this node: if all nodes have it, they tell their switches"
                    ));
                    format!(
                        "each node tells its own switches in the launch ({name} is set on this node)"
                    )
                }
                None => "each node tells its own switches in the launch, and this node tells none"
                    .into(),
            };
        }
        NetworkKnown { text, hosts: Some(hosts), sources }
    }

    /// The lines for people: a label, and what is said.
    pub(in crate::cli) fn lines(&self) -> Vec<(String, String)> {
        let mut lines = vec![("network".to_string(), self.text.clone())];
        // The last source always answers that nothing is known.
        let is_shown = |s: &&SourceKnown| s.source != "flat" && !is_not_asked(&s.finding);
        for source in self.sources.iter().filter(is_shown) {
            let used = if source.used { "used: " } else { "" };
            let needs = match source.needs {
                "" => String::new(),
                needs => format!("; to use it: {needs}"),
            };
            let text = format!("{}: {used}{}{needs}", source.source, source.finding);
            lines.push(("  source".into(), text));
        }
        let all = self.sources.iter().map(|source| (source.source, source.finding.as_str()));
        let others = not_asked(all).into_iter();
        lines.extend(others.map(|(why, names)| ("  source".into(), format!("{names}: {why}"))));
        lines
    }
}

/// Whether a source has no answer, because it was not asked.
pub(in crate::cli) fn is_not_asked(finding: &str) -> bool {
    finding.starts_with("not asked")
}

/// Of sources and their findings: each reason for which some were not asked, and their names.
pub(in crate::cli) fn not_asked<'a>(
    sources: impl Iterator<Item = (&'a str, &'a str)>,
) -> Vec<(&'a str, String)> {
    let mut found: Vec<(&str, String)> = Vec::new();
    for (name, finding) in sources.filter(|(_, finding)| is_not_asked(finding)) {
        match found.iter_mut().find(|(why, _)| *why == finding) {
            Some((_, names)) => *names = format!("{names}, {name}"),
            None => found.push((finding, name.into())),
        }
    }
    found
}

fn known(report: &Report) -> SourceKnown {
    SourceKnown {
        source: report.source,
        used: report.used,
        finding: report.finding.clone(),
        needs: report.needs,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::NetworkChoice;

    fn before(line: &str, settings: &Settings) -> Option<NetworkKnown> {
        let command: Vec<String> = line.split_whitespace().map(String::from).collect();
        let found = Launcher::of_command(&command).unwrap();
        NetworkKnown::before(&found, &command, settings, None)
    }

    #[test]
    fn the_hosts_of_the_command_line_are_enough_for_the_site_file() {
        let folder = tempfile::tempdir().unwrap();
        let site = folder.path().join("site.toml");
        std::fs::write(&site, "[[cluster]]\nnames = \"r{}n{}\"\n").unwrap();
        let settings = Settings { site: Some(site), ..Settings::default() };
        let line = "mpirun -n 8 --host r1n1:2,r1n2:2,r2n1:2,r2n2:2 ./app";
        let found = before(line, &settings).unwrap();
        assert!(found.text.contains("site.toml: 4 nodes below 2 switches"), "{}", found.text);
        assert_eq!((found.hosts, found.sources[0].used), (Some(4), true));
        assert!(found.sources[1..].iter().all(|s| s.finding.contains("a more trusted source")));
        let without = Settings { site: Some(std::path::PathBuf::new()), ..Settings::default() };
        let found = before(line, &without).unwrap();
        assert!(found.text.starts_with("not known"), "{}", found.text);
        let lines: Vec<String> = found.lines().into_iter().map(|(a, b)| a + ": " + &b).collect();
        assert!(
            lines
                .iter()
                .any(|line| line.starts_with("  source: site: there is no site file; to use it: "))
        );
        assert!(lines.iter().any(|line| line.contains("each node tells its own switches")));
        let given = Settings { topology: Some("tree:2:2".into()), ..without.clone() };
        let found = before(line, &given).unwrap();
        assert_eq!(
            found.text,
            "given by the user (RANKWEAVE_TOPOLOGY): tree:2:2; no source is asked"
        );
        let off = Settings { network: NetworkChoice::Off, ..without.clone() };
        let found = before(line, &off).unwrap();
        assert!(found.text.contains("no source is asked (--network off)"), "{}", found.text);
        assert!(found.sources.iter().all(|s| s.finding.contains("--network is off")));
        assert!(before("mpirun -n 8 ./app", &without).is_none(), "one node");
        assert!(before("mpirun -n 8 --host a,b ./app", &without).is_none(), "two nodes");
    }

    #[test]
    fn addresses_of_nodes_may_overrule_what_is_known() {
        let report = |source, used| Report {
            source,
            used,
            finding: "x".into(),
            error: None,
            needs: if used { "" } else { "y" },
        };
        let reports = vec![report("site", false), report(OF_NODES, false), report("names", true)];
        let choice = Choice { network: None, reports, is_off: false };
        let found = NetworkKnown::of(&choice, 4, Some("SLURM_TOPOLOGY_ADDR"));
        assert!(found.text.contains("is set on this node"), "{}", found.text);
        let reports = vec![report("site", true), report(OF_NODES, false)];
        let choice = Choice { network: None, reports, is_off: false };
        let found = NetworkKnown::of(&choice, 4, Some("A"));
        assert!(!found.text.contains("is set"), "{}", found.text);
    }
}
