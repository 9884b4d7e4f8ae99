//! Refinement: from a valid answer to a better one.

mod anneal;
mod congestion;
mod fm;
mod fm_small;
mod near;
mod placement;
mod swap;

pub(crate) use anneal::{Annealing, anneal};
pub(crate) use congestion::{Links, lower_congestion};
pub(crate) use fm::{Bisection, Fm, FmLimits};
pub(crate) use near::{ListNear, Near, TreeNear};
pub(crate) use placement::{EMPTY, Placement, cost};
pub(crate) use swap::{swap_search, swap_search_from};
