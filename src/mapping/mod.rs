//! Mapping algorithms: which task goes to which slot.
//!
//! Every algorithm is a [`Mapper`]. It gets a [`Problem`] (the traffic between tasks, the topology and the
//! constraints) and a [`Budget`], and answers with an [`Outcome`]. All algorithms are listed once, in
//! [`registry()`]; [`Identity`] is the template for a new one. The default is [`Auto`]: it makes several
//! mappings and keeps the best by the independent evaluator in [`crate::metrics`]. The given order is
//! always one of them, so [`Auto`] is never worse than no mapping at all.

mod balance;
mod blocks;
mod budget;
mod coarsening;
mod engine;
pub(crate) mod evaluation;
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
pub use remap::{Basis, Previous, Remapped, adapt, remap, remap_from};
pub use task_grid::TaskGrid;

/// Points in each dimension, whether each dimension is a ring, and the point of each vertex.
#[cfg(feature = "cli")]
pub(crate) type GridOfGraph = (Vec<u32>, Vec<bool>, Vec<Vec<u32>>);

/// The grid or torus that a graph is. Light edges beside those of the grid are allowed.
#[cfg(feature = "cli")]
pub(crate) fn grid_of(graph: &crate::matrix::Graph) -> Option<GridOfGraph> {
    let scale = engine::Scale::new(graph.total_weight(), 1);
    let shape = geometric::detect(&engine::Csr::from_graph(graph, scale))?;
    let point = |v: usize| shape.coordinates.iter().map(|along| along[v]).collect();
    let points = (0..graph.vertices()).map(point).collect();
    Some((shape.dims.iter().map(|&d| d as u32).collect(), shape.wrap, points))
}

/// For tests outside this folder: which generators of candidates exist, and which of them have been asked.
#[cfg(test)]
pub(crate) mod generators {
    pub(crate) use super::portfolio::{names, trace::take};
}

#[cfg(test)]
mod tests;
