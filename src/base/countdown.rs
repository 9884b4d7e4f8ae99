//! Counters that several threads count down, and that stop at 0.
//!
//! The standard library renames its own function for this (`fetch_update`, later `try_update`), so one of the two names
//! is a warning with some of the compilers that build this project.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Takes one from a counter unless it is 0. Returns what the counter was before; `None` if it was 0.
pub fn take_one(counter: &AtomicUsize) -> Option<usize> {
    let mut seen = counter.load(Ordering::Acquire);
    loop {
        let next = seen.checked_sub(1)?;
        match counter.compare_exchange_weak(seen, next, Ordering::AcqRel, Ordering::Acquire) {
            Ok(before) => return Some(before),
            Err(now) => seen = now,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_take_each_number_once() {
        let counter = AtomicUsize::new(4000);
        let sums: Vec<usize> = std::thread::scope(|scope| {
            let take = || std::iter::from_fn(|| take_one(&counter)).sum::<usize>();
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(take)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!(sums.iter().sum::<usize>(), 4000 * 4001 / 2);
        assert_eq!(take_one(&counter), None);
    }
}
