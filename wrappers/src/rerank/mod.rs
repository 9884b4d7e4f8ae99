//! Reordering inside a launch: a new numbering for the processes of a communicator, when the program
//! asks for one (`reorder` in the constructors of topologies).
//!
//! [`permutation`] is the core: all processes of a communicator say whom they talk to, one of them
//! maps, all get the answer. [`create`] builds communicators by it, [`entries`] has the wrappers.
//!
//! Every step is taken by all processes of the communicator or by none: whether there is anything to
//! do follows from what all of them know, and what only some can know (an argument that looks wrong,
//! no memory) is agreed on before anybody acts by it. On any doubt the program's own call goes to
//! MPI as it is.
//!
//! Limits: the edges of all processes are put together on one of them (as a sparse list).

pub mod adjacency;
pub mod create;
mod decision;
#[allow(clippy::missing_safety_doc)]
pub mod entries;
mod exchange;
mod party;
pub mod shape;

pub use decision::Weights;
pub use party::Party;

use crate::abi::Abi;
use serde::{Deserialize, Serialize};
use std::sync::{Arc, OnceLock};

/// What constructors do in this job; rank 0 tells everybody.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum How {
    /// What the MPI library does.
    #[default]
    Plain,
    /// Reorder where that brings processes that talk closer together.
    Map,
    /// A random order, for safety tests.
    Shuffle,
}

/// What a process knows of its job.
#[derive(Debug)]
pub struct Facts {
    pub how: How,
    /// Launcher rank of this process.
    pub process: u32,
    /// Number of processes of the job.
    pub size: usize,
    /// Directory of the store, and the key of this program there; empty if there is none.
    pub store: String,
    pub key: String,
}

static FACTS: OnceLock<Facts> = OnceLock::new();

/// The job has begun, in every process.
pub fn begin(facts: Facts) {
    let _ = FACTS.set(facts);
}

/// What is known of the job, unless its communicators are left alone.
fn facts() -> Option<&'static Facts> {
    FACTS.get().filter(|facts| facts.how != How::Plain)
}

/// A better numbering of the processes of `comm`: entry `i` is the rank, in `comm`, of the process
/// that should be rank `i`; a permutation of its ranks, the same on all processes. `None`, on all of
/// them as well: leave the ranks as they are (nothing to gain, or something does not work).
///
/// `edges` are the `(rank in comm, bytes)` that the process of the calling rank sends, in the order
/// of the ranks as they are; several of one rank add up.
///
/// Collective over `comm`, of which only the collective operations are used.
// For the functions of rankweave.h.
#[allow(dead_code)]
pub fn permutation<A: Abi>(
    comm: A::Comm,
    edges: &[(u32, u64)],
    weights: Weights,
) -> Option<Arc<[u32]>> {
    let party = Party::<A>::of(comm)?;
    let party = party.meet()?;
    let answer = party.permutation(edges, weights, party.size, "a communicator");
    party.leave();
    answer
}
