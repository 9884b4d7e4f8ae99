//! What a launch on a known network costs before its ranks are mapped: one process on each host, hosts in a
//! scattered order, as batch systems give them.

use rankweave::topology::{NetworkGraph, Processes, Topology, on_network, parse};
use std::sync::Arc;
use std::time::Instant;

/// Networks that are no tree, with this many hosts or more.
const NETWORKS: [(&str, usize); 5] = [
    ("torus:8x8x16", 1024),
    ("torus:16x32x32", 16_384),
    ("dragonfly:257x16x8", 16_384),
    ("ring of 512 switches with 32 hosts each", 16_384),
    ("torus of 1024 switches with 4 hosts each", 4096),
];

/// The largest resident memory since the last call of [`forget_peak`], in bytes.
fn peak() -> usize {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with("VmHWM:")).unwrap_or_default();
    let kib = line.split_whitespace().nth(1).and_then(|word| word.parse::<usize>().ok());
    kib.unwrap_or(0) << 10
}

/// Lets the peak begin again at the present memory. Without the right to do so, peaks only grow.
fn forget_peak() {
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}

/// Hosts below switches that are points of a torus. Messages do not pass through hosts.
fn torus_of_switches(dims: &[usize], hosts_each: usize) -> Option<Arc<dyn Topology>> {
    let switches: usize = dims.iter().product();
    let hosts = switches * hosts_each;
    let mut links: Vec<(u32, u32, f64)> =
        (0..hosts).map(|host| (host as u32, (hosts + host / hosts_each) as u32, 1.0)).collect();
    let mut stride = 1;
    for &points in dims {
        for switch in 0..switches {
            let x = switch / stride % points;
            let next = switch - x * stride + (x + 1) % points * stride;
            links.push(((hosts + switch) as u32, (hosts + next) as u32, 1.0));
        }
        stride *= points;
    }
    let graph = NetworkGraph::new(hosts, hosts + switches, &links, "graph".into());
    Some(Arc::new(graph.ok()?))
}

fn network(name: &str) -> Option<Arc<dyn Topology>> {
    match name {
        name if name.starts_with("ring") => torus_of_switches(&[512], 32),
        name if name.starts_with("torus of") => torus_of_switches(&[32, 32], 4),
        _ => Some(parse(name).ok()?.into()),
    }
}

fn row(name: &str, nodes: usize) {
    let Some(network) = network(name) else { return println!("{name}: no such network") };
    // An odd factor visits all numbers below a power of two once.
    let step = network.slots() / nodes;
    let hosts: Vec<Option<usize>> =
        (0..nodes).map(|node| Some(node * 5_003 % nodes * step)).collect();
    let processes = Processes {
        node_of_process: &(0..nodes as u32).collect::<Vec<u32>>(),
        place_of_process: &[],
        level_costs: &[100],
    };
    forget_peak();
    let before = peak();
    let start = Instant::now();
    let topology = match on_network(&network, &hosts, processes) {
        Ok(topology) => topology,
        Err(error) => return println!("{name}: {error}"),
    };
    let seconds = start.elapsed().as_secs_f64();
    let mebibytes = peak().saturating_sub(before) as f64 / f64::from(1 << 20);
    let pairs = super::pairs(nodes, 200_000);
    let distance =
        super::time(pairs.len(), || pairs.iter().map(|&(a, b)| topology.distance(a, b)).sum());
    println!("{name} | {nodes} | {seconds:.3} | {mebibytes:.1} | {distance:.1}");
}

/// One line for each network.
pub fn rows() {
    println!("network of a launch | nodes | s to build | MiB more at the peak | ns per distance");
    for (name, nodes) in NETWORKS {
        row(name, nodes);
    }
}
