//! The default engine: runs what fits the problem and keeps the best answer.

mod auto;
mod choose;
mod effort;
mod other;
mod polish;
mod prepared;
mod symmetry;

pub use auto::Auto;
pub(crate) use effort::Effort;
#[cfg(test)]
pub(crate) use other::value;
pub(crate) use other::value_of;
pub(crate) use polish::polish;
pub(crate) use prepared::Prepared;
