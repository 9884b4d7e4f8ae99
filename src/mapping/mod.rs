//! Mapping algorithms: which task goes to which slot.
//!
//! Every algorithm is a [`Mapper`]. It gets a [`Problem`] (the traffic between tasks, the topology and the
//! constraints) and a [`Budget`], and answers with an [`Outcome`]. All algorithms are listed once, in
//! [`registry()`]; [`Identity`] is the template for a new one. The default is [`Auto`]: it makes several
//! mappings and keeps the best by the independent evaluator in [`crate::metrics`]. The given order is
//! always one of them, so [`Auto`] is never worse than no mapping at all.

mod balance;
mod budget;
mod coarsening;
mod engine;
mod evaluation;
mod geometric;
mod identity;
mod initial;
mod mapper;
mod multisection;
mod noise;
mod objective;
mod outcome;
mod papers;
mod portfolio;
mod preset;
mod problem;
pub mod rails;
mod refinement;
mod registry;
mod remap;
mod stencil;
mod task_grid;

pub use balance::{Balanced, Loads, Rebalanced, map_with_loads, remap_with_loads};
pub use budget::{Budget, Progress};
pub use identity::Identity;
pub use mapper::Mapper;
pub use noise::{ADDITIVE_LIMIT, Noise, Sample, Study, with_noise};
pub use objective::Objective;
pub use outcome::Outcome;
pub use portfolio::Auto;
pub use preset::Preset;
pub use problem::{Problem, ProblemBuilder};
pub use registry::{by_name, registry};
pub use remap::{Previous, Remapped, remap};
pub use task_grid::TaskGrid;

/// For tests outside this folder: which generators of candidates exist, and which of them have been asked.
#[cfg(test)]
pub(crate) mod generators {
    pub(crate) use super::portfolio::{names, trace::take};
}

#[cfg(test)]
mod tests;
