//! The mapping that keeps the given order. It is the template for a new algorithm, and other mappings are
//! compared with it.

use super::{Budget, Mapper, Outcome, Problem};
use crate::base::error::Result;

/// Keeps the given order: task t on the t-th allowed place.
pub struct Identity;

impl Mapper for Identity {
    fn name(&self) -> &'static str {
        "identity"
    }

    fn source(&self) -> &'static str {
        "the launcher's own order"
    }

    fn map(&self, problem: &Problem<'_>, _budget: &mut Budget) -> Result<Outcome> {
        Ok(Outcome::new(problem, problem.identity_places()))
    }
}
