//! Finds the slot of a host by its name.

use super::Topology;
use std::collections::HashMap;

/// The slots of a topology by the names of their hosts.
#[derive(Debug, Default)]
pub struct HostIndex {
    exact: HashMap<String, usize>,
    short: HashMap<String, Option<usize>>,
}

impl HostIndex {
    /// The index of the names of a topology.
    pub fn new(topology: &dyn Topology) -> HostIndex {
        let mut index = HostIndex::default();
        for slot in 0..topology.slots() {
            let Some(name) = topology.slot_name(slot) else { continue };
            index.exact.insert(name.to_string(), slot);
            let short = name.split('.').next().unwrap_or(name).to_string();
            index.short.entry(short).and_modify(|known| *known = None).or_insert(Some(slot));
        }
        index
    }

    /// The slot of the host with this name.
    pub fn find(&self, name: &str) -> Option<usize> {
        let short = || self.short.get(name.split('.').next()?).copied().flatten();
        self.exact.get(name).copied().or_else(short)
    }
}

/// Reads a description of a fabric.
pub fn read_fabric(path: &str) -> crate::Result<Box<dyn Topology>> {
    super::parse(&format!("ib:{path}"))
}
