//! The decision for traffic that changed little since an earlier launch searched for a rank order: the order of that launch,
//! improved by a local search. It takes a small part of the time of a search.

use super::{Decision, Question, check, wording};
use crate::base::permutation::identity;
use crate::mapping::{Basis, Budget, Previous, Problem, adapt};
use crate::matrix::TrafficSketch;

/// A rank order of an earlier launch on the same places with the same options, but with other traffic.
#[derive(Debug, Clone, PartialEq)]
pub struct EarlierOrder {
    /// The process of each task; empty if every task stayed on its process.
    pub process_of_task: Vec<u32>,
    /// The traffic of the last search that the order comes from.
    pub searched: TrafficSketch,
}

impl Question<'_> {
    /// The decision from an earlier order. `None` if a search is likely to find a much better one, or if the sizes do not
    /// fit together.
    pub fn adapted(&self, earlier: &EarlierOrder) -> Option<Decision> {
        let tasks = self.graph.vertices();
        check(tasks, self.slot_of_process, self.options).ok()?;
        let mut builder = Problem::builder(self.graph, self.topology)
            .slots(self.slot_of_process)
            .seed(self.options.seed);
        for &task in &self.options.fixed {
            builder = builder.fix(task, self.slot_of_process[task as usize]);
        }
        let problem = builder.build().ok()?;
        let slot = |&process: &u32| self.slot_of_process.get(process as usize).copied();
        let slot_of_task = match earlier.process_of_task.is_empty() {
            true => self.slot_of_process.to_vec(),
            false => earlier.process_of_task.iter().map(slot).collect::<Option<_>>()?,
        };
        let previous = Previous { slot_of_task, migration_cost: 0 };
        let budget = Budget::within(self.options.time_limit);
        let order = adapt(&problem, &previous, Basis::Sketch(&earlier.searched), &budget)?
            .outcome
            .place_of_task;
        let before = self.cost(&identity(tasks));
        if before.total() == 0 {
            return None;
        }
        let order = self.spread(order);
        let decision = self.concluded(&before, &self.cost(&order), order);
        Some(Decision { reason: wording::adapted(&decision.reason), ..decision })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::{Options, decide};
    use crate::matrix::{CommMatrix, SparseMatrix, Traffic};
    use crate::topology::Tree;

    /// Tasks t and t + 64 exchange data, and the pair of task `heavy` twice as much.
    fn pairs(heavy: u32, bytes: u64) -> CommMatrix {
        let cell = |t| Traffic { bytes: bytes * (1 + u64::from(t == heavy)), messages: 1 };
        let entries: Vec<(u32, u32, Traffic)> = (0..64).map(|t| (t, t + 64, cell(t))).collect();
        CommMatrix::from_point_to_point(SparseMatrix::from_entries(128, &entries))
    }

    #[test]
    fn an_order_is_adapted_if_little_changed() {
        let tree = Tree::regular(&[2, 64], &[10, 1]).unwrap();
        let slots: Vec<usize> = (0..128).collect();
        let options = Options::default();
        let before = pairs(128, 1000);
        let found = decide(&before, &tree, &slots, &options).unwrap();
        let searched = TrafficSketch::new(&before.affinity());
        let earlier = EarlierOrder { process_of_task: found.process_of_task.clone(), searched };
        let adapted = |matrix: &CommMatrix| {
            let graph = matrix.affinity();
            let (traffic, topology, slot_of_process) = (None, &tree, &slots[..]);
            let options = &options;
            Question { graph: &graph, traffic, timed: None, topology, slot_of_process, options }
                .adapted(&earlier)
        };
        // All pairs are on one node already, so the same order is the best.
        let again = adapted(&pairs(3, 1000)).unwrap();
        assert_eq!((again.process_of_task, again.cost_after), (found.process_of_task, 65_000));
        assert!(again.reason.ends_with("from the order of an earlier launch"), "{}", again.reason);
        assert!(adapted(&pairs(128, 50)).is_some(), "all pairs send less");
        let ring: Vec<_> =
            (0..128).map(|t| (t, (t + 1) % 128, Traffic { bytes: 7, messages: 1 })).collect();
        let ring = CommMatrix::from_point_to_point(SparseMatrix::from_entries(128, &ring));
        assert_eq!(adapted(&ring), None, "other traffic");
        assert_eq!(adapted(&CommMatrix::empty(3)), None);
    }
}
