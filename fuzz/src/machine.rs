//! Descriptions of a machine with its devices: XML of hwloc, and listings of `/sys`.

use rankweave::topology::{CpuSet, Machine};
use std::collections::BTreeSet;

/// Any description gives an error, or a machine whose devices are in the description. An input that begins with `S` is a
/// listing; the first byte is left out.
pub fn description(bytes: &[u8]) {
    let Some((kind, content)) = bytes.split_first() else { return };
    let Ok(text) = std::str::from_utf8(content) else { return };
    let (machine, functions) = match kind {
        b'S' => (Machine::from_sys_listing(text), text.matches(" -> ").count()),
        _ => (Machine::from_hwloc_xml(text), text.matches("PCIDev").count()),
    };
    let Ok(machine) = machine else { return };
    let devices = machine.devices();
    assert!(devices.len() <= functions, "{} devices of {functions} functions", devices.len());
    let all: CpuSet = machine.pus().iter().copied().collect();
    let mut ids = BTreeSet::new();
    for device in devices {
        assert!(ids.insert((device.kind, &device.bus_id)), "{} is there twice", device.bus_id);
        assert!(!device.name.is_empty() && device.name != "lo", "a device without a name");
        assert!(!device.pus.is_empty() && device.pus.union(&all) == all, "{}", device.pus);
        assert_eq!(device.pci_path.last(), Some(&device.bus_id));
    }
    let (gpus, rails) = (machine.gpus(), machine.rails());
    assert_eq!(rails.is_empty(), devices.len() == gpus.len(), "adapters make rails");
    for near in machine.rails_of_gpus() {
        assert!(near.map_or(rails.is_empty(), |(rail, _)| rail < rails.len()));
    }
    let places: Vec<CpuSet> =
        machine.pus().iter().take(8).map(|&pu| [pu].into_iter().collect()).collect();
    for (place, attached) in places.iter().zip(machine.attachments(&places)) {
        assert_eq!(attached.rail.is_some(), machine.rail_of(place).is_some());
        assert!(attached.rail.is_none_or(|rail| rail < rails.len()));
        assert!(attached.gpu.is_none_or(|gpu| gpu < gpus.len()));
    }
}
