//! Moves and swaps of single tasks between slots that lower hop-bytes and keep the load limit.

use super::loads::Loads;
use crate::mapping::{Budget, Objective, ProblemBuilder};

/// Rounds over all tasks at most.
const ROUNDS: usize = 8;

/// A price for tasks that are not on the slot they had.
#[derive(Debug, Clone, Copy)]
pub(super) struct Homes<'a> {
    /// The slot that every task had, [`NOWHERE`] if it had none that may be used.
    pub(super) slot_of_task: &'a [usize],
    /// Price of one task, in units of the objective.
    pub(super) price: i128,
}

/// No slot.
pub(super) const NOWHERE: usize = usize::MAX;

impl Homes<'_> {
    fn of(self, task: usize) -> Option<usize> {
        self.slot_of_task.get(task).copied().filter(|&home| home != NOWHERE)
    }

    /// What it costs more that `task` is on `there` instead of `here`.
    fn dearer(self, task: usize, here: usize, there: usize) -> i128 {
        let away = |slot: usize| i128::from(self.of(task).is_some_and(|home| home != slot));
        self.price * (away(there) - away(here))
    }
}

/// A local search on a mapping of weighted tasks. For total hops every pair counts 1; other objectives
/// start from the hop-bytes answer, and the caller compares.
#[derive(Clone, Copy)]
pub(super) struct LocalSearch<'a, 'p> {
    pub(super) problem: &'a ProblemBuilder<'p>,
    pub(super) loads: &'a Loads,
    /// Load that no slot may exceed.
    pub(super) limit: u128,
    /// By task: it keeps its slot.
    pub(super) pinned: &'a [bool],
    /// What it costs that a task is not where it was, where that has a price.
    pub(super) homes: Option<Homes<'a>>,
}

impl LocalSearch<'_, '_> {
    /// Improves a mapping in place.
    pub(super) fn improve(&self, slot_of_task: &mut [usize], budget: &Budget) {
        let LocalSearch { problem, loads, limit, pinned, homes } = *self;
        let (graph, topology) = (problem.graph, problem.topology);
        let count = problem.objective == Objective::TotalHops;
        let weigh = |w: u64| if count { 1 } else { i128::from(w) };
        let d = |a: usize, b: usize| i128::from(topology.distance(a, b));
        let mut sums = loads.of_slots(topology.slots(), slot_of_task);
        let mut at: Vec<Vec<u32>> = vec![Vec::new(); topology.slots()];
        for (task, &slot) in slot_of_task.iter().enumerate() {
            at[slot].push(task as u32);
        }
        // Cost of the edges of `task` on `slot`, that to `except` left out.
        let cost = |slots: &[usize], task: usize, slot: usize, except: usize| -> i128 {
            let others = graph.arcs(task).filter(|&(t, _)| t as usize != except);
            others.map(|(t, w)| weigh(w) * d(slot, slots[t as usize])).sum()
        };
        let mut awake = vec![true; graph.vertices()];
        for _ in 0..ROUNDS {
            let mut moved = false;
            for task in 0..graph.vertices() {
                if !std::mem::take(&mut awake[task]) || pinned[task] {
                    continue;
                }
                if budget.expired() {
                    return;
                }
                let here = slot_of_task[task];
                let load = loads.of(task);
                let own = cost(slot_of_task, task, here, usize::MAX);
                let mut best: (i128, usize, Option<u32>) = (0, here, None);
                let mut tried = vec![here];
                let dearer = |task: usize, here: usize, there: usize| {
                    homes.map_or(0, |homes| homes.dearer(task, here, there))
                };
                let partners = graph.neighbours(task).iter().map(|&t| slot_of_task[t as usize]);
                for there in partners.chain(homes.and_then(|homes| homes.of(task))) {
                    if tried.contains(&there) {
                        continue;
                    }
                    tried.push(there);
                    let alone = dearer(task, here, there);
                    let gain = own - cost(slot_of_task, task, there, usize::MAX) - alone;
                    if sums[there] + load <= limit && gain > best.0 {
                        best = (gain, there, None);
                    }
                    for &other in &at[there] {
                        let (o, other_load) = (other as usize, loads.of(other as usize));
                        let fits = sums[there] + load - other_load <= limit
                            && sums[here] + other_load - load <= limit;
                        if pinned[o] || !fits {
                            continue;
                        }
                        let gain = cost(slot_of_task, task, here, o)
                            + cost(slot_of_task, o, there, task)
                            - cost(slot_of_task, task, there, o)
                            - cost(slot_of_task, o, here, task)
                            - alone
                            - dearer(o, there, here);
                        if gain > best.0 {
                            best = (gain, there, Some(other));
                        }
                    }
                }
                let (gain, there, other) = best;
                if gain <= 0 {
                    continue;
                }
                moved = true;
                for (t, from, to) in [(Some(task as u32), here, there), (other, there, here)] {
                    let Some(t) = t else { continue };
                    at[from].retain(|&x| x != t);
                    at[to].push(t);
                    slot_of_task[t as usize] = to;
                    sums[from] -= loads.of(t as usize);
                    sums[to] += loads.of(t as usize);
                    awake[t as usize] = true;
                    graph.neighbours(t as usize).iter().for_each(|&x| awake[x as usize] = true);
                }
            }
            if !moved {
                return;
            }
        }
    }
}
