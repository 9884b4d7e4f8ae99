//! The store: what is kept between launches, one file per (program, number of tasks).
//!
//! A [`Record`] holds the matrix of a program with where it comes from; [`Store`] is a directory of
//! them; a [`Verdict`] says whether a program minds permuted ranks; [`encode`] and [`decode`] are the file format; [`identity`] and [`key_for`] make the
//! key of a launch; a [`KeptOrder`] is the answer to a mapping problem, so that it
//! need not be solved again; [`Unstored`] is where a record waits that its store refused. The preloaded library uses all of this inside MPI processes, so nothing here
//! needs more than the core dependencies.
//!
//! Nothing stored is ever lost: files are replaced by rename after a sync, a file that cannot be
//! read is moved aside before a new one takes its name, and a file of a newer version is left
//! alone.

mod directory;
mod file;
mod history;
mod identity;
mod mode;
mod orders;
mod placement;
mod record;
mod signature;
pub mod spill;
mod unstored;
mod verdict;

pub use directory::{Entry, Store};
pub use file::{MAGIC, VERSION, decode, encode, read_file};
pub use history::{InMpi, KEPT, LONGEST, Past, joined, places_of, work_of};
pub use identity::{Identity, build_id, identity, key_for, program_id, program_of_key};
pub use mode::LaunchMode;
pub use orders::{KeptOrder, MOST_ORDERS};
pub use placement::Placement;
pub use record::{Constructed, Launch, Record, Unfinished};
pub use signature::Signature;
pub use unstored::{Held, Unstored, in_order};
pub use verdict::{Finding, Verdict};
