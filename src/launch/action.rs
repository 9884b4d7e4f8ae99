//! What a launch does with its ranks: the answers that the policy gives and that rank 0 hands out.

use crate::store::LaunchMode;
use serde::{Deserialize, Serialize};

/// What all processes do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Action {
    /// Nothing.
    #[default]
    Off,
    /// Record in the launcher's order.
    Record,
    /// Find the places, look for a permutation, record.
    Reorder,
    /// Record in a random order.
    Shuffle,
}

impl Action {
    /// What records say of it.
    pub fn launch_mode(self) -> LaunchMode {
        match self {
            Action::Reorder => LaunchMode::Reorder,
            Action::Shuffle => LaunchMode::Shuffle,
            Action::Record | Action::Off => LaunchMode::Record,
        }
    }
}

/// What a communicator gets whose maker allows new ranks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum NewRanks {
    /// The ranks that the MPI library gives.
    #[default]
    Plain,
    /// Other ranks where these bring processes that talk closer together.
    Map,
    /// Random ranks, for safety tests.
    Shuffle,
}
