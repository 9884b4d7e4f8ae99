//! Attributes of communicators while the world is replaced.

use crate::comm::callbacks;
use crate::comm::world::{effective, is_marked};
use crate::entry::next;
use crate::mpi::abi::Abi;
use crate::record::pause;
use libc::{c_int, c_void};

/// An attribute. Attributes that the program set on the world are on the replacement. The predefined ones (MPI_TAG_UB,
/// MPI_UNIVERSE_SIZE, …) may be on the true world only, and a duplicate of the replacement has none to inherit. The true
/// world has no others, so it is asked for what is absent on these communicators.
///
/// # Safety
/// `flag` is null or the address of the `int` that `get` sets.
unsafe fn get<A: Abi>(comm: A::Comm, flag: *mut c_int, get: impl Fn(A::Comm) -> c_int) -> c_int {
    let used = effective::<A>(comm);
    let code = get(used);
    // SAFETY: not null, so the address of an `int`, which the call has set.
    let absent = code == 0 && !flag.is_null() && unsafe { *flag } == 0;
    if absent && is_marked::<A>(used) { get(A::comm_world()) } else { code }
}

/// `MPI_Comm_get_attr`
pub unsafe extern "C-unwind" fn comm_get_attr<A: Abi>(
    comm: A::Comm,
    keyval: c_int,
    value: *mut c_void,
    flag: *mut c_int,
) -> c_int {
    // SAFETY: the program's own arguments; the next function has the same prototype.
    unsafe { get::<A>(comm, flag, |comm| next::mpi_comm_get_attr::<A>(comm, keyval, value, flag)) }
}

/// `MPI_Attr_get`
pub unsafe extern "C-unwind" fn attr_get<A: Abi>(
    comm: A::Comm,
    keyval: c_int,
    value: *mut c_void,
    flag: *mut c_int,
) -> c_int {
    // SAFETY: the program's own arguments; the next function has the same prototype.
    unsafe { get::<A>(comm, flag, |comm| next::mpi_attr_get::<A>(comm, keyval, value, flag)) }
}

/// The trampolines for two callbacks of C. Inside the Fortran form of the call they are functions of Fortran, which have
/// other arguments, and are passed on.
fn for_c<A: Abi>(copy: *mut c_void, delete: *mut c_void) -> (*mut c_void, *mut c_void) {
    if pause::is_active() {
        return (copy, delete);
    }
    (callbacks::for_copy::<A>(copy), callbacks::for_delete::<A>(delete))
}

/// `MPI_Comm_create_keyval`: the callbacks see MPI_COMM_WORLD as such.
pub unsafe extern "C-unwind" fn comm_create_keyval<A: Abi>(
    copy: *mut c_void,
    delete: *mut c_void,
    keyval: *mut c_int,
    extra: *mut c_void,
) -> c_int {
    let (copy, delete) = for_c::<A>(copy, delete);
    // SAFETY: the program's own arguments; trampolines have the same prototypes as its functions.
    unsafe { next::mpi_comm_create_keyval::<A>(copy, delete, keyval, extra) }
}

/// `MPI_Keyval_create`: the callbacks see MPI_COMM_WORLD as such.
pub unsafe extern "C-unwind" fn keyval_create<A: Abi>(
    copy: *mut c_void,
    delete: *mut c_void,
    keyval: *mut c_int,
    extra: *mut c_void,
) -> c_int {
    let (copy, delete) = for_c::<A>(copy, delete);
    // SAFETY: the program's own arguments; trampolines have the same prototypes as its functions.
    unsafe { next::mpi_keyval_create::<A>(copy, delete, keyval, extra) }
}
