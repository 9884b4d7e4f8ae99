//! The mapper `auto`: makes candidates, refines the best, and answers with the best of all.
//!
//! A preset also makes the answers of all weaker presets, so a stronger preset is never worse.

use super::answers::answers;
use super::judge::Judge;
use crate::base::error::Result;
use crate::mapping::{Budget, Mapper, Objective, Outcome, Problem};

/// Portfolio of algorithms; the given order is always a candidate.
pub struct Auto;

impl Mapper for Auto {
    fn name(&self) -> &'static str {
        "auto"
    }

    fn source(&self) -> &'static str {
        "portfolio; sources at its parts"
    }

    fn compares(&self) -> bool {
        true
    }

    fn map(&self, problem: &Problem<'_>, budget: &mut Budget) -> Result<Outcome> {
        let given =
            || Outcome::new(problem, problem.identity_places()).with("chosen", "given order");
        if problem.tasks() < 2 || problem.graph().edges() == 0 {
            return Ok(given());
        }
        let mut best = Judge::new(problem, budget);
        if matches!(problem.objective(), Objective::HopBytes | Objective::SumCom) {
            answers(problem, budget, &mut best);
            // On large problems, an evaluation takes many accesses to memory.
            let least = best.best().map_or(u128::MAX, |found| found.hop_bytes);
            Outcome::within(problem, problem.identity_places(), least)
                .into_iter()
                .for_each(|given| best.prefer(given.with("chosen", "given order")));
        } else {
            best.take(given());
            // To judge the answer takes about as long. The search leaves time for it.
            answers(problem, &budget.reserving(best.longest()), &mut best);
        }
        Ok(best.answer().unwrap_or_else(|| Outcome::new(problem, problem.identity_places())))
    }
}
