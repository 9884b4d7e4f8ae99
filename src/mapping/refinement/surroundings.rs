//! Where the partners of a task are, for a local search that considers several places for this task.

use crate::mapping::engine::{Csr, Distance, Placement};

/// Where the partners of a task are. They are looked up once for all places that the task might move to.
#[derive(Default)]
pub(crate) struct Surroundings {
    /// The place of each partner, and the weight of its edge.
    pub(crate) partners: Vec<(u32, i64)>,
    /// The place of the task.
    own: u32,
    /// The cost of its edges there.
    cost: i64,
}

impl Surroundings {
    #[inline(always)]
    pub(crate) fn look<D: Distance>(
        &mut self,
        graph: &Csr,
        d: &D,
        placement: &Placement,
        task: usize,
    ) {
        self.own = placement.place_of[task];
        self.partners.clear();
        self.partners.extend(graph.arcs(task).map(|(t, w)| (placement.place_of[t], w)));
        let from_own = d.distances_of(self.own);
        self.cost = self.partners.iter().map(|&(at, w)| w * from_own(at)).sum();
    }

    /// As [`Placement::half_delta`]. A partner on place `q` itself would come to the task's own place.
    #[inline(always)]
    pub(crate) fn change<D: Distance>(&self, d: &D, q: u32) -> i64 {
        let from_q = d.distances_of(q);
        let cost_there =
            self.partners.iter().map(|&(at, w)| w * from_q(if at == q { self.own } else { at }));
        cost_there.sum::<i64>() - self.cost
    }
}
