//! Trees whose uplinks are several physical links: a hash puts each pair of slots on one of them.
//!
//! A link of a tree has the bandwidth of all its physical links. A physical link has that of a slot's own link. So the
//! number of physical links is the ratio of the two, rounded, and at least 1.

use crate::topology::{Network, Routing, SinglePath, Topology};

/// Equal-cost paths of a fat tree, one of them for each pair.
pub(super) struct Hashed<'a> {
    paths: Option<SinglePath<'a>>,
    lanes: Vec<f64>,
}

impl<'a> Hashed<'a> {
    pub(super) fn new(topology: &'a dyn Topology) -> Hashed<'a> {
        let Some(network) = topology.network() else {
            return Hashed { paths: None, lanes: Vec::new() };
        };
        let mut own = 1.0;
        if topology.slots() > 0 {
            network.neighbours(0, &mut |_, link| own = network.bandwidth(link));
        }
        let lanes = |link| (network.bandwidth(link) / own).round().max(1.0);
        let lanes = (0..Network::links(network)).map(lanes).collect();
        Hashed { paths: Some(SinglePath(network)), lanes }
    }
}

impl Routing for Hashed<'_> {
    fn name(&self) -> &'static str {
        "ecmp"
    }

    fn spread(&self, from: usize, to: usize, visit: &mut dyn FnMut(usize, f64)) {
        if let Some(paths) = &self.paths {
            paths.spread(from, to, visit);
        }
    }

    fn is_hashed(&self) -> bool {
        true
    }

    fn lanes(&self, link: usize) -> f64 {
        self.lanes.get(link).copied().unwrap_or(1.0)
    }
}
