//! `MPI_INIT`, `MPI_INIT_THREAD`, `MPI_ABORT` and `MPI_FINALIZE`.

use crate::entry::fortran_arguments::{code, int};
use crate::entry::next::{self, Argument};
use crate::job::{failure, start};
use crate::mpi::abi::Abi;

/// `MPI_Init`
pub unsafe extern "C-unwind" fn init<A: Abi, const B: usize>(ierror: Argument) {
    start::init_seen();
    // SAFETY: the program's own argument and the real function's prototype.
    unsafe {
        next::in_fortran::mpi_init::<B>(ierror);
        if code(ierror) == 0 {
            start::start::<A>();
        }
    }
}

/// `MPI_Init_thread`
pub unsafe extern "C-unwind" fn init_thread<A: Abi, const B: usize>(
    required: Argument,
    provided: Argument,
    ierror: Argument,
) {
    start::init_seen();
    // SAFETY: addresses of the program's own arguments; the next function takes the same.
    unsafe {
        next::in_fortran::mpi_init_thread::<B>(required, provided, ierror);
        if code(ierror) == 0 {
            start::start::<A>();
        }
    }
}

/// `MPI_Finalize`
pub unsafe extern "C-unwind" fn finalize<A: Abi, const B: usize>(ierror: Argument) {
    start::start_late();
    // SAFETY: addresses of the program's own arguments; the next function takes the same.
    unsafe {
        next::in_fortran::mpi_finalize::<B>(ierror);
    }
}

/// `MPI_Abort`
pub unsafe extern "C-unwind" fn abort<A: Abi, const B: usize>(
    comm: Argument,
    errorcode: Argument,
    ierror: Argument,
) {
    // SAFETY: addresses of the program's own arguments; the next function takes the same.
    unsafe {
        failure::aborting(int(errorcode));
        next::in_fortran::mpi_abort::<B>(comm, errorcode, ierror);
    }
}
