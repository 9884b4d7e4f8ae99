//! The value of a mapping of weighted tasks.

use crate::mapping::evaluation::value_of;
use crate::mapping::{Objective, ProblemBuilder};

/// The value of a whole mapping by the independent evaluator; infinite where the objective has none.
pub(super) fn value(problem: &ProblemBuilder<'_>, slot_of_task: &[usize]) -> f64 {
    let ProblemBuilder { graph, topology, traffic, objective, .. } = *problem;
    match objective {
        Objective::HopBytes | Objective::SumCom => {
            crate::metrics::hop_bytes(graph, topology, slot_of_task) as f64
        }
        _ => value_of(objective, graph, traffic, topology, slot_of_task).unwrap_or(f64::INFINITY),
    }
}
