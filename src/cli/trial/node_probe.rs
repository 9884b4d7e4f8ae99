//! The nodes of a launch: the launcher is started with this program in place of the real one.
//!
//! Every process says on which node it is, whether the library was preloaded into it, and where the scheduler
//! says that its node is in the network. No process calls MPI.

use crate::base::error::{Error, ErrorKind, Result};
use crate::cli::arguments::settings::SettingsArgs;
use crate::cli::console;
use crate::cli::inspect::LaunchLine;
use crate::cli::preload::command::Prepared;
use crate::sources::Host;
use serde::Serialize;
use std::collections::BTreeMap;
use std::process::{Command, Stdio};

const MARK: &str = "rankweave-probe";
/// What stands for a text that is not known.
const NOTHING: &str = "-";

/// What the processes of one node answered.
#[derive(Debug, Clone, Serialize)]
pub(in crate::cli) struct ProbedNode {
    /// Its name.
    pub name: String,
    /// Processes that answered.
    pub processes: usize,
    /// Processes that answered and have the library.
    pub preloaded: usize,
    /// Where the scheduler says that it is in the network; empty if it says nothing.
    pub address: String,
    /// Its physical position; empty if the system does not give one.
    pub position: String,
}

impl ProbedNode {
    /// The node as sources of networks see it.
    pub(in crate::cli) fn host(&self) -> Host {
        Host {
            name: self.name.clone(),
            address: self.address.clone(),
            position: self.position.clone(),
        }
    }
}

/// The answer of a process that was started by a probe.
pub(in crate::cli) fn answer() -> String {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let loaded = maps.contains("librankweave");
    let Host { name, address, position } = Host::here(console::host_name());
    let word = |text: String| {
        if text.is_empty() { NOTHING.into() } else { text.replace(char::is_whitespace, "_") }
    };
    let (loaded, name) = (u8::from(loaded), word(name));
    format!("{MARK} {name} {loaded} {} {}\n", word(address), word(position))
}

/// Starts the launcher with the probe. Returns the nodes by name.
///
/// Errors: the launch names no program, the launcher cannot be started, or no process answers.
pub(in crate::cli) fn nodes_of(launch: &LaunchLine, words: &[String]) -> Result<Vec<ProbedNode>> {
    let Some(&start) = launch.starts.first() else {
        let text = "the launch names no program, so there is none that the probe can replace";
        return Err(Error::new(ErrorKind::Usage, text));
    };
    let own = std::env::current_exe().map_err(|e| {
        let text = format!("the path of the command 'rankweave' is not known: {e}");
        Error::new(ErrorKind::Io, text)
    })?;
    let mut words = words[..start].to_vec();
    words.extend([own.display().to_string(), "doctor".into(), "--on-node".into()]);
    let prepared = Prepared::new(&words, &SettingsArgs::default())?;
    let plan = prepared.command(&words, &prepared.variables)?;
    let done = Command::new(&plan.command[0])
        .args(&plan.command[1..])
        .envs(plan.environment.iter().cloned())
        .stdin(Stdio::null())
        .output()
        .map_err(|e| {
            Error::new(ErrorKind::Io, format!("cannot start the launcher: {e}"))
                .at(&plan.command[0])
        })?;
    let nodes = read(&String::from_utf8_lossy(&done.stdout));
    if nodes.is_empty() {
        let said = String::from_utf8_lossy(&done.stderr).trim().to_string();
        return Err(Error::new(ErrorKind::Io, format!("no process of the probe answered: {said}"))
            .advise("start the launch without rankweave, to see whether it works by itself"));
    }
    Ok(nodes)
}

fn read(text: &str) -> Vec<ProbedNode> {
    let mut nodes: BTreeMap<&str, ProbedNode> = BTreeMap::new();
    for line in text.lines() {
        // A launcher may put the rank before each line.
        let Some(at) = line.find(MARK) else { continue };
        let mut words = line[at + MARK.len()..].split_whitespace();
        if let (Some(name), Some(loaded)) = (words.next(), words.next()) {
            let mut text =
                || words.next().filter(|&word| word != NOTHING).unwrap_or("").to_string();
            let (address, position) = (text(), text());
            let new = || ProbedNode {
                name: name.to_string(),
                processes: 0,
                preloaded: 0,
                address,
                position,
            };
            let node = nodes.entry(name).or_insert_with(new);
            node.processes += 1;
            node.preloaded += usize::from(loaded == "1");
        }
    }
    nodes.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_counted_by_node() {
        let nodes = read(
            "rankweave-probe a 1 r.s1.a x1c0s0b0n0\n[1,0]<stdout>: rankweave-probe b 1 - -\nnoise\n\
             rankweave-probe b 0\nrankweave-probe\n",
        );
        let found: Vec<_> =
            nodes.iter().map(|n| (n.name.as_str(), n.processes, n.preloaded)).collect();
        assert_eq!(found, [("a", 1, 1), ("b", 2, 1)]);
        assert_eq!(
            (nodes[0].host().address, nodes[1].host().position),
            ("r.s1.a".into(), "".into())
        );
        assert_eq!(read(&answer()).len(), 1);
    }
}
