//! The store: what is kept between launches, one file per (program, number of tasks).
//!
//! A [`Record`] holds the matrix of a program with where it comes from; [`Store`] is a directory of
//! them; a [`Verdict`] says whether a program minds permuted ranks; [`encode`] and [`decode`] are the file format; [`identity`] and [`key_for`] make the
//! key of a launch; a [`KeptOrder`] is the answer to a mapping problem, so that it
//! need not be solved again; [`RefusedRecords`] is where a record waits that its store refused. The preloaded library uses all of this inside MPI processes, so nothing here
//! needs more than the core dependencies.
//!
//! Nothing stored is ever lost: files are replaced by rename after a sync, a file that cannot be
//! read is moved aside before a new one takes its name, and a file of a newer version is left
//! alone.

mod directory;
mod history;
mod identity;
mod kept_orders;
mod mode;
mod placement;
mod record;
mod record_format;
mod refused_records;
mod signature;
pub mod spill;
mod verdict;

pub use directory::{Entry, Store};
pub use history::{InMpi, KEPT, LONGEST, Past, joined, places_of, work_of};
pub use identity::{Identity, build_id, identity, key_for, program_id, program_of_key};
pub use kept_orders::{KeptOrder, MOST_ORDERS};
pub use mode::LaunchMode;
pub use placement::Placement;
pub use record::{Constructed, Launch, Record, Unfinished};
pub use record_format::{MAGIC, VERSION, decode, encode, read_file};
pub use refused_records::{Held, RefusedRecords, in_order};
pub use signature::Signature;
pub use verdict::{Finding, Verdict};
