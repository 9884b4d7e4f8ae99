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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mapping::engine::Scale;
    use crate::matrix::Graph;
    use proptest::prelude::*;

    struct Row;

    impl Distance for Row {
        fn between(&self, a: u32, b: u32) -> i64 {
            i64::from(a.abs_diff(b))
        }
    }

    proptest! {
        #[test]
        fn changes_are_those_of_the_placement(
            edges in prop::collection::vec((0u32..8, 0u32..8, 1u64..100), 1..30), task in 0usize..8)
        {
            let graph = Csr::from_graph(&Graph::from_edges(8, &edges), Scale::new(1 << 20, 100));
            let placement = Placement::new((0..8).map(|v| v * 3 % 10).collect(), 10);
            let mut surroundings = Surroundings::default();
            surroundings.look(&graph, &Row, &placement, task);
            for q in 0..10 {
                let expected = placement.half_delta(&graph, &Row, task, q);
                prop_assert_eq!(surroundings.change(&Row, q), expected);
            }
        }
    }
}
