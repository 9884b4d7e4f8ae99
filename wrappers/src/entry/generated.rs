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
use crate::mpi::abi::{Abi, Mpich, OpenMpi, Standard};
use crate::mpi::library::Family;
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

/// The wrappers of all entry points for one family of handles.
#[derive(Debug)]
struct Table {
    /// For each entry point `r` ([`Wrapper::Records`]), `t` ([`Wrapper::Translates`]) or `-` ([`Wrapper::Through`]).
    kinds: &'static [u8; COUNT],
    /// Where each wrapper is, as its distance from its place in this table: the loader has nothing to relocate.
    distances: &'static [i32; COUNT],
}

/// The wrapper of an entry point, for the handles of this family.
pub fn wrapper(family: Family, index: usize) -> Wrapper {
    let Some(table) = table(family) else { return Wrapper::Through };
    let distance = &raw const table.distances[index];
    // SAFETY: the table has the distance from here to the function; nothing is read there.
    let function = unsafe { distance.byte_offset(*distance as isize) }.cast::<()>();
    match table.kinds[index] {
        b'r' => Wrapper::Records(function),
        b't' => Wrapper::Translates(function),
        _ => Wrapper::Through,
    }
}

include!(concat!(env!("OUT_DIR"), "/wrappers.rs"));
