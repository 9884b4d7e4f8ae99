//! Descriptions of topologies: files, and texts of one line.

use rankweave::options::Settings;
use rankweave::topology::{
    CpuSet, DistanceMatrix, GpuSystem, HostIndex, Machine, Topology, Tree, parse,
};
use std::path::PathBuf;
use std::sync::LazyLock;

/// The parser reads files by their names.
static FILE: LazyLock<PathBuf> =
    LazyLock::new(|| std::env::temp_dir().join(format!("rankweave-fuzz-{}", std::process::id())));

/// Slots of the largest machine that a description can name.
const MOST_SLOTS: usize = 1 << 24;

/// Every kind of topology file survives any content. The first byte chooses the kind.
pub fn file(bytes: &[u8]) {
    let Some((kind, content)) = bytes.split_first() else { return };
    if let Ok(text) = std::str::from_utf8(content) {
        let _ = Machine::from_hwloc_xml(text);
        let _ = DistanceMatrix::parse(text);
    }
    let kinds = ["hwloc", "hwloc-cores", "scotch", "slurm", "ib", "graph", "dist"];
    let kind = kinds[usize::from(*kind) % kinds.len()];
    let Ok(topology) = parsed(kind, content) else { return };
    symmetric(topology.as_ref(), kind);
}

/// The topology in a file of this kind.
fn parsed(kind: &str, content: &[u8]) -> rankweave::Result<Box<dyn Topology>> {
    // A part of a machine is taken from the whole one, however large that is.
    let word = content.trim_ascii_start().get(..3);
    if kind == "scotch" && word.is_some_and(|word| word.eq_ignore_ascii_case(b"sub")) {
        super::limits::describes_slots(MOST_SLOTS, 1);
    }
    std::fs::write(&*FILE, content).expect("a temporary file");
    let parsed = parse(&format!("{kind}:{}", FILE.display()));
    let _ = std::fs::remove_file(&*FILE);
    parsed
}

/// A file of this kind, with any content.
pub fn of_kind(kind: &str, content: &[u8]) {
    if let Ok(topology) = parsed(kind, content) {
        symmetric(topology.as_ref(), kind);
        let hosts = HostIndex::new(topology.as_ref());
        for slot in [0, topology.slots() - 1] {
            let found = topology.slot_name(slot).and_then(|name| hosts.find(name));
            assert!(
                found.is_none_or(|found| topology.slot_name(found) == topology.slot_name(slot)),
                "{kind}"
            );
        }
    }
}

/// The description of a GPU system: devices have a path, and are not too many.
pub fn gpu_system(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let is_one = GpuSystem::is_one(text);
    let Ok(system) = GpuSystem::parse(text) else { return };
    assert!(is_one && !system.cpus.is_empty() && system.devices.len() <= 4096);
    assert_eq!(system.missing().is_some(), system.cpus.iter().any(|cpu| cpu.pus.is_empty()));
    assert!(
        system
            .devices
            .iter()
            .all(|device| !device.pci_path.is_empty() && device.pci_path.len() <= 66)
    );
}

/// Topologies of a line, CPU sets and lists of slots: any text gives one or an error.
pub fn text(bytes: &[u8]) {
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default(),
    };
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
    symmetric(topology.as_ref(), text);
}

/// Distances agree both ways, and are zero from a slot to itself.
fn symmetric(topology: &dyn Topology, what: &str) {
    let slots = topology.slots();
    super::limits::describes_slots(slots, topology.as_tree().map_or(1, Tree::levels));
    assert!(slots > 0, "{what}");
    for a in [0, slots / 3, slots - 1] {
        assert_eq!(topology.distance(a, a), 0, "{what}");
        for b in [0, slots / 2, slots - 1] {
            assert_eq!(topology.distance(a, b), topology.distance(b, a), "{what}");
        }
    }
}
