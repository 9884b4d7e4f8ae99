//! Mapping algorithms: which task goes to which slot.
//!
//! Every algorithm is a [`Mapper`]: it gets a [`Problem`] (who talks how much to whom, the
//! topology, what is allowed) and a [`Budget`], and answers with an [`Outcome`]. All of them are
//! listed once, in [`registry`]; [`Identity`] is the template for a new one. The default is
//! [`Auto`], which runs several and keeps the best by the independent evaluator in
//! [`crate::metrics`], the given order included, so that it is never worse than doing nothing.

mod balance;
mod budget;
mod coarsening;
mod geometric;
mod identity;
mod initial;
mod multisection;
mod noise;
mod objective;
mod outcome;
mod papers;
mod portfolio;
mod preset;
mod problem;
mod refinement;
mod registry;
mod remap;
mod stencil;
mod work;

pub use balance::{Balanced, Loads, Rebalanced, map_with_loads, remap_with_loads};
pub use budget::{Budget, Progress};
pub use identity::Identity;
pub use noise::{ADDITIVE_LIMIT, Noise, Sample, Study, with_noise};
pub use objective::Objective;
pub use outcome::Outcome;
pub use portfolio::Auto;
pub use preset::Preset;
pub use problem::{Problem, ProblemBuilder};
pub use registry::{by_name, registry};
pub use remap::{Previous, Remapped, remap};
pub use stencil::TaskGrid;

use crate::error::Result;

/// A mapping algorithm.
///
/// Deterministic for a given problem (its seed included) as long as the budget's time limit is not
/// hit. The answer uses only allowed places, each at most once, and honours fixed tasks.
pub trait Mapper: Send + Sync {
    /// Name on the command line.
    fn name(&self) -> &'static str;

    /// Where the algorithm comes from: paper and section.
    fn source(&self) -> &'static str;

    /// Maps every task to a place.
    ///
    /// Errors: [`crate::ErrorKind::Infeasible`] if the algorithm does not apply to this problem
    /// (a tree algorithm on a torus); the message says to what it applies.
    fn map(&self, problem: &Problem<'_>, budget: &mut Budget) -> Result<Outcome>;
}

#[cfg(test)]
mod tests;
