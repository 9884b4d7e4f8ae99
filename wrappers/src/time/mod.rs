//! Time in MPI: how long the process was in calls that move data or wait for other processes.
//!
//! With the setting `all`, every such call is timed from the start of the job to its end. With `sampled`, every
//! call of an entry point that is called seldom is timed ([`entries`]). In calls of a busy entry point the
//! thread only notes that it is in one, which takes two nanoseconds. A thread of the library counts at random
//! moments the threads that are in such calls ([`watcher`], [`sampler`]). The times of all threads are added up
//! ([`sums`]). The sum is never more than the time of the process. It has a standard error. If the standard
//! error is too large, there is no figure ([`figure`]).
//!
//! The thread of the library makes no MPI call and gets no signal. Slots are changed by single exchanges of
//! words without a lock, so a process may be forked at any moment. The child has no such thread.
//!
//! Limits: the time does not contain calls that are under way when timing begins, file operations, and
//! functions that do not wait for other processes (MPI_Comm_rank, MPI_Pack).

mod entries;
mod figure;
mod sampler;
mod sums;
mod watcher;

use crate::sys::hook::Hook;
pub use entries::MOST;
use entries::Verdict;
pub use figure::{Gathered, TimeInMpi};
use rw::options::Times;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
pub use sums::Call;

/// Every call is timed, from the start to the end.
static ALWAYS: AtomicBool = AtomicBool::new(false);
/// When timing all calls began.
static STARTED: AtomicU64 = AtomicU64::new(0);
/// Calls of entry points that are called seldom are timed, and calls of busy entry points are noted.
static SAMPLED: AtomicBool = AtomicBool::new(false);
/// Calls of busy entry points are noted at present. The sampler switches this on and off.
static NOTED: AtomicBool = AtomicBool::new(true);

/// Functions of the entry points that point slots to where [`way`] says. Several threads may call them at once.
#[derive(Debug, Clone, Copy)]
pub struct Slots {
    /// Points the slots of all entry points that can be timed.
    pub all: fn(),
    /// Points the slot of one entry point.
    pub one: fn(usize),
}

/// Registered by the entry points.
pub static SLOTS: Hook<Slots> = Hook::new();

fn point_all() {
    SLOTS.get().inspect(|slots| (slots.all)());
}

/// Points the slots of the busy entry points, because [`way`] has changed for them.
fn point_busy() {
    SLOTS.get().inspect(|slots| entries::for_each_busy(slots.one));
}

fn point_one(index: usize) {
    SLOTS.get().inspect(|slots| (slots.one)(index));
}

/// Nanoseconds of the monotonic clock.
pub fn now() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a structure to write to.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    (time.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(time.tv_nsec as u64)
}

fn seconds(from: u64, to: u64) -> f64 {
    to.saturating_sub(from) as f64 / 1e9
}

/// What happens with the calls of an entry point at present.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// They go to their function at once.
    Direct,
    /// They are timed.
    Timed,
    /// The thread notes that it is in one.
    Noted,
}

/// What happens with the calls of an entry point at present.
pub fn way(index: usize) -> Way {
    if ALWAYS.load(Ordering::Acquire) {
        return Way::Timed;
    }
    if !SAMPLED.load(Ordering::Acquire) {
        return Way::Direct;
    }
    match (entries::is_busy(index), NOTED.load(Ordering::Acquire)) {
        (false, _) => Way::Timed,
        (true, true) => Way::Noted,
        (true, false) => Way::Direct,
    }
}

/// A call of an entry point begins, if it is to be timed.
#[inline(always)]
pub fn begin(index: usize) -> Option<Call> {
    if ALWAYS.load(Ordering::Relaxed) {
        return Some(Call::begin());
    }
    if !SAMPLED.load(Ordering::Relaxed) {
        return None;
    }
    match entries::call(index) {
        Verdict::Timed => return Some(Call::begin()),
        Verdict::Busy => {}
        Verdict::BusyNow => watcher::busy(index),
    }
    None
}

/// Begins to measure. With `sampled`, a process that was measured before is not measured again.
pub fn start(times: Times) {
    match times {
        Times::Off => {}
        Times::All => {
            sums::measure_clock();
            STARTED.store(now(), Ordering::Relaxed);
            ALWAYS.store(true, Ordering::Release);
            point_all();
        }
        Times::Sampled => watcher::start(),
    }
}

/// Ends the measurement and returns its result. `None` if nothing was measured.
pub fn stop() -> Option<TimeInMpi> {
    if ALWAYS.swap(false, Ordering::AcqRel) {
        point_all();
        let elapsed = seconds(STARTED.load(Ordering::Relaxed), now());
        return Some(TimeInMpi::certain(sums::in_calls(), elapsed, sums::calls()));
    }
    watcher::stop()
}

/// Switches for tests of the code that times calls.
#[cfg(test)]
pub mod testing {
    use super::{ALWAYS, Ordering, sums};

    /// Begins or ends to time all calls.
    pub fn time_all(all: bool) {
        ALWAYS.store(all, Ordering::Relaxed);
    }

    /// Calls that were timed.
    pub fn calls() -> u64 {
        sums::calls()
    }

    /// Seconds in them.
    pub fn in_calls() -> f64 {
        sums::in_calls()
    }
}
