//! Wrappers of Fortran calls that are written by hand, by class of functions as those of C beside this
//! folder.
//!
//! Each function is generic over the ABI `A` and the binding `B`: 0 is mpif.h and `use mpi`, 1 is mpi_f08 with
//! choice buffers as addresses, 2 is mpi_f08 with choice buffers as descriptors.

pub mod attributes;
pub mod communicators;
pub mod constructors;
pub mod error_handlers;
pub mod lifecycle;
pub mod operations;
pub mod pcontrol;
pub mod requests;
pub mod sessions;
