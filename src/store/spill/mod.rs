//! Spill files: the counters of a process in a mapped file, so that they outlive it.
//!
//! The preloaded library counts in memory that is mapped to a file of a node-local directory. For every way in
//! which the process can end, the kernel keeps what was written. [`read()`] turns one such file into a [`Part`],
//! [`join`] makes a record of the parts of a job, and [`scan`] finds files. If parts of a job are still on
//! other nodes, the parts found so far wait in the store ([`Waiting`]). The layout is in [`layout`].
//!
//! Files are not trusted: a process may have been killed at any moment, and other users may write to the
//! directory. Reading checks every length and every number.

pub mod layout;

mod description;
mod directory;
mod expiry;
mod joined_record;
mod joining_turn;
mod part;
mod read;
mod recover;
mod waiting_parts;

pub use description::{About, JobDescription, Order};
pub use directory::{SpillFile, State, candidates, ended_jobs, scan};
pub use expiry::{DAYS_KEPT, expire};
pub use joined_record::{Joined, best_of, join};
pub use part::{Gaps, Part, decode_parts, encode_parts};
pub use read::read;
pub use recover::{Choice, LeftoverJob, Reach, Recovery, Stray, collect};
pub use waiting_parts::Waiting;
