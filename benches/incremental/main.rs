//! What it costs to adapt a mapping to traffic that changed a little, compared with a new search.
//!
//!     cargo bench --bench incremental                     the table of docs/benchmarks.md
//!     cargo bench --bench incremental -- PRESET TOPOLOGY PATTERN [PERCENT [SEEDS]]
//!
//! Each pattern is mapped, then a part of its edges changes (1 percent unless given), and the mapping is adapted (without
//! a price for moves). It is compared with a new search for the changed pattern, with the same preset and seed, and with the
//! better one of this search and of the mapping as it was: a new search may find a mapping that is worse than the old one.
//! Searches with other seeds differ by some percent, so the figures are means of several seeds, each with other changes;
//! those of costs are geometric means, and the largest is given as well. If `adapt` refuses, so that a new search is
//! needed, this search counts for the adaptation, with its cost and its seconds.
//! The seconds are CPU seconds of one thread. No adaptation can take less than it takes to compare both patterns and to
//! evaluate one mapping; the column "floor" has the seconds of these two. The kinds of change:
//!
//! * `weights`: each edge in question gets one of the weights 1 to 4 times its own;
//! * `near`: one end of each edge in question moves to a neighbour of that end, as in meshes that are refined;
//! * `far`: one end of each edge in question moves to any task.

use rankweave::base::random::SplitMix64;
use rankweave::mapping::{Basis, Budget, Preset, Previous, Problem, adapt, by_name};
use rankweave::matrix::moved_edges::{MovedTo, with_moved_edges};
use rankweave::matrix::synthetic::pattern;
use rankweave::matrix::{Graph, difference};
use rankweave::metrics::hop_bytes;
use rankweave::topology::{Topology, parse};

type Failure = Box<dyn std::error::Error>;

/// Topology and pattern.
const CASES: [(&str, &str); 4] = [
    ("tree:4:16:64:64@1:10:100:1000", "rgg:262144,shuffle=1"),
    ("tree:4:16:64:64@1:10:100:1000", "stencil:64x64x64,shuffle=1"),
    ("torus:16x32x32", "rgg:16384,shuffle=1"),
    ("torus:16x32x32", "stencil:128x128,shuffle=1"),
];

/// Searches for each kind of change, unless given.
const SEEDS: u64 = 3;

const CHANGES: [&str; 3] = ["weights", "near", "far"];

/// Seconds of processor time that this process has used.
fn cpu_seconds() -> f64 {
    rankweave::base::clock::cpu_time().as_secs_f64()
}

/// The graph with a part of its edges changed.
fn changed(graph: &Graph, kind: &str, part: f64, seed: u64) -> Graph {
    match kind {
        "near" => return with_moved_edges(graph, part, MovedTo::Neighbour, seed),
        "far" => return with_moved_edges(graph, part, MovedTo::Anywhere, seed),
        _ => {}
    }
    let mut random = SplitMix64::new(16 + seed);
    let mut edges: Vec<(u32, u32, u64)> = Vec::with_capacity(graph.edges());
    for v in 0..graph.vertices() {
        for (u, weight) in graph.arcs(v).filter(|&(u, _)| u as usize > v) {
            let is_same = random.unit() >= part;
            let factor = if is_same { 1 } else { 1 + random.below(4) as u64 };
            edges.push((v as u32, u, weight * factor));
        }
    }
    Graph::from_edges(graph.vertices(), &edges)
}

/// Means over the seeds of one kind of change.
#[derive(Default)]
struct Means {
    /// Logarithms of costs over those of the new search: of the previous mapping, and of the adapted one.
    previous: f64,
    adapted: f64,
    /// Logarithms of the cost of the adapted mapping over that of the better one of new search and previous mapping: the
    /// sum and the largest.
    judged: f64,
    worst: f64,
    /// CPU seconds of the new search, of the adaptation, and of its two unavoidable parts.
    search: f64,
    needed: f64,
    floor: f64,
    moved: f64,
    refused: usize,
}

fn build<'a>(
    graph: &'a Graph,
    topology: &'a dyn Topology,
    preset: Preset,
    seed: u64,
) -> Result<Problem<'a>, Failure> {
    Ok(Problem::builder(graph, topology).preset(preset).seed(seed).build()?)
}

fn measure(preset: &str, machine: &str, text: &str, part: f64, seeds: u64) -> Result<(), Failure> {
    let preset: Preset = preset.parse()?;
    let (before, topology, auto) = (pattern(text)?, parse(machine)?, by_name("auto")?);
    let topology = topology.as_ref();
    let search = |graph: &Graph, seed| -> Result<(Vec<usize>, f64), Failure> {
        let problem = build(graph, topology, preset, seed)?;
        let begin = cpu_seconds();
        let answer = auto.map(&problem, &mut Budget::unlimited())?;
        Ok((answer.slot_of_task, cpu_seconds() - begin))
    };
    let first: Vec<_> =
        (1..=seeds).map(|seed| search(&before, seed)).collect::<Result<_, Failure>>()?;
    for kind in CHANGES {
        let mut sum = Means { worst: f64::NEG_INFINITY, ..Means::default() };
        for (seed, (slot_of_task, _)) in (1..).zip(&first) {
            let after = changed(&before, kind, part, seed);
            let cost = |slots: &[usize]| hop_bytes(&after, topology, slots) as f64;
            let (anew, seconds) = search(&after, seed)?;
            let previous = Previous { slot_of_task: slot_of_task.clone(), migration_cost: 0 };
            let problem = build(&after, topology, preset, seed)?;
            let begin = cpu_seconds();
            let adapted = adapt(&problem, &previous, Basis::Graph(&before), &Budget::unlimited());
            sum.needed += cpu_seconds() - begin;
            sum.search += seconds;
            let begin = cpu_seconds();
            std::hint::black_box((difference(&after, &before), cost(slot_of_task)));
            sum.floor += cpu_seconds() - begin;
            let (cost_anew, cost_previous) = (cost(&anew), cost(slot_of_task));
            let cost_adapted = match adapted {
                Some(answer) => {
                    sum.moved += answer.moved as f64;
                    cost(&answer.outcome.slot_of_task)
                }
                None => {
                    sum.refused += 1;
                    sum.needed += seconds;
                    cost_anew
                }
            };
            let judged = (cost_adapted / cost_anew.min(cost_previous)).ln();
            sum.previous += (cost_previous / cost_anew).ln();
            sum.adapted += (cost_adapted / cost_anew).ln();
            sum.judged += judged;
            sum.worst = sum.worst.max(judged);
        }
        let mean = |sum: f64| sum / seeds as f64;
        let anew = if sum.refused > 0 { format!(", {} anew", sum.refused) } else { String::new() };
        println!(
            "| {text} | {machine} | {} | {kind} | {:.4} | {:.4}{anew} | {:.4}, {:.4} | {:.2} | {:.3} | {:.3} | {:.3} | {:.0} |",
            preset.name(),
            mean(sum.previous).exp(),
            mean(sum.adapted).exp(),
            mean(sum.judged).exp(),
            sum.worst.exp(),
            mean(sum.search),
            mean(sum.needed),
            mean(sum.floor),
            sum.needed / sum.search,
            mean(sum.moved),
        );
    }
    Ok(())
}

fn main() -> Result<(), Failure> {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    println!(
        "| pattern | topology | preset | change | previous mapping / new search | adapted / new search | adapted / better of both, worst | CPU s, search | CPU s, adapted | CPU s, floor | ratio | moved |"
    );
    println!("|---|---|---|---|---:|---:|---:|---:|---:|---:|---:|---:|");
    if let [preset, machine, text, rest @ ..] = words.as_slice() {
        let percent: f64 = rest.first().map_or(Ok(1.0), |p| p.parse())?;
        let seeds: u64 = rest.get(1).map_or(Ok(SEEDS), |seeds| seeds.parse())?.max(1);
        return measure(preset, machine, text, percent / 100.0, seeds);
    }
    for (machine, text) in CASES {
        for preset in ["fast", "default"] {
            measure(preset, machine, text, 0.01, SEEDS)?;
        }
    }
    Ok(())
}
