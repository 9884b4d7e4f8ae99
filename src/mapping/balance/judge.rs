//! The value of a mapping of weighted tasks.

use crate::mapping::evaluation::value_of;
use crate::mapping::{Objective, ProblemBuilder};

/// Values of whole mappings by the independent evaluator.
pub(super) struct Judge<'a, 'b> {
    builder: &'b ProblemBuilder<'a>,
}

impl<'a, 'b> Judge<'a, 'b> {
    pub(super) fn new(builder: &'b ProblemBuilder<'a>) -> Self {
        Judge { builder }
    }

    pub(super) fn value(&self, slot_of_task: &[usize]) -> f64 {
        let b = self.builder;
        match b.objective {
            Objective::HopBytes | Objective::SumCom => {
                crate::metrics::hop_bytes(b.graph, b.topology, slot_of_task) as f64
            }
            objective => value_of(objective, b.graph, b.traffic, b.topology, slot_of_task)
                .unwrap_or(f64::INFINITY),
        }
    }
}
