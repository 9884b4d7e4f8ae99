//! What a launch does, and why: the decisions of rank 0, without MPI.
//!
//! The steps in the order in which rank 0 takes them:
//!
//! 1. [`Facts`] has what is known at the start: the settings, the program, what its processes have in common,
//!    and what is stored about it. [`Known::read`] reads the stored data.
//! 2. [`Policy`] follows from the facts alone: what the launch does with its ranks, and the reason.
//! 3. [`MappingProblem`] is the problem that has to be solved to find a permutation. The preloaded library
//!    solves it, because other processes may help.
//! 4. [`LaunchRecorder`] keeps what was decided, and makes a record of it and of what was measured.
//!
//! [`constructor`] solves the problems that constructors of topologies ask inside a launch.
//!
//! Nothing here prints: what the user has to know is a [`Message`], which the caller prints.

mod action;
mod asked_sources;
mod before_launch;
pub mod constructed_orders;
pub mod constructor;
mod declared_topology;
mod facts;
mod instructions;
pub mod machine;
mod measurement;
mod message;
mod placed;
mod policy;
#[cfg(test)]
mod policy_cases;
mod problem;
mod program;
mod program_history;
mod recorder;
mod shuffle;
mod storage;
mod user_topology;
mod whose_matrix;

pub use action::{Action, NewRanks};
pub use asked_sources::{
    AskedSources, SaidOfNodes, Unasked, choice_for, missing_site_file, site_files,
};
pub use before_launch::{BeforeLaunch, by_node};
pub use declared_topology::DeclaredTopology;
pub use facts::{Check, Facts, Known, Processes, UserList};
pub use instructions::Instructions;
pub use measurement::{MeasurementFacts, Measuring, possible_gain};
pub use message::Message;
pub use placed::{LONGEST, PLACED, PlacedRanks, RanksFound};
pub use policy::{Policy, Reason};
pub use problem::{KeptOrders, MappingProblem};
pub use program::Program;
pub use program_history::ProgramHistory;
pub use recorder::{LaunchEnd, LaunchRecorder, Settled};
pub use shuffle::random_permutation;
pub use storage::Storage;
pub use user_topology::UserTopology;
