//! Error handlers of communicators while the world is replaced.

use crate::comm::callbacks;
use crate::comm::world::replacement;
use crate::entry::next;
use crate::mpi::abi::Abi;
use libc::{c_int, c_void};

/// Sets an error handler. If the program sets it on the world, it is set on both worlds, because errors of
/// calls without a communicator are raised on the true one.
fn set<A: Abi>(comm: A::Comm, set: impl Fn(A::Comm) -> c_int) -> c_int {
    let code = set(comm);
    match replacement::<A>() {
        Some(other) if code == 0 && comm == A::comm_world() => set(other),
        _ => code,
    }
}

/// `MPI_Comm_set_errhandler`
pub unsafe extern "C-unwind" fn comm_set_errhandler<A: Abi>(
    comm: A::Comm,
    handler: A::Errhandler,
) -> c_int {
    // SAFETY: the program's own arguments; the next function has the same prototype.
    set::<A>(comm, |comm| unsafe { next::mpi_comm_set_errhandler::<A>(comm, handler) })
}

/// `MPI_Errhandler_set`
pub unsafe extern "C-unwind" fn errhandler_set<A: Abi>(
    comm: A::Comm,
    handler: A::Errhandler,
) -> c_int {
    // SAFETY: the program's own arguments; the next function has the same prototype.
    set::<A>(comm, |comm| unsafe { next::mpi_errhandler_set::<A>(comm, handler) })
}

/// `MPI_Comm_create_errhandler`: the handler sees MPI_COMM_WORLD as such.
pub unsafe extern "C-unwind" fn comm_create_errhandler<A: Abi>(
    function: *mut c_void,
    handler: *mut A::Errhandler,
) -> c_int {
    let function = callbacks::for_handler::<A>(function);
    // SAFETY: the program's own arguments; a trampoline has the same prototype as its function.
    unsafe { next::mpi_comm_create_errhandler::<A>(function, handler) }
}

/// `MPI_Errhandler_create`: the handler sees MPI_COMM_WORLD as such.
pub unsafe extern "C-unwind" fn errhandler_create<A: Abi>(
    function: *mut c_void,
    handler: *mut A::Errhandler,
) -> c_int {
    let function = callbacks::for_handler::<A>(function);
    // SAFETY: the program's own arguments; a trampoline has the same prototype as its function.
    unsafe { next::mpi_errhandler_create::<A>(function, handler) }
}
