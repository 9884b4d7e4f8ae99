//! The thread that watches the calls of busy entry points.
//!
//! At first no entry point is busy, and no thread runs beside the program: in many programs that stays so to
//! the end. The first entry point that becomes busy starts the watcher. It sleeps, and looks at random moments
//! ([`sampler`](super::sampler)) how many threads are in a call of a busy entry point. In a program that makes
//! more than [`MANY`] such calls per second it opens windows in which calls are timed, and closes them. When the
//! calls of a window reach the number that was allowed, the calling thread wakes the watcher.
//!
//! Limits: if the thread cannot be started, there is no figure. A call that is left by longjmp or by an exception
//! counts as long as later calls lie deeper on the stack.

use super::sampler::{Cycle, Sampler, Seen};
use super::{
    NOTED, SAMPLED, TimeInMpi, entries, now, point_all, point_busy, point_one, seconds, sums,
};
use crate::mpi::backoff;
use crate::record::counters;
use crate::sys::worker_thread;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// Part of the time of the program that timing its calls may take.
const SHARE: f64 = 0.0005;
/// What timing a call takes beside the clock, in seconds, where little of it is in the caches: 40 ns
/// if all is.
const THUNK: f64 = 300e-9;
/// Calls per second that are noted; the calls of a program that makes more are timed in windows. Noting one takes
/// about 2 ns, so that this is one part in a thousand of the time.
const MANY: f64 = 500_000.0;
/// Seconds over which calls are counted for that.
const MEMORY: f64 = 1.0;
/// Bytes of the stack of the thread, which runs only the code of this folder.
const STACK: usize = 128 << 10;
/// After so many cycles without a call the thread looks whether the program is still there.
const QUIET: u32 = 10;
/// Seconds between two tries whether entry points are still busy.
const RETRY: f64 = 0.5;
/// A thread that began in this last part of the time need not have seen anything.
const SOON: f64 = 0.05;

/// State of the measurement.
struct Watch {
    /// The process that began it, to tell it from a forked child.
    process: u32,
    started: u64,
    /// Processes for each processor, at least 1.
    crowd: f64,
    /// Calls per second that may be timed.
    allowance: f64,
    /// The thread and when it began, once there is one.
    thread: Option<(JoinHandle<Seen>, u64)>,
}

static WATCH: Mutex<Option<Watch>> = Mutex::new(None);
/// Whether the thread is wanted.
static THREAD: AtomicBool = AtomicBool::new(false);
/// A word that changes to wake the thread.
static NEWS: AtomicU32 = AtomicU32::new(0);
static STOP: AtomicBool = AtomicBool::new(false);
/// When the calls of the window reached what was allowed; 0: they did not.
static REACHED: AtomicU64 = AtomicU64::new(0);

/// Begins, with all calls.
pub fn start() {
    let mut watch = WATCH.lock();
    if watch.is_some() || STOP.load(Ordering::Acquire) {
        return;
    }
    // Processes that share a processor wait for each other, so the cost counts for all of them.
    let crowd = backoff::per_processor().max(1.0);
    let allowance = SHARE / ((2.0 * sums::measure_clock() + THUNK) * crowd);
    let started = now();
    let process = std::process::id();
    *watch = Some(Watch { process, started, crowd, allowance, thread: None });
    drop(watch);
    entries::start(started, allowance);
    SAMPLED.store(true, Ordering::Release);
    point_all();
}

/// Ends, and gives what was measured.
pub fn stop() -> Option<TimeInMpi> {
    STOP.store(true, Ordering::Release);
    let watch = WATCH.lock().take()?;
    // A child of the program has no such thread, and must not wait for it.
    if watch.process != std::process::id() {
        return None;
    }
    SAMPLED.store(false, Ordering::Release);
    let seen = watch.thread.map(|(thread, began)| {
        wake();
        (thread.join().ok(), began)
    });
    let ended = now();
    point_all();
    let elapsed = seconds(watch.started, ended);
    let (busy, error) = match seen {
        Some((seen, began)) => busy_time(seen?, seconds(began, ended), elapsed)?,
        // The thread could not be started.
        None if THREAD.load(Ordering::Acquire) => return None,
        None => (0.0, 0.0),
    };
    Some(TimeInMpi::estimated(sums::certain() + busy, error, elapsed, sums::calls()))
}

/// The time in calls of busy entry points, and its standard error, from what a thread saw that ran for the last
/// `length` of `elapsed` seconds.
fn busy_time(seen: Seen, length: f64, elapsed: f64) -> Option<(f64, f64)> {
    let (weighted, variance) = sums::in_windows();
    // Any time up to that of the thread would be as likely.
    let soon = (length < SOON * elapsed).then_some((length / 2.0, length / 12f64.sqrt()));
    seen.estimate(weighted, variance, length).or(soon)
}

/// The calls of this window are as many as allowed: it ends here.
#[cold]
pub fn is_full() {
    REACHED.store(now(), Ordering::Release);
    point_busy();
    wake();
}

/// An entry point has become busy. The first one starts the thread.
#[cold]
pub fn busy(index: usize) {
    point_one(index);
    if THREAD.load(Ordering::Acquire) {
        return;
    }
    // Another thread may hold the lock, or held it when the program was forked.
    let Some(mut held) = WATCH.try_lock() else { return };
    let Some(watch) = held.as_mut() else { return };
    if watch.process != std::process::id() || THREAD.swap(true, Ordering::AcqRel) {
        return;
    }
    let time = now();
    let sampler = Sampler::new(time ^ u64::from(watch.process) << 40, watch.allowance, watch.crowd);
    let thread = worker_thread::thread(Some(STACK), move || run(sampler, time));
    watch.thread = thread.map(|thread| (thread, time));
}

/// What the thread does, from the time `began` on.
fn run(sampler: Sampler, began: u64) -> Seen {
    let mut watcher = Watcher {
        sampler,
        seen: Seen::default(),
        began,
        window: 1,
        calls: 0,
        rate: 0.0,
        quiet: 0,
        tried: began,
    };
    while watcher.cycle() {}
    watcher.seen
}

/// The state of the thread.
struct Watcher {
    sampler: Sampler,
    seen: Seen,
    /// When the present cycle began.
    began: u64,
    /// Number of the last window.
    window: u32,
    /// Calls that were noted up to the last cycle.
    calls: u64,
    /// Calls of busy entry points per second.
    rate: f64,
    /// Cycles without a call.
    quiet: u32,
    /// When busy entry points got a batch the last time.
    tried: u64,
}

impl Watcher {
    /// One cycle; `false` at the end of the measurement.
    fn cycle(&mut self) -> bool {
        let is_noted = NOTED.load(Ordering::Relaxed);
        let cycle = self.sampler.next(!is_noted);
        if cycle.gap > 0.0 && !sleep(self.began, cycle.gap, false) {
            return false;
        }
        let (inside, noted) = counters::presence();
        let calls = noted.wrapping_sub(std::mem::replace(&mut self.calls, noted));
        let timed = match is_noted {
            true => Window { goes_on: true, ended: now(), calls, open: 0.0, weighted: 0.0 },
            false => self.time_window(cycle),
        };
        let length = seconds(self.began, timed.ended);
        let open = if is_noted { length } else { timed.open };
        self.sampler.learn(timed.calls, timed.open, length);
        self.seen.add(length, inside, timed.weighted);
        self.learn_rate(timed.calls as f64 / open.max(1e-6), length);
        self.began = timed.ended;
        if seconds(self.tried, self.began) > RETRY {
            self.tried = self.began;
            entries::retry(point_one);
        }
        self.quiet = if timed.calls == 0 { self.quiet + 1 } else { 0 };
        timed.goes_on && !(self.quiet % QUIET == QUIET - 1 && program_is_gone())
    }

    /// Times the calls of a window.
    fn time_window(&mut self, cycle: Cycle) -> Window {
        self.window = self.window.wrapping_add(1).max(1);
        REACHED.store(0, Ordering::Release);
        sums::open(self.window, cycle.calls, cycle.weight);
        let opened = now();
        let goes_on = sleep(opened, cycle.window, true);
        let ended = match REACHED.load(Ordering::Acquire) {
            0 => now(),
            reached => reached.max(opened),
        };
        let calls = sums::begun();
        let open = seconds(opened, ended);
        // Without the timing, the calls of the window would have been made in less time.
        let timing = calls.min(cycle.calls) as f64 * sums::cost_of_timing();
        let weight = seconds(self.began, ended) / (open - timing).max(open / 8.0).max(1e-7);
        let weighted = sums::close(self.window, weight);
        point_busy();
        Window { goes_on, ended, calls, open, weighted }
    }

    /// So many calls of busy entry points were made per second, for this time. Too many to note each?
    fn learn_rate(&mut self, rate: f64, length: f64) {
        self.rate += (rate - self.rate) * length / (length + MEMORY);
        let is_noted = NOTED.load(Ordering::Relaxed);
        if is_noted && self.rate > MANY || !is_noted && self.rate < MANY / 2.0 {
            NOTED.store(!is_noted, Ordering::Release);
            point_busy();
        }
    }
}

/// What a window showed.
struct Window {
    goes_on: bool,
    ended: u64,
    /// Calls that began in it, and the seconds that it was open.
    calls: u64,
    open: f64,
    /// Weighted seconds in calls that ended in it.
    weighted: f64,
}

/// Whether the first thread has ended (pthread_exit) without MPI_Finalize: this one must not keep the
/// process alive.
fn program_is_gone() -> bool {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let state = stat.rsplit_once(')').map(|(_, rest)| rest.trim_start());
    state.is_some_and(|rest| rest.starts_with('Z'))
}

/// Sleeps until `length` seconds after `from`, or until the calls reach what is allowed, if that
/// matters. `false` when it is time to stop.
fn sleep(from: u64, length: f64, in_window: bool) -> bool {
    let until = from + (length * 1e9) as u64;
    loop {
        let news = NEWS.load(Ordering::Acquire);
        if STOP.load(Ordering::Acquire) {
            return false;
        }
        let left = until.saturating_sub(now());
        if left == 0 || in_window && REACHED.load(Ordering::Acquire) != 0 {
            return true;
        }
        let left = Duration::from_nanos(left);
        let time = libc::timespec {
            tv_sec: left.as_secs() as libc::time_t,
            tv_nsec: left.subsec_nanos().into(),
        };
        // SAFETY: a word and a time that outlive the call.
        unsafe {
            libc::syscall(
                libc::SYS_futex,
                NEWS.as_ptr(),
                libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG,
                news,
                &raw const time,
            );
        }
    }
}

fn wake() {
    NEWS.fetch_add(1, Ordering::Release);
    // SAFETY: a word that lives as long as the process.
    unsafe {
        let word = NEWS.as_ptr();
        libc::syscall(libc::SYS_futex, word, libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG, 1);
    }
}
