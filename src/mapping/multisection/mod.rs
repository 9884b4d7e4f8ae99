//! Top-down splitting: the tasks of a group are split among its subgroups, exactly full.

mod bisector;
mod dual_bisection;
mod inheritance;
mod place_halves;
mod tree_multisection;

pub(crate) use bisector::{BisectEffort, Bisector};
pub(crate) use dual_bisection::dual_bisect;
pub(crate) use place_halves::Halves;
pub(crate) use tree_multisection::multisect;
