//! Trees whose uplinks are several physical links: a hash puts each pair of slots on one of them.
//!
//! A link of a tree has the bandwidth of all its physical links. A physical link has that of a node's own link. So the
//! number of physical links is the ratio of the two, rounded, and at least 1. Links inside nodes are single.

use crate::topology::{Network, Routing, SinglePath, Topology, Tree};

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
        let tree = topology.as_tree();
        let nodes = tree.and_then(Tree::node_level);
        let own = tree.zip(nodes).map_or(1.0, |(tree, level)| tree.bandwidths()[level]);
        let is_inside = |link| tree.and_then(|tree| tree.level_of_link(link)) > nodes;
        let lanes = |link| match is_inside(link) {
            true => 1.0,
            false => (network.bandwidth(link) / own).round().max(1.0),
        };
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
