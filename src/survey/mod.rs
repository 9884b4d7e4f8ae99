//! A survey finds the switches between the hosts of a job by measuring.
//!
//! [`conduct()`] asks a [`Wire`] for rounds in which disjoint pairs of hosts send each other messages, and makes a
//! [`Surveyed`] network of the times. Two properties tell hosts below one switch from others: their latency is
//! lower, and their exchanges are not slowed down by those of other pairs (contention). The second one shows
//! tapered uplinks whose latency is that of any other link.
//!
//! Groups count only if measurements that had no part in finding them agree. Otherwise the network is flat: a
//! wrong tree is worse than none.
//!
//! HierTopoMap (Wu et al. 2015, section 3.1.1, after Subramoni et al. 2012) joins neighbours from distances that
//! are known. Here the distances are measured, and with many hosts only O(n log n) of them.

mod conduct;
mod contention;
mod contention_of_many;
mod exchanges;
mod latency;
mod matching;
mod merging;
mod modes;
mod partition;
mod presence;
mod rates;
mod session;
mod simulated;
mod surveyed;
#[cfg(test)]
mod tests;
mod wire;

pub use conduct::{FEWEST_HOSTS, conduct};
pub use session::{Evidence, Limits};
pub use simulated::{Model, Simulated};
pub use surveyed::Surveyed;
pub use wire::{Probe, Round, Silent, Wire};
