//! Error handlers of the program see MPI_COMM_WORLD, not the communicator that replaces it.
//!
//! MPI calls an error handler with the address of a communicator handle. While the world is
//! replaced that handle would be the replacement; a trampoline puts the world's own back. There is
//! a fixed number of trampolines, one per handler function of the program; a program with more
//! distinct functions gets its own function from then on (it sees the replacement, which works in
//! every call, but does not compare equal to MPI_COMM_WORLD by its bits).

use crate::abi::Abi;
use crate::world;
use libc::{c_int, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};

const COUNT: usize = 32;

type Handler<A> =
    unsafe extern "C" fn(*mut <A as Abi>::Comm, *mut c_int, usize, usize, usize, usize);

static FUNCTIONS: [AtomicUsize; COUNT] = [const { AtomicUsize::new(0) }; COUNT];

unsafe extern "C" fn jump<A: Abi, const I: usize>(
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
        let function: Handler<A> = std::mem::transmute(FUNCTIONS[I].load(Ordering::Acquire));
        let mut shown = *comm;
        if world::replacement::<A>() == Some(shown) {
            shown = A::comm_world();
        }
        function(&raw mut shown, code, third, fourth, fifth, sixth);
    }
}

/// A function that calls `function` with the world's own handle; `function` itself when no
/// trampoline is left.
pub fn for_handler<A: Abi>(function: *mut c_void) -> *mut c_void {
    if function.is_null() {
        return function;
    }
    let wanted = function as usize;
    for (slot, entry) in FUNCTIONS.iter().zip(table::<A>()) {
        let free = slot.compare_exchange(0, wanted, Ordering::AcqRel, Ordering::Acquire);
        if free.is_ok() || free == Err(wanted) {
            return entry as *mut c_void;
        }
    }
    function
}

fn table<A: Abi>() -> [Handler<A>; COUNT] {
    macro_rules! entries {
        ($($i:literal)*) => { [$(jump::<A, $i>),*] };
    }
    entries!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31)
}
