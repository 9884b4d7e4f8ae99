//! What the store keeps of one program at one number of tasks.

use super::history::{InMpi, Past};
use super::{LaunchMode, Placement};
use crate::base::permutation::is_injective;
use crate::matrix::CommMatrix;
use serde::{Deserialize, Serialize};

/// The communication matrix of a program with where it comes from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The key it is stored under: executable identity and number of tasks, or the user's own.
    pub key: String,
    /// Path of the executable.
    pub program: String,
    /// Its arguments, the program's own name first.
    pub command: Vec<String>,
    /// First line of MPI_Get_library_version.
    pub mpi: String,
    /// When it was recorded, seconds since 1970-01-01 UTC.
    pub recorded_at: u64,
    /// The matrix, indexed by task.
    pub matrix: CommMatrix,
    /// Where the tasks ran in the launch that recorded it.
    pub launch: Launch,
    /// The launch before it in the launcher's own order, kept for comparison with reordered ones.
    pub baseline: Option<Launch>,
    /// Set if the launch did not come to its end, or not all of it is here.
    pub unfinished: Option<Unfinished>,
    /// The identity of the program, independent of the key: name and hash of the executable or script; empty
    /// when not known.
    #[serde(skip)]
    pub identity: String,
    /// How earlier launches and this one went, the oldest first.
    #[serde(skip)]
    pub history: Vec<Past>,
    /// The orders that constructors of topologies gave their processes in this launch.
    #[serde(skip)]
    pub constructed: Vec<Constructed>,
}

/// The order that a constructor of a topology gave its processes. The matrix is indexed by task. With this
/// order, the traffic of the vertices of the topology follows from it. In the next launch the vertices may be
/// other tasks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Constructed {
    /// Signature of what was asked: the communicator's tasks by rank, and the edges.
    pub question: u64,
    /// Task of each vertex, then the tasks left over: each rank of the communicator once.
    pub task_of_vertex: Vec<u32>,
}

impl Constructed {
    /// True if the list is not empty, all tasks are below `tasks`, and no task occurs twice.
    pub fn is_sound(&self, tasks: usize) -> bool {
        !self.task_of_vertex.is_empty() && is_injective(&self.task_of_vertex, tasks)
    }
}

/// Why the record of a launch that did not reach MPI_Finalize is incomplete.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unfinished {
    /// How it ended, in a few words.
    pub how: String,
    /// Tasks whose rows are missing, ascending.
    pub missing: Vec<u32>,
    /// What is missing, in words; empty if the matrix is whole up to the end.
    pub lacks: Vec<String>,
}

/// One launch: its places, its order, and how it went.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Launch {
    /// Mode it ran in.
    pub mode: LaunchMode,
    /// Process of each task; empty if every task had its own launcher rank.
    pub process_of_task: Vec<u32>,
    /// Where its processes were.
    pub placement: Placement,
    /// Seconds between MPI_Init and MPI_Finalize on rank 0.
    pub wall_seconds: f64,
    /// Time in MPI; `None` if it was not measured.
    #[serde(skip)]
    pub in_mpi: Option<InMpi>,
    /// Bytes sent between tasks on different nodes.
    pub internode_bytes: u64,
    /// Bytes sent in all.
    pub total_bytes: u64,
    /// Hop-bytes of the launcher's order and of the one used, as predicted from the stored matrix;
    /// both 0 when nothing was predicted.
    pub predicted: (u128, u128),
    /// What was decided, in one sentence.
    pub decision: String,
}

impl Record {
    /// A record of a matrix of which nothing else is known.
    pub fn of_matrix(key: &str, matrix: CommMatrix) -> Record {
        Record {
            key: key.into(),
            program: String::new(),
            command: Vec::new(),
            mpi: String::new(),
            recorded_at: 0,
            matrix,
            launch: Launch::default(),
            baseline: None,
            unfinished: None,
            identity: String::new(),
            history: Vec::new(),
            constructed: Vec::new(),
        }
    }

    /// The program's identity ([`Record::identity`]), in older records from a key that has it.
    pub fn program_id(&self) -> Option<&str> {
        match self.identity.as_str() {
            "" => super::program_of_key(&self.key),
            known => Some(known),
        }
    }

    /// True unless rows of some tasks are missing.
    pub fn has_all_tasks(&self) -> bool {
        self.unfinished.as_ref().is_none_or(|u| u.missing.is_empty())
    }

    /// What in this record contradicts itself, if anything. It is checked after a file was read, so that
    /// indices in a record are within range.
    pub fn inconsistency(&self) -> Option<String> {
        if !self.matrix.is_valid() {
            return Some("the rows of the matrix are damaged".into());
        }
        let tasks = self.matrix.tasks();
        let missing = self.unfinished.iter().flat_map(|u| &u.missing);
        if let Some(task) = missing.copied().find(|&t| t as usize >= tasks) {
            return Some(format!("task {task} is missing, but there are {tasks} tasks"));
        }
        if self.constructed.iter().any(|constructed| !constructed.is_sound(tasks)) {
            return Some(
                "a vertex of a topology has a task that is out of range or given twice".into(),
            );
        }
        let launches = [Some(&self.launch), self.baseline.as_ref()];
        launches.into_iter().flatten().find_map(|launch| launch.inconsistency(tasks))
    }
}

impl Launch {
    /// What contradicts itself or does not fit the number of tasks, if anything.
    pub fn inconsistency(&self, tasks: usize) -> Option<String> {
        let fits = |length: usize| length == 0 || length == tasks;
        let mut seen = vec![false; tasks];
        for &process in &self.process_of_task {
            match seen.get_mut(process as usize) {
                Some(place) if !*place => *place = true,
                _ => return Some(format!("process {process} is out of range or given twice")),
            }
        }
        if !fits(self.process_of_task.len()) {
            return Some(format!("a list in it does not have {tasks} entries, one for each task"));
        }
        self.placement.inconsistency(tasks)
    }

    /// The process of a task.
    pub fn process_of(&self, task: usize) -> usize {
        self.process_of_task.get(task).map_or(task, |&p| p as usize)
    }

    /// The node of a task; `None` when the nodes are not known.
    pub fn node_of(&self, task: usize) -> Option<usize> {
        self.placement.node_of_process.get(self.process_of(task)).map(|&n| n as usize)
    }

    /// True if at least one task is not on the process with the same number.
    pub fn is_reordered(&self) -> bool {
        self.process_of_task.iter().enumerate().any(|(task, &process)| task as u32 != process)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::matrix::{CommMatrix, SparseMatrix, Traffic};

    /// A record of a ring of `tasks` tasks, four to a node.
    pub(in crate::store) fn sample(key: &str, tasks: u32) -> Record {
        let entries: Vec<_> = (0..tasks)
            .map(|t| (t, (t + 1) % tasks, Traffic { bytes: 1000 + u64::from(t), messages: 3 }))
            .collect();
        let matrix = SparseMatrix::from_entries(tasks as usize, &entries);
        Record {
            key: key.into(),
            program: "/opt/app".into(),
            command: vec!["./app".into(), "input".into()],
            mpi: "Open MPI v4.1.4".into(),
            recorded_at: 1_700_000_000,
            matrix: CommMatrix::from_point_to_point(matrix),
            launch: Launch {
                mode: LaunchMode::Record,
                placement: Placement::of_nodes(
                    (0..tasks).map(|p| p / 4).collect(),
                    (0..tasks.div_ceil(4)).map(|n| format!("node{n}")).collect(),
                ),
                ..Launch::default()
            },
            baseline: None,
            unfinished: None,
            identity: String::new(),
            history: Vec::new(),
            constructed: Vec::new(),
        }
    }

    #[test]
    fn contradictions_are_named() {
        let good = sample("a", 8);
        assert_eq!(good.inconsistency(), None);
        assert_eq!((good.launch.node_of(5), good.launch.is_reordered()), (Some(1), false));
        let spoilt = |change: fn(&mut Launch)| {
            let mut record = good.clone();
            change(&mut record.launch);
            record.inconsistency()
        };
        for what in [
            spoilt(|l| l.process_of_task = vec![0; 8]),
            spoilt(|l| l.process_of_task = vec![0]),
            spoilt(|l| l.process_of_task = vec![9, 0, 1, 2, 3, 4, 5, 6]),
            spoilt(|l| l.placement.node_of_process = vec![0]),
            spoilt(|l| l.placement.node_names.clear()),
            spoilt(|l| l.placement.place_of_process = vec![vec![]]),
            spoilt(|l| l.placement.place_of_process = (0..8).map(|k| vec![0; k % 2]).collect()),
        ] {
            assert!(what.is_some());
        }
        assert_eq!(spoilt(|l| l.process_of_task = (0..8).rev().collect()), None);
    }
}
