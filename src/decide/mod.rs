//! Decides whether a job's ranks are worth reordering, and how.
//!
//! The answer is never worse than what the launcher did: the given order is always a candidate, and
//! it is the answer when the predicted gain is below the threshold. What earlier launches measured
//! ([`Measured`]) has the last word.

mod feedback;
mod wording;

pub use feedback::{ENOUGH, FLOOR, Judgement, Measured, median};

use crate::error::{Error, ErrorKind, Result};
use crate::mapping::{Auto, Budget, Mapper, Preset, Problem, TaskGrid};
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
    /// The grid that the tasks are points of, where the program said so.
    pub grid: Option<TaskGrid>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            fixed: vec![0],
            min_gain_percent: 3.0,
            seed: 1,
            time_limit: Duration::from_secs(10),
            grid: None,
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

/// Above this number of tasks the preset `fast` is used.
const LARGE: usize = 65_536;

/// Chooses the process of every task.
///
/// `slot_of_process[k]` is the slot of the process with launcher rank `k`; all slots differ.
/// Errors: sizes that do not fit together, a fixed task that does not exist.
pub fn decide(
    matrix: &CommMatrix,
    topology: &dyn Topology,
    slot_of_process: &[usize],
    options: &Options,
) -> Result<Decision> {
    let tasks = matrix.tasks();
    if slot_of_process.len() != tasks {
        return Err(Error::new(
            ErrorKind::Infeasible,
            format!("the matrix has {tasks} tasks, the job {} processes", slot_of_process.len()),
        )
        .advise("a matrix that was recorded with this number of ranks"));
    }
    let graph = matrix.affinity();
    // Jobs of this size wait for the answer inside MPI_Init.
    let preset = if tasks > LARGE { Preset::Fast } else { Preset::Default };
    let mut builder = Problem::builder(&graph, topology)
        .slots(slot_of_process)
        .seed(options.seed)
        .preset(preset)
        .task_grid(options.grid.clone());
    for &task in &options.fixed {
        let Some(&slot) = slot_of_process.get(task as usize) else {
            return Err(Error::new(
                ErrorKind::Infeasible,
                format!("fixed task {task} does not exist: there are {tasks}"),
            ));
        };
        builder = builder.fix(task, slot);
    }
    let problem = builder.build()?;
    let before = metrics::hop_bytes(&graph, topology, slot_of_process);
    let stay = |cost_before, reason| Decision {
        process_of_task: (0..tasks as u32).collect(),
        changed: false,
        cost_before,
        cost_after: cost_before,
        reason,
    };
    if before == 0 {
        let reason = "left alone: no bytes travel between different places".to_owned();
        return Ok(stay(before, reason));
    }
    let outcome = Auto.map(&problem, &mut Budget::within(options.time_limit))?;
    let gain = 100.0 * (1.0 - outcome.hop_bytes as f64 / before as f64);
    if outcome.hop_bytes >= before || gain < options.min_gain_percent {
        let reason = wording::left_alone(gain, options.min_gain_percent);
        return Ok(stay(before, reason));
    }
    Ok(Decision {
        process_of_task: outcome.place_of_task,
        changed: true,
        cost_before: before,
        cost_after: outcome.hop_bytes,
        reason: wording::predicted(before, outcome.hop_bytes, gain),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::{SparseMatrix, Traffic};
    use crate::topology::Tree;

    /// Two nodes of four cores; tasks talk in pairs (t, t + 4).
    fn pairs() -> (CommMatrix, Tree) {
        let cell = Traffic { bytes: 1000, messages: 1 };
        let entries: Vec<(u32, u32, Traffic)> = (0..4).map(|t| (t, t + 4, cell)).collect();
        let paths: Vec<Vec<u32>> = (0..8).map(|s| vec![s / 4]).collect();
        let matrix = CommMatrix::from_point_to_point(SparseMatrix::from_entries(8, &entries));
        (matrix, Tree::from_paths(&paths, &[10, 1]).unwrap())
    }

    #[test]
    fn brings_pairs_together_and_keeps_fixed_tasks() {
        let (matrix, tree) = pairs();
        let slots: Vec<usize> = (0..8).collect();
        let options = Options { fixed: vec![0, 7], ..Options::default() };
        let answer = decide(&matrix, &tree, &slots, &options).unwrap();
        assert!(answer.changed);
        assert_eq!((answer.cost_before, answer.cost_after), (40_000, 4_000));
        assert_eq!((answer.process_of_task[0], answer.process_of_task[7]), (0, 7));
        let mut sorted = answer.process_of_task.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..8).collect::<Vec<u32>>());
        assert_eq!(answer.reason, "predicted hop-bytes 40.0 kB → 4.0 kB (-90.0 %)");
    }

    #[test]
    fn leaves_good_orders_alone() {
        let (matrix, tree) = pairs();
        let slots = [0, 2, 4, 6, 1, 3, 5, 7];
        let answer = decide(&matrix, &tree, &slots, &Options::default()).unwrap();
        assert!(!answer.changed);
        assert_eq!(answer.process_of_task, (0..8).collect::<Vec<u32>>());
        assert!(answer.reason.starts_with("left alone: "), "{}", answer.reason);
    }

    #[test]
    fn small_gains_are_not_worth_it() {
        let (matrix, tree) = pairs();
        let slots: Vec<usize> = (0..8).collect();
        let options = Options { min_gain_percent: 95.0, ..Options::default() };
        let answer = decide(&matrix, &tree, &slots, &options).unwrap();
        assert!(!answer.changed);
        assert!(answer.reason.contains("-90.0 %, threshold 95 %"), "{}", answer.reason);
    }

    #[test]
    fn sizes_must_fit() {
        let (matrix, tree) = pairs();
        assert!(decide(&matrix, &tree, &[0, 1], &Options::default()).is_err());
        let options = Options { fixed: vec![8], ..Options::default() };
        let slots: Vec<usize> = (0..8).collect();
        assert!(decide(&matrix, &tree, &slots, &options).is_err());
        let silent = CommMatrix::empty(8);
        assert!(!decide(&silent, &tree, &slots, &Options::default()).unwrap().changed);
    }
}
