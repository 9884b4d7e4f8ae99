//! Expands collective calls into messages between tasks.
//!
//! A collective call is recorded in O(1): operation, size, own rank, root, bytes. When the matrix
//! is built, every process expands **its own sends** (its row of the matrix) from these few numbers
//! with the functions here. No process holds more than one row.
//!
//! The messages of a collective call depend on the algorithm that the MPI library chooses from the
//! number of tasks and bytes. There are three models of them:
//!
//! * [`Model::Logical`]: the meaning of the operation, without any algorithm (module `logical`).
//! * [`Model::OpenMpi`]: the fixed decision rules of Open MPI's coll/tuned (4.1 and 5.0), checked
//!   against the traffic that Open MPI's own monitoring counts (`benches/collectives/run`).
//! * [`Model::Mpich`]: the default selection of MPICH 4, checked against what MPICH hands to its
//!   network layer (the same script).
//!
//! Nonblocking and persistent calls have algorithms of their own in both libraries.
//!
//! Conventions, the same in all models:
//!
//! * A task's copy to itself is not a message.
//! * Bytes are payload. Messages of zero bytes are counted as messages where the implementation
//!   sends them (barriers, synchronising gathers).
//! * One row costs O(p) time and no memory that grows with p.
//!
//! Limits: components that bypass point-to-point messages (shared-memory collectives, hardware
//! offload, UCC, HCOLL) are not modelled; they send data along other trees. Neighbourhood collectives
//! need no model, because the recorder knows every neighbour.

mod bruck;
#[cfg(test)]
mod empty_tests;
mod linear;
mod logical;
mod member;
mod mpich;
mod neighbor;
mod openmpi;
mod rabenseifner;
mod recursive;
mod ring;
mod scatter_allgather;
#[cfg(test)]
mod tests;
mod trees;
mod vector;

use crate::base::named_enum::named_enum;
use vector::Vector;

named_enum! {
    /// The collective operations. A nonblocking or persistent form has the operation of the blocking
    /// one. The name is that of the MPI function without `MPI_`, in lower case.
    #[derive(PartialOrd, Ord)]
    #[allow(missing_docs)]
    pub enum Operation, "collective operation" {
        Barrier = "barrier",
        Bcast = "bcast",
        Gather = "gather",
        Scatter = "scatter",
        Allgather = "allgather",
        Alltoall = "alltoall",
        Reduce = "reduce",
        Allreduce = "allreduce",
        ReduceScatterBlock = "reduce_scatter_block",
        ReduceScatter = "reduce_scatter",
        Scan = "scan",
        Exscan = "exscan",
        Gatherv = "gatherv",
        Scatterv = "scatterv",
        Allgatherv = "allgatherv",
        Alltoallv = "alltoallv",
        Alltoallw = "alltoallw",
    }
}

impl Operation {
    /// True for the operations with a root.
    pub fn is_rooted(self) -> bool {
        matches!(
            self,
            Operation::Bcast
                | Operation::Gather
                | Operation::Gatherv
                | Operation::Scatter
                | Operation::Scatterv
                | Operation::Reduce
        )
    }
}

named_enum! {
    /// The model by which a collective call is turned into messages.
    pub enum Model, "model of collectives" {
        /// The meaning of the operation, without an algorithm.
        Logical = "logical",
        /// Open MPI 4.1 and 5.0, coll/tuned with its fixed decision rules.
        OpenMpi = "openmpi",
        /// MPICH 4, default selection.
        Mpich = "mpich",
    }
}

/// One collective call, as one process recorded it. Equal calls can be counted together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Call {
    /// What was called.
    pub operation: Operation,
    /// Number of tasks in the communicator.
    pub size: u32,
    /// The caller's rank in the communicator.
    pub rank: u32,
    /// The root's rank in the communicator; ignored by operations without root.
    pub root: u32,
    /// Bytes (count × datatype size) of
    /// * the vector: Bcast, Reduce, Allreduce, Scan, Exscan;
    /// * the caller's own block: Gather(v), Allgather(v), Reduce_scatter(_block);
    /// * the block for one destination: Scatter(v), Alltoall(v, w).
    pub bytes: u64,
    /// Bytes of one element of the datatype: vectors are split between elements. 0 means unknown
    /// and is taken for 1.
    pub element: u32,
    /// Whether the reduction commutes (all predefined operations do); true for operations without
    /// reduction.
    pub commutative: bool,
    /// Whether the call was nonblocking or persistent (`MPI_I…`, `MPI_…_init`): implementations
    /// choose other algorithms for these.
    pub nonblocking: bool,
}

impl Call {
    /// The vector of the call. An element has at least 1 byte.
    fn vector(&self) -> Vector {
        Vector { bytes: self.bytes, element: u64::from(self.element.max(1)) }
    }
}

/// Receives `(peer, bytes, messages)`; a peer may come more than once.
pub type Visit<'a> = dyn FnMut(u32, u64, u64) + 'a;

/// Bytes of each rank's block, for the operations whose counts differ by rank.
pub type Blocks<'a> = dyn Fn(u32) -> u64 + 'a;

/// Whether a call has no data at all. Both libraries return from most of these without a message. A caller of the other
/// operations with blocks does not know the blocks of all tasks, and the models leave out its own empty ones.
fn has_no_data(call: &Call, block: &Blocks) -> bool {
    match call.operation {
        Operation::Barrier
        | Operation::Gatherv
        | Operation::Scatterv
        | Operation::Alltoallv
        | Operation::Alltoallw => false,
        Operation::Allgatherv | Operation::ReduceScatter => total(0..call.size, block) == 0,
        _ => call.bytes == 0,
    }
}

/// Bytes of the blocks of some ranks together.
fn total(ranks: std::ops::Range<u32>, block: &Blocks) -> u64 {
    ranks.map(block).fold(0, u64::saturating_add)
}

/// The messages that the caller of `call` sends under `model`: `visit(peer, bytes, messages)`, with ranks of
/// the communicator. The caller itself is never visited.
///
/// Blocks are taken to be equal; see [`sends_blocks`] for the operations with counts.
pub fn sends(model: Model, call: &Call, visit: &mut Visit) {
    let bytes = call.bytes;
    sends_blocks(model, call, &|_| bytes, visit);
}

/// As [`sends`], with the counts of the v- and w-operations, which are expanded when they are
/// recorded. `block(i)` is, in bytes,
/// * Allgatherv, Reduce_scatter: the block of rank i (every caller knows all of them);
/// * Scatterv at the root, Alltoallv, Alltoallw: what the caller sends to rank i;
/// * the others: not used (the caller's own `bytes` are all that Gatherv needs).
///
/// A rank outside the communicator makes the call send nothing.
pub fn sends_blocks(model: Model, call: &Call, block: &Blocks, visit: &mut Visit) {
    let rooted_outside = call.operation.is_rooted() && call.root >= call.size;
    if call.size < 2 || call.rank >= call.size || rooted_outside {
        return;
    }
    match model {
        Model::Logical => logical::sends(call, block, visit),
        Model::OpenMpi => openmpi::sends(call, block, visit),
        Model::Mpich => mpich::sends(call, block, visit),
    }
}

/// The root of a call on an intercommunicator, by the `root` argument of the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum InterRoot {
    /// `MPI_ROOT`: the caller.
    Myself,
    /// `MPI_PROC_NULL`: another task of the caller's own group.
    OwnGroup,
    /// A rank of the remote group.
    Remote(u32),
    /// The operation has no root.
    None,
}

/// What the caller of a collective on an intercommunicator sends to the remote group:
/// `visit(rank in the remote group, bytes, messages)`.
///
/// `call.size` and `call.rank` are those of the caller's own group, `remote` is the size of the
/// other; `call.root` is not used. The model is always the logical one: every contribution goes from one
/// group to the other once. Messages inside a group, before or after, are not counted. So the traffic
/// between the groups is overestimated for reductions of a large group.
pub fn sends_inter(call: &Call, root: InterRoot, remote: u32, block: &Blocks, visit: &mut Visit) {
    logical::sends_inter(call, root, remote, block, visit);
}
