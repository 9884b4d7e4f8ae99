//! Refinement: from a valid answer to a better one.

mod anneal;
mod congestion;
mod fm;
mod near;
mod placement;
mod swap;

pub(crate) use anneal::{Annealing, anneal};
pub(crate) use congestion::{Links, lower_congestion};
pub(crate) use fm::{Bisection, Fm, FmLimits};
pub(crate) use near::{ListNear, Near, TreeNear};
pub(crate) use placement::{Placement, cost};
pub(crate) use swap::swap_search;
