//! Attributes of communicators while the world is replaced.

use crate::comm::world::is_marked;
use crate::entry::fortran_arguments::{code, comm, effective, int};
use crate::entry::internal_calls::Inside;
use crate::entry::next::{self, Argument};
use crate::mpi::abi::Abi;

/// An attribute, as in C: the true world is asked for what the replacement and its duplicates lack.
///
/// # Safety
/// Arguments of the program; `get` sets `flag` and `ierror`.
unsafe fn get<A: Abi>(on: Argument, flag: Argument, ierror: Argument, get: impl Fn(Argument)) {
    // SAFETY: addresses that the program passed; `get` has set `flag` and the error code. `flag` is a LOGICAL, false is 0 in
    // every compiler MPI supports.
    unsafe {
        let used = effective::<A>(on);
        get(used);
        if code(ierror) == 0 && int(flag) == 0 && is_marked::<A>(comm::<A>(used)) {
            let mut world = A::FORTRAN_WORLD;
            get((&raw mut world).cast());
        }
    }
}

/// `MPI_Comm_get_attr`
pub unsafe extern "C-unwind" fn comm_get_attr<A: Abi, const B: usize>(
    on: Argument,
    keyval: Argument,
    value: Argument,
    flag: Argument,
    ierror: Argument,
) {
    // SAFETY: addresses of the program's own arguments; the next function takes the same.
    unsafe {
        get::<A>(on, flag, ierror, |on| {
            next::in_fortran::mpi_comm_get_attr::<B>(on, keyval, value, flag, ierror);
        });
    }
}

/// `MPI_Attr_get`
pub unsafe extern "C-unwind" fn attr_get<A: Abi, const B: usize>(
    on: Argument,
    keyval: Argument,
    value: Argument,
    flag: Argument,
    ierror: Argument,
) {
    // SAFETY: addresses of the program's own arguments; the next function takes the same.
    unsafe {
        get::<A>(on, flag, ierror, |on| {
            next::in_fortran::mpi_attr_get::<B>(on, keyval, value, flag, ierror);
        });
    }
}

/// `MPI_Comm_create_keyval`. In MPICH this form calls the C function of the same name with the callbacks of Fortran.
pub unsafe extern "C-unwind" fn comm_create_keyval<A: Abi, const B: usize>(
    copy: Argument,
    delete: Argument,
    keyval: Argument,
    extra: Argument,
    ierror: Argument,
) {
    let _inside = Inside::enter();
    // SAFETY: addresses of the program's own arguments; the next function takes the same.
    unsafe { next::in_fortran::mpi_comm_create_keyval::<B>(copy, delete, keyval, extra, ierror) };
}

/// `MPI_Keyval_create`. In MPICH this form calls the C function of the same name with the callbacks of Fortran.
pub unsafe extern "C-unwind" fn keyval_create<A: Abi, const B: usize>(
    copy: Argument,
    delete: Argument,
    keyval: Argument,
    extra: Argument,
    ierror: Argument,
) {
    let _inside = Inside::enter();
    // SAFETY: addresses of the program's own arguments; the next function takes the same.
    unsafe { next::in_fortran::mpi_keyval_create::<B>(copy, delete, keyval, extra, ierror) };
}
