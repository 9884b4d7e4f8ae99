//! rankweave: communication matrices of MPI programs and topology-aware placement of their ranks.
//!
//! The folders follow the way of the data, which is also the order to read them in:
//! [`matrix`] (how much each task sends to each other task) → [`topology`] (how far apart the slots are) → [`mapping`]
//! (which task goes where) → [`metrics`] (what a mapping costs, computed independently) →
//! [`decide`] (is it worth it) → [`store`] (what is kept between launches) → [`formats`] (other
//! tools' files) → [`report`] (what people see). Nothing in this crate knows MPI; the preloaded
//! library in `wrappers/` does, and uses this crate without the feature `cli`.

#[cfg(feature = "cli")]
pub mod allocation;
pub mod base;
#[cfg(feature = "cli")]
pub mod bounds;
pub mod decide;
#[cfg(feature = "cli")]
pub mod formats;
pub mod launch;
pub mod mapping;
pub mod matrix;
pub mod metrics;
pub mod options;
#[cfg(feature = "cli")]
pub mod report;
pub mod sources;
pub mod store;
pub mod survey;
pub mod topology;

#[cfg(feature = "cli")]
pub mod cli;

pub use base::error::{Error, ErrorKind, Result};
