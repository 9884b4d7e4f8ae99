//! `rankweave topo -- LAUNCHER …`: what is known of the network between the nodes of a launch.
//!
//! The launcher is started once, with `rankweave` in place of the program, to learn the nodes. Then every source of
//! the network is asked, as rank 0 of a launch would ask it. The files are those of the node on which this command
//! runs.

use crate::base::error::{Error, ErrorKind, Result};
use crate::base::nouns::counted;
use crate::base::raw_words::decoded;
use crate::cli::arguments::settings::SettingsArgs;
use crate::cli::arguments::{origin, setting_files};
use crate::cli::console::{Exit, output};
use crate::cli::diagnosis::{is_not_asked, not_asked};
use crate::cli::inspect::LaunchLine;
use crate::cli::launcher::Launcher;
use crate::cli::preload::command::Prepared;
use crate::cli::preload::settings::{check_descriptions, hidden_by_topology};
use crate::cli::trial::{ProbedNode, nodes_of};
use crate::launch::{Storage, choice_for};
use crate::options::Settings;
use crate::report::units::printable;
use crate::sources::{Choice, Host, HostNetwork, Report};
use crate::store::Store;
use serde::Serialize;
use std::collections::BTreeMap;
use std::process::Command;
use std::time::Duration;

/// The settings of a launch in which the network is measured.
const MEASURING: [(&str, &str); 3] =
    [("RANKWEAVE_MEASURE", "on"), ("RANKWEAVE_MODE", "record"), ("RANKWEAVE_VERBOSE", "1")];
/// The variable of the store.
const STORE: &str = "RANKWEAVE_STORE";
/// More nodes than this are not listed by name.
const SHOWN: usize = 64;

/// A node in the JSON.
#[derive(Serialize)]
struct NodeInNetwork {
    #[serde(flatten)]
    node: ProbedNode,
    /// Its switch at each level, from the root down; numbers are those of this launch.
    switches: Option<Vec<u32>>,
    /// Their names, where the source knows them.
    switch_names: Option<Vec<Option<String>>>,
    known: bool,
}

/// One source in the JSON.
#[derive(Serialize)]
struct SourceReport {
    source: &'static str,
    used: bool,
    finding: String,
    needs: &'static str,
}

/// The answer for scripts; field names are those of the JSON.
#[derive(Serialize)]
struct LaunchNetwork {
    schema: u32,
    network: Option<String>,
    /// The topology that the user gives; no source is asked then.
    given: Option<String>,
    origin: Option<String>,
    sources: Vec<SourceReport>,
    nodes: Vec<NodeInNetwork>,
    /// Distances of the nodes, in the units of the network; with up to 64 nodes.
    distances: Option<Vec<Vec<Option<u64>>>>,
}

/// What is shown of a launch, and how.
pub(super) struct Wanted {
    /// The network is measured first.
    pub(super) measure: bool,
    /// The time that the probe has.
    pub(super) timeout: Duration,
    /// The store that the command line names.
    pub(super) store: Option<Store>,
    /// Names and values of options that the command line gives.
    pub(super) options: Vec<(&'static str, String)>,
    /// As JSON.
    pub(super) json: bool,
}

/// Shows what is known of the network of a launch.
///
/// Errors: the launcher cannot be started or does not end in time, or no process answers.
pub(super) fn show(words: &[String], wanted: &Wanted) -> Result<Exit> {
    if wanted.measure {
        measure_with(words, wanted.store.as_ref())?;
    }
    setting_files::check()?;
    origin::remember(wanted.options.iter().map(|(name, _)| *name));
    let (mut settings, errors) = Settings::from_env(|name| std::env::var(name).ok());
    for error in errors {
        eprintln!("rankweave: {error}");
    }
    for (name, value) in &wanted.options {
        settings.set(name, value).map_err(|error| error.at(format!("--{name}")))?;
    }
    let messages = [check_descriptions(&settings)?, hidden_by_topology(&settings)];
    for sentence in messages.iter().flatten() {
        eprintln!("rankweave: {sentence}");
    }
    let launch = LaunchLine::of(&Launcher::of_command(words)?, words);
    let nodes = nodes_of(&launch, words, wanted.timeout)?;
    let hosts: Vec<Host> = nodes.iter().map(ProbedNode::host).collect();
    let store = wanted.store.clone().or_else(|| Storage::open(&settings).ok());
    let given = settings.topology.clone();
    let is_asked = given.is_none();
    let choice = choice_for(&settings, &hosts, store.as_ref()).filter(|_| is_asked);
    let answer = LaunchNetwork { given, ..answer(nodes, choice.as_ref()) };
    output::print_as(wanted.json, || &answer, || text(&answer, choice.as_ref()))?;
    Ok(if answer.origin.is_some() || answer.given.is_some() { Exit::Done } else { Exit::Nothing })
}

/// Runs the launch with its program and measures the network when the program initialises MPI. The output of the
/// program goes to standard error.
fn measure_with(words: &[String], store: Option<&Store>) -> Result<()> {
    let prepared = Prepared::new(words, &SettingsArgs::default())?.with_what_programs_need(words);
    let mut variables = prepared.variables.clone();
    variables.retain(|(name, _)| !MEASURING.iter().any(|(own, _)| own == name));
    variables.extend(MEASURING.map(|(name, value)| (name.to_string(), value.to_string())));
    if let Some(store) = store {
        let directory = std::path::absolute(store.directory()).unwrap_or(store.directory().into());
        variables.retain(|(name, _)| name != STORE);
        variables.push((STORE.into(), directory.display().to_string()));
    }
    let plan = prepared.command(words, &variables)?;
    let code = Command::new(decoded(&plan.command[0]))
        .args(plan.command[1..].iter().map(|word| decoded(word)))
        .envs(plan.environment.iter().cloned())
        .stdout(std::io::stderr())
        .status()
        .map_err(|e| {
            Error::new(ErrorKind::Io, format!("cannot start the launcher: {e}"))
                .at(&plan.command[0])
                .advise("give the name of a launcher that is in PATH, after --")
        })?;
    if !code.success() {
        eprintln!(
            "rankweave: the program of the launch failed ({code}); the network is measured if it had initialised MPI"
        );
    }
    Ok(())
}

/// A switch above a node: its number in this launch, and its name if the source knows it.
type NodeSwitch = (u32, Option<String>);

/// The switches of each node, from the root down.
fn switches(network: &HostNetwork) -> Vec<Option<Vec<NodeSwitch>>> {
    let tree = network.topology.as_tree();
    let of_host = |host: usize| {
        let tree = tree?;
        let name = |level: usize| tree.switch_name(level, host).map(String::from);
        let levels = 0..tree.levels() - 1;
        Some(levels.map(|level| (tree.groups(level)[host], name(level))).collect())
    };
    network.host_of_node.iter().map(|host| host.and_then(of_host)).collect()
}

fn answer(nodes: Vec<ProbedNode>, choice: Option<&Choice>) -> LaunchNetwork {
    let network = choice.and_then(|choice| choice.network.as_ref());
    let places = network.map_or(vec![None; nodes.len()], switches);
    let known: Vec<bool> = match network {
        Some(network) => network.host_of_node.iter().map(Option::is_some).collect(),
        None => vec![false; nodes.len()],
    };
    let distances = network.filter(|_| nodes.len() <= SHOWN).map(|network| {
        let distance = |a: &Option<usize>, b: &Option<usize>| {
            let (a, b) = (*a, *b);
            a.zip(b).map(|(a, b)| network.topology.distance(a, b))
        };
        let hosts = &network.host_of_node;
        hosts.iter().map(|a| hosts.iter().map(|b| distance(a, b)).collect()).collect()
    });
    let nodes = nodes.into_iter().zip(places).zip(known);
    let report = |report: &Report| SourceReport {
        source: report.source,
        used: report.used,
        finding: report.finding.clone(),
        needs: report.needs,
    };
    LaunchNetwork {
        schema: 1,
        network: choice.map(Choice::sentence),
        given: None,
        origin: network.map(|network| network.origin.clone()),
        sources: choice.map_or(Vec::new(), |choice| choice.reports.iter().map(report).collect()),
        nodes: nodes
            .map(|((node, switches), known)| {
                let (switches, switch_names) =
                    switches.map(|list| list.into_iter().unzip()).unzip();
                NodeInNetwork { node, switches, switch_names, known }
            })
            .collect(),
        distances,
    }
}

fn text(answer: &LaunchNetwork, choice: Option<&Choice>) -> String {
    let processes: usize = answer.nodes.iter().map(|node| node.node.processes).sum();
    let mut out =
        format!("{} on {}\n", counted(processes, "process"), counted(answer.nodes.len(), "node"));
    if let Some(topology) = &answer.given {
        let topology = printable(topology);
        out.push_str(&format!(
            "network: given by the user ({}): {topology}\nNo source is asked. 'rankweave topo --topology {topology}' \
             shows its levels and distances.\n",
            origin::origin("topology"),
        ));
        return out;
    }
    let Some(choice) = choice else {
        out.push_str("  fewer than three nodes have no network that could matter to rank orders\n");
        return out;
    };
    out.push_str(&format!("{}\n\nsources, the most trusted first\n", choice.sentence()));
    for source in answer.sources.iter().filter(|source| !is_not_asked(&source.finding)) {
        let used = if source.used { "used: " } else { "" };
        out.push_str(&format!("  {:<15}{used}{}\n", source.source, source.finding));
        if !source.used && !source.needs.is_empty() && source.source != "flat" {
            out.push_str(&format!("  {:<15}  to use it: {}\n", "", source.needs));
        }
    }
    let all = answer.sources.iter().map(|source| (source.source, source.finding.as_str()));
    for (why, names) in not_asked(all) {
        out.push_str(&format!("  {names}\n  {:<15}{why}\n", ""));
    }
    if let Some(network) = &choice.network {
        out.push_str(&groups_text(answer, network));
    }
    out
}

/// The nodes below each lowest switch, or the distances between nodes.
fn groups_text(answer: &LaunchNetwork, network: &HostNetwork) -> String {
    let mut out = String::new();
    if network.topology.as_tree().is_some() {
        let mut groups: BTreeMap<Option<&Vec<u32>>, Vec<&NodeInNetwork>> = BTreeMap::new();
        for node in &answer.nodes {
            groups.entry(node.switches.as_ref()).or_default().push(node);
        }
        out.push_str("\nnodes below each switch\n");
        for (switches, nodes) in groups {
            let named = nodes[0].switch_names.iter().flatten();
            let path: Vec<String> = switches
                .into_iter()
                .flatten()
                .zip(named)
                .map(|(number, name)| name.clone().unwrap_or_else(|| number.to_string()))
                .collect();
            let path = match switches {
                Some(_) => printable(&path.join(".")),
                None => "not in the network".into(),
            };
            let names: Vec<&str> = nodes.iter().map(|node| node.node.name.as_str()).collect();
            out.push_str(&format!("  {path:<18} {}\n", printable(&names.join(" "))));
        }
        return out;
    }
    let Some(distances) = &answer.distances else { return out };
    out.push_str("\ndistances of the nodes\n");
    let wide = answer.nodes.iter().map(|node| node.node.name.len()).max().unwrap_or(0);
    for (node, row) in answer.nodes.iter().zip(distances) {
        let row = row.iter().map(|d| d.map_or("-".into(), |d| d.to_string()));
        let row: Vec<String> = row.map(|d| format!("{d:>3}")).collect();
        out.push_str(&format!("  {:<wide$} {}\n", printable(&node.node.name), row.join("")));
    }
    out
}
