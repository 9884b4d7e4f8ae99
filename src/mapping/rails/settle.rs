//! Exchanges single tasks inside a node while that lowers its cost: tasks come back to their neighbours, as far as the
//! rails stay balanced.

use super::rail_node::RailNode;
use std::cmp::Reverse;

/// How often all tasks are looked at, at most.
const ROUNDS: usize = 6;
/// Neighbours of a task, those with most traffic, to which it may come.
const NEIGHBOURS: usize = 4;
/// Places on each side of the place of such a neighbour.
const NEAR: usize = 4;

/// Exchanges tasks until no look at all of them lowers the cost. `order` has the places in the order of the machine.
/// Returns the change of the cost of the node, which is not above 0.
pub(super) fn settle(node: &mut RailNode, order: &[u32]) -> i128 {
    let mut position = vec![0usize; node.places()];
    order.iter().enumerate().for_each(|(k, &place)| position[place as usize] = k);
    let mut sum = 0i128;
    for _ in 0..ROUNDS {
        let mut changed = false;
        for &place in order {
            if node.movable(place).is_none() {
                continue;
            }
            let near = |other: u32| {
                let at = position[node.place_of(other) as usize];
                order[at.saturating_sub(NEAR)..(at + NEAR + 1).min(order.len())].iter().copied()
            };
            let places = heaviest(node, node.at(place)).into_iter().flat_map(near);
            let best = places
                .filter(|&to| to != place && node.movable(to).is_some())
                .map(|to| (change(node, place, to), to))
                .min();
            if let Some((change, to)) = best.filter(|&(change, _)| change < 0) {
                node.exchange(place, to);
                sum = sum.saturating_add(change);
                changed = true;
            }
        }
        if !changed {
            break;
        }
    }
    sum
}

/// The neighbours of a task with most traffic.
fn heaviest(node: &RailNode, task: u32) -> Vec<u32> {
    let mut heavy: Vec<(Reverse<u64>, u32)> =
        node.neighbours(task).iter().map(|&(other, bytes)| (Reverse(bytes), other)).collect();
    heavy.sort_unstable();
    heavy.into_iter().take(NEIGHBOURS).map(|(_, other)| other).collect()
}

/// By how much the cost of the node changes if the tasks of two places are exchanged.
fn change(node: &RailNode, p: u32, q: u32) -> i128 {
    let rails = node.cost_of(node.busiest().2, node.busiest_after(p, q));
    node.inside_change(p, q).saturating_add(rails)
}
