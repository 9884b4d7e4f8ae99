//! The C interface for programs that are written for rankweave: `include/rankweave.h`, and the same functions
//! with Fortran's handles for `include/rankweave.f90`.
//!
//! The functions here find out which MPI library the process has and whether it may be called now. What they do
//! then is in [`crate::reorder::api`]. A handle of any width is passed as a `usize`. If handles are `int`s, the
//! upper half of the register is ignored.

use crate::entry::fortran_arguments as arguments;
use crate::mpi::abi::{Abi, Handle, Mpich, OpenMpi, Standard};
use crate::mpi::library::{self, Family};
use crate::mpi::pmpi::pmpi;
use crate::record::counters;
use crate::reorder::api::{BAD_ARGUMENT, NOT_NOW, OK, measured, reorder, roles};
use libc::{c_int, c_void};

/// The family of the MPI library, if it may be called now.
fn family() -> Option<Family> {
    let family = library::get()?.family;
    let (mut initialized, mut finalized) = (0, 0);
    // SAFETY: both may be called at any time; no handle is passed, so any ABI will do.
    let code = unsafe {
        pmpi::<OpenMpi>().initialized(&raw mut initialized)
            | pmpi::<OpenMpi>().finalized(&raw mut finalized)
    };
    // A job of sessions is never initialised in the sense of MPI_Initialized.
    let running = initialized != 0 && finalized == 0 || counters::tasks() > 0;
    (code == 0 && running).then_some(family)
}

/// Calls `$function::<A>` with the ABI of this process and returns its result. The result is `$otherwise` if
/// MPI cannot be called.
macro_rules! by_family {
    ($($function:ident)::+, ($($argument:expr),*), $otherwise:expr) => {
        match family() {
            Some(Family::OpenMpi) => $($function)::+::<OpenMpi>($($argument),*),
            Some(Family::Mpich) => $($function)::+::<Mpich>($($argument),*),
            Some(Family::Standard) => $($function)::+::<Standard>($($argument),*),
            Some(Family::Unknown) | None => $otherwise,
        }
    };
}

/// Writes the version of the loaded library. Either pointer may be null. Returns 0.
///
/// # Safety
/// Each argument is null or the address of an int.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rankweave_version(major: *mut c_int, minor: *mut c_int) -> c_int {
    let number = |text: &str| text.parse().unwrap_or(0);
    let parts = [
        (major, number(env!("CARGO_PKG_VERSION_MAJOR"))),
        (minor, number(env!("CARGO_PKG_VERSION_MINOR"))),
    ];
    for (place, value) in parts {
        if !place.is_null() {
            // SAFETY: not null, and then the program says that it is the address of an int.
            unsafe { *place = value };
        }
    }
    OK
}

/// Starts a flush of the matrix so far into the store, as the signal of `--flush-signal` does, and does not wait
/// for it. A call flushes the counts of the caller's node. Returns 0, or 1 if nothing is recorded or there is
/// no spill file.
#[unsafe(no_mangle)]
pub extern "C" fn rankweave_flush() -> c_int {
    if crate::job::flush::now() { OK } else { NOT_NOW }
}

/// Later calls of [`rankweave_reorder`] ignore the traffic up to now. Local. Returns 0, or 1 if nothing is
/// recorded now.
#[unsafe(no_mangle)]
pub extern "C" fn rankweave_reset() -> c_int {
    by_family!(measured::reset, (), NOT_NOW)
}

/// Writes to `out` a communicator with the processes of `comm`, in an order that fits the traffic since the
/// last reset. Collective over `comm`.
///
/// # Safety
/// `comm` is a communicator of the program, `out` null or the address of one.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rankweave_reorder(comm: usize, out: *mut c_void) -> c_int {
    unsafe fn call<A: Abi>(comm: usize, out: *mut c_void) -> c_int {
        let comm = A::Comm::from_bits(comm as u64);
        // SAFETY: the arguments are those of the outer function, which the program called.
        unsafe { reorder::reorder::<A>(comm, out.cast()) }
    }
    // SAFETY: `call` takes what this function takes, under the same promises of the program.
    unsafe { by_family!(call, (comm, out), NOT_NOW) }
}

/// Writes to `newrank` the rank that the caller should have according to the topology of `comm`. Collective
/// over `comm`.
///
/// # Safety
/// `comm` is a communicator of the program, `newrank` null or the address of an int.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rankweave_newrank(comm: usize, newrank: *mut c_int) -> c_int {
    unsafe fn call<A: Abi>(comm: usize, newrank: *mut c_int) -> c_int {
        // SAFETY: the arguments are those of the outer function, which the program called.
        unsafe { reorder::newrank::<A>(A::Comm::from_bits(comm as u64), newrank) }
    }
    // SAFETY: `call` takes what this function takes, under the same promises of the program.
    unsafe { by_family!(call, (comm, newrank), NOT_NOW) }
}

/// Writes two ranks of `comm`: the process that had the role which the caller has in `out`, and the process
/// that has in `out` the role which the caller had in `comm`. Local.
///
/// # Safety
/// Communicators of the program; each pointer is null or the address of an int.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rankweave_reorder_roles(
    comm: usize,
    out: usize,
    takes: *mut c_int,
    taker: *mut c_int,
) -> c_int {
    unsafe fn call<A: Abi>(comm: usize, out: usize, takes: *mut c_int, taker: *mut c_int) -> c_int {
        let (comm, out) = (A::Comm::from_bits(comm as u64), A::Comm::from_bits(out as u64));
        // SAFETY: the arguments are those of the outer function, which the program called.
        unsafe { roles::report::<A>(comm, out, takes, taker) }
    }
    // SAFETY: `call` takes what this function takes, under the same promises of the program.
    unsafe { by_family!(call, (comm, out, takes, taker), NOT_NOW) }
}

/// Sends `mine` to the process that takes over the caller's role in `comm`, and receives the data of the role
/// that the caller has in `out`. Collective over `comm`.
///
/// # Safety
/// Communicators of the program; buffers of these many bytes that do not overlap.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rankweave_move(
    comm: usize,
    out: usize,
    mine: *const c_void,
    bytes: usize,
    taken: *mut c_void,
    room: usize,
) -> c_int {
    unsafe fn call<A: Abi>(
        comm: usize,
        out: usize,
        mine: *const c_void,
        bytes: usize,
        taken: *mut c_void,
        room: usize,
    ) -> c_int {
        let (comm, out) = (A::Comm::from_bits(comm as u64), A::Comm::from_bits(out as u64));
        // SAFETY: the arguments are those of the outer function, which the program called.
        unsafe { roles::exchange::<A>(comm, out, mine.cast(), bytes, taken.cast(), room) }
    }
    // SAFETY: `call` takes what this function takes, under the same promises of the program.
    unsafe { by_family!(call, (comm, out, mine, bytes, taken, room), NOT_NOW) }
}

/// A communicator that Fortran passes.
unsafe fn from_fortran<A: Abi>(comm: *const c_int) -> A::Comm {
    if comm.is_null() {
        return A::comm_null();
    }
    // SAFETY: the address of an INTEGER.
    unsafe { arguments::comm::<A>(comm.cast_mut().cast()) }
}

/// [`rankweave_reorder`] with Fortran's handles.
///
/// # Safety
/// Addresses of INTEGERs.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rankweave_reorder_f(comm: *const c_int, out: *mut c_int) -> c_int {
    unsafe fn call<A: Abi>(comm: *const c_int, out: *mut c_int) -> c_int {
        if out.is_null() {
            return BAD_ARGUMENT;
        }
        let mut made = A::comm_null();
        // SAFETY: the arguments are those of the outer function, which the program called.
        unsafe {
            let code = reorder::reorder::<A>(from_fortran::<A>(comm), &raw mut made);
            *out = A::comm_to_fortran(made);
            code
        }
    }
    // SAFETY: `call` takes what this function takes, under the same promises of the program.
    unsafe { by_family!(call, (comm, out), NOT_NOW) }
}

/// [`rankweave_newrank`] with Fortran's handles.
///
/// # Safety
/// Addresses of INTEGERs.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rankweave_newrank_f(
    comm: *const c_int,
    newrank: *mut c_int,
) -> c_int {
    unsafe fn call<A: Abi>(comm: *const c_int, newrank: *mut c_int) -> c_int {
        // SAFETY: the arguments are those of the outer function, which the program called.
        unsafe { reorder::newrank::<A>(from_fortran::<A>(comm), newrank) }
    }
    // SAFETY: `call` takes what this function takes, under the same promises of the program.
    unsafe { by_family!(call, (comm, newrank), NOT_NOW) }
}

/// [`rankweave_reorder_roles`] with Fortran's handles.
///
/// # Safety
/// Addresses of INTEGERs.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rankweave_reorder_roles_f(
    comm: *const c_int,
    out: *const c_int,
    takes: *mut c_int,
    taker: *mut c_int,
) -> c_int {
    unsafe fn call<A: Abi>(
        comm: *const c_int,
        out: *const c_int,
        takes: *mut c_int,
        taker: *mut c_int,
    ) -> c_int {
        // SAFETY: the arguments are those of the outer function, which the program called.
        unsafe { roles::report::<A>(from_fortran::<A>(comm), from_fortran::<A>(out), takes, taker) }
    }
    // SAFETY: `call` takes what this function takes, under the same promises of the program.
    unsafe { by_family!(call, (comm, out, takes, taker), NOT_NOW) }
}

/// [`rankweave_move`] with Fortran's handles.
///
/// # Safety
/// Addresses of INTEGERs; buffers of these many bytes that do not overlap.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rankweave_move_f(
    comm: *const c_int,
    out: *const c_int,
    mine: *const c_void,
    bytes: i64,
    taken: *mut c_void,
    room: i64,
) -> c_int {
    unsafe fn call<A: Abi>(
        comm: *const c_int,
        out: *const c_int,
        mine: *const c_void,
        bytes: i64,
        taken: *mut c_void,
        room: i64,
    ) -> c_int {
        let length = |bytes: i64| usize::try_from(bytes).unwrap_or(0);
        // SAFETY: the arguments are those of the outer function, which the program called.
        unsafe {
            let (comm, out) = (from_fortran::<A>(comm), from_fortran::<A>(out));
            let (bytes, room) = (length(bytes), length(room));
            roles::exchange::<A>(comm, out, mine.cast(), bytes, taken.cast(), room)
        }
    }
    // SAFETY: `call` takes what this function takes, under the same promises of the program.
    unsafe { by_family!(call, (comm, out, mine, bytes, taken, room), NOT_NOW) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_is_that_of_the_package() {
        let (mut major, mut minor) = (-1, -1);
        // SAFETY: two ints; then null pointers, which are allowed.
        unsafe {
            assert_eq!(rankweave_version(&raw mut major, &raw mut minor), 0);
            assert_eq!(rankweave_version(std::ptr::null_mut(), std::ptr::null_mut()), 0);
        }
        assert!(env!("CARGO_PKG_VERSION").starts_with(&format!("{major}.{minor}.")));
    }

    /// No MPI is loaded here: as before MPI_Init.
    #[test]
    fn without_mpi_nothing_is_done() {
        let (mut comm, mut rank) = (7usize, -5);
        // SAFETY: addresses of values of the right types.
        unsafe {
            assert_eq!(rankweave_reorder(1, (&raw mut comm).cast()), NOT_NOW);
            assert_eq!(rankweave_newrank(1, &raw mut rank), NOT_NOW);
            assert_eq!(rankweave_reorder_roles(1, 1, &raw mut rank, &raw mut rank), NOT_NOW);
            assert_eq!(rankweave_reorder_f(&raw const rank, &raw mut rank), NOT_NOW);
        }
        assert_eq!(rankweave_reset(), NOT_NOW);
        assert_eq!((comm, rank), (7, -5));
    }
}
