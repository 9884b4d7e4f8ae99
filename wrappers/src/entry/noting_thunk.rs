//! The target of the slot of a busy entry point: code that notes that the thread is in a call.
//!
//! As with timing ([`thunk`](crate::entry::thunk)), there is a thunk of a few bytes for each entry point, and
//! one function behind all of them. The function writes the address of its frame to the [`Presence`] of the
//! thread, makes the call, and writes back the previous address. After a call inside another call, the address
//! is therefore again that of the outer call. An address below the frame of the present call was left by
//! longjmp or by an exception, and is forgotten.
//!
//! A call inside a timed call is passed on without a note, because its time is part of the timed call's.

use crate::arch::{self, STRIDE};
use crate::entry::nesting::is_nested;
use crate::entry::{next, timed};
use crate::record::block::{Block, Presence};
use crate::record::counters;
use crate::record::thread::{self, Thread};
use crate::sys::panic_barrier::guarded;
use crate::time;
use std::mem::offset_of;
use std::sync::atomic::Ordering;

unsafe extern "C" {
    static rankweave_noting_thunks: [u8; 0];
}

arch::noting_thunks! {
    count = const next::COUNT,
    block = const offset_of!(Thread, block),
    timed = const offset_of!(Thread, timed),
    frame = const offset_of!(Block, presence) + offset_of!(Presence, frame),
    calls = const offset_of!(Block, presence) + offset_of!(Presence, calls),
    timings = sym timed::TIMED,
    bases = sym timed::BASE,
    block_of = sym block_of,
}

/// The thunk of an entry point.
pub fn of(index: usize) -> *const () {
    // SAFETY: the address of the code above, of which nothing is read; index is one of COUNT.
    unsafe { (&raw const rankweave_noting_thunks).cast::<u8>().add(STRIDE * index).cast() }
}

/// The block of the calling thread for a call whose frame is at `here`; null if the call is not to be noted.
extern "C" fn block_of(here: u64) -> *const Block {
    let thread = thread::current();
    let (outer, since) = (&thread.timed, &thread.timed_since);
    if is_nested(outer.load(Ordering::Relaxed), since.load(Ordering::Relaxed), here, time::now) {
        return std::ptr::null();
    }
    outer.store(0, Ordering::Relaxed);
    if counters::tasks() == 0 {
        return std::ptr::null();
    }
    guarded(counters::mine).map_or(std::ptr::null(), std::ptr::from_ref)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::thunk::testing::{Ten, sum};

    fn thunk() -> Ten {
        let index = crate::entry::names::number("MPI_Ineighbor_alltoallw", "", 0);
        timed::set_base(index, looks as *const ());
        // SAFETY: the thunk passes on to a function of this type.
        unsafe { std::mem::transmute(of(index)) }
    }

    fn presence() -> (u64, u64) {
        // SAFETY: the block that the test gave to its thread.
        let presence = unsafe { &(*thread::current().block.load(Ordering::Relaxed)).presence };
        (presence.frame.load(Ordering::Relaxed), presence.calls.load(Ordering::Relaxed))
    }

    /// Checks that the call is noted, and passes it on.
    #[allow(clippy::too_many_arguments)]
    extern "C-unwind" fn looks(
        a: u64,
        b: u64,
        c: u64,
        d: u64,
        e: u64,
        f: u64,
        g: u64,
        h: u64,
        i: u64,
        j: u64,
    ) -> u64 {
        let outside = presence().0;
        assert!(outside > &raw const outside as u64, "noted by the frame of the thunk");
        assert_eq!(i, 10);
        let inner = if j == 1 { thunk()(1, 1, 1, 1, 1, 1, 1, 1, 10, 0) } else { 0 };
        assert_eq!(presence().0, outside, "an inner call leaves the outer one in place");
        assert_ne!(j, 2, "on purpose");
        sum(&[a, b, c, d, e, f, g, h]) + inner
    }

    #[test]
    fn calls_pass_and_are_noted() {
        let block: &'static Block = Box::leak(Box::new(Block::new(1).unwrap()));
        let thread = thread::current();
        let eight = 1 + 4 + 9 + 16 + 25 + 36 + 49 + 64;
        let once = |last| thunk()(1, 2, 3, 4, 5, 6, 7, 8, 10, last);
        thread.block.store(std::ptr::from_ref(block).cast_mut(), Ordering::Relaxed);
        assert_eq!((once(0), presence()), (eight, (0, 1)));
        assert_eq!((once(1), presence()), (eight + 36, (0, 3)));
        assert!(std::panic::catch_unwind(|| once(2)).is_err());
        assert_ne!(presence().0, 0, "the call was left");
        let shallow = presence().0;
        block.presence.frame.store(1, Ordering::Relaxed);
        assert_eq!((once(0), presence().0), (eight, 0), "a frame further down is gone");
        assert!(shallow > 1);
        thread.block.store(std::ptr::null_mut(), Ordering::Relaxed);
    }
}
