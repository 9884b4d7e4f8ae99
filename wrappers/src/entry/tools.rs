//! The tools interface of MPI (MPI_T) while the world is replaced: a variable or event of
//! MPI_COMM_WORLD is bound to the communicator that replaces it.
//!
//! Only the MPI library knows to which kind of object a variable belongs. The wrappers compare the
//! handle with that of MPI_COMM_WORLD instead, which no other object has in any handle family.

use crate::comm::world;
use crate::entry::next;
use crate::mpi::abi::Abi;
use libc::{c_int, c_void};

/// The object to bind to. Its address stays valid, because MPICH keeps the address and not the handle at the
/// address.
///
/// # Safety
/// `object` is null or points to a handle of MPI.
unsafe fn object<A: Abi>(object: *mut c_void) -> *mut c_void {
    // No ABI has handles that are smaller than those of communicators, so this read stays inside the
    // handle.
    // SAFETY: not null, and the program passes the address of a handle then.
    if !object.is_null() && unsafe { object.cast::<A::Comm>().read_unaligned() } == A::comm_world()
    {
        return world::replacement_in_place().unwrap_or(object);
    }
    object
}

/// `MPI_T_cvar_handle_alloc`
pub unsafe extern "C-unwind" fn cvar_handle_alloc<A: Abi>(
    variable: c_int,
    bound_to: *mut c_void,
    handle: *mut c_void,
    count: *mut c_int,
) -> c_int {
    // SAFETY: the program's own arguments; the next function has the same prototype.
    unsafe { next::mpi_t_cvar_handle_alloc::<A>(variable, object::<A>(bound_to), handle, count) }
}

/// `MPI_T_pvar_handle_alloc`
pub unsafe extern "C-unwind" fn pvar_handle_alloc<A: Abi>(
    session: *mut c_void,
    variable: c_int,
    bound_to: *mut c_void,
    handle: *mut c_void,
    count: *mut c_int,
) -> c_int {
    // SAFETY: the program's own arguments; a session of the tools interface is a pointer in every ABI.
    unsafe {
        next::mpi_t_pvar_handle_alloc::<A>(session, variable, object::<A>(bound_to), handle, count)
    }
}

/// `MPI_T_event_handle_alloc`
pub unsafe extern "C-unwind" fn event_handle_alloc<A: Abi>(
    event: c_int,
    bound_to: *mut c_void,
    info: A::Info,
    registration: *mut c_void,
) -> c_int {
    // SAFETY: the program's own arguments; the next function has the same prototype.
    unsafe { next::mpi_t_event_handle_alloc::<A>(event, object::<A>(bound_to), info, registration) }
}
