//! The portfolio itself.

use super::{Effort, Prepared, polish};
use crate::error::Result;
use crate::mapping::multisection::{Bisector, multisect};
use crate::mapping::{Budget, Mapper, Outcome, Problem};

/// Portfolio of algorithms; the given order is always a candidate.
pub struct Auto;

impl Mapper for Auto {
    fn name(&self) -> &'static str {
        "auto"
    }

    fn source(&self) -> &'static str {
        "portfolio; sources at its parts"
    }

    fn map(&self, problem: &Problem<'_>, budget: &mut Budget) -> Result<Outcome> {
        let given = Outcome::new(problem, problem.identity_places()).with("chosen", "given order");
        if problem.tasks() < 2 || problem.graph().edges() == 0 {
            return Ok(given);
        }
        let effort = Effort::new(problem.preset(), problem.tasks(), problem.graph().edges());
        let prepared = Prepared::new(problem);
        let mut best = given;
        for (name, place_of) in candidates(&prepared, &effort) {
            if budget.expired() {
                break;
            }
            let place_of = polish(&prepared, place_of, &effort, budget);
            let outcome = Outcome::new(problem, place_of).with("chosen", name);
            if outcome.hop_bytes < best.hop_bytes {
                best = outcome;
            }
        }
        Ok(best)
    }
}

fn candidates(prepared: &Prepared<'_, '_>, effort: &Effort) -> Vec<(&'static str, Vec<u32>)> {
    let mut list = Vec::new();
    if let Some(tree) = &prepared.tree
        && tree.order.len() == prepared.graph.len()
    {
        let mut bisector = Bisector::new(effort.bisect);
        let sorted = multisect(&prepared.graph, tree, &mut bisector, &prepared.rng);
        let mut place_of: Vec<u32> = sorted.iter().map(|&k| tree.order[k as usize]).collect();
        prepared.honour_fixed(&mut place_of);
        list.push(("multisection", place_of));
    }
    list.push(("given order, refined", prepared.problem.identity_places()));
    list
}
