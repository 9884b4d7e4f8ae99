//! Whether a call is made inside another call that is being timed or noted. Its time is then part of the outer
//! call's time, and must not count twice.
//!
//! The stack grows down, and the thread knows the frame of the outer call.

use crate::record::thread::Thread;
use std::sync::atomic::Ordering;

/// If the outer call began longer ago than this many nanoseconds, a later call is not taken for a part of it.
pub const NESTED: u64 = 1_000_000_000;

/// Whether a call at `here` on the stack is part of the timed call that began at `since` with its frame at
/// `outer` (0: no call is timed).
pub fn is_nested(outer: u64, since: u64, here: u64, now: impl Fn() -> u64) -> bool {
    outer != 0 && here < outer && now().saturating_sub(since) < NESTED
}

/// Whether a call at `here` on the stack is part of a call that is noted.
pub fn is_noted(thread: &Thread, here: u64) -> bool {
    // SAFETY: null, or a block, which is never given back.
    let block = unsafe { thread.block.load(Ordering::Relaxed).as_ref() };
    block.is_some_and(|block| here < block.presence.frame.load(Ordering::Relaxed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_inside_calls_belong_to_the_outer_one() {
        let nested = |outer, since, now| is_nested(outer, since, 5000, || now);
        assert!(!nested(0, 0, 0), "there is none");
        assert!(nested(6000, 10, 20));
        assert!(!nested(4000, 10, 20), "its frame was left");
        assert!(!nested(6000, 10, 10 + NESTED), "too old");
    }
}
