//! Measures the mapping engine on made-up patterns; `benches/mapping/run` drives it.
//!
//!     bench_mapping gen PATTERN FILE            writes a pattern as a METIS graph
//!     bench_mapping map PRESET SEED TOPOLOGY PATTERN [ALGORITHM] [MAPPING]
//!
//! `map` prints one tab-separated line: pattern, topology, preset, cost, cost of the given order,
//! CPU seconds, peak resident MiB, how the answer came about. TOPOLOGY is `tree:4:8:8@1:10:100`,
//! `torus:8x8x8` or `mesh:8x8`, with `/N` appended for a compact random choice of N slots.

use rankweave::base::random::SplitMix64;
use rankweave::mapping::{Budget, Preset, Problem, by_name};
use rankweave::matrix::synthetic::pattern;
use rankweave::topology::{Grid, Topology, Tree};
use std::fmt::Write as _;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["gen", text, file] => generate(text, file),
        ["map", preset, seed, topology, text, rest @ ..] => map(preset, seed, topology, text, rest),
        _ => Err("usage: bench_mapping gen PATTERN FILE | map PRESET SEED TOPOLOGY PATTERN".into()),
    }
}

fn generate(text: &str, file: &str) -> Result<(), Box<dyn std::error::Error>> {
    let graph = pattern(text)?;
    let mut out = format!("{} {} 1\n", graph.vertices(), graph.edges());
    for v in 0..graph.vertices() {
        for (k, (t, w)) in graph.arcs(v).enumerate() {
            write!(out, "{}{} {w}", if k > 0 { " " } else { "" }, t + 1)?;
        }
        out.push('\n');
    }
    std::fs::write(file, out)?;
    Ok(())
}

fn numbers<T: std::str::FromStr>(text: &str, by: char) -> Option<Vec<T>> {
    text.split(by).map(|t| t.parse().ok()).collect()
}

fn topology(text: &str) -> Option<Box<dyn Topology>> {
    let (kind, rest) = text.split_once(':')?;
    match kind {
        "tree" => {
            let (arity, costs) = rest.split_once('@')?;
            let mut arity: Vec<usize> = numbers(arity, ':')?;
            let mut costs: Vec<u64> = numbers(costs, ':')?;
            arity.reverse();
            costs.reverse();
            Some(Box::new(Tree::regular(&arity, &costs)?))
        }
        "torus" => Some(Box::new(Grid::torus(&numbers::<usize>(rest, 'x')?)?)),
        "mesh" => Some(Box::new(Grid::mesh(&numbers::<usize>(rest, 'x')?)?)),
        _ => None,
    }
}

/// A random choice of slots, as a busy machine leaves them.
fn some_slots(all: usize, wanted: usize) -> Vec<usize> {
    let mut random = SplitMix64::new(0);
    let mut order: Vec<(u64, usize)> = (0..all).map(|s| (random.next_u64(), s)).collect();
    order.sort_unstable();
    let mut slots: Vec<usize> = order[..wanted].iter().map(|&(_, s)| s).collect();
    slots.sort_unstable();
    slots
}

/// Seconds of processor time that this process has used.
fn cpu_seconds() -> f64 {
    rankweave::base::clock::cpu_time().as_secs_f64()
}

fn peak_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|l| l.starts_with("VmHWM:")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|k| k.parse::<u64>().ok()).unwrap_or(0) / 1024
}

fn map(
    preset: &str,
    seed: &str,
    topology_text: &str,
    text: &str,
    rest: &[&str],
) -> Result<(), Box<dyn std::error::Error>> {
    let graph = pattern(text)?;
    let (spec, wanted) = match topology_text.split_once('/') {
        Some((spec, n)) => (spec, Some(n.parse::<usize>()?)),
        None => (topology_text, None),
    };
    let machine = topology(spec).ok_or("bad topology")?;
    let preset: Preset = preset.parse()?;
    let mut builder = Problem::builder(&graph, machine.as_ref()).preset(preset).seed(seed.parse()?);
    if let Some(n) = wanted {
        builder = builder.slots(&some_slots(machine.slots(), n));
    }
    let problem = builder.build()?;
    let given = by_name("identity")?.map(&problem, &mut Budget::unlimited())?.hop_bytes;
    let threads = std::env::var("THREADS").ok().and_then(|t| t.parse().ok()).unwrap_or(1);
    let start = (cpu_seconds(), std::time::Instant::now());
    let mut budget = Budget::unlimited().with_threads(threads);
    let outcome = by_name(rest.first().unwrap_or(&"auto"))?.map(&problem, &mut budget)?;
    let seconds = cpu_seconds() - start.0;
    let wall = start.1.elapsed().as_secs_f64();
    problem.check(&outcome.slot_of_task)?;
    if let Some(file) = rest.get(1) {
        let lines: Vec<String> = outcome.slot_of_task.iter().map(usize::to_string).collect();
        std::fs::write(file, lines.join("\n") + "\n")?;
    }
    let notes: Vec<&str> = outcome.diagnostics.iter().map(|(_, v)| v.as_str()).collect();
    println!(
        "{text}\t{topology_text}\t{}\t{}\t{}\t{seconds:.4}\t{wall:.4}\t{}\t{}",
        preset.name(),
        outcome.hop_bytes,
        given,
        peak_mib(),
        notes.join("; ")
    );
    Ok(())
}
