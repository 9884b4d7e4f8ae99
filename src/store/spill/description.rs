//! The description of the process and of its job in a spill file.

use crate::store::{LaunchMode, Placement};
use serde::{Deserialize, Serialize};

/// What all processes of a job have in common.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobDescription {
    /// A random number of this job.
    pub id: u64,
    /// Number of tasks.
    pub tasks: u32,
    /// Key of the record.
    pub key: String,
    /// Path of the executable.
    pub program: String,
    /// Its arguments, the program's own name first.
    pub command: Vec<String>,
    /// First line of MPI_Get_library_version.
    pub mpi: String,
    /// Mode of the launch.
    pub mode: LaunchMode,
    /// Name of the model that expands collectives.
    pub model: String,
    /// Directory of the store that process 0 uses; empty if it has none.
    pub store: String,
    /// When the job started, seconds since 1970-01-01 UTC.
    pub started_at: u64,
}

/// Where the tasks are, as far as process 0 knows.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    /// Process of each task; empty in the launcher's order.
    pub process_of_task: Vec<u32>,
    /// Where the processes are, as far as it is known.
    pub placement: Placement,
    /// What was decided.
    pub decision: String,
}

/// The description in a spill file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    /// The job.
    pub job: JobDescription,
    /// Task of this process.
    pub task: u32,
    /// Launcher rank of this process.
    pub process: u32,
    /// Its number in the operating system.
    pub pid: u32,
    /// Name of its node.
    pub host: String,
    /// The order and the places; only in the file of process 0.
    pub order: Option<Order>,
}

impl About {
    /// The bytes that stand in the file.
    pub fn encode(&self) -> Vec<u8> {
        postcard::to_allocvec(self).unwrap_or_default()
    }
}
