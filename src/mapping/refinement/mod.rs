//! Refinement: from a valid answer to a better one.

mod anneal;
mod congestion;
mod fm;
mod fm_limits;
mod fm_small;
mod near;
mod nearness;
mod swap;

pub(crate) use anneal::{Annealing, anneal};
pub(crate) use congestion::{Links, lower_congestion};
pub(crate) use fm::Fm;
pub(crate) use fm_limits::FmLimits;
pub(crate) use near::{ListNear, Near, TreeNear};
pub(crate) use nearness::{Nearness, near_of, with_near};
pub(crate) use swap::{swap_search, swap_search_from};
