//! `rankweave topo --kept` and `--forget`: what the store knows of networks between nodes.
//!
//! The store has surveys, which launches measured, and answers of large descriptions about the hosts of launches.
//! Both can be removed at any time: the next launch measures again, or reads the description again.

use crate::base::clock::since_1970;
use crate::base::error::Result;
use crate::base::file::FileIdentity;
use crate::base::nouns::counted;
use crate::cli::console::{Exit, output};
use crate::report::units::{self, printable};
use crate::store::{LONGEST_KEPT, MeasuredNetwork, NetworkQuestion, Store};
use serde::Serialize;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Names of hosts that a line of the text has.
const SHOWN: usize = 4;

/// A level of switches in the JSON.
#[derive(Serialize)]
struct KeptLevel {
    name: String,
    groups: usize,
    /// Bytes per second of the link above a group; absent if not measured.
    bandwidth: Option<f64>,
}

/// A measured network in the JSON.
#[derive(Serialize)]
struct KeptSurvey {
    file: PathBuf,
    measured_at: u64,
    /// The survey came to its end.
    is_certain: bool,
    /// It is too old to be used.
    expired: bool,
    hosts: Vec<String>,
    /// The levels of switches, the outermost first; empty for a flat network.
    levels: Vec<KeptLevel>,
    /// Bytes per second of the link of a host; absent if not measured.
    host_bandwidth: Option<f64>,
}

/// The answer of a description in the JSON.
#[derive(Serialize)]
struct KeptAnswer {
    file: PathBuf,
    description: String,
    /// The described file is still the one that was read.
    current: bool,
    hosts: Vec<String>,
}

/// The answer for scripts; field names are those of the JSON.
#[derive(Serialize)]
struct KeptNetworks {
    schema: u32,
    store: PathBuf,
    measured: Vec<KeptSurvey>,
    descriptions: Vec<KeptAnswer>,
}

/// Lists what is kept. The exit code is 1 if nothing is.
///
/// Errors: the store cannot be read.
pub(super) fn list(store: &Store, json: bool) -> Result<Exit> {
    let now = since_1970().as_secs();
    let survey = |(file, hosts, network)| KeptSurvey::of(file, hosts, &network, now);
    let kept = KeptNetworks {
        schema: 1,
        store: store.directory().to_path_buf(),
        measured: store.measured_networks()?.into_iter().map(survey).collect(),
        descriptions: store.kept_network_questions()?.into_iter().map(KeptAnswer::of).collect(),
    };
    let is_empty = kept.measured.is_empty() && kept.descriptions.is_empty();
    if is_empty && !json {
        eprintln!("rankweave: no networks are kept (in {})", store.directory().display());
        return Ok(Exit::Nothing);
    }
    output::print_as(json, || &kept, || kept.text())?;
    Ok(if is_empty { Exit::Nothing } else { Exit::Done })
}

/// Removes all that is kept. The exit code is 1 if there was nothing.
///
/// Errors: a file cannot be removed.
pub(super) fn forget(store: &Store) -> Result<Exit> {
    let (measured, answers) = (store.forget_measured_networks()?, store.forget_kept_networks()?);
    let place = store.directory().display();
    if measured + answers == 0 {
        eprintln!("rankweave: no networks are kept (in {place})");
        return Ok(Exit::Nothing);
    }
    let counted = |count: usize, one: &str, many: &str| match count {
        1 => format!("1 {one}"),
        _ => format!("{count} {many}"),
    };
    eprintln!(
        "rankweave: removed {} and {} (in {place}); later launches measure the network, or read its description, again",
        counted(measured, "measured network", "measured networks"),
        counted(answers, "answer of a description", "answers of descriptions"),
    );
    Ok(Exit::Done)
}

impl KeptSurvey {
    fn of(file: PathBuf, hosts: Vec<String>, network: &MeasuredNetwork, now: u64) -> KeptSurvey {
        let groups = |level: usize| {
            network.group_of_host.iter().map(|path| path[level]).collect::<BTreeSet<_>>().len()
        };
        let levels = network.level_names.iter().enumerate().map(|(level, name)| KeptLevel {
            name: name.clone(),
            groups: groups(level),
            bandwidth: network.bandwidths.get(level).copied(),
        });
        KeptSurvey {
            file,
            measured_at: network.measured_at,
            is_certain: network.is_certain,
            expired: network.measured_at.saturating_add(LONGEST_KEPT) < now,
            levels: levels.collect(),
            host_bandwidth: network.bandwidths.last().copied(),
            hosts,
        }
    }

    fn text(&self) -> String {
        let counts: Vec<String> =
            self.levels.iter().map(|level| level.groups.to_string()).collect();
        let found = match counts.is_empty() {
            true if !self.is_certain => "not known: the survey did not come to its end".to_string(),
            true => "flat: all are equally far from each other".to_string(),
            false => format!("below {} switches", counts.join(" > ")),
        };
        let rate = |bytes: f64| format!("{}/s", units::bytes(bytes as u64));
        let mut links: Vec<String> = (self.levels.iter())
            .filter_map(|level| Some(format!("above a {} {}", level.name, rate(level.bandwidth?))))
            .collect();
        links.extend(self.host_bandwidth.map(|bytes| format!("of a host {}", rate(bytes))));
        let links = match links.is_empty() {
            true => String::new(),
            false => format!("; links {}", links.join(", ")),
        };
        let expired = if self.expired { "; too old to be used" } else { "" };
        format!(
            "  {}  {}: {found}{links}{expired}\n",
            units::time(self.measured_at),
            names(&self.hosts)
        )
    }
}

impl KeptAnswer {
    fn of((file, question): (PathBuf, NetworkQuestion)) -> KeptAnswer {
        let described = question.description.split_once(':').map_or("", |(_, path)| path);
        let now = FileIdentity::of(Path::new(described)).ok();
        let description = question.description.trim_start_matches(':').to_string();
        // Each host has a line with its name, and one with its position.
        let name = |host: &String| Some(host.split('\n').next()?.to_string());
        let named = question.hosts.iter().filter(|host| host.contains('\n')).filter_map(name);
        let hosts = named.filter(|name| !name.is_empty()).collect();
        KeptAnswer { file, description, current: now == Some(question.file), hosts }
    }

    fn text(&self) -> String {
        let state =
            if self.current { "" } else { "; the file has changed, so this is not used any more" };
        format!("  {}  {}{state}\n", printable(&self.description), names(&self.hosts))
    }
}

impl KeptNetworks {
    fn text(&self) -> String {
        let mut out = String::new();
        if !self.measured.is_empty() {
            out.push_str("measured networks, the newest first\n");
            self.measured.iter().for_each(|survey| out.push_str(&survey.text()));
        }
        if !self.descriptions.is_empty() {
            out.push_str(
                "answers of large descriptions about the hosts of launches, the newest first\n",
            );
            self.descriptions.iter().for_each(|answer| out.push_str(&answer.text()));
        }
        out
    }
}

/// The number of hosts and the first of their names.
fn names(hosts: &[String]) -> String {
    let shown: Vec<&str> = hosts.iter().take(SHOWN).map(String::as_str).collect();
    let more = if hosts.len() > SHOWN { " …" } else { "" };
    format!("{} ({}{more})", counted(hosts.len(), "host"), printable(&shown.join(" ")))
}
