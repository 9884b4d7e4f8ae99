//! TopoCentLB: the task with most traffic to placed tasks goes where that traffic is cheapest.
//!
//! Agarwal, Sharma and Kalé, "Topology-aware task mapping for reducing communication contention on
//! large parallel machines", IPDPS 2006, section 4.5: first-order estimation. Time O(n·edges).

use super::filled_problem::FilledProblem;
use super::quotient::volume;
use crate::base::error::Result;
use crate::mapping::engine::GainHeap;
use crate::mapping::{Budget, Mapper, Outcome, Problem};

/// TopoCentLB.
pub(in crate::mapping) struct TopoCentLb;

impl Mapper for TopoCentLb {
    fn name(&self) -> &'static str {
        "topocentlb"
    }

    fn source(&self) -> &'static str {
        "Agarwal, Sharma and Kale 2006, section 4.5 (TopoCentLB)"
    }

    fn map(&self, problem: &Problem<'_>, budget: &mut Budget) -> Result<Outcome> {
        let filled = FilledProblem::new(problem, budget);
        let (n, graph) = (filled.len(), &filled.graph);
        let mut place_of = vec![u32::MAX; n];
        let mut free: Vec<u32> = (0..n as u32).collect();
        let mut seeds: Vec<u32> = (0..n as u32).collect();
        seeds.sort_by_key(|&t| (volume(graph, t as usize), std::cmp::Reverse(t)));
        let mut queue = GainHeap::default();
        queue.reset(n);
        let mut partners: Vec<(i64, usize)> = Vec::new();
        for _ in 0..n {
            let next = match queue.peek() {
                Some((_, task)) => {
                    queue.remove(task);
                    task
                }
                None => {
                    let unplaced = |t: &u32| place_of[*t as usize] == u32::MAX;
                    while seeds.last().is_some_and(|t| !unplaced(t)) {
                        seeds.pop();
                    }
                    seeds.pop().unwrap_or(0) as usize
                }
            };
            partners.clear();
            partners.extend(
                graph
                    .arcs(next)
                    .filter(|&(other, _)| place_of[other] != u32::MAX)
                    .map(|(other, weight)| (weight, place_of[other] as usize)),
            );
            let cost = |place: usize| -> i64 {
                partners.iter().map(|&(weight, at)| weight * filled.distance(place, at)).sum()
            };
            let best = if partners.is_empty() || budget.expired() {
                0
            } else {
                let key = |k: &usize| (cost(free[*k] as usize), free[*k]);
                (0..free.len()).min_by_key(key).unwrap_or(0)
            };
            place_of[next] = free.remove(best);
            for (other, weight) in graph.arcs(next) {
                if place_of[other] == u32::MAX {
                    let placed = queue_gain(graph, &place_of, other);
                    debug_assert!(placed >= weight);
                    queue.set(other, placed);
                }
            }
        }
        Ok(filled.outcome(place_of))
    }
}

/// Traffic of a task with placed tasks.
fn queue_gain(graph: &crate::mapping::engine::Csr, place_of: &[u32], task: usize) -> i64 {
    graph.arcs(task).filter(|&(other, _)| place_of[other] != u32::MAX).map(|(_, w)| w).sum()
}
