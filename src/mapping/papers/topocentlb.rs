//! TopoCentLB: the task with most traffic to placed tasks goes where that traffic is cheapest.
//!
//! Agarwal, Sharma and Kalé, "Topology-aware task mapping for reducing communication contention on
//! large parallel machines", IPDPS 2006, section 4.5: first-order estimation. Time O(n·edges).

use super::filled_problem::FilledProblem;
use super::quotient::volume;
use crate::base::error::Result;
use crate::base::permutation::identity;
use crate::base::sorting::Arrange;
use crate::mapping::engine::{Distance, GainHeap};
use crate::mapping::{Budget, Outcome, Problem};

/// The place of a task that is not placed yet.
const NONE: u32 = u32::MAX;

pub(super) fn map(problem: &Problem<'_>, budget: &Budget) -> Result<Outcome> {
    let filled = FilledProblem::new(problem, budget);
    let (n, graph) = (filled.len(), &filled.graph);
    let mut place_of = vec![NONE; n];
    let mut free = identity(n);
    let mut seeds = identity(n);
    seeds.arrange_by_key(|&t| std::cmp::Reverse(volume(graph, t as usize)));
    let mut seeds = seeds.into_iter();
    let mut queue = GainHeap::default();
    queue.reset(n);
    let mut partners: Vec<(i64, u32)> = Vec::new();
    for _ in 0..n {
        let heaviest = || seeds.find(|&t| place_of[t as usize] == NONE).unwrap_or(0) as usize;
        let next = queue.peek().map_or_else(heaviest, |(_, task)| task);
        queue.remove(next);
        partners.clear();
        let placed = graph.arcs(next).map(|(other, weight)| (weight, place_of[other]));
        partners.extend(placed.filter(|&(_, at)| at != NONE));
        let best = if partners.is_empty() || budget.expired() {
            0
        } else {
            let cost = |place: u32| -> i64 {
                partners.iter().map(|&(weight, at)| weight * filled.between(place, at)).sum()
            };
            (0..free.len()).min_by_key(|&k| (cost(free[k]), free[k])).unwrap_or(0)
        };
        place_of[next] = free.remove(best);
        for (other, weight) in graph.arcs(next) {
            if place_of[other] == NONE {
                queue.set(other, queue.gain(other).unwrap_or(0) + weight);
            }
        }
    }
    Ok(filled.outcome(place_of))
}
