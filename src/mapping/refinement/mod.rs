//! Refinement: changes a valid answer into a better one.

mod anneal;
mod axis_annealing;
mod axis_costs;
mod bisection_refiner;
mod congestion;
mod fm;
mod fm_limits;
mod fm_small;
mod largest_pair;
mod link_annealing;
mod link_times;
mod near;
mod nearness;
mod path_table;
mod proposals;
mod refiner;
mod requests;
mod robust_tabu;
mod surroundings;
mod swap;

pub(crate) use anneal::Annealing;
pub(crate) use bisection_refiner::{BisectionRefiner, Unrefined};
pub(crate) use congestion::{LinkSearch, Links};
pub(crate) use fm::Fm;
pub(crate) use fm_limits::FmLimits;
pub(crate) use largest_pair::LargestPair;
pub(crate) use link_times::TimeSearch;
pub(crate) use near::{ListNear, Near, TreeNear};
pub(crate) use nearness::{Nearness, near_of, with_near};
pub(crate) use refiner::{Refiner, SearchSpace};
pub(crate) use requests::ask_ahead;
pub(crate) use robust_tabu::{FewTasks, PLACES as TABU_PLACES};
pub(crate) use surroundings::Surroundings;
pub(crate) use swap::SwapSearch;
