//! `--probe`: starts the launcher with this program in place of the real one.
//!
//! Every process says on which node it is, and whether the library was preloaded into it. No process
//! calls MPI.

use super::finding::{Finding, problem};
use crate::base::error::{Error, ErrorKind, Result};
use crate::cli::arguments::settings::SettingsArgs;
use crate::cli::console;
use crate::cli::inspect::LaunchLine;
use crate::cli::preload::command::Prepared;
use serde::Serialize;
use std::collections::BTreeMap;
use std::process::{Command, Stdio};

const MARK: &str = "rankweave-probe";

/// What the processes of one node answered.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Node {
    /// Its name.
    pub name: String,
    /// Processes that answered.
    pub processes: usize,
    /// Processes that answered and have the library.
    pub preloaded: usize,
}

/// The answer of a process that was started by a probe.
pub(super) fn answer() -> String {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let loaded = maps.contains("librankweave");
    format!("{MARK} {} {}\n", console::host_name(), u8::from(loaded))
}

/// Starts the launcher with the probe. Errors: the launcher cannot be started, or no process answers.
pub(super) fn launch(launch: &LaunchLine, command: &[String]) -> Result<(Vec<Node>, Vec<Finding>)> {
    let Some(&start) = launch.starts.first() else {
        let text = "the launch names no program, so there is none that the probe can replace";
        return Err(Error::new(ErrorKind::Usage, text));
    };
    let own = std::env::current_exe().map_err(|e| {
        let text = format!("the path of the command 'rankweave' is not known: {e}");
        Error::new(ErrorKind::Io, text)
    })?;
    let mut words = command[..start].to_vec();
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
            .advise("make the launch without rankweave, to see whether it works by itself"));
    }
    let lacking = nodes.iter().filter(|node| node.preloaded < node.processes);
    let findings = lacking.map(|Node { name, processes, preloaded }| {
        let text = format!("on {name}, {preloaded} of {processes} processes have the library");
        problem("not-preloaded", text).advise("install it there under the same path")
    });
    let findings = findings.collect();
    Ok((nodes, findings))
}

fn read(text: &str) -> Vec<Node> {
    let mut nodes: BTreeMap<&str, Node> = BTreeMap::new();
    for line in text.lines() {
        // A launcher may put the rank before each line.
        let Some(at) = line.find(MARK) else { continue };
        let mut words = line[at + MARK.len()..].split_whitespace();
        if let (Some(name), Some(loaded)) = (words.next(), words.next()) {
            let new = || Node { name: name.to_string(), processes: 0, preloaded: 0 };
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
            "rankweave-probe a 1\n[1,0]<stdout>: rankweave-probe b 1\nnoise\n\
                          rankweave-probe b 0\nrankweave-probe\n",
        );
        let found: Vec<_> =
            nodes.iter().map(|n| (n.name.as_str(), n.processes, n.preloaded)).collect();
        assert_eq!(found, [("a", 1, 1), ("b", 2, 1)]);
        assert_eq!(read(&answer()).len(), 1);
    }
}
