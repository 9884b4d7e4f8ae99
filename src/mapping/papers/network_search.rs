//! Nodes in the order of a breadth-first search of the network, as UMPA's algorithms visit them.
//!
//! Where the topology has no links, nodes are visited by their distance instead.

use super::filled_problem::FilledProblem;
use super::quotient::Quotient;
use crate::topology::Network;

/// A reusable search over the network of a problem.
pub(super) struct NetworkSearch<'a> {
    network: Option<&'a dyn Network>,
    /// The node at a vertex of the network, `u32::MAX` at switches and at slots without one.
    node_at: Vec<u32>,
    seen: Vec<u32>,
    round: u32,
    queue: Vec<u32>,
    slots: Vec<usize>,
}

impl<'a> NetworkSearch<'a> {
    pub(super) fn new(filled: &FilledProblem<'a, '_>, nodes: &Quotient) -> Self {
        let network = filled.problem.topology().network();
        let vertices = network.map_or(0, Network::vertices);
        let mut node_at = vec![u32::MAX; vertices];
        if network.is_some() {
            for (node, &slot) in nodes.slots.iter().enumerate() {
                node_at[slot] = node as u32;
            }
        }
        NetworkSearch {
            network,
            node_at,
            seen: vec![0; vertices],
            round: 0,
            queue: Vec::new(),
            slots: nodes.slots.clone(),
        }
    }

    /// Visits nodes level by level, starting with the nodes `sources` at level 0; each level comes
    /// as one list, ascending. Stops when `visit` says false.
    pub(super) fn levels(
        &mut self,
        filled: &FilledProblem,
        sources: &[u32],
        mut visit: impl FnMut(&[u32]) -> bool,
    ) {
        let mut level: Vec<u32> = sources.to_vec();
        level.sort_unstable();
        level.dedup();
        let Some(network) = self.network else {
            return self.by_distance(filled, &level, visit);
        };
        self.round += 1;
        self.queue.clear();
        for &node in &level {
            let slot = self.slots[node as usize];
            self.seen[slot] = self.round;
            self.queue.push(slot as u32);
        }
        if !visit(&level) {
            return;
        }
        let mut start = 0;
        while start < self.queue.len() {
            let end = self.queue.len();
            level.clear();
            for k in start..end {
                let (seen, queue, round) = (&mut self.seen, &mut self.queue, self.round);
                let node_at = &self.node_at;
                let vertex = queue[k] as usize;
                network.neighbours(vertex, &mut |other, _| {
                    if seen[other] != round {
                        seen[other] = round;
                        queue.push(other as u32);
                        if node_at[other] != u32::MAX {
                            level.push(node_at[other]);
                        }
                    }
                });
            }
            start = end;
            level.sort_unstable();
            if !level.is_empty() && !visit(&level) {
                return;
            }
        }
    }

    fn by_distance(
        &self,
        filled: &FilledProblem,
        sources: &[u32],
        mut visit: impl FnMut(&[u32]) -> bool,
    ) {
        let slot = |node: u32| self.slots[node as usize];
        let mut order: Vec<(i64, u32)> = (0..self.slots.len() as u32)
            .map(|node| {
                let nearest = sources.iter().map(|&s| filled.between_slots(slot(s), slot(node)));
                (nearest.min().unwrap_or(0), node)
            })
            .collect();
        order.sort_unstable();
        for level in order.chunk_by(|a, b| a.0 == b.0) {
            let level: Vec<u32> = level.iter().map(|&(_, node)| node).collect();
            if !visit(&level) {
                return;
            }
        }
    }
}
