//! The interface of every mapping algorithm.

use super::{Budget, Outcome, Problem};
use crate::base::error::Result;

/// A mapping algorithm.
///
/// Deterministic for a given problem (its seed included) as long as the budget's time limit is not
/// hit. The answer uses only allowed places, each at most once, and honours fixed tasks.
pub trait Mapper: Send + Sync {
    /// Name on the command line.
    fn name(&self) -> &'static str;

    /// Where the algorithm comes from: paper and section.
    fn source(&self) -> &'static str;

    /// To which problems the algorithm applies, for the documentation.
    fn applies_to(&self) -> &'static str {
        "all"
    }

    /// True if the algorithm compares several candidates. Callers then compare its answer with further
    /// mappings. It is false for an algorithm whose own answer the user wants to see.
    fn compares(&self) -> bool {
        false
    }

    /// Maps every task to a place.
    ///
    /// Errors: [`crate::ErrorKind::Infeasible`] if the algorithm does not apply to this problem
    /// (a tree algorithm on a torus); the message says to what it applies.
    fn map(&self, problem: &Problem<'_>, budget: &mut Budget) -> Result<Outcome>;
}
