//! What a distance and a route cost, and how much memory a topology takes.
//!
//! `cargo bench --bench topology`: nanoseconds of CPU per random distance and per link of a random
//! route, bytes per slot after all of that. Then the seconds to read fabric files of 10 016 hosts.
//! `cargo bench --bench topology -- fabric 4` reads one file of a fabric with 4 rails, once.
//! `cargo bench --bench topology -- launch`: seconds and memory for the topology of a launch on networks that are no
//! trees.

mod fabric;
mod launch;

use rankweave::topology::{Topology, parse, read_fabric};
use std::hint::black_box;
use std::time::Instant;

/// Resident memory of this process.
fn resident() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = text.split_whitespace().nth(1).and_then(|word| word.parse::<usize>().ok());
    pages.unwrap_or(0) * 4096
}

/// Pairs of slots in a random order.
fn pairs(slots: usize, count: usize) -> Vec<(usize, usize)> {
    let mut state = 1u64;
    let mut next = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % slots
    };
    (0..count).map(|_| (next(), next())).collect()
}

/// Lowest time of a few runs, in nanoseconds per item.
fn time(items: usize, mut run: impl FnMut() -> u64) -> f64 {
    let once = |run: &mut dyn FnMut() -> u64| {
        let start = Instant::now();
        black_box(run());
        start.elapsed().as_nanos() as f64
    };
    (0..7).map(|_| once(&mut run)).fold(f64::INFINITY, f64::min) / items.max(1) as f64
}

fn row(spec: &str) {
    let before = resident();
    let start = Instant::now();
    let topology = match parse(spec) {
        Ok(topology) => topology,
        Err(error) => return println!("{spec}: {error}"),
    };
    let built = start.elapsed().as_secs_f64();
    let pairs = pairs(topology.slots(), 200_000);
    let t: &dyn Topology = topology.as_ref();
    let distance = time(pairs.len(), || pairs.iter().map(|&(a, b)| t.distance(a, b)).sum());
    let mut links = 0usize;
    let route = t.network().map(|network| {
        for &(a, b) in &pairs[..2000] {
            network.route(a, b, &mut |_| links += 1);
        }
        time(links, || {
            let mut sum = 0u64;
            for &(a, b) in &pairs[..2000] {
                network.route(a, b, &mut |link| sum += link as u64);
            }
            sum
        })
    });
    println!(
        "{spec} | {} | {built:.3} | {distance:.1} | {} | {:.1}",
        t.slots(),
        route.map_or(String::from("-"), |ns| format!("{ns:.1}")),
        resident().saturating_sub(before) as f64 / t.slots() as f64
    );
}

/// The hosts of the fabric files.
const HOSTS: usize = 10_016;

/// CPU seconds of this process so far.
fn cpu() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a structure to be filled.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    time.tv_sec as f64 + 1e-9 * time.tv_nsec as f64
}

/// The lowest time of a few runs to read the file of a fabric: in seconds, in CPU seconds, and the size in MB.
fn read(rails: usize, runs: usize) -> std::io::Result<[f64; 3]> {
    let name = format!("rankweave-bench-fabric-{}.txt", std::process::id());
    let path = std::env::temp_dir().join(name);
    let text = fabric::text(HOSTS, rails);
    std::fs::write(&path, &text)?;
    let once = || {
        let (start, before) = (Instant::now(), cpu());
        match read_fabric(&path.display().to_string()) {
            Ok(topology) => assert_eq!(topology.slots(), HOSTS),
            Err(error) => println!("{error}"),
        }
        [start.elapsed().as_secs_f64(), cpu() - before]
    };
    let least = |a: [f64; 2], b: [f64; 2]| [a[0].min(b[0]), a[1].min(b[1])];
    let [seconds, on_cpu] = (0..runs).map(|_| once()).fold([f64::INFINITY; 2], least);
    std::fs::remove_file(&path)?;
    Ok([seconds, on_cpu, text.len() as f64 / 1e6])
}

fn fabrics(rails: &[usize], runs: usize) {
    println!("fabric file | hosts | rails | MB | s to read | s of CPU");
    for &rails in rails {
        match read(rails, runs) {
            Ok([seconds, on_cpu, size]) => {
                println!(
                    "ibnetdiscover | {HOSTS} | {rails} | {size:.1} | {seconds:.3} | {on_cpu:.3}"
                );
            }
            Err(error) => println!("ibnetdiscover: {error}"),
        }
    }
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let Some(at) = words.iter().position(|word| word == "fabric") {
        let rails = words.get(at + 1).and_then(|word| word.parse().ok()).unwrap_or(4);
        return fabrics(&[rails], 1);
    }
    if words.iter().any(|word| word == "launch") {
        return launch::rows();
    }
    println!(
        "topology | slots | s to build | ns per distance | ns per link of a route | bytes per slot"
    );
    for spec in [
        "tree:4:16:16:32@1:10:100:1000",
        "tree:3:5:7:11:13",
        "tree:4:16:64:64:4",
        "torus:16x16x16",
        "torus:64x64x64",
        "mesh:8x8x8x8x8",
        "hypercube:18",
        "dragonfly:257x16x8",
        "fattree:k=64",
    ] {
        row(spec);
    }
    let path = std::env::temp_dir().join(format!("rankweave-bench-{}.graph", std::process::id()));
    let n = 64usize;
    let mut text = format!("{} {}\n", n * n, 2 * n * n);
    for v in 0..n * n {
        let (x, y) = (v / n, v % n);
        let near = [(x + 1, y), (x + n - 1, y), (x, y + 1), (x, y + n - 1)];
        let near = near.map(|(x, y)| (x % n * n + y % n + 1).to_string());
        text.push_str(&format!("{}\n", near.join(" ")));
    }
    if std::fs::write(&path, text).is_ok() {
        row(&format!("graph:{}", path.display()));
        let _ = std::fs::remove_file(path);
    }
    println!();
    launch::rows();
    println!();
    fabrics(&[1, 4, 8], 7);
}
