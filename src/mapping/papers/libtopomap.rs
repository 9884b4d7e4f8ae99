//! libtopomap's greedy heuristic, recursive bisection and Cuthill–McKee mapping.
//!
//! Hoefler and Snir, "Generic Topology Mapping Strategies for Large-scale Parallel Architectures",
//! ICS 2011, sections 4.1 to 4.3. The greedy heuristic measures distances in the topology as it is;
//! the original adds the traffic of placed tasks to the lengths of the links. The target of the
//! bisection is halved by distances ([`super::bipartition`]), because the topology may be no graph.

use super::bipartition;
use super::filled_problem::FilledProblem;
use super::quotient::volume;
use crate::base::error::Result;
use crate::base::permutation::{identity, inverse};
use crate::base::sorting::Arrange;
use crate::mapping::engine::{Csr, Distance};
use crate::mapping::{Budget, Outcome, Problem};
use crate::topology::Network;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Places the heaviest task, then always the heaviest edge to a placed task, as near as possible.
pub(super) fn greedy(problem: &Problem<'_>, budget: &Budget) -> Result<Outcome> {
    let filled = FilledProblem::new(problem, budget);
    let n = filled.len();
    let mut place_of = vec![u32::MAX; n];
    let mut free: Vec<u32> = (0..n as u32).rev().collect();
    let mut by_volume = identity(n);
    by_volume.arrange_by_key(|&t| Reverse(volume(&filled.graph, t as usize)));
    for &seed in &by_volume {
        if place_of[seed as usize] != u32::MAX {
            continue;
        }
        let Some(place) = free.pop() else { break };
        place_of[seed as usize] = place;
        let mut queue = BinaryHeap::new();
        push_edges(&filled.graph, &place_of, seed, &mut queue);
        while let Some((_, Reverse(task), partner)) = queue.pop() {
            if place_of[task as usize] != u32::MAX {
                continue;
            }
            let at = place_of[partner as usize];
            let nearest = if budget.expired() {
                free.len().checked_sub(1)
            } else {
                (0..free.len()).min_by_key(|&k| (filled.between(at, free[k]), free[k]))
            };
            let Some(k) = nearest else { break };
            place_of[task as usize] = free.remove(k);
            push_edges(&filled.graph, &place_of, task, &mut queue);
        }
    }
    Ok(filled.outcome(place_of))
}

/// The weight of an edge, its end that is not placed, and its end that is.
type Edge = (i64, Reverse<u32>, u32);

/// Queues the edges of a placed task to tasks that are not placed.
fn push_edges(graph: &Csr, place_of: &[u32], task: u32, queue: &mut BinaryHeap<Edge>) {
    let open = graph.arcs(task as usize).filter(|&(other, _)| place_of[other] == u32::MAX);
    queue.extend(open.map(|(other, weight)| (weight, Reverse(other as u32), task)));
}

/// Halves the affinity graph and the places together, recursively.
pub(super) fn recursive_bisection(problem: &Problem<'_>, budget: &Budget) -> Result<Outcome> {
    let filled = FilledProblem::new(problem, budget);
    Ok(filled.outcome(bipartition::dual_bisection(&filled)))
}

/// Numbers both graphs by reverse Cuthill–McKee and maps by number.
pub(super) fn cuthill_mckee(problem: &Problem<'_>, budget: &Budget) -> Result<Outcome> {
    let filled = FilledProblem::new(problem, budget);
    let graph = &filled.graph;
    let tasks = rcm(graph.len(), |v, visit| {
        graph.arcs(v).for_each(|(other, _)| visit(other));
    });
    let places = match problem.topology().network() {
        Some(network) => places_by_network(&filled, network),
        None => bipartition::halve(&filled, &identity(filled.len()), 0).1,
    };
    let mut place_of = vec![0; filled.len()];
    for (&task, &place) in tasks.iter().zip(&places) {
        place_of[task as usize] = place;
    }
    Ok(filled.outcome(place_of))
}

/// The places in the order in which reverse Cuthill–McKee numbers the network's vertices.
fn places_by_network(filled: &FilledProblem, network: &dyn Network) -> Vec<u32> {
    let number = inverse(&rcm(network.vertices(), |v, visit| {
        network.neighbours(v, &mut |other, _| visit(other));
    }));
    let mut places = identity(filled.len());
    places.arrange_by_key(|&p| number[filled.problem.places()[p as usize] as usize]);
    places
}

/// Reverse Cuthill–McKee order of a graph: a breadth-first search from a vertex at the rim, with neighbours by
/// rising degree, in reverse order. Parts that are not connected follow each other.
fn rcm(n: usize, neighbours: impl Fn(usize, &mut dyn FnMut(usize))) -> Vec<u32> {
    let degree: Vec<u32> = (0..n)
        .map(|v| {
            let mut count = 0;
            neighbours(v, &mut |_| count += 1);
            count
        })
        .collect();
    let mut seen = vec![0u32; n];
    let mut round = 0;
    let mut search = |from: u32| {
        round += 1;
        let mut order = vec![from];
        seen[from as usize] = round;
        let mut head = 0;
        while let Some(&v) = order.get(head) {
            head += 1;
            let start = order.len();
            neighbours(v as usize, &mut |other| {
                if std::mem::replace(&mut seen[other], round) != round {
                    order.push(other as u32);
                }
            });
            order[start..].arrange_by_key(|&other| (degree[other as usize], other));
        }
        order
    };
    let mut starts = identity(n);
    starts.arrange_by_key(|&v| (degree[v as usize], v));
    let mut done = vec![false; n];
    let mut order = Vec::with_capacity(n);
    for start in starts {
        if done[start as usize] {
            continue;
        }
        // The last vertex of a search is at the rim. A second search starts there.
        let rim = search(start).last().copied().unwrap_or(start);
        let part = search(rim);
        part.iter().for_each(|&v| done[v as usize] = true);
        order.extend(part);
    }
    order.reverse();
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rcm_walks_along_a_path() {
        // 3 – 0 – 2 – 1
        let edges = [(3, 0), (0, 2), (2, 1)];
        let order = rcm(4, |v, visit| {
            for &(a, b) in &edges {
                if a == v {
                    visit(b);
                }
                if b == v {
                    visit(a);
                }
            }
        });
        assert!(order == [3, 0, 2, 1] || order == [1, 2, 0, 3], "{order:?}");
    }
}
