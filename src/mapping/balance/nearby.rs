//! The slots of the partners of a task, and the distances between slots.

use crate::mapping::{Objective, ProblemBuilder};
use crate::matrix::Graph;
use crate::topology::Topology;

/// The distances between the slots of a topology, as a table if looking them up often pays for it.
pub(super) struct SlotDistances<'a> {
    topology: &'a dyn Topology,
    /// By both slots, or empty.
    table: Vec<u32>,
    slots: usize,
}

impl<'a> SlotDistances<'a> {
    pub(super) fn new(topology: &'a dyn Topology, graph: &Graph) -> Self {
        let slots = topology.slots();
        let mut table = Vec::new();
        if slots <= 4096 && slots * slots <= 8 * graph.edges() {
            let all: Vec<usize> = (0..slots).collect();
            let mut row = vec![0u64; slots];
            for slot in 0..slots {
                topology.distances(slot, &all, &mut row);
                table.extend(row.iter().map(|&d| u32::try_from(d).unwrap_or(u32::MAX)));
            }
            // A distance that does not fit is looked up.
            if table.contains(&u32::MAX) {
                table.clear();
            }
        }
        SlotDistances { topology, table, slots }
    }

    #[inline]
    pub(super) fn between(&self, a: usize, b: usize) -> i128 {
        match self.table.get(a * self.slots + b) {
            Some(&distance) => i128::from(distance),
            None => i128::from(self.topology.distance(a, b)),
        }
    }
}

/// The slots of the partners of one task, each with the weight of the traffic to it.
pub(super) struct Nearby<'a> {
    graph: &'a Graph,
    /// Every pair of tasks counts 1.
    count: bool,
    /// By slot: its index in `near`, or `u32::MAX`.
    index: Vec<u32>,
    near: Vec<(usize, i128)>,
}

impl<'a> Nearby<'a> {
    /// For no task yet.
    pub(super) fn new(problem: &ProblemBuilder<'a>) -> Self {
        let count = problem.objective == Objective::TotalHops;
        let index = vec![u32::MAX; problem.topology.slots()];
        Nearby { graph: problem.graph, count, index, near: Vec::new() }
    }

    /// Goes on to a task.
    pub(super) fn look(&mut self, task: usize, slot_of_task: &[usize]) {
        for (slot, _) in self.near.drain(..) {
            self.index[slot] = u32::MAX;
        }
        for (partner, weight) in self.graph.arcs(task) {
            let slot = slot_of_task[partner as usize];
            let weight = if self.count { 1 } else { i128::from(weight) };
            match self.near.get_mut(self.index[slot] as usize) {
                Some(near) => near.1 += weight,
                None => {
                    self.index[slot] = self.near.len() as u32;
                    self.near.push((slot, weight));
                }
            }
        }
    }

    /// The slots, in the order of the partners.
    pub(super) fn slots(&self) -> impl Iterator<Item = usize> + '_ {
        self.near.iter().map(|near| near.0)
    }

    /// The weight of the traffic to a slot.
    pub(super) fn weight_on(&self, slot: usize) -> i128 {
        self.near.get(self.index[slot] as usize).map_or(0, |near| near.1)
    }

    /// Cost of the edges of the task if it is on `slot`.
    pub(super) fn cost(&self, slot: usize, distances: &SlotDistances<'_>) -> i128 {
        self.near.iter().map(|&(there, weight)| weight * distances.between(slot, there)).sum()
    }
}
