//! What every process knows of its job, for constructors of topologies and for programs that ask for an
//! order: set once, when the job begins.

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
/// The same for permutations that the program asks this library for.
static ASKED: OnceLock<Facts> = OnceLock::new();

/// The job has begun, in every process; `asked` is what the functions of rankweave.h do.
pub fn set(facts: Facts, asked: How) {
    let _ = ASKED.set(Facts { how: asked, ..facts.clone() });
    let _ = FACTS.set(facts);
}

/// What is known of the job, unless its communicators are left alone.
pub fn constructors() -> Option<&'static Facts> {
    FACTS.get().filter(|facts| facts.how != How::Plain)
}

/// The same for the functions of rankweave.h.
pub fn asked() -> Option<&'static Facts> {
    ASKED.get().filter(|facts| facts.how != How::Plain)
}
