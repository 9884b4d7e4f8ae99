//! Error handlers of communicators while the world is replaced.

use crate::comm::world;
use crate::entry::fortran_arguments::{code, int};
use crate::entry::next::{self, Argument};
use crate::mpi::abi::Abi;

/// Sets an error handler. If the program sets it on the world, it is set on both worlds.
///
/// # Safety
/// Arguments of the program; `set` sets `ierror`.
unsafe fn set<A: Abi>(on: Argument, ierror: Argument, set: impl Fn(Argument)) {
    set(on);
    // SAFETY: addresses of INTEGERs of the program; `set` has set the error code.
    let of_world = unsafe { code(ierror) == 0 && int(on) == A::FORTRAN_WORLD };
    if of_world && let Some(other) = world::replacement_in_fortran() {
        set(other.cast());
    }
}

/// `MPI_Comm_set_errhandler`
pub unsafe extern "C-unwind" fn comm_set_errhandler<A: Abi, const B: usize>(
    on: Argument,
    handler: Argument,
    ierror: Argument,
) {
    // SAFETY: addresses of the program's own arguments; the next function takes the same.
    unsafe {
        set::<A>(on, ierror, |on| {
            next::in_fortran::mpi_comm_set_errhandler::<B>(on, handler, ierror);
        });
    }
}

/// `MPI_Errhandler_set`
pub unsafe extern "C-unwind" fn errhandler_set<A: Abi, const B: usize>(
    on: Argument,
    handler: Argument,
    ierror: Argument,
) {
    // SAFETY: addresses of the program's own arguments; the next function takes the same.
    unsafe {
        set::<A>(on, ierror, |on| next::in_fortran::mpi_errhandler_set::<B>(on, handler, ierror));
    }
}
