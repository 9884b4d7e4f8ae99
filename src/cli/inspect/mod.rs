//! Looks at programs and libraries on disk without running them.
//!
//! [`Image`] is what an ELF file says about itself, [`Search`] finds the libraries it needs as the
//! dynamic linker would, [`Mpi`] tells what an MPI library is and has, and [`LaunchLine`] takes a
//! launcher's command line apart into the programs it starts. The commands `run`, `check`,
//! `compare` and `doctor` use them.

mod cache;
mod image;
mod launch_line;
mod mpi;
mod program;
mod python;
pub mod sanitizer;
mod search;

#[cfg(test)]
pub use image::Symbol;
pub use image::{Image, NotElf};
pub use launch_line::{LaunchLine, Part, listed};
pub use mpi::Mpi;
pub use program::{Program, Started, start};
pub use python::loaded_mpi;
pub use search::{Closure, Search};
