//! What rank 0 tells all processes at the start.

use super::{Action, NewRanks, Policy};
use crate::options::{Collectives, Measure, Settings};
use crate::store::spill;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// What rank 0 tells all processes.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Instructions {
    /// What all processes do.
    pub action: Action,
    /// The ranks that constructors of topologies give.
    pub constructors: NewRanks,
    /// The ranks that the functions of rankweave.h give.
    pub requested: NewRanks,
    /// How collective calls are expanded.
    pub collectives: Collectives,
    /// Process of each task; empty for the launcher's order.
    pub process_of_task: Vec<u32>,
    /// The description of this job for spill files.
    pub job: spill::JobDescription,
    /// The network between the nodes is measured although no rank order is searched for.
    pub measures: bool,
    /// The interval at which the matrix is written to the store; `None` = never.
    pub flush: Option<Duration>,
}

impl Instructions {
    /// The instructions that follow from the policy. The caller adds the description of the job.
    pub fn of(policy: &Policy, settings: &Settings, tasks: usize) -> Self {
        Instructions {
            action: policy.action,
            constructors: policy.constructors,
            requested: policy.requested,
            collectives: settings.collectives,
            process_of_task: match policy.action {
                Action::Shuffle => super::random_permutation(tasks, settings.seed, &settings.fix),
                Action::Off | Action::Record | Action::Reorder => Vec::new(),
            },
            job: spill::JobDescription::default(),
            measures: settings.measure == Measure::On && policy.action == Action::Record,
            flush: settings.flush,
        }
    }

    /// Whether the processes find out where they are before the program starts.
    pub fn looks_for_places(&self) -> bool {
        self.action == Action::Reorder || self.measures
    }

    /// The task on each of `size` processes.
    pub fn task_of_process(&self, size: usize) -> Vec<usize> {
        let mut tasks: Vec<usize> = (0..size).collect();
        for (task, &process) in self.process_of_task.iter().enumerate() {
            if let Some(slot) = tasks.get_mut(process as usize) {
                *slot = task;
            }
        }
        tasks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_of_processes_are_the_inverse_of_processes_of_tasks() {
        let mut instructions = Instructions::default();
        assert_eq!(instructions.task_of_process(3), [0, 1, 2]);
        instructions.process_of_task = vec![2, 0, 1];
        assert_eq!(instructions.task_of_process(3), [1, 2, 0]);
        instructions.process_of_task = vec![9, 0, 1];
        assert_eq!(instructions.task_of_process(3), [1, 2, 2], "out of range");
    }
}
