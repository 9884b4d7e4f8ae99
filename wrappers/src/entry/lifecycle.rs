//! `MPI_Init`, `MPI_Init_thread`, `MPI_Abort` and `MPI_Finalize`: the start of a job, and the latest point
//! at which it ends.

use crate::entry::next;
use crate::job::{failure, start};
use crate::mpi::abi::Abi;
use libc::{c_char, c_int};

/// `MPI_Init`
pub unsafe extern "C-unwind" fn init<A: Abi>(
    argc: *mut c_int,
    argv: *mut *mut *mut c_char,
) -> c_int {
    start::init_seen();
    // SAFETY: the program's own arguments; the next function has the same prototype.
    let code = unsafe { next::mpi_init::<A>(argc, argv) };
    if code == 0 {
        start::start::<A>();
    }
    code
}

/// `MPI_Init_thread`
pub unsafe extern "C-unwind" fn init_thread<A: Abi>(
    argc: *mut c_int,
    argv: *mut *mut *mut c_char,
    required: c_int,
    provided: *mut c_int,
) -> c_int {
    start::init_seen();
    // SAFETY: the program's own arguments; the next function has the same prototype.
    let code = unsafe { next::mpi_init_thread::<A>(argc, argv, required, provided) };
    if code == 0 {
        start::start::<A>();
    }
    code
}

/// `MPI_Finalize`. If the library did not see MPI_Init, a process that made no recorded call starts its job
/// here, so that it takes part in the gathering.
pub unsafe extern "C-unwind" fn finalize<A: Abi>() -> c_int {
    start::start_late();
    // SAFETY: the next function has the same prototype.
    unsafe { next::mpi_finalize::<A>() }
}

/// `MPI_Abort`. In MPICH 5 it may return before the launcher ends the process. A program that finalises MPI
/// then has not come to its end.
pub unsafe extern "C-unwind" fn abort<A: Abi>(comm: A::Comm, errorcode: c_int) -> c_int {
    failure::aborting(errorcode);
    // SAFETY: the program's own arguments; the next function has the same prototype.
    unsafe { next::mpi_abort::<A>(comm, errorcode) }
}
