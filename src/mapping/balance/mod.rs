//! Tasks of unequal load, and more tasks than slots: groups of balanced load first, then a mapping
//! of the groups.
//!
//! The two phases follow TopoLB (Agarwal, Sharma and Kalé, IPDPS 2006, section 4.1) and UMPA (Deveci et al.,
//! IPDPS 2015, section III). First the tasks are partitioned into as many groups as there are slots, with about
//! equal load and little traffic between the groups. Any algorithm of the registry then maps the groups.
//! Afterwards single tasks move or change places as long as that lowers hop-bytes and keeps the balance, with simulated
//! annealing in between. No slot gets more than the limit. The limit is the mean load plus the allowed imbalance, or, if
//! that is more, what the longest-first rule of list scheduling (Graham 1969) needs.

mod annealing;
mod grouping;
mod judge;
mod loads;
mod local_search;
mod move_costs;
mod nearby;
mod rebalance;
mod swap_partners;
mod weighted_mapping;

pub use loads::Loads;
pub use rebalance::{Rebalanced, remap_with_loads};
pub use weighted_mapping::{Balanced, map_with_loads};

#[cfg(test)]
mod tests;
