//! Top-down splitting: the tasks of a group are split among its subgroups, exactly full.

mod bisect;
mod tree;

pub(crate) use bisect::{BisectEffort, Bisector};
pub(crate) use tree::multisect;
