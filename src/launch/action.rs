//! What a launch does with its ranks: the answers of the policy, which rank 0 sends to all processes.

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
    /// The mode of the launch in its record.
    pub fn launch_mode(self) -> LaunchMode {
        match self {
            Action::Reorder => LaunchMode::Reorder,
            Action::Shuffle => LaunchMode::Shuffle,
            Action::Record | Action::Off => LaunchMode::Record,
        }
    }
}

/// The ranks of a communicator for which the program allows new ranks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum NewRanks {
    /// The ranks that the MPI library gives.
    #[default]
    Plain,
    /// Other ranks, if these bring processes with much traffic closer together.
    Map,
    /// Random ranks, for safety tests.
    Shuffle,
}
