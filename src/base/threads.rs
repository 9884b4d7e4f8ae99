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

/// Calls `make` for each number below `count`, in this thread or in up to `threads` others, and `take` with the results
/// in the order of the numbers. Few results are in memory at the same time.
///
/// # Panics
/// If a call panics.
///
/// Errors: the first one of `take`; the results that are left are then not taken.
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
    // A thread waits with a result that is too far ahead, so that no number of results is waiting but a few.
    let (next, taken) = (AtomicUsize::new(0), (Mutex::new(0usize), Condvar::new()));
    let (send, receive) = sync_channel(WAITING * threads);
    let work = |send: SyncSender<(usize, T)>| {
        loop {
            let k = next.fetch_add(1, Ordering::Relaxed);
            let far = |taken: &mut usize| k < count && k >= *taken + WAITING * threads;
            let guard = taken.0.lock().unwrap_or_else(PoisonError::into_inner);
            drop(taken.1.wait_while(guard, far).unwrap_or_else(PoisonError::into_inner));
            if k >= count || send.send((k, make(k))).is_err() {
                return;
            }
        }
    };
    std::thread::scope(|scope| {
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
        let mut early = BTreeMap::new();
        let mut wanted = 0;
        let mut result = Ok(());
        for (k, made) in receive {
            early.insert(k, made);
            while let Some(made) = early.remove(&wanted) {
                wanted += 1;
                result = take(made);
                if result.is_err() {
                    break;
                }
            }
            // After an error, nobody waits any more, and the next results are not taken.
            let now = if result.is_err() { usize::MAX / 2 } else { wanted };
            *taken.0.lock().unwrap_or_else(PoisonError::into_inner) = now;
            taken.1.notify_all();
            if result.is_err() {
                break;
            }
        }
        result
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
}
