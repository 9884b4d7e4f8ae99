//! Reduction operations.

use crate::entry::next;
use crate::mpi::abi::Abi;
use libc::c_int;

/// `MPI_Op_free`: a later operation may get the same handle.
pub unsafe extern "C-unwind" fn op_free<A: Abi>(op: *mut A::Op) -> c_int {
    crate::record::thread::freed();
    // SAFETY: the program's own argument; the next function has the same prototype.
    unsafe { next::mpi_op_free::<A>(op) }
}
