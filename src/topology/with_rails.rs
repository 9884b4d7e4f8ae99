//! A topology whose nodes have rails.

use super::{Grid, Network, Rails, Topology, Tree};

/// Another topology, with the rails of its slots. Everything else is that of the other topology.
pub struct WithRails {
    topology: Box<dyn Topology>,
    rails: Rails,
}

impl WithRails {
    /// The topology with these rails; the topology itself if there are none.
    pub fn on(topology: Box<dyn Topology>, rails: Option<Rails>) -> Box<dyn Topology> {
        match rails {
            Some(rails) => Box::new(WithRails { topology, rails }),
            None => topology,
        }
    }
}

impl Topology for WithRails {
    fn name(&self) -> String {
        self.topology.name()
    }

    fn slots(&self) -> usize {
        self.topology.slots()
    }

    fn distance(&self, a: usize, b: usize) -> u64 {
        self.topology.distance(a, b)
    }

    fn distance_bounds(&self) -> (u64, u64) {
        self.topology.distance_bounds()
    }

    fn distances(&self, from: usize, to: &[usize], out: &mut [u64]) {
        self.topology.distances(from, to, out);
    }

    fn as_tree(&self) -> Option<&Tree> {
        self.topology.as_tree()
    }

    fn as_grid(&self) -> Option<&Grid> {
        self.topology.as_grid()
    }

    fn as_part_of_grid(&self) -> Option<(&Grid, &[usize])> {
        self.topology.as_part_of_grid()
    }

    fn network(&self) -> Option<&dyn Network> {
        self.topology.network()
    }

    fn node_of(&self, slot: usize) -> usize {
        self.topology.node_of(slot)
    }

    fn slot_name(&self, slot: usize) -> Option<&str> {
        self.topology.slot_name(slot)
    }

    fn rails(&self) -> Option<&Rails> {
        Some(&self.rails)
    }
}
