//! The target of a timed slot: code that notes when a call begins and ends.
//!
//! There is one thunk for each entry point, a few bytes with its number. All lead to one function that
//! works for every prototype. MPI functions take integers and addresses only: some in registers and the
//! others on the stack. [`timed`] knows how many lie on the stack. They are copied below the
//! function's own frame, where the real function expects them. The frame is described to unwinders and
//! debuggers, because C++ exceptions pass through it.
//!
//! A call inside another call is part of the outer one (MPI_X in C behind a Fortran entry point, callbacks that
//! call MPI). The thread knows the frame of the outer call, and an inner call usually begins soon after the
//! outer one. A frame older than [`NESTED`](crate::entry::nesting::NESTED) may have been left by longjmp or by
//! an exception, and is forgotten.
//!
//! Limits: the time of a call that is left by longjmp or by an exception is lost, and so is the time of other
//! calls during the second after it began. A call that a callback makes more than a second after its outer call
//! began counts twice.

use crate::arch::{self, STRIDE};
use crate::entry::nesting::{is_nested, is_noted};
use crate::entry::next::COUNT;
use crate::entry::timed;
use crate::record::thread;
use crate::time;
use std::sync::atomic::Ordering;

/// Part of the frame of `rankweave_timed`.
#[derive(Debug)]
#[repr(C)]
struct Call {
    /// The address to which the slot would point without the thunk.
    target: *const (),
    /// The number of arguments on the stack.
    words: u64,
    timed: time::Call,
}

const _: () = assert!(size_of::<Call>() == 24);

unsafe extern "C" {
    static rankweave_thunks: [u8; 0];
}

arch::thunks! {
    count = const COUNT,
    begins = sym begins,
    ends = sym ends,
}

/// The thunk of an entry point.
pub fn of(index: usize) -> *const () {
    // SAFETY: the address of the code above, of which nothing is read; index is one of COUNT.
    unsafe { (&raw const rankweave_thunks).cast::<u8>().add(STRIDE * index).cast() }
}

/// Writes the address to which the call goes. Returns 1 if the call is to be timed, and 0 otherwise.
extern "C" fn begins(index: u32, call: &mut Call) -> u32 {
    let index = index as usize;
    call.target = timed::base(index);
    let thread = thread::current();
    let here = &raw const *call as u64;
    let (outer, since) = (&thread.timed, &thread.timed_since);
    let (outer, since) = (outer.load(Ordering::Relaxed), since.load(Ordering::Relaxed));
    let inside = thread.inside.load(Ordering::Relaxed) != 0;
    if inside || is_noted(thread, here) || is_nested(outer, since, here, time::now) {
        return 0;
    }
    let Some(timed) = time::begin(index) else { return 0 };
    call.words = timed::words_on_stack(index);
    call.timed = timed;
    thread.timed.store(here, Ordering::Relaxed);
    thread.timed_since.store(timed.started, Ordering::Relaxed);
    1
}

/// The timed call has returned.
extern "C" fn ends(call: &Call) {
    call.timed.end();
    thread::current().timed.store(0, Ordering::Relaxed);
}

/// What tests of thunks share.
#[cfg(test)]
pub mod testing {
    /// Ten arguments, some of them on the stack, as MPI_Ineighbor_alltoallw has.
    pub type Ten = extern "C-unwind" fn(u64, u64, u64, u64, u64, u64, u64, u64, u64, u64) -> u64;

    /// A sum that shows which value arrived as which argument.
    pub fn sum(arguments: &[u64]) -> u64 {
        arguments.iter().zip(1..).map(|(x, k)| x * k).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::testing::sum as weighted;
    use super::*;

    /// Nine arguments, some of them on the stack, as MPI_Neighbor_alltoallw has.
    type Nine = extern "C-unwind" fn(u64, u64, u64, u64, u64, u64, u64, u64, u64) -> u64;

    /// The sum of the arguments. With a last argument of 0 it throws; another last argument is a function that is
    /// called first.
    #[allow(clippy::too_many_arguments)]
    extern "C-unwind" fn sum(
        a: u64,
        b: u64,
        c: u64,
        d: u64,
        e: u64,
        f: u64,
        g: u64,
        h: u64,
        i: u64,
    ) -> u64 {
        assert_ne!(i, 0, "on purpose");
        let inner = if i == 9 { 0 } else { thunk()(1, 1, 1, 1, 1, 1, 1, 1, 9) };
        weighted(&[a, b, c, d, e, f, g, h]) + inner
    }

    fn thunk() -> Nine {
        let index = crate::entry::names::number("MPI_Neighbor_alltoallw", "", 0);
        assert_eq!(timed::words_on_stack(index) as usize, 9 - crate::arch::REGISTERS);
        timed::set_base(index, sum as *const ());
        // SAFETY: the thunk passes on to a function of this type.
        unsafe { std::mem::transmute(of(index)) }
    }

    /// The only test that times calls.
    #[test]
    fn calls_pass_and_are_counted() {
        use crate::time::testing::{calls, in_calls, time_all};
        let eight = 1 + 4 + 9 + 16 + 25 + 36 + 49 + 64;
        let once = |last| thunk()(1, 2, 3, 4, 5, 6, 7, 8, last);
        assert_eq!((once(9), calls()), (eight, 0), "nothing is timed");
        time_all(true);
        assert_eq!((once(9), calls()), (eight, 1));
        assert_eq!((once(1), calls()), (eight + 36, 2), "the call inside is part of it");
        // Unwinding passes through, and the next call is timed again.
        assert!(std::panic::catch_unwind(|| once(0)).is_err());
        let deeper = std::hint::black_box(|| once(9));
        thread::current().timed_since.store(0, Ordering::Relaxed);
        assert_eq!((deeper(), calls()), (eight, 3));
        time_all(false);
        assert_eq!((once(9), calls()), (eight, 3));
        assert!(in_calls() > 0.0);
    }
}
