//! Every kind of topology file survives any content; the first byte chooses the kind.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rankweave::topology::{DistanceMatrix, Machine, parse};
use std::path::PathBuf;
use std::sync::LazyLock;

static FILE: LazyLock<PathBuf> =
    LazyLock::new(|| std::env::temp_dir().join(format!("rankweave-fuzz-{}", std::process::id())));

fuzz_target!(|bytes: &[u8]| {
    let Some((kind, content)) = bytes.split_first() else { return };
    if let Ok(text) = std::str::from_utf8(content) {
        let _ = Machine::from_hwloc_xml(text);
        let _ = DistanceMatrix::parse(text);
    }
    let kinds = ["hwloc", "hwloc-cores", "scotch", "slurm", "ib", "graph", "dist"];
    let kind = kinds[usize::from(*kind) % kinds.len()];
    std::fs::write(&*FILE, content).expect("a temporary file");
    let Ok(topology) = parse(&format!("{kind}:{}", FILE.display())) else { return };
    let slots = topology.slots();
    assert!(slots > 0, "{kind}");
    for a in [0, slots / 3, slots - 1] {
        assert_eq!(topology.distance(a, a), 0, "{kind}");
        for b in [0, slots / 2, slots - 1] {
            assert_eq!(topology.distance(a, b), topology.distance(b, a), "{kind}");
        }
    }
});
