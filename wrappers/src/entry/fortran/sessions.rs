//! Sessions, and communicators made from groups.

use crate::comm::world;
use crate::entry::fortran_arguments::{self as arguments, code, comm};
use crate::entry::next::{self, Argument};
use crate::entry::sessions;
use crate::mpi::abi::Abi;

/// `MPI_Group_from_session_pset`; the name ends with its length, padded with blanks.
pub unsafe extern "C-unwind" fn group_from_session_pset<A: Abi, const B: usize>(
    session: Argument,
    name: Argument,
    group: Argument,
    ierror: Argument,
    length: Argument,
) {
    // SAFETY: addresses of the program's own arguments; the name has `length` characters.
    unsafe {
        next::in_fortran::mpi_group_from_session_pset::<B>(session, name, group, ierror, length);
        let text = std::slice::from_raw_parts(name.cast::<u8>(), length as usize);
        if code(ierror) == 0 && sessions::is_world_set(text.trim_ascii_end()) {
            let mut ordered = arguments::group::<A>(group);
            world::order_group::<A>(&raw mut ordered);
            *group.cast::<libc::c_int>() = A::group_to_fortran(ordered);
        }
    }
}

/// `MPI_Session_init`
pub unsafe extern "C-unwind" fn session_init<A: Abi, const B: usize>(
    info: Argument,
    handler: Argument,
    made: Argument,
    ierror: Argument,
) {
    // SAFETY: addresses of the program's own arguments; the next function takes the same.
    unsafe {
        next::in_fortran::mpi_session_init::<B>(info, handler, made, ierror);
        if code(ierror) == 0 {
            sessions::opened::<A>(arguments::session::<A>(made));
        }
    }
}

/// `MPI_Session_finalize`
pub unsafe extern "C-unwind" fn session_finalize<A: Abi, const B: usize>(
    ended: Argument,
    ierror: Argument,
) {
    // SAFETY: addresses of the program's own arguments; the next function takes the same.
    unsafe {
        sessions::closing::<A>(arguments::session::<A>(ended));
        next::in_fortran::mpi_session_finalize::<B>(ended, ierror);
    }
}

/// `MPI_Comm_create_from_group`
pub unsafe extern "C-unwind" fn comm_create_from_group<A: Abi, const B: usize>(
    group: Argument,
    tag: Argument,
    info: Argument,
    handler: Argument,
    made: Argument,
    ierror: Argument,
    length: Argument,
) {
    // SAFETY: addresses of the program's own arguments; the next function takes the same.
    unsafe {
        next::in_fortran::mpi_comm_create_from_group::<B>(
            group, tag, info, handler, made, ierror, length,
        );
        if code(ierror) == 0 {
            sessions::made::<A>(arguments::group::<A>(group), comm::<A>(made));
        }
    }
}
