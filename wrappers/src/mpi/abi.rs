//! The three handle ABIs: Open MPI (pointers), MPICH family (ints), MPI-5 standard (pointers with
//! small constants).
//!
//! Everything that differs between them is in the trait [`Abi`]; wrappers are generic over it, so a
//! handle of one width can never reach a function of another ABI. The implementations are generated from
//! `handles.tsv`, which the tests compare with each installed mpi.h (tests/mpi/interface). Limits: 64-bit
//! little-endian Linux.

use crate::mpi::library;
use libc::c_int;
use std::ffi::CStr;
use std::fmt::Debug;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A handle as it travels through registers: an int or a pointer.
pub trait Handle: Copy + Eq + Debug + Send + Sync + 'static {
    /// The handle as 64 bits, zero-extended; the key of caches and tables.
    fn bits(self) -> u64;
    /// The handle with these bits.
    fn from_bits(bits: u64) -> Self;
}

/// An `int` handle (MPICH family).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub struct IntHandle(pub c_int);

impl Handle for IntHandle {
    #[inline(always)]
    fn bits(self) -> u64 {
        u64::from(self.0 as u32)
    }
    #[inline(always)]
    fn from_bits(bits: u64) -> Self {
        IntHandle(bits as u32 as c_int)
    }
}

/// A pointer handle (Open MPI, MPI-5 standard).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub struct PointerHandle(pub usize);

impl Handle for PointerHandle {
    #[inline(always)]
    fn bits(self) -> u64 {
        self.0 as u64
    }
    #[inline(always)]
    fn from_bits(bits: u64) -> Self {
        PointerHandle(bits as usize)
    }
}

/// The kinds of process topology of MPI.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TopologyKind {
    Cartesian,
    Graph,
    DistGraph,
}

/// A symbol of the MPI library, looked up once: a predefined object, or a function that converts between the
/// handles of C and of Fortran.
struct Symbol {
    name: &'static CStr,
    address: AtomicUsize,
}

impl Symbol {
    const fn new(name: &'static CStr) -> Symbol {
        Symbol { name, address: AtomicUsize::new(0) }
    }

    /// Where it is; 0 if the MPI library lacks it.
    #[inline(always)]
    fn address(&self) -> usize {
        match self.address.load(Ordering::Relaxed) {
            0 => self.look_up(),
            known => known,
        }
    }

    #[cold]
    fn look_up(&self) -> usize {
        let address = library::symbol(self.name);
        self.address.store(address, Ordering::Relaxed);
        address
    }

    /// The function of this name; `None` if the MPI library lacks it.
    fn function(&self) -> Option<usize> {
        Some(self.address()).filter(|&address| address != 0)
    }

    /// The handle in C, a pointer, of a number in Fortran.
    fn to_c(&self, number: c_int) -> Option<usize> {
        // SAFETY: the functions that the table names for this direction take an MPI_Fint or int and
        // return a handle, which is a pointer in the ABIs that have such a function.
        self.function().map(|address| unsafe {
            let function: unsafe extern "C" fn(c_int) -> usize = std::mem::transmute(address);
            function(number)
        })
    }

    /// The number in Fortran of a handle in C.
    fn to_fortran(&self, handle: usize) -> Option<c_int> {
        // SAFETY: the functions that the table names for this direction take a handle, which is a
        // pointer in the ABIs that have such a function, and return an MPI_Fint or int.
        self.function().map(|address| unsafe {
            let function: unsafe extern "C" fn(usize) -> c_int = std::mem::transmute(address);
            function(handle)
        })
    }
}

/// A constant that the MPI library has as a variable: a pointer of this name.
fn pointer(name: &CStr) -> usize {
    match library::symbol(name) {
        0 => 0,
        // SAFETY: a variable of this type in the MPI library, never written to.
        variable => unsafe { *(variable as *const usize) },
    }
}

/// What an MPI binary interface fixes: the width of handles and the value of constants.
pub trait Abi: Copy + Send + Sync + 'static {
    type Comm: Handle;
    type Datatype: Handle;
    type Request: Handle;
    type Win: Handle;
    type Op: Handle;
    type Info: Handle;
    type Group: Handle;
    type Errhandler: Handle;
    type Message: Handle;
    type Session: Handle;

    const PROC_NULL: c_int;
    /// Root on the root's own side of an intercommunicator.
    const ROOT: c_int;
    const UNDEFINED: c_int;
    const IN_PLACE: usize;
    const COMBINER_NAMED: c_int;
    const ERR_OTHER: c_int;
    /// The result of MPI_Topo_test for each kind of topology.
    const CART: c_int;
    const GRAPH: c_int;
    const DIST_GRAPH: c_int;
    /// Handles are 32-bit integers.
    const NARROW: bool = size_of::<Self::Comm>() == 4;
    /// Handles of requests are addresses that are about this far apart, as a power of two; 0: they may be numbers.
    const REQUEST_DISTANCE: u32;
    /// How often MPI is asked for the size of a datatype before the size is kept.
    const SIZE_QUESTIONS: u64;
    /// MPI_COMM_WORLD in Fortran.
    const FORTRAN_WORLD: c_int;

    // The handle in C of a number that Fortran passes.
    fn comm_from_fortran(number: c_int) -> Self::Comm;
    fn type_from_fortran(number: c_int) -> Self::Datatype;
    fn op_from_fortran(number: c_int) -> Self::Op;
    fn win_from_fortran(number: c_int) -> Self::Win;
    fn request_from_fortran(number: c_int) -> Self::Request;
    fn group_from_fortran(number: c_int) -> Self::Group;
    fn info_from_fortran(number: c_int) -> Self::Info;
    fn session_from_fortran(number: c_int) -> Self::Session;
    // The number that Fortran gets for a handle in C.
    fn comm_to_fortran(comm: Self::Comm) -> c_int;
    fn group_to_fortran(group: Self::Group) -> c_int;

    // Predefined handles.
    fn comm_world() -> Self::Comm;
    fn comm_self() -> Self::Comm;
    fn comm_null() -> Self::Comm;
    fn byte() -> Self::Datatype;
    fn datatype_null() -> Self::Datatype;
    fn uint64() -> Self::Datatype;
    fn op_max() -> Self::Op;
    fn op_null() -> Self::Op;
    fn op_no_op() -> Self::Op;
    fn errors_return() -> Self::Errhandler;
    fn request_null() -> Self::Request;
    fn win_null() -> Self::Win;

    /// MPI_UNWEIGHTED, as an address.
    fn unweighted() -> usize;
    /// MPI_WEIGHTS_EMPTY, as an address.
    fn weights_empty() -> usize;

    /// The kind of topology for a result of MPI_Topo_test.
    fn topology_kind(status: c_int) -> Option<TopologyKind> {
        match status {
            s if s == Self::CART => Some(TopologyKind::Cartesian),
            s if s == Self::GRAPH => Some(TopologyKind::Graph),
            s if s == Self::DIST_GRAPH => Some(TopologyKind::DistGraph),
            _ => None,
        }
    }
}

include!(concat!(env!("OUT_DIR"), "/handles.rs"));
