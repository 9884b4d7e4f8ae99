//! The answers of the mapping engine to a fixed list of questions, and the version that they belong to.
//!
//! Sites keep the permutations that were searched for, and the engine's version
//! ([`super::ENGINE_VERSION`]) says which of them still count. The file `pinned_answers.txt` holds
//! what the engine answers to each question below. If an answer changes, the version has to change
//! with it; if none does, the version stays and every kept permutation is found again, whatever
//! became of the sources. After a wanted change
//!
//!     cargo test -p rankweave --lib decide::pinned_answers::rewrite -- --ignored
//!
//! writes the file anew and gives the engine the digest of the new answers as its version.
//!
//! Limits: the questions are small, so they take seconds without optimization. What only acts
//! on more than some ten thousand tasks (search group by group, clusters handed down) is not pinned.

use super::{ENGINE_VERSION, Network, Options, Question, decide};
use crate::mapping::{Budget, Objective, Outcome, Problem, TaskGrid, by_name, generators};
use crate::matrix::synthetic::pattern;
use crate::matrix::{CommMatrix, Graph, SparseMatrix, Traffic};
use crate::metrics;
use crate::store::Signature;
use crate::topology::{Topology, parse};
use std::fmt::Write as _;
use std::time::Duration;

/// Mappings of a pattern: preset, objective, topology, pattern, and options: `fix=TASK:SLOT`,
/// `slots=STEP:COUNT` (COUNT slots, each STEP after the one before, round the machine), `by=NAME`
/// (the algorithm), `grid=AxB` (the program named its grid), `sent` (messages in one direction).
const MAPPINGS: &[&str] = &[
    // Trees.
    "default hop-bytes tree:4:4:4@1:10:100 rgg:64,shuffle=1",
    "strong hop-bytes tree:4:4@1:10 rgg:16,shuffle=1",
    "default hop-bytes tree:4:8:4@1:10:100 stencil:16x8,shuffle=1",
    "fast hop-bytes tree:4:8:4@1:10:100 powerlaw:128,shuffle=2",
    "default hop-bytes tree:4:4:4@1:10:100 spmv:64,shuffle=3 fix=0:0 fix=5:17",
    "fast hop-bytes tree:4:4:4@1:10:100 cg:64,shuffle=1",
    "fast hop-bytes tree:4:4:16@1:10:100 cg:256,shuffle=1",
    "fast hop-bytes tree:4:16:4@1:10:100 fft:256,shuffle=1",
    "default hop-bytes tree:2:8:8@1:10:100 bt:64,shuffle=1 slots=3:80",
    "default hop-bytes tree:4:8:8@1:10:100 rgg:100 slots=7:120 fix=3:21",
    "fast hop-bytes tree:4:8:8@1:10:100 stencil27:6x6x6,shuffle=1 slots=1:216",
    "fast hop-bytes tree:4:4:4@1:10:100 stencil:8x8 grid=8x8",
    "fast hop-bytes tree:6:4:4@1:10:100 stencil:12x8,shuffle=1",
    "fast hop-bytes tree:5:5:4@1:10:100 stencil:10x10",
    "fast hop-bytes tree:7:3:4@1:10:100 torus:12x7 grid=12x7",
    "fast hop-bytes tree:6:20@1:10 stencil:12x10 grid=12x10",
    "fast hop-bytes tree:5:8@1:10 stencil:8x5 grid=13x3",
    "fast hop-bytes tree:4:16:16:9@1:10:100:1000 rgg:9000,shuffle=1",
    // Grids and other networks.
    "default hop-bytes torus:4x2x2 rgg:16,shuffle=1",
    "fast hop-bytes torus:4x4x4 stencil:8x8,shuffle=1",
    "fast hop-bytes torus:8x8 torus:8x8,shuffle=4 fix=0:9",
    "fast hop-bytes mesh:8x8 lu:64,shuffle=1 fix=3:3",
    "fast hop-bytes mesh:6x6 stencil:6x4,shuffle=1 slots=5:24",
    "fast hop-bytes torus:8x8x4 stencil:8x8,shuffle=1 slots=37:64",
    "fast hop-bytes torus:6x6 powerlaw:30 slots=5:36 fix=1:10",
    "fast hop-bytes hypercube:6 fft:64,shuffle=1",
    "fast hop-bytes dragonfly:5x4x2 spmv:40,shuffle=1",
    "fast hop-bytes fattree:4:4:4 rgg:64,shuffle=1",
    "fast hop-bytes torus:8x8 cg:64,shuffle=1",
    "fast hop-bytes torus:6x6 stencil:4x9,shuffle=1",
    "default hop-bytes torus:4x4x3 stencil:6x8,shuffle=1 fix=0:9",
    "fast hop-bytes mesh:6x8 moore:8x6,shuffle=1",
    "fast hop-bytes torus:2x54 stencil:9x2x6,shuffle=1",
    "fast hop-bytes torus:12x12 rgg:144,shuffle=1",
    "default hop-bytes torus:3x3 powerlaw:9 fix=2:5",
    "fast hop-bytes tree:6:5:3@1:10:100 lines:9x10,shuffle=1",
    "fast hop-bytes torus:9x10 lines:15x6,shuffle=1",
    "fast hop-bytes torus:8x12 stencil:8x6,along=9:9+stencil:6x8,along=9:9,couple=1,shuffle=1",
    "fast hop-bytes tree:4:4:6@1:10:100 stencil:6x8,along=9:9+torus:8x6,along=9:9,couple=1,shuffle=1",
    "fast hop-bytes torus:5x3x3x5 torus:15x15,shuffle=1",
    // Objectives.
    "fast total-hops tree:4:4:4@1:10:100 powerlaw:64 sent",
    "fast total-hops torus:4x4x4 spmv:64,shuffle=1",
    "fast sum-com mesh:8x4 rgg:32,shuffle=1",
    "fast max-com tree:4:4:4@1:10:100 powerlaw:64,shuffle=1",
    "fast max-com torus:4x4 lu:16,shuffle=1 sent fix=0:3",
    "fast max-com mesh:8x8 stencil27:4x4x4 sent",
    "default mc torus:4x4 rgg:16,shuffle=1",
    "fast mc torus:8x8 powerlaw:64,shuffle=1 sent fix=0:0",
    "fast mmc mesh:6x6 spmv:36,shuffle=1",
    "fast mmc torus:4x4 powerlaw:16,shuffle=2",
    "fast time dragonfly:5x4x2 powerlaw:40,shuffle=1 sent",
    "fast time fattree:4:4:4 stencil:8x8,shuffle=1",
    "fast time dragonfly:5x4x2,routing=adaptive stencil:8x5,shuffle=1",
    "default time dragonfly:4x4x2,routing=adaptive stencil:8x4,shuffle=1",
    "default mc torus:3x3 rgg:9,shuffle=1",
    // Algorithms that the portfolio runs, and those of MPI_Cart_create.
    "default hop-bytes torus:6x6 stencil:6x5,shuffle=1 slots=7:30 by=geom",
    "default mc torus:4x4x2 rgg:32,shuffle=1 by=umpa-mc",
    "default mmc torus:4x4x2 rgg:32,shuffle=1 by=umpa-mmc",
    "default hop-bytes tree:4:6@1:10 stencil:6x4 by=grid-rows",
    "default hop-bytes tree:4:6@1:10 stencil:6x4 by=nodecart",
    "default hop-bytes tree:4:3:2@1:10:100 stencil:6x4 by=hyperplane",
    "default hop-bytes tree:4:6@1:10 stencil:6x4 slots=1:24 by=kd-tree",
    "default hop-bytes tree:5:5@1:10 torus:5x5 by=stencil-strips",
    "default hop-bytes tree:4:4:4@1:10:100 rgg:64,shuffle=1 by=topomatch",
];

/// Launches, one a line. The words are: the topology, the pattern of the traffic, the distribution of the
/// processes over the nodes (`blocks` or `round-robin`), and the number of processes on each node.
const LAUNCHES: &[&str] = &[
    "tree:4:2:2@1:10:100 rgg:16,shuffle=1 blocks 8",
    "tree:2:2:4@1:10:100 stencil:4x4 round-robin 4",
    "tree:2:4:4@1:10:100 spmv:32,shuffle=2 blocks 8",
    "torus:4x4 lu:16,shuffle=1 blocks 1",
];

/// Topologies whose distances and routes are pinned.
const TOPOLOGIES: &[&str] = &[
    "tree:2:16:2@1:10:100",
    "torus:4x3x2",
    "mesh:5x3",
    "hypercube:4",
    "dragonfly:5x4x2",
    "fattree:4:4:4",
];

fn digest(numbers: impl IntoIterator<Item = u64>) -> u64 {
    Signature::new().words(numbers).value()
}

/// A traffic matrix with every edge in both directions, or in one.
fn traffic(graph: &Graph, one_way: bool) -> SparseMatrix {
    let entries: Vec<(u32, u32, Traffic)> = (0..graph.vertices() as u32)
        .flat_map(|v| graph.arcs(v as usize).map(move |(t, bytes)| (v, t, bytes)))
        .filter(|&(v, t, _)| !one_way || (v < t) == ((v + t) % 3 > 0))
        .map(|(v, t, bytes)| (v, t, Traffic { bytes, messages: 1 }))
        .collect();
    SparseMatrix::from_entries(graph.vertices(), &entries)
}

fn extents(text: &str) -> Vec<usize> {
    text.split('x').map(|d| d.parse().unwrap()).collect()
}

/// Costs by all metrics, and the digest of the permutation.
fn line(matrix: &SparseMatrix, topology: &dyn Topology, slots: &[usize]) -> String {
    let e = metrics::evaluate(matrix, topology, slots).unwrap();
    let real = |value: Option<f64>| value.map_or(String::from("-"), |v| format!("{v:.6e}"));
    let mmc = e.mmc.map_or(String::from("-"), |v| v.to_string());
    let permutation = digest(slots.iter().map(|&s| s as u64));
    format!(
        "{} {} {} {} {mmc} {} {permutation:016x}",
        e.hop_bytes,
        e.total_hops,
        e.max_com,
        real(e.mc),
        real(e.predicted_time)
    )
}

fn pair(text: &str) -> (usize, usize) {
    let (a, b) = text.split_once(':').unwrap();
    (a.parse().unwrap(), b.parse().unwrap())
}

/// The answer to a line of [`MAPPINGS`], with the candidate that was chosen.
fn mapping(question: &str) -> String {
    let words: Vec<&str> = question.split(' ').collect();
    let (topology, graph) = (parse(words[2]).unwrap(), pattern(words[3]).unwrap());
    let matrix = traffic(&graph, words.contains(&"sent"));
    let mut builder = Problem::builder(&graph, topology.as_ref())
        .preset(words[0].parse().unwrap())
        .objective(words[1].parse::<Objective>().unwrap())
        .traffic(&matrix);
    let mut algorithm = "auto";
    for (name, value) in words[4..].iter().filter_map(|word| word.split_once('=')) {
        builder = match name {
            "fix" => builder.fix(pair(value).0 as u32, pair(value).1),
            "slots" => {
                let (step, count) = pair(value);
                let slots: Vec<usize> = (0..count).map(|k| k * step % topology.slots()).collect();
                builder.slots(&slots)
            }
            "grid" => {
                let dims = extents(value);
                builder.task_grid(TaskGrid::new(&dims, &vec![false; dims.len()]))
            }
            _ => {
                algorithm = value;
                builder
            }
        };
    }
    let problem = builder.build().unwrap();
    let mapper = by_name(algorithm).unwrap();
    let outcome: Outcome = mapper.map(&problem, &mut Budget::unlimited()).unwrap();
    problem.check(&outcome.slot_of_task).unwrap();
    let chosen = outcome.diagnostics.iter().find(|(what, _)| *what == "chosen");
    let chosen = chosen.map_or(algorithm, |(_, name)| name.as_str());
    format!("{}\t{chosen}", line(&matrix, topology.as_ref(), &outcome.slot_of_task))
}

/// The answers to a line of [`LAUNCHES`]: decided at once, and in two phases.
fn launch(question: &str) -> String {
    let words: Vec<&str> = question.split(' ').collect();
    let (topology, graph) = (parse(words[0]).unwrap(), pattern(words[1]).unwrap());
    let (tasks, size): (usize, usize) = (graph.vertices(), words[3].parse().unwrap());
    let nodes = tasks / size;
    let slot = |k: usize| match words[2] {
        "blocks" => k,
        _ => k % nodes * size + k / nodes,
    };
    let slots: Vec<usize> = (0..tasks).map(slot).collect();
    let matrix = CommMatrix::from_point_to_point(traffic(&graph, true));
    let options = Options { time_limit: Duration::from_secs(600), ..Options::default() };
    let at_once = decide(&matrix, topology.as_ref(), &slots, &options).unwrap();
    let of = |order: &[u32]| digest(order.iter().map(|&p| u64::from(p)));
    let mut answer = format!(
        "{} {} {:016x}",
        at_once.cost_before,
        at_once.cost_after,
        of(&at_once.process_of_task)
    );
    let node_of: Vec<u32> = slots.iter().map(|&s| (s / size) as u32).collect();
    let preset = super::preset_for(tasks);
    let affinity = matrix.affinity();
    let network = Network::new(affinity, topology.as_ref(), &slots, &node_of, &[0], preset);
    if let Some(network) = network {
        let limit = Duration::from_secs(600);
        let found = network.search(2, limit).unwrap();
        let parts = network.parts(&found, topology.as_ref(), &slots, 1);
        let placed: Vec<_> = parts.map(|part| part.place(limit).unwrap()).collect();
        let order = network.joined(placed.iter().map(Vec::as_slice)).unwrap();
        let question = Question {
            graph: network.graph(),
            traffic: None,
            timed: None,
            topology: topology.as_ref(),
            slot_of_process: &slots,
            options: &options,
        };
        let judged = question.judge(order).unwrap();
        let permutation = of(&judged.process_of_task);
        write!(answer, " {} {} {permutation:016x}", found.cost, judged.cost_after).unwrap();
    }
    answer
}

/// A digest of all distances and routes of a topology.
fn machine(spec: &str) -> String {
    let topology = parse(spec).unwrap();
    let n = topology.slots();
    let mut numbers = Vec::new();
    for a in 0..n {
        for b in 0..n {
            numbers.push(topology.distance(a, b));
            if let Some(network) = topology.network() {
                network.route(a, b, &mut |link| {
                    numbers.push(link as u64);
                    numbers.push(network.bandwidth(link).to_bits());
                });
            }
        }
    }
    format!("{n} {:016x}", digest(numbers))
}

/// All questions with their answers, one a line.
fn answers() -> String {
    let mut text = String::new();
    for question in MAPPINGS {
        writeln!(text, "mapping\t{question}\t{}", mapping(question)).unwrap();
    }
    for question in LAUNCHES {
        writeln!(text, "launch\t{question}\t{}", launch(question)).unwrap();
    }
    for spec in TOPOLOGIES {
        writeln!(text, "topology\t{spec}\t{}", machine(spec)).unwrap();
    }
    text
}

/// The file that the answers are in.
const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/decide/pinned_answers.txt");

/// How the engine gets its version from wanted answers.
const REWRITE: &str = "cargo test -p rankweave --lib decide::pinned_answers::rewrite -- --ignored";

/// The answers that the first version stands for: it was made from the sources of its time.
const FIRST: (&str, &str) = ("59810c39879028b3", "772957fe240a82eb");

/// The digest of all answers.
fn digest_of(answers: &str) -> String {
    format!("{:016x}", Signature::new().bytes(answers.as_bytes()).value())
}

/// True if this version of the engine stands for answers of this digest.
fn belongs(version: &str, digest: &str) -> bool {
    if version == FIRST.0 { digest == FIRST.1 } else { version == digest }
}

#[test]
fn answers_are_those_of_the_engines_version() {
    let kept = std::fs::read_to_string(FILE).unwrap();
    generators::take();
    let answers = answers();
    let (asked, all) = (generators::take(), generators::names());
    // The order of the launcher is offered only if there is nothing else, and always compared with.
    let missed: Vec<&str> = all
        .into_iter()
        .filter(|name| !asked.contains(name) && *name != "given order, refined")
        .collect();
    assert!(missed.is_empty(), "no question makes these generators offer a candidate: {missed:?}");
    let changed: Vec<&str> =
        answers.lines().filter(|line| !kept.lines().any(|old| old == *line)).collect();
    assert!(
        answers == kept,
        "the mapping engine answers these questions differently than before:\n{}\n\
         If that is wanted, every permutation that sites have kept has to be discarded: run\n  \
         {REWRITE}\nwhich gives the engine a new version and writes {FILE}.",
        changed.join("\n")
    );
    assert!(
        belongs(ENGINE_VERSION, &digest_of(&kept)),
        "{FILE} does not belong to version {ENGINE_VERSION} of the engine: run\n  {REWRITE}"
    );
}

#[test]
fn changed_answers_need_a_new_version() {
    assert!(belongs(FIRST.0, FIRST.1) && !belongs(FIRST.0, "0123456789abcdef"));
    assert!(belongs("0123456789abcdef", "0123456789abcdef"));
    assert!(!belongs("0123456789abcdef", "0123456789abcdee"));
    assert_ne!(digest_of("mapping\ta\t1\n"), digest_of("mapping\ta\t2\n"));
}

#[test]
#[ignore = "writes the answers and the version of the engine anew"]
fn rewrite() {
    let answers = answers();
    std::fs::write(FILE, &answers).unwrap();
    let digest = digest_of(&answers);
    if !belongs(ENGINE_VERSION, &digest) {
        let version = if digest == FIRST.1 { FIRST.0.to_owned() } else { digest };
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/src/decide/engine_version.rs");
        let source = std::fs::read_to_string(file).unwrap();
        std::fs::write(file, source.replace(ENGINE_VERSION, &version)).unwrap();
    }
}
