//! The cost and the time of mappings of many tasks with loads on few slots.
//!
//!     cargo bench --bench weights [-- PRESET]
//!
//! Prints a line for each pattern and topology: the hop-bytes, the largest load of a slot over the mean load, and CPU
//! seconds of one thread, then the exponent of the time over the number of tasks.

use rankweave::mapping::{Budget, Loads, Preset, Problem, by_name, map_with_loads};
use rankweave::matrix::synthetic::pattern;
use rankweave::metrics::hop_bytes;
use rankweave::topology::parse;

/// Pattern and topology.
const INSTANCES: [(&str, &str); 12] = [
    ("rgg:4096,shuffle=1", "tree:4:16@1:10"),
    ("rgg:8192,shuffle=1", "tree:4:16@1:10"),
    ("rgg:16384,shuffle=1", "tree:4:16@1:10"),
    ("rgg:32768,shuffle=1", "tree:4:16@1:10"),
    ("rgg:32768,shuffle=1", "torus:8x8"),
    ("stencil:128x128,shuffle=1", "tree:4:16@1:10"),
    ("stencil:32x32x32,shuffle=1", "torus:4x4x4"),
    ("spmv:16384,shuffle=1", "torus:8x8"),
    ("powerlaw:8192,shuffle=1", "tree:4:16@1:10"),
    ("stencil27:16x16x16,shuffle=1", "dragonfly:8x4x2"),
    ("rgg:32768,shuffle=1", "tree:16:4:16@1:10:100"),
    ("stencil:96x96", "mesh:8x8"),
];

/// Loads of 1 to 20, the same as in the table of docs/benchmarks.md.
fn loads(tasks: usize) -> Vec<u64> {
    (0..tasks as u64).map(|task| 1 + (task.wrapping_mul(2_654_435_761) >> 7) % 20).collect()
}

/// Seconds of processor time that this process has used.
fn cpu_seconds() -> f64 {
    rankweave::base::clock::cpu_time().as_secs_f64()
}

/// Writes each pattern as a METIS graph, with its loads beside it.
fn write(folder: &str) -> Result<(), Box<dyn std::error::Error>> {
    for (text, _) in INSTANCES {
        let graph = pattern(text)?;
        let name = text.replace([':', ',', '='], "-");
        let mut lines = vec![format!("{} {} 1", graph.vertices(), graph.edges())];
        lines.extend((0..graph.vertices()).map(|v| {
            let arcs: Vec<String> = graph.arcs(v).map(|(t, w)| format!("{} {w}", t + 1)).collect();
            arcs.join(" ")
        }));
        std::fs::write(format!("{folder}/{name}.graph"), lines.join("\n") + "\n")?;
        let lines: Vec<String> = loads(graph.vertices()).iter().map(u64::to_string).collect();
        std::fs::write(format!("{folder}/{name}.loads"), lines.join("\n") + "\n")?;
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> =
        std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    // With `write FOLDER`, graphs and loads are written for other tools.
    if let [word, folder] = words.as_slice()
        && word == "write"
    {
        return write(folder);
    }
    let preset: Preset = words.first().map_or(Ok(Preset::Default), |name| name.parse())?;
    println!(
        "| pattern | topology | hop-bytes | largest over mean load | CPU s |\n|---|---|---:|---:|---:|"
    );
    let mut times = Vec::new();
    for (text, machine) in INSTANCES {
        let (graph, topology) = (pattern(text)?, parse(machine)?);
        let loads = Loads::new(loads(graph.vertices()), 0.03)?;
        let builder = Problem::builder(&graph, topology.as_ref()).preset(preset);
        let before = cpu_seconds();
        let answer = map_with_loads(builder, &loads, by_name("auto")?, &mut Budget::unlimited())?;
        let seconds = cpu_seconds() - before;
        let cost = hop_bytes(&graph, topology.as_ref(), &answer.slot_of_task);
        let of_slots = loads.of_slots(topology.slots(), &answer.slot_of_task);
        let most = of_slots.into_iter().max().unwrap_or(0) as f64;
        let mean = loads.total() as f64 / topology.slots() as f64;
        println!("| `{text}` | `{machine}` | {cost} | {:.3} | {seconds:.2} |", most / mean);
        if text.starts_with("rgg") && machine == INSTANCES[0].1 {
            times.push((graph.vertices() as f64, seconds));
        }
    }
    if let (Some(first), Some(last)) = (times.first(), times.last()) {
        let exponent = (last.1 / first.1).ln() / (last.0 / first.0).ln();
        println!("\nThe time grows with the power {exponent:.2} of the number of tasks.");
    }
    Ok(())
}
