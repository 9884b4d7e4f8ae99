//! RefineTopoLB: swaps tasks between places as long as hop-bytes fall, starting from TopoLB.
//!
//! Agarwal, Sharma and Kalé, IPDPS 2006, section 5.2.4. The paper says that it swaps when hop-bytes
//! are reduced, not in which order it tries: here the task with most hop-bytes first, against all
//! others, taking its best swap. Above the size that TopoLB takes it starts from TopoCentLB.

use super::setting::Setting;
use super::{topocentlb, topolb};
use crate::error::Result;
use crate::mapping::work::Csr;
use crate::mapping::{Budget, Mapper, Outcome, Problem};

/// See the module.
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
        let setting = Setting::new(problem);
        let n = setting.len();
        let mut place_of = filled(&start.place_of_task, n);
        let mut swaps = 0usize;
        for _ in 0..SWEEPS {
            let mut order: Vec<(i64, usize)> = (0..problem.tasks())
                .filter(|&t| problem.fixed_place(t).is_none())
                .map(|t| (task_cost(&setting, &place_of, t, place_of[t], usize::MAX), t))
                .collect();
            order.sort_unstable_by(|a, b| b.cmp(a));
            let before = swaps;
            for &(_, task) in &order {
                if budget.expired() {
                    break;
                }
                let best = (0..n)
                    .filter(|&other| other != task && problem.fixed_place(other).is_none())
                    .map(|other| (swap_gain(&setting, &place_of, task, other), n - other))
                    .max();
                if let Some((gain, other)) = best
                    && gain > 0
                {
                    place_of.swap(task, n - other);
                    swaps += 1;
                }
            }
            if swaps == before {
                break;
            }
        }
        Ok(setting.outcome(place_of).with("swaps", swaps))
    }
}

/// Extends an answer to the tasks that fill up the graph: they take the places left over.
pub(super) fn filled(place_of_task: &[u32], places: usize) -> Vec<u32> {
    let mut taken = vec![false; places];
    place_of_task.iter().for_each(|&p| taken[p as usize] = true);
    let rest = (0..places as u32).filter(|&p| !taken[p as usize]);
    place_of_task.iter().copied().chain(rest).collect()
}

/// Cost of a task's edges if it sat on `place`, without the edge to `except`.
pub(super) fn task_cost(
    setting: &Setting,
    place_of: &[u32],
    task: usize,
    place: u32,
    except: usize,
) -> i64 {
    let graph: &Csr = &setting.graph;
    graph
        .arcs(task)
        .filter(|&(other, _)| other != except)
        .map(|(other, w)| w * setting.distance(place as usize, place_of[other] as usize))
        .sum()
}

/// How much hop-bytes fall if two tasks swap their places.
pub(super) fn swap_gain(setting: &Setting, place_of: &[u32], a: usize, b: usize) -> i64 {
    let (p, q) = (place_of[a], place_of[b]);
    task_cost(setting, place_of, a, p, b) + task_cost(setting, place_of, b, q, a)
        - task_cost(setting, place_of, a, q, b)
        - task_cost(setting, place_of, b, p, a)
}
