//! Time in MPI: how long the process was in calls that move data or wait for other processes.
//!
//! With the setting `all`, every such call is timed from the start of the job to its end. With `sampled`,
//! the same happens in a program that calls seldom ([`windows`]). In a program that calls often, calls are
//! timed only while a window is open. A thread of the library opens and closes windows ([`sampler`]).
//! Between windows an entry point is one jump, as if nothing were timed. The times of all threads are added
//! up.
//! The sum is never more than the time of the process. There is no figure if a few long calls dominate it.
//!
//! The thread makes no MPI call and sees no signal. Slots are changed by single exchanges of words
//! without a lock, so that a process may be forked at any moment; the child has no such thread.
//!
//! Limits: the time does not contain calls that are under way when timing begins, file operations, and
//! functions that do not wait for other processes (MPI_Comm_rank, MPI_Pack). A long wait that follows a burst
//! of short calls is seldom in a window; if none of them is, the figure is too small.

mod sampler;
mod windows;

use crate::sys::hook::Hook;
use rw::options::Times;
use rw::store::InMpi;
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

/// What one process measured.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct TimeInMpi {
    /// Seconds in MPI.
    seconds: f64,
    /// Calls that were timed.
    calls: u64,
    /// Whether nearly all calls of the process were timed.
    whole: bool,
}

impl TimeInMpi {
    /// An estimate from fewer timed calls is not used.
    const ENOUGH: u64 = 30;

    /// Whether the figure enters the result of the job.
    fn is_good(&self) -> bool {
        (self.whole || self.calls >= Self::ENOUGH) && self.seconds.is_finite()
    }
}

/// What the processes of a job measured.
#[derive(Debug, Default)]
pub struct Gathered {
    processes: usize,
    good: usize,
    sum: f64,
    most: f64,
    calls: u64,
}

impl Gathered {
    /// Adds a process; `None` if it has no figure.
    pub fn add(&mut self, measured: Option<TimeInMpi>) {
        self.processes += 1;
        if let Some(measured) = measured.filter(TimeInMpi::is_good) {
            self.good += 1;
            self.sum += measured.seconds;
            self.most = self.most.max(measured.seconds);
            self.calls = self.calls.saturating_add(measured.calls);
        }
    }

    /// Mean and maximum; `None` if more than one process in ten has no good figure.
    pub fn result(&self) -> Option<InMpi> {
        let enough = self.good > 0 && 10 * self.good >= 9 * self.processes;
        enough.then(|| InMpi {
            mean_seconds: self.sum / self.good as f64,
            max_seconds: self.most,
            calls: self.calls,
        })
    }
}

/// Number of the open window; 0 while there is none.
static WINDOW: AtomicU32 = AtomicU32::new(0);
/// Every call is timed, from the start to the end.
static ALWAYS: AtomicBool = AtomicBool::new(false);

/// The counters of timed calls, which all threads write.
#[repr(align(64))]
struct Counters {
    /// Calls that began in this window, and how many of them may be timed.
    begun: AtomicU64,
    allowed: AtomicU64,
    /// The planned weight of times in the open window: bits of an `f32`.
    planned: AtomicU32,
    /// Nanoseconds of calls that began and ended in the open window.
    open: AtomicU64,
    /// Weighted nanoseconds of calls of windows that are closed.
    closed: AtomicU64,
    /// Variance of the weighted time, in square seconds: bits of an `f64`. Calls that outlast their window
    /// make it.
    variance: AtomicU64,
    /// When timing all calls began.
    started: AtomicU64,
    /// Calls that were timed.
    calls: AtomicU64,
}

static COUNTERS: Counters = Counters {
    begun: AtomicU64::new(0),
    allowed: AtomicU64::new(0),
    planned: AtomicU32::new(0),
    open: AtomicU64::new(0),
    closed: AtomicU64::new(0),
    variance: AtomicU64::new(0),
    started: AtomicU64::new(0),
    calls: AtomicU64::new(0),
};

/// Weights of the newest windows: number in the upper half, bits of an `f32` in the lower.
static WEIGHTS: [AtomicU64; 64] = [const { AtomicU64::new(0) }; 64];

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

/// Nanoseconds of the monotonic clock.
pub fn now() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a structure to write to.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    (time.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(time.tv_nsec as u64)
}

/// A call begins, if it is to be timed.
pub fn begin() -> Option<Call> {
    let window = WINDOW.load(Ordering::Acquire);
    if window == 0 {
        return None;
    }
    if !ALWAYS.load(Ordering::Relaxed) {
        let allowed = COUNTERS.allowed.load(Ordering::Relaxed);
        let before = COUNTERS.begun.fetch_add(1, Ordering::Relaxed);
        if before >= allowed && !windows::enough(before, allowed) {
            return None;
        }
    }
    let weight = f32::from_bits(COUNTERS.planned.load(Ordering::Relaxed));
    Some(Call { started: now(), window, weight })
}

/// A call that was timed ends.
pub fn end(call: &Call) {
    let nanoseconds = now().saturating_sub(call.started);
    COUNTERS.calls.fetch_add(1, Ordering::Relaxed);
    if WINDOW.load(Ordering::Acquire) == call.window {
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

/// Closes a window with this weight. `next` is the window that follows at once, or 0.
fn close(window: u32, weight: f64, next: u32) {
    let word = u64::from(window) << 32 | u64::from((weight as f32).to_bits());
    WEIGHTS[window as usize % WEIGHTS.len()].store(word, Ordering::Release);
    WINDOW.store(next, Ordering::Release);
    let nanoseconds = COUNTERS.open.swap(0, Ordering::AcqRel);
    COUNTERS.closed.fetch_add(weighted(nanoseconds, weight), Ordering::Relaxed);
}

/// Functions that switch the timing of entry points on and off.
#[derive(Debug, Clone, Copy)]
pub struct Slots {
    /// Points the slots of timed calls to code that calls [`begin`] and [`end`].
    pub to_thunks: fn(),
    /// Points them back. May be done by several threads at once.
    pub back: fn(),
}

/// Registered by the entry points.
pub static SLOTS: Hook<Slots> = Hook::new();

fn point_to_thunks() {
    SLOTS.get().inspect(|slots| (slots.to_thunks)());
}

fn point_back() {
    SLOTS.get().inspect(|slots| (slots.back)());
}

/// Whether calls are timed just now.
pub fn is_open() -> bool {
    WINDOW.load(Ordering::Acquire) != 0
}

/// Begins to measure. With `sampled`, a process that was measured before is not measured again.
pub fn start(times: Times) {
    match times {
        Times::Off => {}
        Times::All => {
            COUNTERS.planned.store(1f32.to_bits(), Ordering::Relaxed);
            COUNTERS.started.store(now(), Ordering::Relaxed);
            ALWAYS.store(true, Ordering::Release);
            WINDOW.store(1, Ordering::Release);
            point_to_thunks();
        }
        Times::Sampled => windows::start(),
    }
}

/// Ends the measurement and gives its result; `None` if there is none.
pub fn stop() -> Option<TimeInMpi> {
    let calls = || COUNTERS.calls.load(Ordering::Relaxed);
    if ALWAYS.swap(false, Ordering::AcqRel) {
        close(1, 1.0, 0);
        point_back();
        let elapsed = now().saturating_sub(COUNTERS.started.load(Ordering::Relaxed));
        let seconds = COUNTERS.closed.load(Ordering::Relaxed).min(elapsed) as f64 / 1e9;
        return Some(TimeInMpi { seconds, calls: calls(), whole: true });
    }
    let (seen, elapsed) = windows::stop()?;
    let weighted = COUNTERS.closed.load(Ordering::Relaxed) as f64 / 1e9;
    let variance = f64::from_bits(COUNTERS.variance.load(Ordering::Relaxed));
    let seconds = seen.figure(weighted, variance, elapsed)?;
    Some(TimeInMpi { seconds, calls: calls(), whole: seen.is_whole() })
}

/// A window for tests of the code that times calls.
#[cfg(test)]
pub mod testing {
    use super::{ALWAYS, COUNTERS, Ordering, WINDOW};

    /// Opens or closes a window in which all calls are timed.
    pub fn open(open: bool) {
        ALWAYS.store(open, Ordering::Relaxed);
        WINDOW.store(u32::from(open), Ordering::Relaxed);
    }

    /// Calls that were timed.
    pub fn calls() -> u64 {
        COUNTERS.calls.load(Ordering::Relaxed)
    }

    /// Time in the open window.
    pub fn nanoseconds() -> u64 {
        COUNTERS.open.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_needs_figures_of_nearly_all_processes() {
        let good = TimeInMpi { seconds: 2.0, calls: 100, whole: false };
        let few = TimeInMpi { calls: 3, ..good };
        let of = |list: &[Option<TimeInMpi>]| {
            let mut gathered = Gathered::default();
            list.iter().for_each(|&m| gathered.add(m));
            gathered.result()
        };
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[Some(good), None]), None);
        assert_eq!(of(&[Some(good), Some(few)]), None);
        let longer = TimeInMpi { seconds: 4.0, ..good };
        let both = InMpi { mean_seconds: 3.0, max_seconds: 4.0, calls: 200 };
        assert_eq!(of(&[Some(good), Some(longer)]), Some(both));
        let all = TimeInMpi { whole: true, ..few };
        assert_eq!(of(&[Some(all)]).map(|m| m.calls), Some(3));
        let mut many = vec![Some(good); 19];
        many.push(None);
        assert_eq!(of(&many).map(|m| m.mean_seconds), Some(2.0));
    }

    #[test]
    fn weights_are_remembered_for_a_while() {
        close(900, 3.5, 0);
        assert_eq!(weight_of(900), Some(3.5));
        assert_eq!(weight_of(900 + 64), None);
    }
}
