//! Reads programs and libraries on disk without running them.
//!
//! [`Image`] is an ELF file. [`Search`] finds the libraries that it needs, as the dynamic linker would.
//! [`Mpi`] is an MPI library with its family and its functions. [`LaunchLine`] takes the command line of a
//! launcher apart into the programs that it starts. The commands `run`, `check`, `compare` and `doctor` use
//! these types.

mod cache;
mod image;
mod launch_line;
mod mpi;
mod option_names;
mod option_words;
mod program;
mod python;
pub mod sanitizer;
mod search;

#[cfg(test)]
pub use image::Symbol;
pub use image::{Image, NotElf};
pub use launch_line::{LaunchLine, Part};
pub use mpi::Mpi;
pub use option_names::listed;
pub use option_words::{OptionWords, PartWords, parts};
pub use program::{Program, Started, start};
pub use python::loaded_mpi;
pub use search::{Closure, Search};
