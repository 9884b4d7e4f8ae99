//! Exchanges the tasks inside the nodes, so that the rails of each node share its traffic with other nodes.
//!
//! A permutation of the tasks inside a node changes neither the bytes between nodes nor their distances. It changes
//! which rail takes them, and the distances inside the node. The cost of a node is
//!
//! > hop-bytes inside the node + price · R · L
//!
//! with the number R of its rails, the load L of the busiest one, and the distance of two neighbouring nodes as the
//! price: the busiest rail is charged as if all rails were waiting for it. [`RailLoads`](crate::metrics::RailLoads)
//! gives the reasons. A node is done when its busiest rail is done, so L is the largest load and not a sum. It is the
//! larger of the bytes that leave and that enter, because adapters do both at the same time.
//!
//! Method: as the distribution of jobs over machines by exchanges (Graham, "Bounds on multiprocessing timing
//! anomalies", 1969, for the objective; Fiduccia and Mattheyses 1982 for taking the best of a sequence of exchanges).
//! In each step, a part of the busiest rail and an equally large part of another rail change places. First the parts
//! are large (all tasks of a cache, so that neighbours stay neighbours), then single tasks. The best of all states is
//! kept. Last, tasks inside the node are exchanged while that lowers the cost. A node is left alone if nothing lowers
//! its cost. So the cost of no node rises. All numbers are integers, and ties are broken by the order of the tasks, so
//! the answer is the same everywhere.
//!
//! Time: nearly linear in the tasks and edges of the node. Limits: each task is on a slot of its own.

mod balance;
mod parts;
mod rail_node;
mod settle;

use crate::base::numbering::by_first_appearance;
use crate::base::permutation::is_injective;
use crate::matrix::{Graph, SparseMatrix};
use crate::topology::{Rails, Topology};
use balance::balance;
use parts::Parts;
use rail_node::{RailNode, Setting};
use settle::settle;

/// The version of this method. It is a part of the signature of kept orders on nodes with several rails.
pub const VERSION: u64 = 1;

/// Exchanges tasks inside nodes where that lowers the cost of the node. `traffic` is the directed traffic that
/// `graph` was made from. The tasks `fixed` stay on their slots. Without a choice between rails, nothing changes.
/// Returns whether anything changed.
pub fn spread(
    graph: &Graph,
    traffic: &SparseMatrix,
    topology: &dyn Topology,
    fixed: &[u32],
    slot_of_task: &mut [usize],
) -> bool {
    let Some(rails) = topology.rails().filter(|rails| rails.have_choice()) else { return false };
    let tasks = slot_of_task.len();
    let slots: Vec<u32> = slot_of_task.iter().map(|&slot| slot as u32).collect();
    if graph.vertices() != tasks
        || traffic.tasks() != tasks
        || !is_injective(&slots, topology.slots())
    {
        return false;
    }
    let node_of_slot = slot_of_task.iter().map(|&slot| topology.node_of(slot));
    let (node_of_task, nodes) = by_first_appearance(node_of_slot);
    let mut members: Vec<Vec<u32>> = vec![Vec::new(); nodes.len()];
    (0u32..).zip(&node_of_task).for_each(|(task, &node)| members[node as usize].push(task));
    let loads = loads_outside(traffic, &node_of_task);
    let setting = Setting { graph, topology, rails, rails_of_node: rails_of_nodes(rails) };
    let mut stays = vec![false; tasks];
    for &task in fixed.iter().filter(|&&task| (task as usize) < tasks) {
        stays[task as usize] = true;
    }
    let mut index = vec![u32::MAX; tasks];
    let mut changed = false;
    for members in &members {
        let node = RailNode::new(&setting, members, slot_of_task, &loads, &stays, &mut index);
        let Some(slots) = node.and_then(best_of) else { continue };
        members.iter().zip(slots).for_each(|(&task, slot)| slot_of_task[task as usize] = slot);
        changed = true;
    }
    changed
}

/// The slots of the tasks of a node in the best state that was found; `None` if none is better than the given one.
fn best_of(given: RailNode) -> Option<Vec<usize>> {
    let Parts { several, single, order } = Parts::of(&given);
    let mut best: Option<(i128, RailNode)> = None;
    for several in [&several[..], &[]] {
        let mut node = given.clone();
        let mut change = 0i128;
        for parts in several.iter().chain([&single]) {
            change = change.saturating_add(balance(&mut node, parts));
        }
        if node.is_like(&given) {
            continue;
        }
        change = change.saturating_add(settle(&mut node, &order));
        let perfect = change <= given.cost_of(given.busiest().2, given.even());
        if change < 0 && best.as_ref().is_none_or(|(least, _)| change < *least) {
            best = Some((change, node));
        }
        if perfect {
            break;
        }
    }
    best.map(|(_, node)| node.slots_of_tasks())
}

/// Bytes that each task sends to other nodes and receives from them.
fn loads_outside(traffic: &SparseMatrix, node_of_task: &[u32]) -> Vec<[u64; 2]> {
    let mut loads = vec![[0u64; 2]; node_of_task.len()];
    for (from, to, traffic) in traffic.entries() {
        let [from, to] = [from as usize, to as usize];
        if node_of_task[from] != node_of_task[to] {
            loads[from][0] = loads[from][0].saturating_add(traffic.bytes);
            loads[to][1] = loads[to][1].saturating_add(traffic.bytes);
        }
    }
    loads
}

/// For each rail the number of rails in use on its node.
fn rails_of_nodes(rails: &Rails) -> Vec<usize> {
    let in_use = rails.in_use();
    let mut first = 0;
    let mut of_rail = Vec::with_capacity(in_use.len());
    for node in rails.all().chunk_by(|a, b| a.node == b.node) {
        let used = in_use[first..first + node.len()].iter().filter(|used| **used).count();
        of_rail.extend(std::iter::repeat_n(used, node.len()));
        first += node.len();
    }
    of_rail
}

#[cfg(test)]
mod tests;
