//! The sums over all pairs and the loads of all links of a tree, without a walk along the route of each pair.
//!
//! A pair of tasks uses the links from its two slots up to the smallest group that holds both. So the load of the link
//! above a group is that of the links above its parts, without the pairs that stay in the group. Each pair is
//! therefore counted at its two ends and at one group, and the links follow from the bottom up. All sums are whole
//! numbers, so the threads can share the rows in any way.
//!
//! Limits: trees whose codes fit into 64 bits, with one path for each pair ([`crate::topology::SinglePath`]).

use super::congestion::{Congestion, Load, of_loads};
use crate::matrix::SparseMatrix;
use crate::topology::{Network, Topology, Tree};
use std::ops::Range;

/// The least number of tasks for each thread.
const SHARE: usize = 65_536;

impl Load {
    /// The caller has checked that all bytes fit into 64 bits, so sums wrap only on the way to a smaller sum.
    fn add(&mut self, other: Load) {
        self.bytes = self.bytes.wrapping_add(other.bytes);
        self.pairs = self.pairs.wrapping_add(other.pairs);
    }

    fn subtract(&mut self, other: Load) {
        self.bytes = self.bytes.wrapping_sub(other.bytes);
        self.pairs = self.pairs.wrapping_sub(other.pairs);
    }
}

/// The pairs whose slots first differ at one level.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct AtLevel {
    pub(super) all: Load,
    /// The largest number of bytes of a pair.
    pub(super) largest: u64,
}

/// All pairs of different tasks.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TreeSums {
    /// By level, the outermost first; at last the pairs on one slot.
    pub(super) levels: Vec<AtLevel>,
    /// The link from each vertex upwards, and the link down to it; none for the root.
    up: Vec<Load>,
    down: Vec<Load>,
}

/// What a task is for the loops over pairs: one access to memory for each pair.
#[derive(Clone, Copy)]
struct Receiver {
    code: u64,
    received: Load,
}

/// The share of one thread.
struct Part {
    levels: Vec<AtLevel>,
    /// By task.
    receivers: Vec<Receiver>,
    /// What the slot of each sender sends, and what stays in each group.
    of_vertex: Vec<Load>,
}

impl TreeSums {
    /// `None` if the topology is no tree of the kind that this file can sum up.
    pub(super) fn new(
        threads: usize,
        matrix: &SparseMatrix,
        topology: &dyn Topology,
        slot_of_task: &[usize],
    ) -> Option<TreeSums> {
        let tree = topology.as_tree().filter(|&tree| std::ptr::addr_eq(tree, topology))?;
        let (codes, _) = tree.codes()?;
        let tasks = matrix.tasks();
        let threads = threads.min(tasks / SHARE).max(1);
        let receivers: Vec<Receiver> = slot_of_task
            .iter()
            .map(|&slot| Receiver { code: codes[slot], received: Load::default() })
            .collect();
        let of_rows = |receivers: Vec<Receiver>, rows: Range<usize>| {
            Part::new(tree, matrix, slot_of_task, receivers, rows)
        };
        let rows = |k: usize| tasks * k / threads..tasks * (k + 1) / threads;
        let mut sums = std::thread::scope(|scope| {
            let (of_rows, receivers, rows) = (&of_rows, &receivers, &rows);
            let others: Vec<_> = (1..threads)
                .map(|k| {
                    let work = move || of_rows(receivers.clone(), rows(k));
                    (k, std::thread::Builder::new().spawn_scoped(scope, work))
                })
                .collect();
            let mut sums = of_rows(receivers.clone(), rows(0));
            for (k, other) in others {
                let part = other.ok().and_then(|other| other.join().ok());
                sums.add(part.unwrap_or_else(|| of_rows(receivers.clone(), rows(k))));
            }
            sums
        });
        let mut down = vec![Load::default(); sums.of_vertex.len()];
        for (receiver, &slot) in sums.receivers.iter().zip(slot_of_task) {
            down[slot].add(receiver.received);
        }
        sums.receivers = Vec::new();
        let mut up = sums.of_vertex;
        let slots = tree.slots();
        for (stays, goes) in up[slots..].iter().zip(&mut down[slots..]) {
            goes.subtract(*stays);
        }
        up[slots..].iter_mut().for_each(|load| {
            let stays = std::mem::take(load);
            load.subtract(stays);
        });
        for vertex in 0..up.len() {
            if let Some(parent) = tree.parent(vertex).filter(|&parent| parent < up.len()) {
                let (sent, received) = (up[vertex], down[vertex]);
                up[parent].add(sent);
                down[parent].add(received);
            }
        }
        Some(TreeSums { levels: sums.levels, up, down })
    }

    /// The links above the nodes: what each node sends to others and receives from them. Empty if all slots are in one
    /// node.
    pub(super) fn of_nodes(&self, tree: &Tree) -> impl Iterator<Item = (Load, Load)> + '_ {
        let nodes = tree.nodes();
        self.up[nodes.clone()].iter().copied().zip(self.down[nodes].iter().copied())
    }

    /// The loads of the links.
    pub(super) fn congestion(&self, tree: &Tree) -> Congestion {
        of_loads(tree, self.loads())
    }

    /// The loads in the order of the links' numbers.
    fn loads(&self) -> impl Iterator<Item = Load> + '_ {
        self.up.iter().zip(&self.down).flat_map(|(&up, &down)| [up, down])
    }

    /// The predicted time: that of the slowest link or slot, as [`super::predicted_time`] defines it where each pair has
    /// one path and messages cost nothing. In the unit of the matrix.
    pub(super) fn time(&self, tree: &Tree) -> f64 {
        let of_links = self
            .loads()
            .enumerate()
            .map(|(link, load)| load.bytes as f64 / tree.bandwidth(link))
            .fold(0.0, f64::max);
        let of_slots = self.up[..tree.slots()].iter().chain(&self.down[..tree.slots()]);
        of_slots.map(|load| load.bytes as f64).fold(of_links, f64::max)
    }
}

impl Part {
    fn new(
        tree: &Tree,
        matrix: &SparseMatrix,
        slot_of_task: &[usize],
        mut receivers: Vec<Receiver>,
        rows: Range<usize>,
    ) -> Part {
        let levels = tree.levels();
        let (_, level_of_zeros) = tree.codes().unwrap_or((&[], &[0; 65]));
        let mut all = vec![AtLevel::default(); levels + 1];
        let mut of_vertex = vec![Load::default(); tree.vertices().saturating_sub(1)];
        let mut of_row = vec![AtLevel::default(); levels + 1];
        for i in rows {
            let code = receivers[i].code;
            for (j, traffic) in matrix.row(i).filter(|&(j, _)| j as usize != i) {
                let receiver = &mut receivers[j as usize];
                let zeros = (code ^ receiver.code).leading_zeros() as usize;
                let row = &mut of_row[usize::from(level_of_zeros[zeros])];
                let load = Load { bytes: traffic.bytes, pairs: 1 };
                row.all.add(load);
                row.largest = row.largest.max(traffic.bytes);
                // Tasks on one slot use no link.
                if zeros < 64 {
                    receiver.received.add(load);
                }
            }
            let slot = slot_of_task[i];
            for (level, (row, all)) in of_row.iter_mut().zip(&mut all).enumerate() {
                let row = std::mem::take(row);
                all.all.add(row.all);
                all.largest = all.largest.max(row.largest);
                if level < levels {
                    of_vertex[slot].add(row.all);
                    if let Some(group) = level.checked_sub(1) {
                        of_vertex[tree.vertex_of(group, slot)].add(row.all);
                    }
                }
            }
        }
        Part { levels: all, receivers, of_vertex }
    }

    fn add(&mut self, other: Part) {
        for (own, other) in self.levels.iter_mut().zip(other.levels) {
            own.all.add(other.all);
            own.largest = own.largest.max(other.largest);
        }
        for (own, other) in self.receivers.iter_mut().zip(other.receivers) {
            own.received.add(other.received);
        }
        for (own, other) in self.of_vertex.iter_mut().zip(other.of_vertex) {
            own.add(other);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{congestion, predicted_time};
    use super::*;
    use crate::matrix::Traffic;
    use proptest::prelude::*;

    fn trees() -> Vec<Tree> {
        let paths: Vec<Vec<u32>> = [[0, 0], [1, 0], [0, 1], [1, 1], [1, 0], [0, 0], [2, 0], [0, 0]]
            .map(Vec::from)
            .to_vec();
        let irregular = Tree::from_paths(&paths, &[100, 10, 1]).unwrap();
        vec![
            irregular.clone(),
            irregular.with_bandwidths(&[7.0, 3.0, 1.0]).unwrap().with_node_level(Some(1)),
            Tree::regular(&[1, 8], &[5, 2]).unwrap(),
            Tree::regular(&[8], &[1]).unwrap().with_node_level(None),
            Tree::regular(&[2, 1, 4], &[9, 4, 1]).unwrap().with_node_level(Some(0)),
        ]
    }

    proptest! {
        #[test]
        fn sums_are_those_of_routes_and_distances(
            entries in prop::collection::vec((0u32..9, 0u32..9, 0u64..50, 0u64..3), 0..40),
            slot_of_task in prop::collection::vec(0usize..8, 9),
            which in 0usize..5,
        ) {
            let tree = &trees()[which];
            let entries: Vec<_> = entries
                .into_iter()
                .map(|(i, j, bytes, messages)| (i, j, Traffic { bytes, messages }))
                .collect();
            let matrix = SparseMatrix::from_entries(9, &entries);
            let sums = TreeSums::new(1, &matrix, tree, &slot_of_task).unwrap();
            prop_assert_eq!(sums.congestion(tree), congestion::of_links(&matrix, tree, &slot_of_task));
            let time = predicted_time(&matrix, tree, &slot_of_task).unwrap().slowest;
            prop_assert!((sums.time(tree) - time).abs() <= 1e-9 * time.max(1.0));
            let mut levels = vec![AtLevel::default(); tree.levels() + 1];
            let mut nodes = vec![(Load::default(), Load::default()); tree.nodes().len()];
            for (i, j, traffic) in matrix.entries().filter(|&(i, j, _)| i != j) {
                let (a, b) = (slot_of_task[i as usize], slot_of_task[j as usize]);
                let level = (0..tree.levels()).find(|&l| tree.groups(l)[a] != tree.groups(l)[b]);
                let level = &mut levels[level.unwrap_or(tree.levels())];
                let load = Load { bytes: traffic.bytes, pairs: 1 };
                level.all.add(load);
                level.largest = level.largest.max(traffic.bytes);
                if tree.node_of(a) != tree.node_of(b) {
                    nodes[tree.node_of(a)].0.add(load);
                    nodes[tree.node_of(b)].1.add(load);
                }
            }
            prop_assert_eq!(&sums.levels, &levels);
            prop_assert_eq!(sums.of_nodes(tree).collect::<Vec<_>>(), nodes);
        }
    }

    #[test]
    fn threads_share_the_rows() {
        let graph = crate::matrix::synthetic::pattern("rgg:200000").unwrap();
        let arcs = |v: usize| graph.arcs(v).map(move |(u, bytes)| (v as u32, u, bytes));
        let entries: Vec<_> = (0..200_000)
            .flat_map(arcs)
            .map(|(v, u, bytes)| (v, u, Traffic { bytes: bytes + u64::from(u % 3), messages: 1 }))
            .collect();
        let matrix = SparseMatrix::from_entries(200_000, &entries);
        let tree = Tree::regular(&[128, 64, 32], &[100, 10, 1]).unwrap();
        let slots: Vec<usize> = (0..200_000).rev().collect();
        let alone = TreeSums::new(1, &matrix, &tree, &slots).unwrap();
        for threads in [2, 3, 100] {
            assert_eq!(TreeSums::new(threads, &matrix, &tree, &slots).unwrap(), alone);
        }
    }
}
