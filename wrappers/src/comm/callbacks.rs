//! Callbacks of the program see MPI_COMM_WORLD, not the communicator that replaces it.
//!
//! MPI passes communicators to error handlers and to the copy and delete functions of attributes. While
//! the world is replaced, that handle would be the replacement. A trampoline calls the program's
//! function with the handle of MPI_COMM_WORLD instead.
//!
//! Limits: functions in Fortran have other arguments and get no trampoline. There is a fixed number of trampolines of each
//! kind, and each function of the program takes one. Functions without a trampoline are called directly. They get the
//! replacement, which works in every call but does not compare equal to MPI_COMM_WORLD.

use crate::comm::world;
use crate::mpi::abi::Abi;
use libc::{c_int, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};

const COUNT: usize = 32;
type Functions = [AtomicUsize; COUNT];

/// Addresses below this one are sentinels (MPI_COMM_NULL_COPY_FN, MPI_COMM_DUP_FN) and not functions.
const SENTINELS: usize = 4096;

static HANDLERS: Functions = [const { AtomicUsize::new(0) }; COUNT];
static COPIES: Functions = [const { AtomicUsize::new(0) }; COUNT];
static DELETES: Functions = [const { AtomicUsize::new(0) }; COUNT];

type Handler<A> =
    unsafe extern "C-unwind" fn(*mut <A as Abi>::Comm, *mut c_int, usize, usize, usize, usize);
type Copy<A> =
    unsafe extern "C-unwind" fn(<A as Abi>::Comm, c_int, usize, usize, usize, *mut c_int) -> c_int;
type Delete<A> = unsafe extern "C-unwind" fn(<A as Abi>::Comm, c_int, usize, usize) -> c_int;

/// The handle by which the program knows this communicator.
fn shown<A: Abi>(comm: A::Comm) -> A::Comm {
    if world::replacement::<A>() == Some(comm) { A::comm_world() } else { comm }
}

unsafe extern "C-unwind" fn handle<A: Abi, const I: usize>(
    comm: *mut A::Comm,
    code: *mut c_int,
    third: usize,
    fourth: usize,
    fifth: usize,
    sixth: usize,
) {
    // SAFETY: the slot holds the program's handler, which has this prototype (it is variadic; MPIs
    // pass what fits in registers). The communicator is valid for the call.
    unsafe {
        let function: Handler<A> = std::mem::transmute(HANDLERS[I].load(Ordering::Acquire));
        let mut shown = shown::<A>(*comm);
        function(&raw mut shown, code, third, fourth, fifth, sixth);
    }
}

unsafe extern "C-unwind" fn copy<A: Abi, const I: usize>(
    comm: A::Comm,
    keyval: c_int,
    extra: usize,
    value: usize,
    out: usize,
    flag: *mut c_int,
) -> c_int {
    // SAFETY: the slot holds the program's copy function, which has this prototype.
    unsafe {
        let function: Copy<A> = std::mem::transmute(COPIES[I].load(Ordering::Acquire));
        function(shown::<A>(comm), keyval, extra, value, out, flag)
    }
}

unsafe extern "C-unwind" fn delete<A: Abi, const I: usize>(
    comm: A::Comm,
    keyval: c_int,
    value: usize,
    extra: usize,
) -> c_int {
    // SAFETY: the slot holds the program's delete function, which has this prototype.
    unsafe {
        let function: Delete<A> = std::mem::transmute(DELETES[I].load(Ordering::Acquire));
        function(shown::<A>(comm), keyval, value, extra)
    }
}

/// The trampoline for `function`. It is `function` itself for a sentinel, or if no trampoline is left.
fn take(function: *mut c_void, functions: &Functions, entries: [usize; COUNT]) -> *mut c_void {
    let wanted = function as usize;
    if wanted < SENTINELS {
        return function;
    }
    for (slot, entry) in functions.iter().zip(entries) {
        let free = slot.compare_exchange(0, wanted, Ordering::AcqRel, Ordering::Acquire);
        if free.is_ok() || free == Err(wanted) {
            return entry as *mut c_void;
        }
    }
    function
}

macro_rules! entries {
    ($function:ident) => {
        entries!(@ $function 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26
            27 28 29 30 31)
    };
    (@ $function:ident $($i:literal)*) => { [$($function::<A, $i> as *const () as usize),*] };
}

/// A function that calls the error handler `function` with the world's own handle.
pub fn for_handler<A: Abi>(function: *mut c_void) -> *mut c_void {
    take(function, &HANDLERS, entries!(handle))
}

/// A function that calls the attribute copy function `function` with the world's own handle.
pub fn for_copy<A: Abi>(function: *mut c_void) -> *mut c_void {
    take(function, &COPIES, entries!(copy))
}

/// A function that calls the attribute delete function `function` with the world's own handle.
pub fn for_delete<A: Abi>(function: *mut c_void) -> *mut c_void {
    take(function, &DELETES, entries!(delete))
}
