//! Sums over counters that stay right while counts are moved between the counters.
//!
//! When a communicator is freed, the collective calls that were counted on it are expanded into
//! messages and added to the rows of the matrix. A sum that another thread takes meanwhile would contain
//! these messages twice or not at all.
//!
//! A thread that moves counts announces it before and after. A thread that sums repeats the sum if counts
//! were moved meanwhile. No thread waits for a lock, and the threads that count are not affected.
//!
//! Limit: after [`TRIES`] attempts the last sum is taken as it is.

use crate::sys::sync::{self, AtomicU64, fence};
use std::sync::atomic::Ordering;

/// How often a sum is repeated at most.
const TRIES: usize = 10_000;

/// Moves that have begun and ended.
#[derive(Debug, Default)]
pub struct Moves {
    begun: AtomicU64,
    ended: AtomicU64,
}

/// A move of counts that has begun. It ends when this value is dropped.
#[derive(Debug)]
pub struct Move<'a>(&'a Moves);

impl Moves {
    sync::constant! { pub fn new() -> Self {
        Moves { begun: AtomicU64::new(0), ended: AtomicU64::new(0) }
    } }

    /// Announces that the caller moves counts until it drops the returned value.
    pub fn begin(&self) -> Move<'_> {
        self.begun.fetch_add(1, Ordering::SeqCst);
        fence(Ordering::SeqCst);
        Move(self)
    }

    /// A result of `look` during which no counts were moved; after [`TRIES`] attempts, its last result.
    pub fn between<T>(&self, mut look: impl FnMut() -> T) -> T {
        for _ in 0..TRIES {
            let before = self.ended.load(Ordering::SeqCst);
            if self.begun.load(Ordering::SeqCst) == before {
                let seen = look();
                fence(Ordering::SeqCst);
                if self.begun.load(Ordering::SeqCst) == before {
                    return seen;
                }
            }
            sync::yield_now();
        }
        look()
    }
}

impl Drop for Move<'_> {
    fn drop(&mut self) {
        fence(Ordering::SeqCst);
        self.0.ended.fetch_add(1, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;

    /// Threads move counts between two counters; every sum of both is the same.
    #[test]
    fn sums_are_whole_while_counts_move() {
        let (moves, done) = (Moves::new(), AtomicBool::new(false));
        let (a, b) = (AtomicU64::new(100_000), AtomicU64::new(0));
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while !done.load(Ordering::Relaxed) {
                        let moving = moves.begin();
                        a.fetch_sub(5, Ordering::Relaxed);
                        std::thread::yield_now();
                        b.fetch_add(5, Ordering::Relaxed);
                        drop(moving);
                        std::thread::sleep(std::time::Duration::from_micros(50));
                    }
                });
            }
            for _ in 0..300 {
                let sum = moves.between(|| {
                    let first = a.load(Ordering::Relaxed);
                    std::thread::yield_now();
                    first + b.load(Ordering::Relaxed)
                });
                assert_eq!(sum, 100_000);
            }
            done.store(true, Ordering::Relaxed);
        });
        assert!(b.load(Ordering::Relaxed) > 0, "nothing moved");
    }

    #[test]
    fn a_move_that_does_not_end_is_not_waited_for_without_end() {
        let moves = Moves::new();
        let _moving = moves.begin();
        assert_eq!(moves.between(|| 7), 7);
    }
}
