//! What every process knows of its job, for constructors of topologies and for the functions of rankweave.h.
//! Set once, when the job begins.

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
/// The facts for the functions of rankweave.h.
static ASKED: OnceLock<ConstructorFacts> = OnceLock::new();

/// Sets the facts in every process when the job begins. `requested` says what the functions of rankweave.h do.
pub fn set(facts: ConstructorFacts, requested: NewRanks) {
    let _ = ASKED.set(ConstructorFacts { new_ranks: requested, ..facts.clone() });
    let _ = FACTS.set(facts);
}

/// The facts for constructors of topologies. `None` if constructors give no new ranks in this job.
pub fn constructors() -> Option<&'static ConstructorFacts> {
    FACTS.get().filter(|facts| facts.new_ranks != NewRanks::Plain)
}

/// The facts for the functions of rankweave.h. `None` if these functions give no new ranks in this job.
pub fn asked() -> Option<&'static ConstructorFacts> {
    ASKED.get().filter(|facts| facts.new_ranks != NewRanks::Plain)
}
