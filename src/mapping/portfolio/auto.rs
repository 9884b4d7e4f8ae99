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
        let found = answers(problem, budget);
        let mut best = Judge::new(problem);
        let by_bytes = matches!(problem.objective(), Objective::HopBytes | Objective::SumCom);
        match &found {
            // On large problems, an evaluation takes many accesses to memory.
            Some(found) if by_bytes => {
                Outcome::within(problem, problem.identity_places(), found.hop_bytes)
                    .into_iter()
                    .for_each(|given| best.take(given.with("chosen", "given order")));
            }
            _ => best.take(given()),
        }
        found.into_iter().for_each(|answer| best.take(answer));
        Ok(best.answer().unwrap_or_else(|| Outcome::new(problem, problem.identity_places())))
    }
}
