//! The three handle ABIs: Open MPI (pointers), MPICH family (ints), MPI-5 standard (pointers with
//! small constants).
//!
//! Everything that differs between them is in the trait [`Abi`]; wrappers are generic over it, so a
//! handle of one width can never reach a function of another ABI. Constants are checked against
//! each installed mpi.h by the tests (tests/mpi). Limits: 64-bit little-endian Linux.

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

fn topology_kind(
    status: c_int,
    cartesian: c_int,
    graph: c_int,
    dist_graph: c_int,
) -> Option<TopologyKind> {
    match status {
        s if s == cartesian => Some(TopologyKind::Cartesian),
        s if s == graph => Some(TopologyKind::Graph),
        s if s == dist_graph => Some(TopologyKind::DistGraph),
        _ => None,
    }
}

/// Kinds of handles that are converted between C and Fortran.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Comm,
    Type,
    Op,
    Win,
    Request,
    Group,
    Info,
    Session,
}

/// Calls a conversion function of the MPI library, looked up once per kind.
fn convert(kind: Kind, names: [&'static CStr; 8], fortran: c_int) -> Option<usize> {
    static KNOWN: [AtomicUsize; 8] = [const { AtomicUsize::new(0) }; 8];
    let mut address = KNOWN[kind as usize].load(Ordering::Relaxed);
    if address == 0 {
        address = library::symbol(names[kind as usize]);
        KNOWN[kind as usize].store(address, Ordering::Relaxed);
    }
    if address == 0 {
        return None;
    }
    // SAFETY: these functions take an MPI_Fint and return a handle, a pointer in the ABIs that use
    // this.
    Some(unsafe {
        let function: unsafe extern "C" fn(c_int) -> usize = std::mem::transmute(address);
        function(fortran)
    })
}

/// Asks the MPI library for the Fortran handle of a handle.
fn number_of(name: &CStr, handle: usize) -> Option<c_int> {
    let address = library::symbol(name);
    // SAFETY: the function takes a handle (a pointer) and returns an MPI_Fint.
    (address != 0).then(|| unsafe {
        let function: unsafe extern "C" fn(usize) -> c_int = std::mem::transmute(address);
        function(handle)
    })
}

/// A constant that the MPI library has as a variable: a pointer of this name.
fn pointer(name: &CStr) -> usize {
    match library::object(name) {
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

    /// MPI_ANY_SOURCE … are not needed: receives record nothing.
    const PROC_NULL: c_int;
    /// Root on the root's own side of an intercommunicator.
    const ROOT: c_int;
    const UNDEFINED: c_int;
    const IN_PLACE: usize;
    const COMBINER_NAMED: c_int;
    const ERR_OTHER: c_int;
    /// True where mpif.h calls and those of mpi_f08 with choice buffers call MPI_X in C.
    const FORTRAN_CALLS_C: bool;
    /// Handles are 32-bit integers.
    const NARROW: bool = size_of::<Self::Comm>() == 4;
    /// MPI_COMM_WORLD in Fortran.
    const FORTRAN_WORLD: c_int;
    /// The C handle of a Fortran one; of some kind.
    fn from_fortran<H: Handle>(kind: Kind, fortran: c_int) -> H;
    /// The Fortran handle of a communicator.
    fn comm_to_fortran(comm: Self::Comm) -> c_int;
    /// The Fortran handle of a group.
    fn group_to_fortran(group: Self::Group) -> c_int;
    /// What a value of MPI_Topo_test means.
    fn topology_kind(status: c_int) -> Option<TopologyKind>;
    fn comm_world() -> Self::Comm;
    fn comm_self() -> Self::Comm;
    fn comm_null() -> Self::Comm;
    fn byte() -> Self::Datatype;
    fn datatype_null() -> Self::Datatype;
    fn uint64() -> Self::Datatype;
    fn op_max() -> Self::Op;
    fn op_null() -> Self::Op;
    fn errors_return() -> Self::Errhandler;
    fn request_null() -> Self::Request;
    fn op_no_op() -> u64;
    /// MPI_UNWEIGHTED and MPI_WEIGHTS_EMPTY, as addresses.
    fn unweighted() -> usize;
    fn weights_empty() -> usize;
}

/// Open MPI: handles point at objects of libmpi, found by their symbols.
#[derive(Debug, Clone, Copy)]
pub struct OpenMpi;

impl Abi for OpenMpi {
    type Comm = PointerHandle;
    type Datatype = PointerHandle;
    type Request = PointerHandle;
    type Win = PointerHandle;
    type Op = PointerHandle;
    type Info = PointerHandle;
    type Group = PointerHandle;
    type Errhandler = PointerHandle;
    type Message = PointerHandle;
    type Session = PointerHandle;

    const PROC_NULL: c_int = -2;
    const ROOT: c_int = -4;
    const UNDEFINED: c_int = -32766;
    const IN_PLACE: usize = 1;
    const COMBINER_NAMED: c_int = 0;
    const ERR_OTHER: c_int = 16;

    const FORTRAN_CALLS_C: bool = false;
    const FORTRAN_WORLD: c_int = 0;

    fn from_fortran<H: Handle>(kind: Kind, fortran: c_int) -> H {
        let names = [
            c"PMPI_Comm_f2c",
            c"PMPI_Type_f2c",
            c"PMPI_Op_f2c",
            c"PMPI_Win_f2c",
            c"PMPI_Request_f2c",
            c"PMPI_Group_f2c",
            c"PMPI_Info_f2c",
            c"PMPI_Session_f2c",
        ];
        H::from_bits(convert(kind, names, fortran).unwrap_or(0) as u64)
    }
    fn comm_to_fortran(comm: PointerHandle) -> c_int {
        number_of(c"PMPI_Comm_c2f", comm.0).unwrap_or(0)
    }
    fn group_to_fortran(group: PointerHandle) -> c_int {
        number_of(c"PMPI_Group_c2f", group.0).unwrap_or(0)
    }
    fn topology_kind(status: c_int) -> Option<TopologyKind> {
        topology_kind(status, 1, 2, 3)
    }
    #[inline(always)]
    fn comm_world() -> PointerHandle {
        PointerHandle(library::open_mpi_world())
    }
    fn comm_self() -> PointerHandle {
        PointerHandle(library::object(c"ompi_mpi_comm_self"))
    }
    fn comm_null() -> PointerHandle {
        PointerHandle(library::object(c"ompi_mpi_comm_null"))
    }
    fn byte() -> PointerHandle {
        PointerHandle(library::object(c"ompi_mpi_byte"))
    }
    fn datatype_null() -> PointerHandle {
        PointerHandle(library::object(c"ompi_mpi_datatype_null"))
    }
    fn uint64() -> PointerHandle {
        PointerHandle(library::object(c"ompi_mpi_uint64_t"))
    }
    fn op_max() -> PointerHandle {
        PointerHandle(library::object(c"ompi_mpi_op_max"))
    }
    fn op_null() -> PointerHandle {
        PointerHandle(library::object(c"ompi_mpi_op_null"))
    }
    fn errors_return() -> PointerHandle {
        PointerHandle(library::object(c"ompi_mpi_errors_return"))
    }
    fn request_null() -> PointerHandle {
        PointerHandle(library::object(c"ompi_request_null"))
    }
    fn op_no_op() -> u64 {
        library::object(c"ompi_mpi_op_no_op") as u64
    }
    fn unweighted() -> usize {
        2
    }
    fn weights_empty() -> usize {
        3
    }
}

/// MPICH, MVAPICH, Intel MPI, Cray MPICH: handles are ints with the kind in the upper bits.
#[derive(Debug, Clone, Copy)]
pub struct Mpich;

impl Abi for Mpich {
    type Comm = IntHandle;
    type Datatype = IntHandle;
    type Request = IntHandle;
    type Win = IntHandle;
    type Op = IntHandle;
    type Info = IntHandle;
    type Group = IntHandle;
    type Errhandler = IntHandle;
    type Message = IntHandle;
    type Session = IntHandle;

    const PROC_NULL: c_int = -1;
    const ROOT: c_int = -3;
    const UNDEFINED: c_int = -32766;
    const IN_PLACE: usize = usize::MAX;
    const COMBINER_NAMED: c_int = 1;
    const ERR_OTHER: c_int = 15;

    const FORTRAN_CALLS_C: bool = true;
    const FORTRAN_WORLD: c_int = 0x4400_0000;

    fn from_fortran<H: Handle>(_kind: Kind, fortran: c_int) -> H {
        H::from_bits(u64::from(fortran as u32))
    }
    fn comm_to_fortran(comm: IntHandle) -> c_int {
        comm.0
    }
    fn group_to_fortran(group: IntHandle) -> c_int {
        group.0
    }
    fn topology_kind(status: c_int) -> Option<TopologyKind> {
        topology_kind(status, 2, 1, 3)
    }
    #[inline(always)]
    fn comm_world() -> IntHandle {
        IntHandle(0x4400_0000)
    }
    fn comm_self() -> IntHandle {
        IntHandle(0x4400_0001)
    }
    fn comm_null() -> IntHandle {
        IntHandle(0x0400_0000)
    }
    fn byte() -> IntHandle {
        IntHandle(0x4c00_010d)
    }
    fn datatype_null() -> IntHandle {
        IntHandle(0x0c00_0000)
    }
    fn uint64() -> IntHandle {
        IntHandle(0x4c00_083e)
    }
    fn op_max() -> IntHandle {
        IntHandle(0x5800_0001)
    }
    fn op_null() -> IntHandle {
        IntHandle(0x1800_0000)
    }
    fn errors_return() -> IntHandle {
        IntHandle(0x5400_0001)
    }
    fn request_null() -> IntHandle {
        IntHandle(0x2c00_0000)
    }
    fn op_no_op() -> u64 {
        0x5800_000e
    }
    fn unweighted() -> usize {
        pointer(c"MPI_UNWEIGHTED")
    }
    fn weights_empty() -> usize {
        pointer(c"MPI_WEIGHTS_EMPTY")
    }
}

/// The ABI that MPI-5.0 standardises (libmpi_abi).
#[derive(Debug, Clone, Copy)]
pub struct Standard;

impl Abi for Standard {
    type Comm = PointerHandle;
    type Datatype = PointerHandle;
    type Request = PointerHandle;
    type Win = PointerHandle;
    type Op = PointerHandle;
    type Info = PointerHandle;
    type Group = PointerHandle;
    type Errhandler = PointerHandle;
    type Message = PointerHandle;
    type Session = PointerHandle;

    const PROC_NULL: c_int = -3;
    const ROOT: c_int = -4;
    const UNDEFINED: c_int = -32766;
    const IN_PLACE: usize = 1;
    const COMBINER_NAMED: c_int = 101;
    const ERR_OTHER: c_int = 16;

    const FORTRAN_CALLS_C: bool = true;
    const FORTRAN_WORLD: c_int = 0x101;

    fn from_fortran<H: Handle>(kind: Kind, fortran: c_int) -> H {
        let names = [
            c"PMPI_Comm_fromint",
            c"PMPI_Type_fromint",
            c"PMPI_Op_fromint",
            c"PMPI_Win_fromint",
            c"PMPI_Request_fromint",
            c"PMPI_Group_fromint",
            c"PMPI_Info_fromint",
            c"PMPI_Session_fromint",
        ];
        H::from_bits(convert(kind, names, fortran).unwrap_or(fortran as usize) as u64)
    }
    fn comm_to_fortran(comm: PointerHandle) -> c_int {
        number_of(c"PMPI_Comm_toint", comm.0).unwrap_or(comm.0 as c_int)
    }
    fn group_to_fortran(group: PointerHandle) -> c_int {
        number_of(c"PMPI_Group_toint", group.0).unwrap_or(group.0 as c_int)
    }
    fn topology_kind(status: c_int) -> Option<TopologyKind> {
        topology_kind(status, 211, 212, 213)
    }
    #[inline(always)]
    fn comm_world() -> PointerHandle {
        PointerHandle(0x101)
    }
    fn comm_self() -> PointerHandle {
        PointerHandle(0x102)
    }
    fn comm_null() -> PointerHandle {
        PointerHandle(0x100)
    }
    fn byte() -> PointerHandle {
        PointerHandle(0x247)
    }
    fn datatype_null() -> PointerHandle {
        PointerHandle(0x200)
    }
    fn uint64() -> PointerHandle {
        PointerHandle(0x259)
    }
    fn op_max() -> PointerHandle {
        PointerHandle(0x23)
    }
    fn op_null() -> PointerHandle {
        PointerHandle(0x20)
    }
    fn errors_return() -> PointerHandle {
        PointerHandle(0x143)
    }
    fn request_null() -> PointerHandle {
        PointerHandle(0x180)
    }
    fn op_no_op() -> u64 {
        0x3d
    }
    fn unweighted() -> usize {
        10
    }
    fn weights_empty() -> usize {
        11
    }
}
