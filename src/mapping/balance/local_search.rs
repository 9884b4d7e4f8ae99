//! Moves and swaps of single tasks between slots that lower hop-bytes and keep the load limit.
//!
//! A task looks at the slots of its partners. On each of them it is moved there alone, or changes places with one of a
//! few tasks there that gain most by coming here ([`SwapPartners`]). So, for tasks with few partners, the time of a round
//! depends on the edges, and not on the number of tasks on a slot.

use super::loads::Loads;
use super::move_costs::{Homes, MoveCosts};
use super::nearby::{Nearby, SlotDistances};
use super::swap_partners::SwapPartners;
use crate::mapping::{Budget, ProblemBuilder};

/// Rounds over all tasks at most.
const ROUNDS: usize = 8;

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
}

/// A move of a task, with the task that comes back from there in exchange.
struct Move {
    gain: i128,
    there: usize,
    other: Option<u32>,
}

impl ChangingMapping<'_> {
    fn move_task(&mut self, task: u32, to: usize, load: u128) {
        let from = std::mem::replace(&mut self.slot_of_task[task as usize], to);
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
        let distances = SlotDistances::new(self.problem.topology, self.problem.graph);
        let mut best: Option<(K, &'static str, Vec<usize>)> = None;
        for (name, start) in starts {
            let mut improved = start.clone();
            self.improve(&mut improved, &distances, budget);
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
    fn improve(&self, slot_of_task: &mut [usize], distances: &SlotDistances<'_>, budget: &Budget) {
        let (graph, slots) = (self.problem.graph, self.problem.topology.slots());
        let sums = self.loads.of_slots(slots, slot_of_task);
        let mut mapping = ChangingMapping { sums, slot_of_task };
        let mut awake = vec![true; graph.vertices()];
        let mut nearby = Nearby::new(self.problem);
        let costs = MoveCosts { problem: self.problem, homes: self.homes, distances };
        for _ in 0..ROUNDS {
            let slot_of_task = &*mapping.slot_of_task;
            let partners = SwapPartners::new(costs, self.pinned, slot_of_task, &mut nearby);
            let mut moved = false;
            for task in 0..graph.vertices() {
                if !std::mem::take(&mut awake[task]) || self.pinned[task] {
                    continue;
                }
                if budget.expired() {
                    return;
                }
                nearby.look(task, mapping.slot_of_task);
                let best = self.best_move(&mapping, &partners, costs, (task, &nearby));
                let Some(Move { there, other, .. }) = best else { continue };
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

    /// The best move of a task and the task that should come from there in exchange, if that gains anything.
    fn best_move(
        &self,
        mapping: &ChangingMapping<'_>,
        partners: &SwapPartners,
        costs: MoveCosts<'_, '_>,
        (task, nearby): (usize, &Nearby<'_>),
    ) -> Option<Move> {
        let (here, load) = (mapping.slot_of_task[task], self.loads.of(task));
        let distances = costs.distances;
        let own = nearby.cost(here, distances);
        let mut best = Move { gain: 0, there: here, other: None };
        for there in nearby.slots().chain(costs.home_beside(task, nearby)) {
            if there == here {
                continue;
            }
            let alone = own - nearby.cost(there, distances) - costs.dearer(task, here, there);
            let after = mapping.sums[there] + load;
            if after <= self.limit && alone > best.gain {
                best = Move { gain: alone, there, other: None };
            }
            // What `other` must have at least, and may have at most, so that both slots keep the limit.
            let least = after.saturating_sub(self.limit);
            let most = self.limit.saturating_add(load).saturating_sub(mapping.sums[here]);
            let mut tried = 0;
            for (listed, other) in partners.between(there, here) {
                let o = other as usize;
                if tried == SwapPartners::TRIED || alone + listed <= best.gain {
                    break;
                }
                let other_load = self.loads.of(o);
                let fits = least <= other_load && other_load <= most;
                if mapping.slot_of_task[o] != there || !fits {
                    continue;
                }
                tried += 1;
                let between = costs.weight_between(task, o) * distances.between(here, there);
                let back = costs.gain(o, there, here, mapping.slot_of_task);
                let gain = alone + back - 2 * between;
                if gain > best.gain {
                    best = Move { gain, there, other: Some(other) };
                }
            }
        }
        (best.gain > 0).then_some(best)
    }
}
