//! Wrappers of the calls that free a communicator. The collective calls that were counted on it are added to
//! the rows before.

use crate::entry::fortran_arguments::comm;
use crate::entry::next::{self, Argument};
use crate::job::rank_mixing;
use crate::mpi::abi::Abi;

/// `MPI_Comm_free`
pub unsafe extern "C-unwind" fn comm_free<A: Abi, const B: usize>(
    freed: Argument,
    ierror: Argument,
) {
    // SAFETY: addresses of the program's own arguments; the next function takes the same.
    unsafe {
        let leaving = rank_mixing::leave::<A>(comm::<A>(freed));
        next::in_fortran::mpi_comm_free::<B>(freed, ierror);
        drop(leaving);
    }
}

/// `MPI_Comm_disconnect`
pub unsafe extern "C-unwind" fn comm_disconnect<A: Abi, const B: usize>(
    freed: Argument,
    ierror: Argument,
) {
    // SAFETY: addresses of the program's own arguments; the next function takes the same.
    unsafe {
        let leaving = rank_mixing::leave::<A>(comm::<A>(freed));
        next::in_fortran::mpi_comm_disconnect::<B>(freed, ierror);
        drop(leaving);
    }
}
