//! The nodes of a launch: the launcher is started with this program in place of the real one.
//!
//! Every process says on which node it is, whether the library was preloaded into it, and where the scheduler
//! says that its node is in the network. No process calls MPI.
//!
//! Launchers are made for programs that run for a while. Of processes that end at once, Open MPI 5 loses count now and
//! then: all have ended, and the launcher waits for ever. MPICH sometimes loses their output. Therefore each process
//! stays for a moment after its answer ([`STAY`]); the launcher has a time limit, after which answers count that are
//! complete; and a launcher that ends without any answer is asked once more.

use super::execute::{End, Streams, TrialRun, execute};
use crate::base::error::{Error, ErrorKind, Result};
use crate::cli::arguments::settings::SettingsArgs;
use crate::cli::console;
use crate::cli::inspect::LaunchLine;
use crate::cli::preload::command::Prepared;
use crate::sources::Host;
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::Duration;

const MARK: &str = "rankweave-probe";
/// What stands for a text that is not known.
const NOTHING: &str = "-";

/// How long a process of the probe stays after its answer.
pub(in crate::cli) const STAY: Duration = Duration::from_millis(300);
/// The seconds that a probe has unless the user says otherwise.
pub(in crate::cli) const USUAL_LIMIT: &str = "60";

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

/// Starts the launcher with the probe, and ends it after `limit`. Returns the nodes by name.
///
/// Errors: the launch names no program, the launcher cannot be started or does not end in time, or no process answers.
pub(in crate::cli) fn nodes_of(
    launch: &LaunchLine,
    words: &[String],
    limit: Duration,
) -> Result<Vec<ProbedNode>> {
    let Some(&start) = launch.starts.first() else {
        let text = "the launch names no program, so there is none that the probe can replace";
        return Err(Error::new(ErrorKind::Usage, text));
    };
    let own = std::env::current_exe().map_err(|e| {
        let text = format!("the path of the command 'rankweave' is not known: {e}");
        Error::new(ErrorKind::Io, text)
    })?;
    let probe = [own.display().to_string(), "doctor".into(), "--on-node".into()];
    let words = with_probe(launch, words, start, &probe);
    let prepared = Prepared::new(&words, &SettingsArgs::default())?;
    let plan = prepared.command(&words, &prepared.variables)?;
    let expected: Option<usize> = launch.parts.iter().map(|part| part.ranks).sum();
    let streams = Streams::new()?;
    let ask = || execute(&plan, &[], None, &streams, Some(limit));
    let mut run = ask()?;
    let mut nodes = read(&String::from_utf8_lossy(&run.out));
    if nodes.is_empty() && run.end == End::Code(0) {
        run = ask()?;
        nodes = read(&String::from_utf8_lossy(&run.out));
    }
    let answers: usize = nodes.iter().map(|node| node.processes).sum();
    match run.end {
        End::TimedOut if expected != Some(answers) => Err(late(limit, answers, expected)),
        _ if nodes.is_empty() => Err(silent(&run)),
        _ => Ok(nodes),
    }
}

/// The launch with the probe in place of each of its programs. `start` is the first word of the first one.
fn with_probe(
    launch: &LaunchLine,
    words: &[String],
    start: usize,
    probe: &[String],
) -> Vec<String> {
    let programs: Vec<usize> =
        launch.parts.iter().map(|part| part.words.len()).filter(|&length| length > 0).collect();
    if programs.len() != launch.starts.len() {
        return [&words[..start], probe].concat();
    }
    let mut replaced = Vec::new();
    let mut next = 0;
    for (&start, length) in launch.starts.iter().zip(programs) {
        replaced.extend_from_slice(words.get(next..start).unwrap_or_default());
        replaced.extend_from_slice(probe);
        next = start + length;
    }
    replaced.extend_from_slice(words.get(next..).unwrap_or_default());
    replaced
}

/// The error for a launcher that did not end in time.
fn late(limit: Duration, answers: usize, expected: Option<usize>) -> Error {
    let of = expected.map_or(String::new(), |all| format!(" of {all}"));
    let seconds = limit.as_secs_f64();
    let text = format!(
        "the launcher did not end within {seconds} seconds, and {answers}{of} processes of the probe answered; the \
         launcher and its processes were ended, and the nodes of this launch are not known"
    );
    Error::new(ErrorKind::Io, text).advise(
        "start the same launcher with 'hostname' in place of the program, to see whether it ends by itself; use \
         --timeout SECONDS if it takes longer to start",
    )
}

/// The error for a launcher that ended without an answer.
fn silent(run: &TrialRun) -> Error {
    let said = String::from_utf8_lossy(&run.err).trim().to_string();
    let how = match (run.end, said.is_empty()) {
        (End::Code(0), true) => "the launcher ended and printed nothing".into(),
        (end, true) => end.words(),
        (End::Code(0), false) => said,
        (end, false) => format!("{}, {said}", end.words()),
    };
    Error::new(ErrorKind::Io, format!("no process of the probe answered: {how}"))
        .advise("start the launch without rankweave, to see whether it works by itself")
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

    #[test]
    fn each_program_of_a_launch_is_replaced() {
        let probed = |line: &str| {
            let words: Vec<String> = line.split_whitespace().map(String::from).collect();
            let launch = LaunchLine::of(
                &crate::cli::launcher::Launcher::of_command(&words).unwrap(),
                &words,
            );
            with_probe(&launch, &words, launch.starts[0], &["P".into()]).join(" ")
        };
        assert_eq!(probed("mpirun -n 4 ./a x y"), "mpirun -n 4 P");
        assert_eq!(
            probed("mpirun --host n0,n1 -np 4 ./a x : -np 2 -H n2 ./b"),
            "mpirun --host n0,n1 -np 4 P : -np 2 -H n2 P"
        );
    }

    #[test]
    fn errors_say_what_happened_and_what_to_do() {
        let said = late(Duration::from_secs(60), 3, Some(16)).to_string();
        for part in ["within 60 seconds", "3 of 16", "were ended", "not known", "try:", "--timeout"]
        {
            assert!(said.contains(part), "{part}: {said}");
        }
        assert!(late(Duration::from_secs(1), 0, None).to_string().contains("and 0 processes"));
        let run = |end, err: &str| TrialRun {
            end,
            seconds: 0.0,
            out: Vec::new(),
            err: err.as_bytes().to_vec(),
        };
        for (end, err, want) in [
            (End::Code(0), "", "printed nothing"),
            (End::Code(3), "", "answered: exit code 3"),
            (End::Code(0), " no such host\n", "answered: no such host;"),
            (End::Signal(9), "gone", "answered: signal 9, gone"),
        ] {
            let said = silent(&run(end, err)).to_string();
            assert!(said.contains(want), "{want}: {said}");
        }
    }
}
