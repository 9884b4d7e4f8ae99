//! The default engine: runs what fits the problem and keeps the best answer.

mod auto;
mod choose;
mod effort;
mod in_groups;
mod on_grid;
mod other;
mod polish;
mod prepared;
mod structure;
mod symmetry;

pub use auto::Auto;
pub(crate) use choose::closest_in_tree;
pub(crate) use effort::Effort;
pub(crate) use other::{value, value_of};
pub(crate) use polish::{Nearness, near_of, polish, with_near};
pub(crate) use prepared::Prepared;
pub(crate) use symmetry::align_tree;
