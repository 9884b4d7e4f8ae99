//! Orders that do not depend on the traffic. Other mappings are compared with them.

use super::filled_problem::FilledProblem;
use crate::base::error::Result;
use crate::mapping::engine::shuffled;
use crate::mapping::{Budget, Outcome, Problem};

/// A random permutation, by the problem's seed.
pub(super) fn random(problem: &Problem<'_>, budget: &Budget) -> Result<Outcome> {
    let mut filled = FilledProblem::new(problem, budget);
    let (n, mut places) = (filled.len(), Vec::new());
    shuffled(&mut filled.rng, n, &mut places);
    Ok(filled.outcome(places))
}

/// One task to each node in turn, as `mpirun --map-by node` does.
pub(super) fn round_robin(problem: &Problem<'_>, budget: &Budget) -> Result<Outcome> {
    let filled = FilledProblem::new(problem, budget);
    let mut nodes = problem.by_node(0..filled.len() as u32);
    nodes.iter_mut().for_each(|places| places.reverse());
    let mut order = Vec::with_capacity(filled.len());
    while order.len() < filled.len() {
        order.extend(nodes.iter_mut().filter_map(Vec::pop));
    }
    Ok(filled.outcome(order))
}

/// Nodes filled one after the other, as `mpirun --map-by slot` does.
pub(super) fn packed(problem: &Problem<'_>, budget: &Budget) -> Result<Outcome> {
    let filled = FilledProblem::new(problem, budget);
    Ok(filled.outcome(problem.by_node(0..filled.len() as u32).concat()))
}
