//! Joins the parts of a job into a record.

use super::description::{JobDescription, Order};
use super::part::{Gaps, Part};
use crate::base::error::{Error, ErrorKind, Result};
use crate::base::nouns::counted;
use crate::base::numbering::by_first_appearance;
use crate::matrix::{CommMatrix, Kind, SparseMatrix};
use crate::store::{Launch, Placement, Record, Unfinished};
use std::collections::{BTreeMap, BTreeSet};

/// A record with what its parts lacked.
#[derive(Debug, Clone, PartialEq)]
pub struct Joined {
    /// The record; [`Record::unfinished`] says what is missing.
    pub record: Record,
    /// What the parts themselves lack.
    pub gaps: Gaps,
}

/// One part for each task. If a task has several parts, the one with the most messages is the latest.
pub fn best_of(parts: Vec<Part>) -> Vec<Part> {
    let mut best: BTreeMap<u32, Part> = BTreeMap::new();
    for part in parts {
        match best.get(&part.about.task) {
            Some(known) if known.messages() >= part.messages() => {}
            _ => drop(best.insert(part.about.task, part)),
        }
    }
    best.into_values().collect()
}

/// Joins the parts of one job, each of another task. `how` says how the job ended, for a sentence
/// that begins "recovered".
///
/// `now` is in seconds since 1970-01-01 UTC. Errors: no parts, parts of different jobs, or one that
/// contradicts itself.
pub fn join(parts: &[Part], how: &str, now: u64) -> Result<Joined> {
    let Some(job) = parts.first().map(|p| &p.about.job) else {
        return Err(Error::new(ErrorKind::NotFound, "there are no spill files to join"));
    };
    if parts.iter().any(|p| p.about.job != *job) {
        return Err(Error::new(
            ErrorKind::Format,
            "spill files with the same job number describe \
                                                  different jobs",
        ));
    }
    if let Some(what) = parts.iter().find_map(Part::inconsistency) {
        return Err(Error::new(
            ErrorKind::Format,
            format!("a spill file of job {:016x} contradicts itself: {what}", job.id),
        ));
    }
    let mut entries: [Vec<_>; 3] = Default::default();
    let mut gaps = Gaps::default();
    for part in parts {
        let task = part.about.task;
        for (entries, row) in entries.iter_mut().zip(&part.sent) {
            entries.extend(row.iter().map(|&(to, traffic)| (task, to, traffic)));
        }
        // The matrix counts a fetch as sent by the task from which the data came.
        entries[Kind::OneSided as usize]
            .extend(part.fetched.iter().map(|&(from, traffic)| (from, task, traffic)));
        gaps.add(part.gaps);
    }
    let tasks = job.tasks as usize;
    let layers = entries.map(|e| SparseMatrix::from_entries(tasks, &e));
    let matrix = CommMatrix::from_layers(layers).unwrap_or_else(|| CommMatrix::empty(tasks));
    let missing = missing(parts, job);
    let launch = launch(parts, job, &matrix, how);
    let mut lacks = gaps.words();
    if !missing.is_empty() {
        lacks.insert(0, format!("rows of {} of {}", missing.len(), counted(tasks, "task")));
    }
    let record = Record {
        program: job.program.clone(),
        command: job.command.clone(),
        mpi: job.mpi.clone(),
        recorded_at: now,
        launch,
        unfinished: Some(Unfinished { how: how.into(), missing, lacks }),
        ..Record::of_matrix(&job.key, matrix)
    };
    match record.inconsistency() {
        None => Ok(Joined { record, gaps }),
        Some(what) => Err(Error::new(
            ErrorKind::Format,
            format!("the spill files of job {:016x} contradict themselves: {what}", job.id),
        )),
    }
}

/// Tasks without a part, ascending.
fn missing(parts: &[Part], job: &JobDescription) -> Vec<u32> {
    let there: BTreeSet<u32> = parts.iter().map(|part| part.about.task).collect();
    (0..job.tasks).filter(|task| !there.contains(task)).collect()
}

fn launch(parts: &[Part], job: &JobDescription, matrix: &CommMatrix, how: &str) -> Launch {
    let tasks = job.tasks as usize;
    let order = parts.iter().find_map(|p| p.about.order.clone()).unwrap_or_default();
    let mut decision = format!("recovered: {how}");
    if !order.decision.is_empty() {
        decision = format!("{decision}; {}", order.decision);
    }
    let ended = parts.iter().map(|p| p.ended_at).max().unwrap_or(0);
    let mut launch = Launch {
        mode: job.mode,
        process_of_task: process_of_task(parts, &order, tasks),
        wall_seconds: if ended > 0 { ended.saturating_sub(job.started_at) as f64 } else { 0.0 },
        decision,
        ..Launch::default()
    };
    if order.placement.node_of_process.len() == tasks {
        launch.placement = order.placement;
        if launch.placement.place_of_process.len() != tasks {
            launch.placement.place_of_process.clear();
        }
    } else {
        launch.placement = nodes(parts, tasks);
    }
    launch.total_bytes = matrix.total_bytes();
    launch.internode_bytes = matrix.bytes_between(|task| launch.node_of(task));
    launch
}

/// The process of each task; empty in the launcher's order. It is in the part of process 0. Without that
/// part, tasks that have no part get the remaining processes in ascending order.
fn process_of_task(parts: &[Part], order: &Order, tasks: usize) -> Vec<u32> {
    if order.process_of_task.len() == tasks {
        return order.process_of_task.clone();
    }
    if parts.iter().all(|p| p.about.task == p.about.process) {
        return Vec::new();
    }
    let mut process_of_task = vec![u32::MAX; tasks];
    let mut taken = vec![false; tasks];
    for about in parts.iter().map(|p| &p.about) {
        process_of_task[about.task as usize] = about.process;
        taken[about.process as usize] = true;
    }
    let mut left = (0..tasks as u32).filter(|&p| !taken[p as usize]);
    for process in process_of_task.iter_mut().filter(|p| **p == u32::MAX) {
        *process = left.next().unwrap_or(0);
    }
    process_of_task
}

/// Node of each process by the hosts in the parts, and the nodes' names. All processes without a part are
/// on one further node, `unknown`.
fn nodes(parts: &[Part], tasks: usize) -> Placement {
    let mut host_of_process = vec!["unknown"; tasks];
    for about in parts.iter().map(|p| &p.about) {
        host_of_process[about.process as usize] = &about.host;
    }
    let (nodes, names) = by_first_appearance(host_of_process);
    let names = names.into_iter().map(str::to_string).collect();
    Placement::of_nodes(nodes, names)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::Traffic;
    use crate::store::LaunchMode;
    use crate::store::spill::About;

    fn part(task: u32, process: u32, host: &str) -> Part {
        let job = JobDescription {
            id: 7,
            tasks: 4,
            key: "k".into(),
            mode: LaunchMode::Record,
            ..JobDescription::default()
        };
        let traffic = Traffic { bytes: 10, messages: 2 };
        Part {
            about: About { job, task, process, host: host.into(), ..About::default() },
            sent: [vec![((task + 1) % 4, traffic)], vec![], vec![]],
            fetched: vec![((task + 2) % 4, Traffic { bytes: 1, messages: 1 })],
            ..Part::default()
        }
    }

    #[test]
    fn a_whole_job_lacks_nothing() {
        let parts: Vec<Part> = (0..4).map(|t| part(t, t, if t < 2 { "a" } else { "b" })).collect();
        let joined = join(&parts, "killed", 5).unwrap();
        let unfinished = joined.record.unfinished.clone().unwrap();
        assert_eq!((unfinished.missing.len(), unfinished.lacks.len()), (0, 0));
        let launch = &joined.record.launch;
        assert_eq!(launch.placement.node_of_process, [0, 0, 1, 1]);
        assert_eq!((launch.total_bytes, launch.internode_bytes), (44, 2 * 10 + 4));
        assert_eq!(launch.process_of_task, Vec::<u32>::new());
        let onesided = joined.record.matrix.layer(Kind::OneSided);
        assert_eq!(onesided.get(2, 0), Traffic { bytes: 1, messages: 1 });
    }

    #[test]
    fn missing_tasks_are_named_and_get_the_processes_that_are_left() {
        let parts = vec![part(0, 3, "a"), part(2, 0, "a")];
        let joined = join(&parts, "killed", 5).unwrap();
        assert_eq!(joined.record.unfinished.as_ref().unwrap().missing, [1, 3]);
        assert_eq!(joined.record.launch.process_of_task, [3, 1, 0, 2]);
        assert_eq!(joined.record.launch.placement.node_names, ["a", "unknown"]);
        assert!(joined.record.unfinished.unwrap().lacks[0].contains("2 of 4"));
    }

    #[test]
    fn of_two_parts_the_later_counts_and_other_jobs_are_refused() {
        let mut later = part(1, 1, "a");
        later.sent[0][0].1.messages = 9;
        let best = best_of(vec![part(1, 1, "a"), later.clone(), part(0, 0, "a"), part(1, 1, "a")]);
        assert_eq!(best, [part(0, 0, "a"), later]);
        let mut other = part(2, 2, "a");
        other.about.job.key = "else".into();
        assert!(join(&[part(0, 0, "a"), other], "killed", 0).is_err());
        assert!(join(&[], "killed", 0).is_err());
    }

    #[test]
    fn numbers_outside_the_job_are_refused() {
        for (task, process) in [(4, 0), (0, 99), (99, 99)] {
            assert!(join(&[part(1, 1, "a"), part(task, process, "a")], "killed", 0).is_err());
        }
        let mut huge = part(0, 0, "a");
        huge.about.job.tasks = u32::MAX;
        assert!(join(&[huge], "killed", 0).is_err());
    }

    #[test]
    fn two_tasks_on_one_process_are_refused() {
        assert!(join(&[part(0, 1, "a"), part(2, 1, "a")], "killed", 0).is_err());
    }
}
