//! What a move of a task costs or saves, with the price of leaving its previous slot.

use super::nearby::{Nearby, SlotDistances};
use crate::mapping::{Objective, ProblemBuilder};

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

/// What the costs of moves depend on, beside the mapping.
#[derive(Clone, Copy)]
pub(super) struct MoveCosts<'a, 'p> {
    pub(super) problem: &'a ProblemBuilder<'p>,
    pub(super) homes: Option<Homes<'a>>,
    pub(super) distances: &'a SlotDistances<'a>,
}

impl MoveCosts<'_, '_> {
    /// What a task gains by going from slot `from`, where it is, to slot `to`, if nothing else changes.
    pub(super) fn gain(&self, task: usize, from: usize, to: usize, slot_of_task: &[usize]) -> i128 {
        let distances = self.distances;
        let arcs = self.problem.graph.arcs(task);
        let saved = arcs.map(|(t, w)| {
            let there = slot_of_task[t as usize];
            self.weigh(w) * (distances.between(from, there) - distances.between(to, there))
        });
        saved.sum::<i128>() - self.dearer(task, from, to)
    }

    /// The previous slot of a task, if none of its partners is on it.
    pub(super) fn home_beside(&self, task: usize, nearby: &Nearby<'_>) -> Option<usize> {
        let home = self.homes.and_then(|homes| homes.of(task));
        home.filter(|&home| nearby.slots().all(|slot| slot != home))
    }

    /// The additional price of `task` on slot `there` instead of slot `here`.
    pub(super) fn dearer(&self, task: usize, here: usize, there: usize) -> i128 {
        self.homes.map_or(0, |homes| homes.dearer(task, here, there))
    }

    /// The weight of the edge between two tasks, 0 if there is none.
    pub(super) fn weight_between(&self, a: usize, b: usize) -> i128 {
        let weight = self.problem.graph.weight_between(a, b);
        if weight == 0 { 0 } else { self.weigh(weight) }
    }

    fn weigh(&self, weight: u64) -> i128 {
        if self.problem.objective == Objective::TotalHops { 1 } else { i128::from(weight) }
    }
}
