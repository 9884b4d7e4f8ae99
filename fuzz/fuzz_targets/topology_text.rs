//! Topologies of a line, CPU sets and lists of slots: any text gives one or an error, and what it gives
//! has distances that agree both ways.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rankweave::options::Settings;
use rankweave::topology::{CpuSet, parse};

fuzz_target!(|text: &str| {
    let _ = CpuSet::from_hwloc(text);
    let _ = CpuSet::from_list(text);
    for name in ["slots", "kinds", "fix", "min-gain"] {
        let _ = Settings::default().set(name, text);
    }
    // Kinds that read files are the business of `topology_file`.
    let kind = text.trim().split(':').next().unwrap_or("");
    let line = ["tree", "torus", "mesh", "hypercube", "dragonfly", "fattree", "hwloc-synthetic"];
    if !line.contains(&kind) && !kind.starts_with(|c: char| c.is_ascii_digit()) {
        return;
    }
    // Millions of slots are right, and only take time.
    let numbers = text.split(|c: char| !c.is_ascii_digit()).filter_map(|n| n.parse::<u64>().ok());
    if numbers.fold(1, |product: u64, n| product.saturating_mul(n.max(1))) > 1 << 20 {
        return;
    }
    let Ok(topology) = parse(text) else { return };
    let slots = topology.slots();
    assert!(slots > 0);
    for a in [0, slots / 3, slots - 1] {
        assert_eq!(topology.distance(a, a), 0);
        for b in [0, slots / 2, slots - 1] {
            assert_eq!(topology.distance(a, b), topology.distance(b, a));
        }
    }
});
