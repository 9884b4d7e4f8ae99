//! Attributes of communicators while the world is replaced.

use crate::entry::fortran_arguments::{code, effective, int};
use crate::entry::next::{self, Argument};
use crate::mpi::abi::Abi;

/// An attribute of the world: the replacement's attribute, or else the attribute of the true world, which has
/// the predefined attributes.
///
/// # Safety
/// Arguments of the program; `get` sets `flag` and `ierror`.
unsafe fn get<A: Abi>(on: Argument, flag: Argument, ierror: Argument, get: impl Fn(Argument)) {
    // SAFETY: addresses that the program passed; `get` has set `flag` and the error code. `flag` is a LOGICAL, false is 0 in every compiler MPI supports.
    unsafe {
        let used = effective::<A>(on);
        get(used);
        if used != on && code(ierror) == 0 && int(flag) == 0 {
            get(on);
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
