//! What the mapping engine answers to a fixed list of questions, against the committed answers.
//!
//! Sites keep the permutations that launches have searched for. `decide::ENGINE_VERSION` is a part of
//! the key that finds them again: it has to change when answers change, and only then. So the version
//! belongs to the digests in `tests/golden/engine_answers.txt`, and not to the text of the sources.

use crate::support::repository;
use rankweave::decide::{ENGINE_VERSION, Network, Options, decide};
use rankweave::mapping::{Budget, Preset, Problem, by_name};
use rankweave::matrix::synthetic::pattern;
use rankweave::matrix::{CommMatrix, Graph, SparseMatrix, Traffic};
use rankweave::topology::{Topology, parse};
use std::fmt::Write as _;
use std::time::Duration;

const GOLDEN: &str = "tests/golden/engine_answers.txt";
/// Far beyond what any of the questions needs, so that no answer is cut short.
const LIMIT: Duration = Duration::from_secs(3600);

const PATTERNS: [&str; 8] = [
    "stencil:8x8",
    "torus:4x4x4,shuffle=3",
    "stencil27:4x4x4,shuffle=1",
    "rgg:64",
    "spmv:64",
    "fft:64,shuffle=2",
    "lu:64",
    "powerlaw:64",
];
const TOPOLOGIES: [&str; 4] = ["tree:4:4:4@1:10:100", "tree:8:8@1:20", "torus:4x4x4", "mesh:8x8"];

/// FNV-1a over the numbers of a permutation, 64 bits.
fn digest(numbers: impl IntoIterator<Item = usize>) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    for number in numbers {
        for byte in (number as u64).to_le_bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
    hash
}

/// The portfolio on whole machines, with the preset `fast`; launches of this size ask for `default`.
fn mappings(text: &mut String) {
    for topology in TOPOLOGIES {
        let machine = parse(topology).expect("a topology");
        for name in PATTERNS {
            let graph = pattern(name).expect("a pattern");
            let builder = Problem::builder(&graph, machine.as_ref()).preset(Preset::Fast).seed(7);
            let problem = builder.build().expect("a problem");
            let mapper = by_name("auto").expect("the portfolio");
            let outcome = mapper.map(&problem, &mut Budget::unlimited()).expect("an answer");
            let answer = digest(outcome.slot_of_task.iter().copied());
            let _ = writeln!(text, "map {topology} {name} {answer:016x}");
        }
    }
}

/// The matrix of a program with the traffic of a graph: half of each edge either way.
fn matrix(graph: &Graph) -> CommMatrix {
    let mut entries = Vec::new();
    for task in 0..graph.vertices() {
        for (other, weight) in graph.arcs(task) {
            entries.push((task as u32, other, Traffic { bytes: weight, messages: 1 }));
        }
    }
    CommMatrix::from_point_to_point(SparseMatrix::from_entries(graph.vertices(), &entries))
}

/// What a launch asks: which process each task goes to, in one search and in two phases.
fn launches(text: &mut String) {
    let topology = "tree:4:4:4@1:10:100";
    let machine: Box<dyn Topology> = parse(topology).expect("a topology");
    let slots: Vec<usize> = (0..64).collect();
    let nodes: Vec<u32> = (0..64).map(|slot| slot / 4).collect();
    let options = Options { min_gain_percent: 0.0, time_limit: LIMIT, ..Options::default() };
    for name in PATTERNS {
        let graph = pattern(name).expect("a pattern");
        let decision = decide(&matrix(&graph), machine.as_ref(), &slots, &options);
        let order = decision.expect("a decision").process_of_task;
        let answer = digest(order.iter().map(|&process| process as usize));
        let _ = writeln!(text, "launch {topology} {name} {answer:016x}");

        let tree = machine.as_ref();
        let network = Network::new(graph, tree, &slots, &nodes, &[0], Preset::Fast);
        let network = network.expect("a topology of nodes");
        let found = network.search(options.seed, LIMIT).expect("an answer");
        let parts = network.parts(&found, tree, &slots, options.seed);
        let placed: Vec<_> = parts.map(|part| part.place(LIMIT).expect("an answer")).collect();
        let order = network.joined(placed.iter().map(Vec::as_slice)).expect("a permutation");
        let answer = digest(order.iter().map(|&process| process as usize));
        let _ = writeln!(text, "two phases {topology} {name} {answer:016x}");
    }
}

/// What is wrong between the version and the answers that are committed and those of the code.
fn verdict(committed: &str, code: &str) -> Result<(), String> {
    let parts = |text: &str| {
        let (version, answers) = text.split_once('\n').unwrap_or((text, ""));
        (version.to_string(), answers.to_string())
    };
    let ((old_version, old), (version, new)) = (parts(committed), parts(code));
    let questions = |text: &str| -> Vec<String> {
        text.lines().filter_map(|l| l.rsplit_once(' ')).map(|(q, _)| q.to_string()).collect()
    };
    if committed.is_empty() || questions(&old) != questions(&new) {
        return match old_version == version || committed.is_empty() {
            true => Ok(()),
            false => Err("change the questions or the version, not both at once".into()),
        };
    }
    match (old == new, old_version == version) {
        (true, true) | (false, false) => Ok(()),
        (true, false) => {
            Err("ENGINE_VERSION changed and no answer did: it would discard every kept \
                              permutation for nothing"
                .into())
        }
        (false, true) => {
            let pairs = old.lines().zip(new.lines()).filter(|(a, b)| a != b);
            let changed: Vec<&str> = pairs.map(|(_, b)| b).collect();
            Err(format!(
                "{} answers of the engine changed: if that is meant, change ENGINE_VERSION in \
                 src/decide/engine_version.rs to {:016x} and run `cargo xtask golden`:\n{}",
                changed.len(),
                digest(new.bytes().map(usize::from)),
                changed.join("\n")
            ))
        }
    }
}

#[test]
fn the_version_of_the_engine_changes_with_its_answers_and_only_then() {
    let mut code = format!("version {ENGINE_VERSION}\n");
    mappings(&mut code);
    launches(&mut code);
    let path = repository(GOLDEN);
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    if let Err(problem) = verdict(&committed, &code) {
        panic!("{problem}");
    }
    if std::env::var_os("RANKWEAVE_UPDATE_SNAPSHOTS").is_some() {
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("make it");
        std::fs::write(&path, &code).expect("write the answers");
        return;
    }
    assert!(committed == code, "{GOLDEN} is not up to date: run `cargo xtask golden`");
}

#[test]
fn answers_and_version_change_together() {
    let old = "version a\nmap x 1\nmap y 2\n";
    assert!(verdict(old, old).is_ok());
    assert!(verdict(old, "version a\nmap x 1\nmap y 3\n").unwrap_err().contains("map y 3"));
    assert!(verdict(old, "version b\nmap x 1\nmap y 2\n").unwrap_err().contains("for nothing"));
    assert!(verdict(old, "version b\nmap x 1\nmap y 3\n").is_ok());
    assert!(verdict(old, "version a\nmap x 1\n").is_ok(), "a question less");
    assert!(verdict(old, "version b\nmap x 1\n").is_err(), "a question less and a new version");
    assert!(verdict("", old).is_ok(), "nothing committed yet");
}
