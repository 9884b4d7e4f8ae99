//! Decides whether the ranks of a job are reordered, and how.
//!
//! The answer is never predicted to be worse than the launcher's order: that order is always a
//! candidate, and it is the answer if the predicted gain is below the threshold. A launch can still
//! reject the answer because of the times of earlier launches ([`LaunchTimes`]).

mod adapted;
mod aim;
mod earlier_launches;
mod engine_version;
pub mod mixed_ranks;
mod order_cost;
#[cfg(test)]
mod pinned_answers;
mod question;
mod two_phase;
mod wording;

pub use adapted::EarlierOrder;
pub use aim::ChosenAim;
pub use earlier_launches::{ENOUGH, FLOOR, Judgement, LaunchTimes, median};
pub use engine_version::ENGINE_VERSION;
pub use question::{Question, traffic_of_rails, traffic_of_time};
pub use two_phase::{Network, NodeAssignment, Part};
pub use wording::kept;

use crate::base::error::{Error, ErrorKind, Result};
use crate::base::nouns::counted;
use crate::base::permutation::identity;
use crate::mapping::{Auto, Budget, Mapper, Preset, Problem, TaskGrid};
use crate::matrix::CommMatrix;
use crate::options::{Aim, Settings};
use crate::topology::Topology;
use order_cost::OrderCost;
use std::time::Duration;

/// What the user allows the decision to do.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// Tasks that keep their process (task t on process t).
    pub fixed: Vec<u32>,
    /// What is minimised.
    pub objective: Aim,
    /// Predicted gain below which nothing is changed, in percent of the hop-bytes, of the hop-bytes and what uneven
    /// rails cost, or of the predicted time.
    pub min_gain_percent: f64,
    /// Seed of randomized algorithms.
    pub seed: u64,
    /// Wall time the mapping may take.
    pub time_limit: Duration,
    /// The grid whose points are the tasks, if the program described one.
    pub grid: Option<TaskGrid>,
}

impl Options {
    /// The options in the settings of a launch.
    pub fn of(settings: &Settings) -> Options {
        Options {
            fixed: settings.fix.clone(),
            objective: settings.objective,
            min_gain_percent: settings.min_gain,
            seed: settings.seed,
            time_limit: settings.time_limit,
            grid: None,
        }
    }
}

impl Default for Options {
    fn default() -> Self {
        Options::of(&Settings::default())
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
    /// The time limit struck, and more time may find a better answer.
    pub cut: bool,
}

/// Above this number of tasks the preset `fast` is used: `default` takes more than two seconds there,
/// and 18 seconds at 65 536 tasks (`benches/inmap/run`).
const LARGE: usize = 8192;

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
    check(tasks, slot_of_process, options)?;
    let graph = matrix.affinity();
    let timed = traffic_of_time(matrix, topology, options);
    let mut builder = Problem::builder(&graph, topology)
        .slots(slot_of_process)
        .objective(ChosenAim::of(options.objective, topology).objective)
        .seed(options.seed)
        .preset(preset_for(tasks))
        .task_grid(options.grid.clone());
    if let Some(traffic) = &timed {
        builder = builder.traffic(traffic);
    }
    for &task in &options.fixed {
        builder = builder.fix(task, slot_of_process[task as usize]);
    }
    let problem = builder.build()?;
    let traffic = traffic_of_rails(matrix, topology);
    let (traffic, timed) = (traffic.as_ref(), timed.as_ref());
    let question = Question { graph: &graph, traffic, timed, topology, slot_of_process, options };
    let before = question.cost(&identity(tasks));
    if before.total() == 0 {
        return Ok(stay(tasks, 0, wording::nothing_travels(graph.edges())));
    }
    let mut budget = Budget::within(options.time_limit);
    let outcome = Auto.map(&problem, &mut budget)?;
    let (order, after) = match (traffic, timed) {
        (None, None) => {
            let cost = OrderCost { hop_bytes: outcome.hop_bytes, rails: None, time: None };
            (outcome.place_of_task, cost)
        }
        _ => {
            let order = question.spread(outcome.place_of_task);
            let cost = question.cost(&order);
            (order, cost)
        }
    };
    let decision = question.concluded(&before, &after, order);
    Ok(Decision { cut: budget.expired(), ..decision })
}

/// The effort of the search for jobs of this size, which wait for the answer inside MPI_Init.
pub fn preset_for(tasks: usize) -> Preset {
    if tasks > LARGE { Preset::Fast } else { Preset::Default }
}

/// Errors: sizes that do not fit together, a fixed task that does not exist.
fn check(tasks: usize, slot_of_process: &[usize], options: &Options) -> Result<()> {
    if slot_of_process.len() != tasks {
        return Err(Error::new(
            ErrorKind::Infeasible,
            format!(
                "the matrix has {}, but the job has {}",
                counted(tasks, "task"),
                counted(slot_of_process.len(), "process")
            ),
        )
        .advise("use a matrix that was recorded with this number of ranks"));
    }
    match options.fixed.iter().find(|&&task| task as usize >= tasks) {
        None => Ok(()),
        Some(task) => Err(Error::new(
            ErrorKind::Infeasible,
            format!(
                "fixed task {task} does not exist: the number of tasks is {tasks}, numbered from 0"
            ),
        )),
    }
}

/// Every task on its process.
fn stay(tasks: usize, cost: u128, reason: String) -> Decision {
    Decision {
        process_of_task: (0..tasks as u32).collect(),
        changed: false,
        cost_before: cost,
        cost_after: cost,
        reason,
        cut: false,
    }
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
        assert_eq!(
            answer.reason,
            "a better rank order was found: predicted hop-bytes 39.1 KiB → 3.91 KiB (-90.0 %)"
        );
    }

    #[test]
    fn good_orders_are_kept() {
        let (matrix, tree) = pairs();
        let slots = [0, 2, 4, 6, 1, 3, 5, 7];
        let answer = decide(&matrix, &tree, &slots, &Options::default()).unwrap();
        assert!(!answer.changed);
        assert_eq!(answer.process_of_task, (0..8).collect::<Vec<u32>>());
        assert!(answer.reason.starts_with("the launcher's order is kept"), "{}", answer.reason);
    }

    #[test]
    fn small_gains_are_not_worth_it() {
        let (matrix, tree) = pairs();
        let slots: Vec<usize> = (0..8).collect();
        let options = Options { min_gain_percent: 95.0, ..Options::default() };
        let answer = decide(&matrix, &tree, &slots, &options).unwrap();
        assert!(!answer.changed);
        let words = "saves only 90.0 % of the hop-bytes; the threshold (--min-gain) is 95 %";
        assert!(answer.reason.contains(words), "{}", answer.reason);
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
