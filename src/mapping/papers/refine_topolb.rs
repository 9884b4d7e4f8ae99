//! RefineTopoLB: swaps tasks between places as long as hop-bytes fall, starting from TopoLB.
//!
//! Agarwal, Sharma and Kalé, IPDPS 2006, section 5.2.4. The paper says that it swaps when hop-bytes
//! are reduced, not in which order it tries: here the task with most hop-bytes first, against all
//! others, taking its best swap. Above the size that TopoLB takes it starts from TopoCentLB.

use super::filled_problem::FilledProblem;
use super::quotient::volume;
use super::{topocentlb, topolb};
use crate::base::error::Result;
use crate::mapping::engine::{Csr, Distance, TreePlaces, lookup, with_distance};
use crate::mapping::{Budget, Mapper, Outcome, Problem};

/// RefineTopoLB, on top of TopoLB.
pub(in crate::mapping) struct RefineTopoLb;

/// Most sweeps over all tasks; it stops before, when a sweep swaps nothing.
const SWEEPS: usize = 8;

impl Mapper for RefineTopoLb {
    fn name(&self) -> &'static str {
        "refine-topolb"
    }

    fn source(&self) -> &'static str {
        "Agarwal, Sharma and Kale 2006, section 5.2.4 (RefineTopoLB after TopoLB)"
    }

    fn map(&self, problem: &Problem<'_>, budget: &mut Budget) -> Result<Outcome> {
        let start = match topolb::SECOND_ORDER.map(problem, budget) {
            Ok(outcome) => outcome,
            Err(_) => topocentlb::TopoCentLb.map(problem, budget)?,
        };
        let filled = FilledProblem::new(problem, budget);
        let mut place_of = fill_up(&start.place_of_task, filled.len());
        let tree = problem.topology().as_tree();
        let tree = tree.and_then(|t| TreePlaces::new(t, problem.places(), filled.scale()));
        let lookup = lookup(problem, tree.as_ref(), filled.scale());
        let swaps = with_distance!(&lookup, d => sweep(&filled, d, &mut place_of, budget));
        Ok(filled.outcome(place_of).with("swaps", swaps))
    }
}

/// Sweeps over all tasks until nothing improves; returns the number of swaps.
///
/// A partner of a swap cannot save more than all its cost above one hop for each of its edges, so
/// most need no look at their edges.
fn sweep<D: Distance>(
    filled: &FilledProblem,
    d: &D,
    place_of: &mut [u32],
    budget: &Budget,
) -> usize {
    let (problem, graph, n) = (filled.problem, &filled.graph, filled.len());
    // Several places of one slot are at distance 0.
    let shared = problem.places().windows(2).any(|w| w[0] == w[1]);
    let least: Vec<i64> = (0..n).map(|t| if shared { 0 } else { volume(graph, t) }).collect();
    let cost = |place_of: &[u32], task: usize, place: u32, except: usize| -> i64 {
        let others = graph.arcs(task).filter(|&(other, _)| other != except);
        others.map(|(other, w)| w * d.between(place, place_of[other])).sum()
    };
    let mut now: Vec<i64> = (0..n).map(|t| cost(place_of, t, place_of[t], usize::MAX)).collect();
    let fixed: Vec<bool> = (0..n).map(|t| problem.fixed_place(t).is_some()).collect();
    let mut swaps = 0usize;
    for _ in 0..SWEEPS {
        let mut order: Vec<(i64, usize)> =
            (0..problem.tasks()).filter(|&t| !fixed[t]).map(|t| (now[t], t)).collect();
        order.sort_unstable_by(|a, b| b.cmp(a));
        let before = swaps;
        for &(_, task) in &order {
            if budget.expired() {
                return swaps;
            }
            if now[task] == least[task] {
                continue;
            }
            let p = place_of[task];
            let mut best = (0i64, usize::MAX);
            for other in (0..n).filter(|&other| other != task && !fixed[other]) {
                let q = place_of[other];
                let own = now[task] - cost(place_of, task, q, usize::MAX);
                if own + now[other] - least[other] <= best.0 {
                    continue;
                }
                // The edge between the two keeps its length; both sums take it as gone to 0.
                let between = graph.arcs(task).find(|&(t, _)| t == other);
                let kept = between.map_or(0, |(_, w)| 2 * w * d.between(p, q));
                let gain = own + now[other] - cost(place_of, other, p, usize::MAX) - kept;
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
                        now[t] = cost(place_of, t, place_of[t], usize::MAX);
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

/// Extends an answer to the tasks that fill up the graph: they take the places left over.
pub(super) fn fill_up(place_of_task: &[u32], places: usize) -> Vec<u32> {
    let mut taken = vec![false; places];
    place_of_task.iter().for_each(|&p| taken[p as usize] = true);
    let rest = (0..places as u32).filter(|&p| !taken[p as usize]);
    place_of_task.iter().copied().chain(rest).collect()
}

/// Cost of a task's edges if it sat on `place`, without the edge to `except`.
pub(super) fn task_cost(
    filled: &FilledProblem,
    place_of: &[u32],
    task: usize,
    place: u32,
    except: usize,
) -> i64 {
    let graph: &Csr = &filled.graph;
    graph
        .arcs(task)
        .filter(|&(other, _)| other != except)
        .map(|(other, w)| w * filled.distance(place as usize, place_of[other] as usize))
        .sum()
}

/// How much hop-bytes fall if two tasks swap their places.
pub(super) fn swap_gain(filled: &FilledProblem, place_of: &[u32], a: usize, b: usize) -> i64 {
    let (p, q) = (place_of[a], place_of[b]);
    task_cost(filled, place_of, a, p, b) + task_cost(filled, place_of, b, q, a)
        - task_cost(filled, place_of, a, q, b)
        - task_cost(filled, place_of, b, p, a)
}
