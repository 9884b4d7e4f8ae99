//! Reordering inside a launch: a new numbering for the processes of a communicator, when the program
//! asks for one (`reorder` in the constructors of topologies).
//!
//! [`Met::permutation`](party::Met::permutation) is the core: all processes of a communicator say whom
//! they talk to, one of them maps, all get the answer. [`create`] builds communicators by it, [`entries`] has the wrappers.
//!
//! Every step is taken by all processes of the communicator or by none: whether there is anything to
//! do follows from what all of them know, and what only some can know (an argument that looks wrong,
//! no memory) is agreed on before anybody acts by it. On any doubt the program's own call goes to
//! MPI as it is.
//!
//! Limits: the edges of all processes are put together on one of them (as a sparse list).

pub mod adjacency;
pub mod api;
pub mod create;
mod decision;
pub mod earlier;
#[allow(clippy::missing_safety_doc)]
pub mod entries;
mod party;
pub mod shape;
pub mod watch;

pub use decision::Weights;
pub use party::Party;

use serde::{Deserialize, Serialize};
use std::sync::OnceLock;

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
#[derive(Debug, Clone)]
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
/// The same for orders that the program asks this library for.
static ASKED: OnceLock<Facts> = OnceLock::new();

/// The job has begun, in every process; `asked` is what the functions of rankweave.h do.
pub fn begin(facts: Facts, asked: How) {
    let _ = ASKED.set(Facts { how: asked, ..facts.clone() });
    let _ = FACTS.set(facts);
}

/// What is known of the job, unless its communicators are left alone.
fn facts() -> Option<&'static Facts> {
    FACTS.get().filter(|facts| facts.how != How::Plain)
}

/// The same for the functions of rankweave.h.
fn asked() -> Option<&'static Facts> {
    ASKED.get().filter(|facts| facts.how != How::Plain)
}
