//! Orders that know nothing of the traffic: what other mappings are measured against.

use super::filled_problem::FilledProblem;
use crate::base::error::Result;
use crate::mapping::engine::shuffled;
use crate::mapping::{Budget, Mapper, Outcome, Problem};

/// A random permutation, by the problem's seed.
pub(in crate::mapping) struct Random;

impl Mapper for Random {
    fn name(&self) -> &'static str {
        "random"
    }

    fn source(&self) -> &'static str {
        "baseline: random permutation"
    }

    fn map(&self, problem: &Problem<'_>, budget: &mut Budget) -> Result<Outcome> {
        let mut filled = FilledProblem::new(problem, budget);
        let (n, mut places) = (filled.len(), Vec::new());
        shuffled(&mut filled.rng, n, &mut places);
        Ok(filled.outcome(places))
    }
}

/// Tasks dealt to the nodes in turn, as `mpirun --map-by node` does.
pub(in crate::mapping) struct RoundRobin;

impl Mapper for RoundRobin {
    fn name(&self) -> &'static str {
        "round-robin"
    }

    fn source(&self) -> &'static str {
        "baseline: one task to each node in turn"
    }

    fn map(&self, problem: &Problem<'_>, budget: &mut Budget) -> Result<Outcome> {
        let filled = FilledProblem::new(problem, budget);
        let mut nodes = problem.by_node(0..problem.places().len() as u32);
        nodes.iter_mut().for_each(|places| places.reverse());
        let mut order = Vec::with_capacity(filled.len());
        while order.len() < filled.len() {
            order.extend(nodes.iter_mut().filter_map(Vec::pop));
        }
        Ok(filled.outcome(order))
    }
}

/// Nodes filled one after the other, as `mpirun --map-by slot` does.
pub(in crate::mapping) struct Packed;

impl Mapper for Packed {
    fn name(&self) -> &'static str {
        "packed"
    }

    fn source(&self) -> &'static str {
        "baseline: node after node"
    }

    fn map(&self, problem: &Problem<'_>, budget: &mut Budget) -> Result<Outcome> {
        let filled = FilledProblem::new(problem, budget);
        Ok(filled.outcome(problem.by_node(0..problem.places().len() as u32).concat()))
    }
}
