//! Counters that threads have one after another, and sums of them.

use loom::thread;
use rankweave_models::record::cell::Cell;
use rankweave_models::record::epoch_sums::Moves;
use rankweave_models::record::pool::Pool;
use rankweave_models::sys::sync::Arc;
use std::sync::atomic::Ordering;

mod support;
use support::check;

/// Threads take counters, count by plain loads and stores, and end: nothing is lost.
#[test]
fn counters_pass_from_thread_to_thread() {
    check("pool", || {
        let pool = Arc::new(Pool::<Cell>::new());
        let count = |pool: &Pool<Cell>| {
            let mine = pool.take(|| Some(Cell::default())).unwrap();
            mine.what.add(8, 1);
            mine.give_back();
        };
        let other = pool.clone();
        let thread = thread::spawn(move || count(&other));
        count(&pool);
        thread.join().unwrap();
        let sum = pool.all().fold((0, 0), |sum, one| {
            let (bytes, messages) = one.what.get();
            (sum.0 + bytes, sum.1 + messages)
        });
        assert_eq!(sum, (16, 2));
        assert!(pool.all().count() <= 2);
    });
}

/// Two threads never have the same counters at a time.
#[test]
fn counters_belong_to_one_thread_at_a_time() {
    check("owner", || {
        let pool = Arc::new(Pool::<loom::cell::UnsafeCell<u64>>::new());
        let count = |pool: &Pool<loom::cell::UnsafeCell<u64>>| {
            let mine = pool.take(|| Some(loom::cell::UnsafeCell::new(0))).unwrap();
            mine.what.with_mut(|sum| unsafe { *sum += 1 });
            mine.give_back();
        };
        let other = pool.clone();
        let thread = thread::spawn(move || count(&other));
        count(&pool);
        thread.join().unwrap();
        let sum: u64 = pool.all().map(|one| one.what.with(|sum| unsafe { *sum })).sum();
        assert_eq!(sum, 2);
    });
}

/// Counts move between counters while a thread sums both.
#[test]
fn sums_are_whole_while_counts_move() {
    check("sums", || {
        let moves = Arc::new(Moves::new());
        let cells = Arc::new([Cell::default(), Cell::default()]);
        cells[0].add(5, 1);
        let (moving, both) = (moves.clone(), cells.clone());
        let thread = thread::spawn(move || {
            let move_of_counts = moving.begin();
            both[0].bytes.store(0, Ordering::Relaxed);
            both[1].bytes.store(5, Ordering::Relaxed);
            drop(move_of_counts);
        });
        let sum = moves.between(|| cells[0].get().0 + cells[1].get().0);
        assert_eq!(sum, 5);
        thread.join().unwrap();
    });
}
