//! Visits nodes in the order of a breadth-first search of the network, as UMPA's algorithms do.
//!
//! Where the topology has no links, nodes are visited by their distance instead.

use super::filled_problem::FilledProblem;
use super::quotient::Quotient;
use crate::topology::Network;

/// No node, at a vertex of the network.
const NONE: u32 = u32::MAX;

/// A search over the network of a problem. It can be repeated from other nodes.
pub(super) struct NetworkSearch<'a> {
    filled: &'a FilledProblem<'a>,
    /// A slot of each node.
    slots: &'a [usize],
    network: Option<&'a dyn Network>,
    /// The node at a vertex of the network, [`NONE`] at switches and at slots that are not in use.
    node_at: Vec<u32>,
    /// By vertex of the network: the last search that met it.
    seen: Vec<u32>,
    round: u32,
    queue: Vec<u32>,
}

impl<'a> NetworkSearch<'a> {
    pub(super) fn new(filled: &'a FilledProblem<'a>, nodes: &'a Quotient) -> Self {
        let (slots, network) = (&nodes.slots[..], filled.problem.topology().network());
        let vertices = network.map_or(0, Network::vertices);
        let mut node_at = vec![NONE; vertices];
        if network.is_some() {
            (0..).zip(slots).for_each(|(node, &slot)| node_at[slot] = node);
        }
        let seen = vec![0; vertices];
        NetworkSearch { filled, slots, network, node_at, seen, round: 0, queue: Vec::new() }
    }

    /// Visits nodes level by level, starting with the nodes `sources` at level 0. Each level comes
    /// as one list, ascending. Stops when `visit` says false.
    pub(super) fn levels(&mut self, sources: &[u32], mut visit: impl FnMut(&[u32]) -> bool) {
        let mut level: Vec<u32> = sources.to_vec();
        level.sort_unstable();
        level.dedup();
        let Some(network) = self.network else {
            return self.by_distance(&level, visit);
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
        let (seen, queue, round) = (&mut self.seen, &mut self.queue, self.round);
        let mut start = 0;
        while start < queue.len() {
            let end = queue.len();
            level.clear();
            for k in start..end {
                network.neighbours(queue[k] as usize, &mut |other, _| {
                    if std::mem::replace(&mut seen[other], round) != round {
                        queue.push(other as u32);
                        level.extend(Some(self.node_at[other]).filter(|&node| node != NONE));
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

    fn by_distance(&self, sources: &[u32], mut visit: impl FnMut(&[u32]) -> bool) {
        let slot = |node: u32| self.slots[node as usize];
        let mut order: Vec<(i64, u32)> = (0..self.slots.len() as u32)
            .map(|node| {
                let to = |&s: &u32| self.filled.between_slots(slot(s), slot(node));
                (sources.iter().map(to).min().unwrap_or(0), node)
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
