//! Work that several threads share, as many as the system can make.
//!
//! Limits of processes and of memory can forbid a further thread. The work is then done by those that there are, at least by
//! the thread that asks.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Condvar, Mutex, PoisonError};

/// Calls `work` in this thread and in at most `threads` − 1 others. Returns what each call returned, that of this thread
/// first. The calls have to share the work among themselves, for example by a counter.
///
/// # Panics
/// If a call panics, with its message.
pub fn in_threads<T: Send>(threads: usize, work: impl Fn() -> T + Sync) -> Vec<T> {
    std::thread::scope(|scope| {
        let start = |_| std::thread::Builder::new().spawn_scoped(scope, &work).ok();
        let others: Vec<_> = (1..threads).filter_map(start).collect();
        let mut results = vec![work()];
        results.extend(
            others
                .into_iter()
                .map(|other| other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))),
        );
        results
    })
}

/// Results that wait for the thread that takes them, for each thread.
const WAITING: usize = 4;

/// Stands for the number of results after an error or a panic.
const ENDED: usize = usize::MAX;

/// How many results were taken, for those who wait until it is enough. Nobody waits any more after a panic or an error.
struct Taken {
    count: Mutex<usize>,
    more: Condvar,
}

impl Taken {
    /// Waits while there are too few for a result. False if no further result is wanted.
    fn wait(&self, is_enough: impl Fn(usize) -> bool) -> bool {
        let count = self.count.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.more.wait_while(count, |count| !is_enough(*count));
        *waited.unwrap_or_else(PoisonError::into_inner) != ENDED
    }

    fn set(&self, count: usize) {
        let mut now = self.count.lock().unwrap_or_else(PoisonError::into_inner);
        *now = count.max(*now);
        self.more.notify_all();
    }
}

/// Ends all waiting when it is dropped: a thread that panics brings no further results.
struct EndsWaiting<'a>(&'a Taken);

impl Drop for EndsWaiting<'_> {
    fn drop(&mut self) {
        self.0.set(ENDED);
    }
}

/// Calls `make` for each number below `count`, in this thread or in up to `threads` others, and `take` with the results
/// in the order of the numbers. Few results are in memory at the same time.
///
/// Errors: the first one of `take`; the results that are left are then not taken.
///
/// # Panics
/// If a call panics.
pub fn in_order<T: Send, E>(
    threads: usize,
    count: usize,
    make: impl Fn(usize) -> T + Sync,
    mut take: impl FnMut(T) -> Result<(), E>,
) -> Result<(), E> {
    let threads = threads.min(count);
    if threads < 2 {
        return (0..count).try_for_each(|k| take(make(k)));
    }
    let ahead = WAITING * threads;
    let (next, taken) = (AtomicUsize::new(0), Taken { count: Mutex::new(0), more: Condvar::new() });
    let work = |send: SyncSender<(usize, T)>| {
        loop {
            let k = next.fetch_add(1, Ordering::Relaxed);
            if k >= count {
                return;
            }
            // A result that is too far ahead would wait in memory.
            if !taken.wait(|taken| k < taken.saturating_add(ahead)) {
                return;
            }
            let waiting = EndsWaiting(&taken);
            let made = make(k);
            std::mem::forget(waiting);
            if send.send((k, made)).is_err() {
                return;
            }
        }
    };
    std::thread::scope(|scope| {
        let (send, receive) = sync_channel(ahead);
        let (work, mut started) = (&work, 0);
        for _ in 0..threads {
            let send = send.clone();
            let begun = std::thread::Builder::new().spawn_scoped(scope, move || work(send));
            started += usize::from(begun.is_ok());
        }
        drop(send);
        if started == 0 {
            return (0..count).try_for_each(|k| take(make(k)));
        }
        // Whatever ends this loop, the threads do not wait for it.
        let _waiting = EndsWaiting(&taken);
        let (mut early, mut wanted) = (BTreeMap::new(), 0);
        for (k, made) in receive {
            early.insert(k, made);
            while let Some(made) = early.remove(&wanted) {
                wanted += 1;
                take(made)?;
            }
            taken.set(wanted);
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_work_is_done_once() {
        for threads in 0..5 {
            let next = AtomicUsize::new(0);
            let take = || {
                let mut taken = Vec::new();
                while let Some(k) = Some(next.fetch_add(1, Ordering::Relaxed)).filter(|&k| k < 1000)
                {
                    taken.push(k);
                }
                taken
            };
            let parts = in_threads(threads, take);
            assert_eq!(parts.len(), threads.max(1));
            let mut all = parts.concat();
            all.sort_unstable();
            assert!(all.into_iter().eq(0..1000), "{threads}");
        }
    }

    #[test]
    fn results_come_in_the_order_of_their_numbers() {
        for threads in 0..5 {
            for count in [0, 1, 2, 300] {
                let mut seen = Vec::new();
                let make = |k: usize| {
                    // Some take longer than those behind them.
                    if k.is_multiple_of(7) {
                        std::thread::sleep(std::time::Duration::from_micros(300));
                    }
                    k
                };
                let all = in_order(threads, count, make, |k| {
                    seen.push(k);
                    Ok::<(), ()>(())
                });
                assert_eq!(all, Ok(()));
                assert!(seen.into_iter().eq(0..count), "{threads} {count}");
            }
            let mut seen = 0;
            let until = in_order(
                threads,
                500,
                |k| k,
                |k| {
                    seen += 1;
                    if k == 40 { Err(k) } else { Ok(()) }
                },
            );
            assert_eq!((until, seen), (Err(40), 41), "{threads}");
        }
    }

    #[test]
    fn regression_a_panic_ends_the_work() {
        let panics = |in_make: bool| {
            std::panic::catch_unwind(|| {
                in_order(
                    2,
                    1000,
                    |k| assert!(!(in_make && k == 3), "made {k}"),
                    |()| {
                        assert!(in_make, "taken");
                        Ok::<(), ()>(())
                    },
                )
            })
        };
        assert!(panics(true).is_err());
        assert!(panics(false).is_err());
    }
}
