//! `librankweave.so`: preloaded into unmodified MPI programs, counts who talks to whom, and hands
//! the program a reordered world when that pays.
//!
//! Way of a call: exported entry ([`slots`]) → generated wrapper ([`generated`]) → recorder
//! ([`record`]) → the real function. Way of a job: [`job`] → [`plan`] → [`order`] → …
//! → [`ending`] → [`keeper`].
//! In a process without MPI nothing happens but a look at the library's own symbol table: there is
//! no DT_NEEDED on any MPI, and no symbol that has to be found at load time.
//!
//! Promises: nothing on stdout; at most single lines on stderr; a panic never reaches the program;
//! exit codes are untouched.

// MPI's own signatures are long, and so are those of what stands in for them.
#![allow(clippy::too_many_arguments)]

mod abi;
mod agreement;
mod api;
mod attribute;
mod bounded;
mod clock;
mod comms;
mod config;
mod counters;
mod datatypes;
mod elf;
mod ending;
mod fortran;
mod gather;
#[rustfmt::skip]
#[allow(
    clippy::missing_safety_doc,
    clippy::type_complexity,
    clippy::let_unit_value,
    missing_docs
)]
mod generated;
mod given;
mod hwloc;
mod inject;
mod inside;
mod job;
mod keeper;
mod launcher_rank;
mod library;
mod message;
mod moves;
mod neighbours;
mod order;
mod past;
mod places;
mod plan;
mod pmpi;
mod portfolio;
mod record;
mod references;
mod rerank;
#[allow(clippy::missing_safety_doc)]
mod sessions;
mod signal;
mod slots;
#[allow(clippy::missing_safety_doc)]
mod special;
mod spill;
mod spill_calls;
mod spill_file;
mod spill_flush;
mod spill_job;
mod stdin;
mod thread;
mod times;
mod tools;
mod trampoline;
mod turns;
mod visible;
mod world;
