//! The default engine: runs what fits the problem and keeps the best answer.

mod auto;
mod effort;
mod grid_on_grid;
mod group_search;
mod objectives;
mod polish;
mod regular_patterns;

pub use auto::Auto;
use effort::Effort;
use polish::polish;
