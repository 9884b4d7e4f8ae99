//! Top-down splitting: the tasks of a group are split among its subgroups, exactly full.

mod bisect;
mod dual;
mod halves;
mod inheritance;
mod tree;

pub(crate) use bisect::{BisectEffort, Bisector};
pub(crate) use dual::dual_bisect;
pub(crate) use halves::Halves;
pub(crate) use tree::multisect;
