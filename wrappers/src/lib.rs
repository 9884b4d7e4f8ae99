//! `librankweave.so`: preloaded into unmodified MPI programs, counts how much each task sends to each other task, and hands
//! the program a reordered world when that pays.
//!
//! The folders are layers, lowest first: [`arch`] → [`sys`] → [`mpi`] → [`comm`] → [`spill`] → [`record`] →
//! [`time`] → [`job`] → [`reorder`] → [`entry`].
//! In a process without MPI nothing happens but a look at the library's own symbol table: there is
//! no DT_NEEDED on any MPI, and no symbol that has to be found at load time.
//!
//! Promises: nothing on stdout; at most single lines on stderr; a panic never reaches the program;
//! exit codes are untouched.

mod arch;
mod comm;
mod entry;
mod job;
mod mpi;
mod record;
mod reorder;
mod spill;
mod sys;
mod time;
