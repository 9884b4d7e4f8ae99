//! Brings the library into the MPI processes of a launch, and only there.
//!
//! [`library`] finds the file to preload. [`settings`] collects the variables that are passed on.
//! [`functions`] finds the functions that the MPI library of an interpreter has. `sanitizer` finds the option
//! that a program with AddressSanitizer needs. [`command`] changes the command line so that the launcher
//! passes all of these on to the processes that it starts.

mod app_file;
pub(in crate::cli) mod command;
pub(in crate::cli) mod functions;
pub(in crate::cli) mod library;
mod sanitizer;
pub(in crate::cli) mod settings;
pub(in crate::cli) mod slurm;
