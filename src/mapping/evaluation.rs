//! The value of a whole mapping in its objective, by the independent evaluator.

use super::{Objective, Problem};
use crate::matrix::{Graph, SparseMatrix, Traffic};
use crate::metrics;
use crate::topology::Topology;
use std::borrow::Cow;

/// The value of a mapping by the independent evaluator. `None` where the objective needs links and the
/// topology has none.
pub(crate) fn value(problem: &Problem<'_>, slot_of_task: &[usize]) -> Option<f64> {
    let (graph, traffic) = (problem.graph(), problem.traffic());
    value_of(problem.objective(), graph, traffic, problem.topology(), slot_of_task)
}

/// The predicted time of a mapping. `None` if the topology has no links.
pub(crate) fn time(
    problem: &Problem<'_>,
    slot_of_task: &[usize],
) -> Option<metrics::PredictedTime> {
    let matrix = directed(problem.graph(), problem.traffic());
    metrics::predicted_time(&matrix, problem.topology(), slot_of_task)
}

/// The time of a mapping, simulated with fair rates; see [`metrics::fair_time`].
pub(crate) fn fair_time(
    problem: &Problem<'_>,
    slot_of_task: &[usize],
    limit: f64,
    allowance: &mut metrics::Allowance<'_>,
) -> Option<f64> {
    let matrix = directed(problem.graph(), problem.traffic());
    metrics::fair_time(&matrix, problem.topology(), slot_of_task, limit, allowance)
}

/// As [`value`], for the parts of a problem. Without the traffic, half of every edge counts in each
/// direction, because the affinity graph has no directions.
pub(crate) fn value_of(
    objective: Objective,
    graph: &Graph,
    traffic: Option<&SparseMatrix>,
    topology: &dyn Topology,
    slot_of_task: &[usize],
) -> Option<f64> {
    let matrix = directed(graph, traffic);
    let parts = parts_of(objective);
    let e = metrics::evaluate_parts(parts, 1, &matrix, topology, slot_of_task).ok()?;
    match objective {
        Objective::HopBytes => Some(e.hop_bytes as f64),
        Objective::TotalHops => Some(e.total_hops as f64),
        Objective::SumCom => Some(e.sum_com as f64),
        Objective::MaxCom => Some(e.max_com.real()),
        Objective::Mc => e.mc,
        Objective::Mmc => e.mmc.map(|m| m as f64),
        Objective::Time => e.predicted_time,
    }
}

/// The metrics that an objective needs.
pub(crate) fn parts_of(objective: Objective) -> metrics::Parts {
    match objective {
        Objective::Time => metrics::Parts::Time,
        Objective::Mc | Objective::Mmc => metrics::Parts::Loads,
        _ => metrics::Parts::Pairs,
    }
}

/// The traffic if it was given, or else [`both_ways`] of the graph.
pub(crate) fn directed<'a>(
    graph: &Graph,
    traffic: Option<&'a SparseMatrix>,
) -> Cow<'a, SparseMatrix> {
    traffic.map_or_else(|| Cow::Owned(both_ways(graph)), Cow::Borrowed)
}

/// A matrix with every edge of the graph in both directions. Each direction has half of the weight. If a
/// weight is odd, the matrix counts halves of bytes.
fn both_ways(graph: &Graph) -> SparseMatrix {
    let rows = 0..graph.vertices();
    let unit = 1 + u64::from(rows.clone().all(|v| graph.weights(v).iter().all(|w| w % 2 == 0)));
    let cell = |w| Traffic { bytes: w / unit, messages: 1 };
    let entries: Vec<(u32, u32, Traffic)> =
        rows.flat_map(|v| graph.arcs(v).map(move |(t, w)| (v as u32, t, cell(w)))).collect();
    let matrix = SparseMatrix::from_entries(graph.vertices(), &entries);
    if unit == 1 { matrix.counted_in_halves() } else { matrix }
}
