//! Work that several threads share, as many as the system can make.
//!
//! Limits of processes and of memory can forbid a further thread. The work is then done by those that there are, at least by
//! the thread that asks.

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

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

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
}
