//! The load of the rails: which bytes leave and enter the nodes through which network adapter.
//!
//! A byte between two nodes is charged to the rail of the slot that sends it and to the rail of the slot that
//! receives it. An adapter sends and receives at the same time, so the load of a rail is the larger of its two
//! directions. A node is done when its busiest rail is done.
//!
//! *What uneven rails cost* is in the unit of hop-bytes. The distance of two nodes is the price of a byte between
//! them, if all rails of the node are used evenly. With R rails and a load L of the busiest one, the node takes as
//! long as for R·L bytes that are spread evenly. It has only the larger of the bytes that it sends and receives, so
//! the rest of R·L costs the same price for nothing. Only the rails of slots count as rails here, because no mapping
//! can use others.

use crate::matrix::SparseMatrix;
use crate::topology::{Rails, Topology};
use serde::Serialize;

/// The load of one rail.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct RailLoad {
    /// Name of its node.
    pub node: String,
    /// Name of the adapter.
    pub rail: String,
    /// Number of tasks whose traffic it takes.
    pub tasks: usize,
    /// Bytes that these tasks send to other nodes.
    pub sent: u64,
    /// Bytes that they receive from other nodes.
    pub received: u64,
}

impl RailLoad {
    /// Bytes of the direction with more traffic.
    pub fn bytes(&self) -> u64 {
        self.sent.max(self.received)
    }
}

/// The load of all rails.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct RailLoads {
    /// Bytes of the busiest rail in the direction with more traffic.
    pub busiest: u64,
    /// Bytes of the busiest rails of all nodes over what they would be if all rails of each node were used evenly: 1 if
    /// they are, and without traffic.
    pub imbalance: f64,
    /// What uneven rails cost, in hop-bytes.
    pub uneven_cost: u128,
    /// Each rail, node by node.
    pub loads: Vec<RailLoad>,
}

impl RailLoads {
    /// The loads with task t on slot `slot_of_task[t]`; traffic inside a node passes no rail. Tasks without a slot
    /// in the list are on none. Sums saturate; half a byte is rounded up.
    pub fn new(
        matrix: &SparseMatrix,
        rails: &Rails,
        node_of: &dyn Fn(usize) -> usize,
        slot_of_task: &[usize],
    ) -> RailLoads {
        let mut loads: Vec<RailLoad> = rails
            .all()
            .iter()
            .map(|rail| RailLoad {
                node: rail.node_name.clone(),
                rail: rail.name.clone(),
                ..RailLoad::default()
            })
            .collect();
        for rail in slot_of_task.iter().filter_map(|&slot| rails.of(slot)) {
            loads[rail].tasks += 1;
        }
        for (from, to, traffic) in matrix.entries() {
            let slots = [from, to].map(|task| slot_of_task.get(task as usize).copied());
            let [Some(from), Some(to)] = slots else { continue };
            if node_of(from) == node_of(to) {
                continue;
            }
            if let Some(rail) = rails.of(from) {
                loads[rail].sent = loads[rail].sent.saturating_add(traffic.bytes);
            }
            if let Some(rail) = rails.of(to) {
                loads[rail].received = loads[rail].received.saturating_add(traffic.bytes);
            }
        }
        if matrix.counts_halves() {
            for load in &mut loads {
                (load.sent, load.received) = (load.sent.div_ceil(2), load.received.div_ceil(2));
            }
        }
        RailLoads::of(loads, rails)
    }

    fn of(loads: Vec<RailLoad>, rails: &Rails) -> RailLoads {
        let in_use = rails.in_use();
        let (mut uneven_cost, mut busiest_sum, mut even_sum) = (0u128, 0.0, 0.0);
        let mut first = 0;
        for node in rails.all().chunk_by(|a, b| a.node == b.node) {
            let of_node = &loads[first..first + node.len()];
            let used = in_use[first..first + node.len()].iter().filter(|used| **used).count();
            first += node.len();
            let sum = |bytes: fn(&RailLoad) -> u64| {
                of_node.iter().map(|load| u128::from(bytes(load))).sum::<u128>()
            };
            let all = sum(|load| load.sent).max(sum(|load| load.received));
            let busiest = u128::from(of_node.iter().map(RailLoad::bytes).max().unwrap_or(0));
            let uneven = (used as u128 * busiest).saturating_sub(all);
            uneven_cost = uneven_cost.saturating_add(uneven * u128::from(rails.price()));
            busiest_sum += busiest as f64;
            even_sum += all as f64 / node.len() as f64;
        }
        RailLoads {
            busiest: loads.iter().map(RailLoad::bytes).max().unwrap_or(0),
            imbalance: if even_sum > 0.0 { busiest_sum / even_sum } else { 1.0 },
            uneven_cost,
            loads,
        }
    }
}

/// The load of the rails with task t on slot `slot_of_task[t]`; `None` if the topology has no rails.
pub fn rail_loads(
    matrix: &SparseMatrix,
    topology: &dyn Topology,
    slot_of_task: &[usize],
) -> Option<RailLoads> {
    let rails = topology.rails()?;
    Some(RailLoads::new(matrix, rails, &|slot| topology.node_of(slot), slot_of_task))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::Traffic;
    use crate::topology::slot_rails::tests::rails;
    use crate::topology::{Tree, WithRails};
    use proptest::prelude::*;

    fn matrix(entries: &[(u32, u32, u64)]) -> SparseMatrix {
        let entry = |&(i, j, bytes): &(u32, u32, u64)| (i, j, Traffic { bytes, messages: 1 });
        SparseMatrix::from_entries(8, &entries.iter().map(entry).collect::<Vec<_>>())
    }

    /// Two nodes of four slots, the first two on rail 0, the last two on rail 1.
    fn topology() -> Box<dyn Topology> {
        let tree = Tree::regular(&[2, 2, 2], &[100, 10, 1]).unwrap().with_node_level(Some(0));
        WithRails::on(Box::new(tree), Some(rails(2, 2, &[0, 0, 1, 1])))
    }

    #[test]
    fn bytes_between_nodes_are_charged_to_both_rails() {
        let matrix = matrix(&[(0, 4, 10), (1, 6, 20), (5, 0, 7), (0, 2, 1000), (3, 3, 50)]);
        let slots: Vec<usize> = (0..8).collect();
        let found = rail_loads(&matrix, topology().as_ref(), &slots).unwrap();
        let loads: Vec<_> =
            found.loads.iter().map(|l| (l.node.as_str(), l.tasks, l.sent, l.received)).collect();
        assert_eq!(loads, [("n0", 2, 30, 7), ("n0", 2, 0, 0), ("n1", 2, 7, 10), ("n1", 2, 0, 20)]);
        assert_eq!(found.busiest, 30);
        // Node 0: 2·30 - 30, node 1: 2·20 - 30.
        assert_eq!(found.uneven_cost, 100 * (30 + 10));
        assert_eq!(found.imbalance, (30.0 + 20.0) / (15.0 + 15.0));
        // Task 1 on the other rail: 10 and 20 bytes leave.
        let moved = [0, 2, 1, 3, 4, 5, 6, 7];
        let even = rail_loads(&matrix, topology().as_ref(), &moved).unwrap();
        assert_eq!((even.busiest, even.uneven_cost), (20, 100 * (10 + 10)));
    }

    #[test]
    fn silence_and_topologies_without_rails() {
        let slots: Vec<usize> = (0..8).collect();
        let silent = rail_loads(&matrix(&[(0, 1, 5)]), topology().as_ref(), &slots).unwrap();
        assert_eq!((silent.busiest, silent.uneven_cost, silent.imbalance), (0, 0, 1.0));
        let tree = Tree::regular(&[8], &[1]).unwrap();
        assert_eq!(rail_loads(&matrix(&[]), &tree, &slots), None);
    }

    #[test]
    fn rails_without_slots_cannot_be_used() {
        let matrix = matrix(&[(0, 4, 10)]);
        let loads =
            RailLoads::new(&matrix, &rails(2, 3, &[1; 4]), &|slot| slot / 4, &[0, 1, 2, 3, 4]);
        assert_eq!((loads.uneven_cost, loads.imbalance), (0, 3.0));
    }

    proptest! {
        #[test]
        fn every_byte_between_nodes_is_charged_twice(
            bytes in prop::collection::vec(0u64..1000, 64),
            order in Just((0usize..8).collect::<Vec<_>>()).prop_shuffle(),
        ) {
            let entries: Vec<(u32, u32, u64)> =
                (0..64u32).map(|k| (k / 8, k % 8, bytes[k as usize])).collect();
            let matrix = matrix(&entries);
            let found = rail_loads(&matrix, topology().as_ref(), &order).unwrap();
            let between = matrix.bytes_between(|task| order[task] / 4);
            prop_assert_eq!(found.loads.iter().map(|l| l.sent).sum::<u64>(), between);
            prop_assert_eq!(found.loads.iter().map(|l| l.received).sum::<u64>(), between);
            prop_assert!(found.imbalance >= 1.0 - 1e-9 && found.imbalance <= 2.0 + 1e-9);
        }
    }
}
