//! Reduction operations.

use crate::entry::next::{self, Argument};
use crate::mpi::abi::Abi;

/// `MPI_Op_free`
pub unsafe extern "C-unwind" fn op_free<A: Abi, const B: usize>(freed: Argument, ierror: Argument) {
    crate::record::thread::freed();
    // SAFETY: addresses of the program's own arguments; the next function takes the same.
    unsafe {
        next::in_fortran::mpi_op_free::<B>(freed, ierror);
    }
}
