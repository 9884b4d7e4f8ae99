//! Brings the library into the MPI processes of a launch, and only there.
//!
//! [`library`] finds the file to preload, [`settings`] the variables that are passed on,
//! [`functions`] tells what the MPI library of an interpreter has, `sanitizer` what a program with
//! AddressSanitizer needs, and [`command`] changes the
//! command line so that the launcher hands all of it to the processes it starts.

mod app_file;
pub(in crate::cli) mod command;
pub(in crate::cli) mod functions;
pub(in crate::cli) mod library;
mod sanitizer;
pub(in crate::cli) mod settings;
