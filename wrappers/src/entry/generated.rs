//! The wrappers that are generated from `calls.tbl`, and the table of all wrappers.

use crate::comm::world::effective;
use crate::entry::fast_send::fast_send;
use crate::entry::fortran;
use crate::entry::fortran_arguments as arguments;
use crate::entry::internal_calls::Inside;
use crate::entry::next::{self, Argument as P, COUNT};
use crate::entry::{
    attributes, communicators, constructors, datatypes, error_handlers, lifecycle, operations,
    pcontrol, requests, sessions, tools,
};
use crate::mpi::abi::Abi;
use crate::record;
use crate::record::collective::Out;
use crate::record::persistent::PersistentSends;
use libc::{c_char, c_int, c_void};

/// What an entry point needs beyond the real function.
#[derive(Debug, Clone, Copy)]
pub enum Wrapper {
    /// Only needed while MPI_COMM_WORLD is replaced.
    Translates(*const ()),
    /// Needed whenever anything is recorded.
    Records(*const ()),
    /// Never needed, because the real function calls another entry point.
    Through,
}

include!(concat!(env!("OUT_DIR"), "/wrappers.rs"));
