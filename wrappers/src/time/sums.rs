//! The time of calls that are timed one by one, to which all threads add.

use super::now;
use std::sync::atomic::{AtomicU64, Ordering};

/// Nanoseconds in calls, how many calls, and what reading the clock takes.
#[repr(align(64))]
struct Counters {
    nanoseconds: AtomicU64,
    calls: AtomicU64,
    clock: AtomicU64,
}

static COUNTERS: Counters =
    Counters { nanoseconds: AtomicU64::new(0), calls: AtomicU64::new(0), clock: AtomicU64::new(0) };

/// A call that is being timed.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct Call {
    /// When it began, nanoseconds.
    pub started: u64,
}

impl Call {
    /// Begins a call now.
    pub fn begin() -> Call {
        Call { started: now() }
    }

    /// Ends the call, and adds its time to the sums.
    pub fn end(&self) {
        let clock = COUNTERS.clock.load(Ordering::Relaxed);
        let nanoseconds = now().saturating_sub(self.started + clock);
        COUNTERS.calls.fetch_add(1, Ordering::Relaxed);
        COUNTERS.nanoseconds.fetch_add(nanoseconds, Ordering::Relaxed);
    }
}

/// Measures the seconds that one reading of the clock takes: the smallest of a few measurements. On some
/// machines it is a system call. The time is kept and subtracted from the time of each call.
pub fn measure_clock() -> f64 {
    const READS: u64 = 16;
    let tries = (0..4).map(|_| {
        let start = now();
        (0..READS).for_each(|_| {
            std::hint::black_box(now());
        });
        now().saturating_sub(start) / READS
    });
    let clock = tries.fold(10_000, u64::min);
    COUNTERS.clock.store(clock, Ordering::Relaxed);
    clock as f64 / 1e9
}

/// Calls that were timed.
pub fn calls() -> u64 {
    COUNTERS.calls.load(Ordering::Relaxed)
}

/// Seconds in calls that were timed.
pub fn in_calls() -> f64 {
    COUNTERS.nanoseconds.load(Ordering::Relaxed) as f64 / 1e9
}
