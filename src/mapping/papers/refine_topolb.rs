//! RefineTopoLB: swaps tasks between places as long as hop-bytes fall, starting from TopoLB.
//!
//! Agarwal, Sharma and Kalé, IPDPS 2006, section 5.2.4. The paper says that it swaps when hop-bytes
//! are reduced, not in which order it tries: here the task with most hop-bytes first, against all
//! others, taking its best swap. Above the size that TopoLB takes it starts from TopoCentLB.

use super::filled_problem::FilledProblem;
use super::quotient::volume;
use super::{topocentlb, topolb};
use crate::base::error::Result;
use crate::mapping::engine::{Distance, TreePlaces, lookup, with_distance};
use crate::mapping::{Budget, Outcome, Problem};

/// Most sweeps over all tasks. It stops earlier when a sweep swaps nothing.
const SWEEPS: usize = 8;

pub(super) fn map(problem: &Problem<'_>, budget: &Budget) -> Result<Outcome> {
    let start = topolb::second_order(problem, budget);
    let start = start.or_else(|_| topocentlb::map(problem, budget))?;
    let filled = FilledProblem::new(problem, budget);
    let mut place_of = filled.fill_up(start.place_of_task);
    let tree = problem.topology().as_tree();
    let tree = tree.and_then(|t| TreePlaces::new(t, problem.places(), filled.scale));
    let lookup = lookup(problem, tree.as_ref(), filled.scale);
    let swaps = with_distance!(&lookup, d => sweep(&filled, d, &mut place_of));
    Ok(filled.outcome(place_of).with("swaps", swaps))
}

/// Sweeps over all tasks until nothing improves; returns the number of swaps.
///
/// A partner of a swap saves at most its cost above one hop for each of its edges. This bound rules out
/// most partners without a look at their edges.
fn sweep<D: Distance>(filled: &FilledProblem, d: &D, place_of: &mut [u32]) -> usize {
    let (problem, graph, n) = (filled.problem, &filled.graph, filled.len());
    // Several places of one slot are at distance 0.
    let shared = problem.places().windows(2).any(|w| w[0] == w[1]);
    let least: Vec<i64> = (0..n).map(|t| if shared { 0 } else { volume(graph, t) }).collect();
    let cost = |place_of: &[u32], task: usize, place: u32| -> i64 {
        graph.arcs(task).map(|(other, w)| w * d.between(place, place_of[other])).sum()
    };
    let mut now: Vec<i64> = (0..n).map(|t| cost(place_of, t, place_of[t])).collect();
    let fixed: Vec<bool> = (0..n).map(|t| problem.fixed_place(t).is_some()).collect();
    let mut swaps = 0usize;
    for _ in 0..SWEEPS {
        let mut order: Vec<(i64, usize)> =
            (0..problem.tasks()).filter(|&t| !fixed[t]).map(|t| (now[t], t)).collect();
        order.sort_unstable_by(|a, b| b.cmp(a));
        let before = swaps;
        for &(_, task) in &order {
            if filled.budget.expired() {
                return swaps;
            }
            if now[task] == least[task] {
                continue;
            }
            let p = place_of[task];
            let mut best = (0i64, usize::MAX);
            for other in (0..n).filter(|&other| other != task && !fixed[other]) {
                let q = place_of[other];
                let own = now[task] - cost(place_of, task, q);
                if own + now[other] - least[other] <= best.0 {
                    continue;
                }
                // The length of the edge between the two tasks does not change, but both sums count it as 0
                // after the swap. This is corrected here.
                let between = graph.arcs(task).find(|&(t, _)| t == other);
                let kept = between.map_or(0, |(_, w)| 2 * w * d.between(p, q));
                let gain = own + now[other] - cost(place_of, other, p) - kept;
                if gain > best.0 {
                    best = (gain, other);
                }
            }
            let (gain, other) = best;
            if gain > 0 {
                place_of.swap(task, other);
                swaps += 1;
                for moved in [task, other] {
                    for t in graph.arcs(moved).map(|(t, _)| t).chain([moved]) {
                        now[t] = cost(place_of, t, place_of[t]);
                    }
                }
            }
        }
        if swaps == before {
            break;
        }
    }
    swaps
}
