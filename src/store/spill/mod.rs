//! Spill files: the counters of a process in a mapped file, so that they outlive it.
//!
//! The preloaded library counts into memory that is a file of a node-local directory. Whatever ends
//! the process, the kernel keeps what was written. [`read`] turns one such file into a [`Part`],
//! [`join`] makes a record of the parts of a job, [`scan`] finds files; parts whose siblings lie on
//! other nodes wait in the store ([`Waiting`]). Layout: [`layout`].
//!
//! Files are not trusted: a process may have been killed in the middle of anything, and the
//! directory may be one where others write too. Reading checks every length and number.

pub mod layout;

mod description;
mod directory;
mod joined_record;
mod part;
mod read;
mod recover;
mod waiting_parts;

pub use description::{About, JobDescription, Order};
pub use directory::{SpillFile, State, candidates, scan};
pub use joined_record::{Joined, best_of, join};
pub use part::{Gaps, Part, decode_parts, encode_parts};
pub use read::read;
pub use recover::{Choice, LeftoverJob, Recovery, Stray, collect};
pub use waiting_parts::Waiting;
