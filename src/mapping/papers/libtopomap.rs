//! libtopomap's greedy heuristic, recursive bisection and Cuthill–McKee mapping.
//!
//! Hoefler and Snir, "Generic Topology Mapping Strategies for Large-scale Parallel Architectures",
//! ICS 2011, sections 4.1 to 4.3. The greedy heuristic measures distances in the topology as it is;
//! the original adds what it has already placed to the links' lengths. The target of the bisection
//! is halved by distances ([`super::bipartition`]), because the topology need not be a graph.

use super::bipartition;
use super::filled_problem::FilledProblem;
use super::quotient::volume;
use crate::base::error::Result;
use crate::mapping::engine::Csr;
use crate::mapping::{Budget, Mapper, Outcome, Problem};
use crate::topology::Network;
use std::collections::BinaryHeap;

/// Places the heaviest task, then always the heaviest edge to a placed task, as near as possible.
pub(in crate::mapping) struct Greedy;

impl Mapper for Greedy {
    fn name(&self) -> &'static str {
        "libtopomap-greedy"
    }

    fn source(&self) -> &'static str {
        "Hoefler and Snir 2011, section 4.1 (greedy heuristic)"
    }

    fn map(&self, problem: &Problem<'_>, budget: &mut Budget) -> Result<Outcome> {
        let filled = FilledProblem::new(problem, budget);
        let n = filled.len();
        let mut place_of = vec![u32::MAX; n];
        let mut free: Vec<u32> = (0..n as u32).rev().collect();
        let mut by_volume: Vec<u32> = (0..n as u32).collect();
        by_volume.sort_by_key(|&t| std::cmp::Reverse(volume(&filled.graph, t as usize)));
        for &seed in &by_volume {
            if place_of[seed as usize] != u32::MAX {
                continue;
            }
            let Some(place) = free.pop() else { break };
            place_of[seed as usize] = place;
            let mut queue = BinaryHeap::new();
            push_edges(&filled.graph, &place_of, seed, &mut queue);
            while let Some((_, _, partner, task)) = queue.pop() {
                if place_of[task as usize] != u32::MAX {
                    continue;
                }
                let at = place_of[partner as usize] as usize;
                let nearest = if budget.expired() {
                    free.len().checked_sub(1)
                } else {
                    let d = |k: &usize| (filled.distance(at, free[*k] as usize), free[*k]);
                    (0..free.len()).min_by_key(d)
                };
                let Some(k) = nearest else { break };
                place_of[task as usize] = free.remove(k);
                push_edges(&filled.graph, &place_of, task, &mut queue);
            }
        }
        Ok(filled.outcome(place_of))
    }
}

type Edge = (i64, std::cmp::Reverse<u32>, u32, u32);

/// Queues the edges of a placed task to tasks that are not.
fn push_edges(graph: &Csr, place_of: &[u32], task: u32, queue: &mut BinaryHeap<Edge>) {
    for (other, weight) in graph.arcs(task as usize) {
        if place_of[other] == u32::MAX {
            queue.push((weight, std::cmp::Reverse(other as u32), task, other as u32));
        }
    }
}

/// Halves the affinity graph and the places together, recursively.
pub(in crate::mapping) struct RecursiveBisection;

impl Mapper for RecursiveBisection {
    fn name(&self) -> &'static str {
        "libtopomap-rb"
    }

    fn source(&self) -> &'static str {
        "Hoefler and Snir 2011, section 4.2 (recursive bisection mapping)"
    }

    fn map(&self, problem: &Problem<'_>, budget: &mut Budget) -> Result<Outcome> {
        let filled = FilledProblem::new(problem, budget);
        let place_of = bipartition::dual_bisection(&filled, budget);
        Ok(filled.outcome(place_of))
    }
}

/// Numbers both graphs by reverse Cuthill–McKee and maps by number.
pub(in crate::mapping) struct Rcm;

impl Mapper for Rcm {
    fn name(&self) -> &'static str {
        "libtopomap-rcm"
    }

    fn source(&self) -> &'static str {
        "Hoefler and Snir 2011, section 4.3 (graph similarity, reverse Cuthill-McKee)"
    }

    fn map(&self, problem: &Problem<'_>, budget: &mut Budget) -> Result<Outcome> {
        let filled = FilledProblem::new(problem, budget);
        let graph = &filled.graph;
        let tasks = rcm(graph.len(), |v, visit| {
            graph.arcs(v).for_each(|(other, _)| visit(other));
        });
        let places = match problem.topology().network() {
            Some(network) => places_by_network(&filled, network),
            None => bipartition::halve(&filled, &(0..filled.len() as u32).collect::<Vec<_>>(), 0).1,
        };
        let mut place_of = vec![0; filled.len()];
        for (&task, &place) in tasks.iter().zip(&places) {
            place_of[task as usize] = place;
        }
        Ok(filled.outcome(place_of))
    }
}

/// The places in the order in which reverse Cuthill–McKee numbers the network's vertices.
fn places_by_network(filled: &FilledProblem, network: &dyn Network) -> Vec<u32> {
    let order = rcm(network.vertices(), |v, visit| {
        network.neighbours(v, &mut |other, _| visit(other));
    });
    let mut number = vec![0u32; order.len()];
    for (k, &vertex) in order.iter().enumerate() {
        number[vertex as usize] = k as u32;
    }
    let mut places: Vec<u32> = (0..filled.len() as u32).collect();
    places.sort_by_key(|&p| number[filled.problem.places()[p as usize] as usize]);
    places
}

/// Reverse Cuthill–McKee order of a graph: breadth-first from a vertex at the rim, neighbours by
/// rising degree, turned round. Parts that are not connected follow each other.
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
    let search = |from: u32, seen: &mut [u32], round: u32| {
        let mut order = vec![from];
        seen[from as usize] = round;
        let mut head = 0;
        while let Some(&v) = order.get(head) {
            head += 1;
            let start = order.len();
            neighbours(v as usize, &mut |other| {
                if seen[other] != round {
                    seen[other] = round;
                    order.push(other as u32);
                }
            });
            order[start..].sort_by_key(|&other| (degree[other as usize], other));
        }
        order
    };
    let mut starts: Vec<u32> = (0..n as u32).collect();
    starts.sort_by_key(|&v| (degree[v as usize], v));
    let mut done = vec![false; n];
    let mut order = Vec::with_capacity(n);
    for start in starts {
        if done[start as usize] {
            continue;
        }
        // The last vertex of a search is at the rim; a second search starts there.
        round += 1;
        let first = search(start, &mut seen, round);
        round += 1;
        let part = search(first.last().copied().unwrap_or(start), &mut seen, round);
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
