//! What every process knows of its job, for constructors of topologies and for programs that ask for an
//! order: set once, when the job begins.

use rw::launch::NewRanks;
use std::sync::OnceLock;

/// What a process knows of its job.
#[derive(Debug, Clone)]
pub struct ConstructorFacts {
    /// The ranks that constructors of topologies give.
    pub new_ranks: NewRanks,
    /// Launcher rank of this process.
    pub process: u32,
    /// Number of processes of the job.
    pub size: usize,
    /// Directory of the store, and the key of this program there; empty if there is none.
    pub store: String,
    pub key: String,
    /// Hash of the arguments and the MPI library, see [`rw::store::work_of`].
    pub work: u32,
}

static FACTS: OnceLock<ConstructorFacts> = OnceLock::new();
/// The same for orders that the program asks this library for.
static ASKED: OnceLock<ConstructorFacts> = OnceLock::new();

/// The job has begun, in every process; `requested` is what the functions of rankweave.h do.
pub fn set(facts: ConstructorFacts, requested: NewRanks) {
    let _ = ASKED.set(ConstructorFacts { new_ranks: requested, ..facts.clone() });
    let _ = FACTS.set(facts);
}

/// What is known of the job; `None` if constructors of topologies keep the program's ranks in it.
pub fn constructors() -> Option<&'static ConstructorFacts> {
    FACTS.get().filter(|facts| facts.new_ranks != NewRanks::Plain)
}

/// The same for the functions of rankweave.h.
pub fn asked() -> Option<&'static ConstructorFacts> {
    ASKED.get().filter(|facts| facts.new_ranks != NewRanks::Plain)
}
