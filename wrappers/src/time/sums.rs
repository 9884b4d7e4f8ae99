//! The sums of the times of calls, which all threads add to, and the window that is open.

use super::{now, point_busy, sampler, watcher};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

/// Number of the open window; 0 while there is none.
static WINDOW: AtomicU32 = AtomicU32::new(0);
/// The calls of the open window are as many as allowed.
static FULL: AtomicBool = AtomicBool::new(false);
/// What stands for the window of a call that is timed in any case.
const CERTAIN: u32 = 0;

/// The counters of timed calls, which all threads write.
#[repr(align(64))]
struct Counters {
    /// Calls that began in this window, and how many of them may be timed.
    begun: AtomicU64,
    allowed: AtomicU64,
    /// The planned weight of times in the open window: bits of an `f32`.
    planned: AtomicU32,
    /// Nanoseconds of calls that are timed in any case.
    certain: AtomicU64,
    /// Nanoseconds of calls that began and ended in the open window.
    open: AtomicU64,
    /// Weighted nanoseconds of calls of windows that are closed.
    closed: AtomicU64,
    /// Variance of the weighted time, in square seconds: bits of an `f64`. Calls that outlast their window
    /// make it.
    variance: AtomicU64,
    /// Calls that were timed.
    calls: AtomicU64,
}

static COUNTERS: Counters = Counters {
    begun: AtomicU64::new(0),
    allowed: AtomicU64::new(0),
    planned: AtomicU32::new(0),
    certain: AtomicU64::new(0),
    open: AtomicU64::new(0),
    closed: AtomicU64::new(0),
    variance: AtomicU64::new(0),
    calls: AtomicU64::new(0),
};

/// Weights of the newest windows: number in the upper half, bits of an `f32` in the lower.
static WEIGHTS: [AtomicU64; 64] = [const { AtomicU64::new(0) }; 64];

/// Nanoseconds that reading the clock takes.
static CLOCK: AtomicU64 = AtomicU64::new(0);
/// What timing a call takes beside the clock, in nanoseconds, if all is in the caches.
const THUNK: u64 = 25;

/// A call that is being timed.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct Call {
    /// When it began, nanoseconds.
    pub started: u64,
    /// The window that it began in.
    window: u32,
    /// The planned weight of its time. The weight of the closed window is used instead, if it is known.
    weight: f32,
}

impl Call {
    /// A call that is timed in any case begins now.
    pub fn certain() -> Call {
        Call { started: now(), window: CERTAIN, weight: 1.0 }
    }
}

/// A call of a busy entry point begins, if a window is open.
pub fn begin_in_window() -> Option<Call> {
    let window = WINDOW.load(Ordering::Acquire);
    if window == 0 {
        return None;
    }
    let allowed = COUNTERS.allowed.load(Ordering::Relaxed);
    let before = COUNTERS.begun.fetch_add(1, Ordering::Relaxed);
    if before >= allowed {
        if before == allowed {
            FULL.store(true, Ordering::Release);
            watcher::is_full();
        }
        return None;
    }
    let weight = f32::from_bits(COUNTERS.planned.load(Ordering::Relaxed));
    Some(Call { started: now(), window, weight })
}

/// A call that was timed ends.
pub fn end(call: &Call) {
    let nanoseconds = now().saturating_sub(call.started + CLOCK.load(Ordering::Relaxed));
    COUNTERS.calls.fetch_add(1, Ordering::Relaxed);
    if call.window == CERTAIN {
        COUNTERS.certain.fetch_add(nanoseconds, Ordering::Relaxed);
    } else if WINDOW.load(Ordering::Acquire) == call.window {
        COUNTERS.open.fetch_add(nanoseconds, Ordering::Relaxed);
    } else {
        let weight = f64::from(weight_of(call.window).unwrap_or(call.weight));
        COUNTERS.closed.fetch_add(weighted(nanoseconds, weight), Ordering::Relaxed);
        add_variance(sampler::variance(nanoseconds as f64 / 1e9, weight));
    }
}

/// The sum has this much more variance.
fn add_variance(more: f64) {
    if more > 0.0 {
        let sum = |bits| Some((f64::from_bits(bits) + more).to_bits());
        let _ = COUNTERS.variance.fetch_update(Ordering::Relaxed, Ordering::Relaxed, sum);
    }
}

fn weighted(nanoseconds: u64, weight: f64) -> u64 {
    (nanoseconds as f64 * weight) as u64
}

/// The weight of a closed window, if it is one of the newest.
fn weight_of(window: u32) -> Option<f32> {
    let word = WEIGHTS[window as usize % WEIGHTS.len()].load(Ordering::Acquire);
    (word >> 32 == u64::from(window)).then(|| f32::from_bits(word as u32))
}

/// Seconds that reading the clock takes: the least of a few tries. On some machines it is a system call.
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
    CLOCK.store(clock, Ordering::Relaxed);
    clock as f64 / 1e9
}

/// Seconds by which timing makes a call longer.
pub fn cost_of_timing() -> f64 {
    (2 * CLOCK.load(Ordering::Relaxed) + THUNK) as f64 / 1e9
}

/// Whether calls are timed in an open window.
pub fn takes_calls() -> bool {
    WINDOW.load(Ordering::Acquire) != 0 && !FULL.load(Ordering::Acquire)
}

/// Opens a window, in which so many calls may be timed.
pub fn open(window: u32, calls: u64, weight: f64) {
    COUNTERS.begun.store(0, Ordering::Relaxed);
    COUNTERS.allowed.store(calls, Ordering::Relaxed);
    COUNTERS.planned.store((weight as f32).to_bits(), Ordering::Relaxed);
    FULL.store(false, Ordering::Release);
    WINDOW.store(window, Ordering::Release);
    point_busy();
}

/// Closes the window with this weight, and gives the weighted seconds of the calls in it.
pub fn close(window: u32, weight: f64) -> f64 {
    let word = u64::from(window) << 32 | u64::from((weight as f32).to_bits());
    WEIGHTS[window as usize % WEIGHTS.len()].store(word, Ordering::Release);
    WINDOW.store(0, Ordering::Release);
    let nanoseconds = weighted(COUNTERS.open.swap(0, Ordering::AcqRel), weight);
    COUNTERS.closed.fetch_add(nanoseconds, Ordering::Relaxed);
    nanoseconds as f64 / 1e9
}

/// Calls that began in the open window.
pub fn begun() -> u64 {
    COUNTERS.begun.load(Ordering::Relaxed)
}

/// Calls that were timed.
pub fn calls() -> u64 {
    COUNTERS.calls.load(Ordering::Relaxed)
}

/// Seconds in calls that are timed in any case.
pub fn certain() -> f64 {
    COUNTERS.certain.load(Ordering::Relaxed) as f64 / 1e9
}

/// Weighted seconds in calls of windows, and their variance from calls that outlasted their window.
pub fn in_windows() -> (f64, f64) {
    let variance = f64::from_bits(COUNTERS.variance.load(Ordering::Relaxed));
    (COUNTERS.closed.load(Ordering::Relaxed) as f64 / 1e9, variance)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_remembered_for_a_while() {
        close(900, 3.5);
        assert_eq!(weight_of(900), Some(3.5));
        assert_eq!(weight_of(900 + 64), None);
    }
}
