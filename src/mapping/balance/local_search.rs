//! Moves and swaps of single tasks between slots that lower hop-bytes and keep the load limit.

use super::loads::Loads;
use crate::mapping::{Budget, Objective, ProblemBuilder};

/// Rounds over all tasks at most.
const ROUNDS: usize = 8;

/// The price of tasks that are not on their previous slot.
#[derive(Debug, Clone, Copy)]
pub(super) struct Homes<'a> {
    /// The previous slot of every task, or [`NOWHERE`] if it had none or if this slot may not be used any more.
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

    /// The additional price of `task` on slot `there` instead of slot `here`.
    fn dearer(self, task: usize, here: usize, there: usize) -> i128 {
        let away = |slot: usize| i128::from(self.of(task).is_some_and(|home| home != slot));
        self.price * (away(there) - away(here))
    }
}

/// A local search on a mapping of weighted tasks. It counts 1 for every pair if the objective is total
/// hops. For all other objectives it lowers hop-bytes, and the caller compares the values.
#[derive(Clone, Copy)]
pub(super) struct LocalSearch<'a, 'p> {
    pub(super) problem: &'a ProblemBuilder<'p>,
    pub(super) loads: &'a Loads,
    /// Load that no slot may exceed.
    pub(super) limit: u128,
    /// By task: whether it keeps its slot.
    pub(super) pinned: &'a [bool],
    /// The price of tasks that are not on their previous slot, if there is one.
    pub(super) homes: Option<Homes<'a>>,
}

/// A mapping that changes.
struct ChangingMapping<'a> {
    slot_of_task: &'a mut [usize],
    /// Load of every slot.
    sums: Vec<u128>,
    /// Tasks on every slot.
    at: Vec<Vec<u32>>,
}

impl ChangingMapping<'_> {
    fn move_task(&mut self, task: u32, to: usize, load: u128) {
        let from = std::mem::replace(&mut self.slot_of_task[task as usize], to);
        self.at[from].retain(|&x| x != task);
        self.at[to].push(task);
        self.sums[from] -= load;
        self.sums[to] += load;
    }
}

impl LocalSearch<'_, '_> {
    /// The mapping with the smallest `key`, of the mappings in `starts` and of the results of the search from
    /// each of them. Returned with its key and its name.
    pub(super) fn best_from<K: PartialOrd>(
        &self,
        starts: impl IntoIterator<Item = (&'static str, Vec<usize>)>,
        key: impl Fn(&[usize]) -> K,
        budget: &Budget,
    ) -> Option<(K, &'static str, Vec<usize>)> {
        let mut best: Option<(K, &'static str, Vec<usize>)> = None;
        for (name, start) in starts {
            let mut improved = start.clone();
            self.improve(&mut improved, budget);
            for answer in [start, improved] {
                let key = key(&answer);
                if best.as_ref().is_none_or(|b| key < b.0) {
                    best = Some((key, name, answer));
                }
            }
        }
        best
    }

    /// Improves a mapping in place.
    pub(super) fn improve(&self, slot_of_task: &mut [usize], budget: &Budget) {
        let (graph, slots) = (self.problem.graph, self.problem.topology.slots());
        let mut mapping = ChangingMapping {
            sums: self.loads.of_slots(slots, slot_of_task),
            at: vec![Vec::new(); slots],
            slot_of_task,
        };
        for (task, &slot) in mapping.slot_of_task.iter().enumerate() {
            mapping.at[slot].push(task as u32);
        }
        let mut awake = vec![true; graph.vertices()];
        for _ in 0..ROUNDS {
            let mut moved = false;
            for task in 0..graph.vertices() {
                if !std::mem::take(&mut awake[task]) || self.pinned[task] {
                    continue;
                }
                if budget.expired() {
                    return;
                }
                let Some((there, other)) = self.best_move(&mapping, task) else { continue };
                moved = true;
                let here = mapping.slot_of_task[task];
                for (t, to) in [(Some(task as u32), there), (other, here)] {
                    let Some(t) = t else { continue };
                    mapping.move_task(t, to, self.loads.of(t as usize));
                    awake[t as usize] = true;
                    graph.neighbours(t as usize).iter().for_each(|&x| awake[x as usize] = true);
                }
            }
            if !moved {
                return;
            }
        }
    }

    /// The slot to which a task should go and the task that should come from there in exchange, if that
    /// gains anything.
    fn best_move(
        &self,
        mapping: &ChangingMapping<'_>,
        task: usize,
    ) -> Option<(usize, Option<u32>)> {
        let LocalSearch { problem, loads, limit, pinned, homes } = *self;
        let ChangingMapping { slot_of_task, sums, at } = mapping;
        let (here, load) = (slot_of_task[task], loads.of(task));
        let own = self.cost(slot_of_task, task, here, usize::MAX);
        let mut best: (i128, usize, Option<u32>) = (0, here, None);
        let mut tried = vec![here];
        let dearer = |task: usize, here: usize, there: usize| {
            homes.map_or(0, |homes| homes.dearer(task, here, there))
        };
        let partners = problem.graph.neighbours(task).iter().map(|&t| slot_of_task[t as usize]);
        for there in partners.chain(homes.and_then(|homes| homes.of(task))) {
            if tried.contains(&there) {
                continue;
            }
            tried.push(there);
            let alone = dearer(task, here, there);
            let gain = own - self.cost(slot_of_task, task, there, usize::MAX) - alone;
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
                let gain = self.cost(slot_of_task, task, here, o)
                    + self.cost(slot_of_task, o, there, task)
                    - self.cost(slot_of_task, task, there, o)
                    - self.cost(slot_of_task, o, here, task)
                    - alone
                    - dearer(o, there, here);
                if gain > best.0 {
                    best = (gain, there, Some(other));
                }
            }
        }
        let (gain, there, other) = best;
        (gain > 0).then_some((there, other))
    }

    /// Cost of the edges of `task` on `slot`, that to `except` left out.
    fn cost(&self, slots: &[usize], task: usize, slot: usize, except: usize) -> i128 {
        let count = self.problem.objective == Objective::TotalHops;
        let weigh = |w: u64| if count { 1 } else { i128::from(w) };
        let topology = self.problem.topology;
        let others = self.problem.graph.arcs(task).filter(|&(t, _)| t as usize != except);
        others.map(|(t, w)| weigh(w) * i128::from(topology.distance(slot, slots[t as usize]))).sum()
    }
}
