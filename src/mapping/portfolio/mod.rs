//! The default engine: runs the algorithms that fit the problem, and keeps the best answer.

mod answers;
mod auto;
mod box_cuts;
mod candidate;
mod coupled_boxes;
mod effort;
mod few_loads;
mod few_tasks;
mod generator;
mod generators;
mod grid_on_grid;
mod group_search;
mod inside_nodes;
mod judge;
mod objectives;
mod polish;
mod refine;
mod regions;
mod regular_patterns;
mod several_grids;

pub use auto::Auto;
use effort::{Effort, Metric};
use polish::polish;

#[cfg(test)]
pub(crate) use generator::trace;
#[cfg(test)]
pub(crate) use generators::names;
