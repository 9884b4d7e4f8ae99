//! Wrappers of the calls that free a communicator. The collective calls that were counted on it are added to
//! the rows before.

use crate::entry::next;
use crate::job::rank_mixing;
use crate::mpi::abi::Abi;
use libc::c_int;

/// Frees a communicator of the program with `free`.
///
/// # Safety
/// `comm` is null or the address of a handle of the program.
unsafe fn leave<A: Abi>(comm: *mut A::Comm, free: impl FnOnce() -> c_int) -> c_int {
    if comm.is_null() {
        return free();
    }
    // SAFETY: not null, so the address of a handle of the program.
    let leaving = unsafe { rank_mixing::leave::<A>(*comm) };
    let code = free();
    drop(leaving);
    code
}

/// `MPI_Comm_free`
pub unsafe extern "C-unwind" fn comm_free<A: Abi>(comm: *mut A::Comm) -> c_int {
    // SAFETY: the program's own argument; the next function has the same prototype.
    unsafe { leave::<A>(comm, || next::mpi_comm_free::<A>(comm)) }
}

/// `MPI_Comm_disconnect`
pub unsafe extern "C-unwind" fn comm_disconnect<A: Abi>(comm: *mut A::Comm) -> c_int {
    // SAFETY: the program's own argument; the next function has the same prototype.
    unsafe { leave::<A>(comm, || next::mpi_comm_disconnect::<A>(comm)) }
}
