//! What the store keeps of one program at one number of tasks.

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
}

/// One launch: its places, its order, and how it went.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Launch {
    /// Mode it ran in: `record`, `reorder`, `shuffle`.
    pub mode: String,
    /// Process of each task; empty if every task had its own launcher rank.
    pub process_of_task: Vec<u32>,
    /// Node of each process, numbered from 0 in the order of first appearance.
    pub node_of_process: Vec<u32>,
    /// Name of each node.
    pub node_names: Vec<String>,
    /// Path of each process in the machine below its node (package, NUMA domain, core); all of one
    /// length, empty when unknown.
    pub place_of_process: Vec<Vec<u32>>,
    /// Distance of two processes that first differ at each level, node level first.
    pub level_costs: Vec<u64>,
    /// Name of each level (`node`, `package`, …), node level first.
    pub level_names: Vec<String>,
    /// Seconds between MPI_Init and MPI_Finalize on rank 0.
    pub wall_seconds: f64,
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
