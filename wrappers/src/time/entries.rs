//! The budget of each entry point: how many of its calls are timed one by one.
//!
//! Every call of an entry point is timed as long as the program calls it seldom. The time of long waits, which
//! are seldom, is therefore exact. Calls are allowed in batches. The thread that makes the first call after a
//! batch reads the clock: if the calls of the batch were spread over enough time, the next batch is allowed.
//! Otherwise the entry point is *busy*, and its calls are noted for the [`watcher`](super::watcher). From time
//! to time a busy entry point gets a small batch again ([`retry`]), because many programs call a function often
//! while they start, and seldom afterwards.

use super::now;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

/// Entry points that can have a budget.
pub const MOST: usize = 2048;
/// The number of calls of the first batch.
const FIRST_BATCH: u64 = 512;
/// The number of calls of the smallest batch.
const SMALLEST_BATCH: u64 = 64;
/// The largest batch has the calls that may be timed in so many seconds.
const LARGEST_BATCH_SECONDS: f64 = 2.0;
/// The most turns of [`retry`] that an entry point waits for its next batch.
const LONGEST_WAIT: u32 = 64;
/// The part of the calls per second of the process that one entry point may have timed. It is large, because
/// most programs call few entry points often.
const PART: f64 = 0.5;

/// What is known of one entry point. All values are 0 at first, so that the table takes no place in the file.
struct Entry {
    calls: AtomicU64,
    /// How many calls may be timed so far, without the first batch.
    beyond: AtomicU64,
    /// When the present batch began, in nanoseconds; 0 for the first one.
    since: AtomicU64,
    is_busy: AtomicBool,
    /// The entry point is in the list of those that are or were busy.
    is_listed: AtomicBool,
    /// For how many calls of [`retry`] the entry point waits after the present batch, less one, and how many of them
    /// are left.
    further_waits: AtomicU32,
    left: AtomicU32,
}

impl Entry {
    /// How many calls may be timed so far.
    fn allowed(&self) -> u64 {
        FIRST_BATCH + self.beyond.load(Ordering::Acquire)
    }

    /// Lets this many calls be timed, at least [`FIRST_BATCH`]: an entry point is busy, or has a second batch, only
    /// after the first one.
    fn allow(&self, calls: u64) {
        self.beyond.store(calls.saturating_sub(FIRST_BATCH), Ordering::Release);
    }
}

static ENTRIES: [Entry; MOST] = [const {
    Entry {
        calls: AtomicU64::new(0),
        beyond: AtomicU64::new(0),
        since: AtomicU64::new(0),
        is_busy: AtomicBool::new(false),
        is_listed: AtomicBool::new(false),
        further_waits: AtomicU32::new(0),
        left: AtomicU32::new(0),
    }
}; MOST];

/// The entry points that are or were busy, in the order in which they became busy, and their number.
static LIST: [AtomicU32; MOST] = [const { AtomicU32::new(0) }; MOST];
static LISTED: AtomicU32 = AtomicU32::new(0);

/// When the measurement began, and how many calls per second one entry point may have timed (bits of an `f64`).
static START: AtomicU64 = AtomicU64::new(0);
static ALLOWANCE: AtomicU64 = AtomicU64::new(0);

/// Begins the measurement. The process may have `allowance` calls per second timed.
pub fn start(time: u64, allowance: f64) {
    START.store(time, Ordering::Relaxed);
    ALLOWANCE.store((PART * allowance).to_bits(), Ordering::Release);
}

/// Whether an entry point is called so often that not every call is timed.
pub fn is_busy(index: usize) -> bool {
    ENTRIES.get(index).is_none_or(|entry| entry.is_busy.load(Ordering::Acquire))
}

/// Visits the busy entry points.
pub fn for_each_busy(visit: impl Fn(usize)) {
    let count = LISTED.load(Ordering::Acquire) as usize;
    let listed = LIST.iter().take(count).map(|index| index.load(Ordering::Acquire) as usize);
    listed.filter(|&index| is_busy(index)).for_each(visit);
}

/// Gives a small batch to the busy entry points that have waited long enough. `visit` is called with each of
/// them.
pub fn retry(visit: impl Fn(usize)) {
    let time = now();
    for_each_busy(|index| {
        let entry = &ENTRIES[index];
        let left = entry.left.load(Ordering::Relaxed);
        if left > 1 {
            entry.left.store(left - 1, Ordering::Relaxed);
            return;
        }
        entry.allow(entry.calls.load(Ordering::Relaxed) + SMALLEST_BATCH);
        entry.since.store(time, Ordering::Relaxed);
        entry.is_busy.store(false, Ordering::Release);
        visit(index);
    });
}

/// What happens with a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It is timed.
    Timed,
    /// Its entry point is busy.
    Busy,
    /// Its entry point has become busy with this call.
    BusyNow,
}

/// Decides what happens with a call of an entry point that begins now.
#[inline(always)]
pub fn call(index: usize) -> Verdict {
    let Some(entry) = ENTRIES.get(index) else { return Verdict::Busy };
    if entry.is_busy.load(Ordering::Relaxed) {
        return Verdict::Busy;
    }
    let number = entry.calls.fetch_add(1, Ordering::Relaxed);
    if number < entry.allowed() {
        return Verdict::Timed;
    }
    after_batch(entry, number, index)
}

/// Decides about a call after a batch, and lists its entry point if it became busy.
#[cold]
#[inline(never)]
fn after_batch(entry: &Entry, number: u64, index: usize) -> Verdict {
    let verdict = next_batch(entry, number);
    if verdict == Verdict::BusyNow && !entry.is_listed.swap(true, Ordering::AcqRel) {
        let place = LISTED.fetch_add(1, Ordering::AcqRel) as usize;
        LIST[place % MOST].store(index as u32, Ordering::Release);
    }
    verdict
}

/// Allows the next batch, or makes the entry point busy. Only the thread with the first call after the batch
/// decides. Calls that other threads make meanwhile are timed.
fn next_batch(entry: &Entry, number: u64) -> Verdict {
    let allowed = entry.allowed();
    if number != allowed {
        return Verdict::Timed;
    }
    let time = now();
    let since = match entry.since.swap(time, Ordering::Relaxed) {
        0 => START.load(Ordering::Relaxed),
        since => since,
    };
    let took = time.saturating_sub(since) as f64 / 1e9;
    let next = (f64::from_bits(ALLOWANCE.load(Ordering::Acquire)) * took.min(LARGEST_BATCH_SECONDS))
        as u64;
    if next >= SMALLEST_BATCH {
        entry.further_waits.store(0, Ordering::Relaxed);
        entry.allow(allowed + next);
        return Verdict::Timed;
    }
    let wait = entry.further_waits.load(Ordering::Relaxed) + 1;
    entry.left.store(wait, Ordering::Relaxed);
    entry.further_waits.store((2 * wait).min(LONGEST_WAIT) - 1, Ordering::Relaxed);
    entry.is_busy.store(true, Ordering::Release);
    Verdict::BusyNow
}

#[cfg(test)]
mod tests {
    use super::*;

    fn retried() -> bool {
        let count = AtomicU32::new(0);
        retry(|_| {
            count.fetch_add(1, Ordering::Relaxed);
        });
        count.into_inner() == 1
    }

    #[test]
    fn seldom_calls_stay_timed_and_bursts_do_not() {
        // Four thousand million calls per second are allowed, so these calls count as seldom.
        start(now(), 8e9);
        assert!((0..100_000).all(|_| call(1) == Verdict::Timed) && !is_busy(1));
        start(now(), 4.0);
        let timed = (0..100_000).filter(|_| call(2) == Verdict::Timed).count();
        assert!((512..600).contains(&timed) && is_busy(2), "{timed}");
        assert_eq!((call(2), is_busy(3)), (Verdict::Busy, false));
        assert_eq!((call(MOST), is_busy(MOST)), (Verdict::Busy, true));
        let busy = AtomicU32::new(0);
        for_each_busy(|index| {
            busy.fetch_add(index as u32, Ordering::Relaxed);
        });
        assert_eq!(busy.into_inner(), 2);
        // The entry point waits one call of `retry`, then two, and gets a small batch each time.
        for turns in [1, 2, 4] {
            assert!((1..turns).all(|_| !retried()));
            assert!(retried());
            let timed = (0..100_000).filter(|_| call(2) == Verdict::Timed).count();
            assert!((64..100).contains(&timed) && is_busy(2), "{timed}");
        }
    }
}
