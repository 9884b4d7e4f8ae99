//! Decides, with the setting `sampled`, whether all calls are timed or only some of them.
//!
//! At first all calls are timed, and no thread runs beside the program. Calls are allowed in batches. The
//! thread that makes the last call of a batch looks at the clock: if the program calls so seldom that
//! timing all calls costs less than [`SHARE`] of its time, the next batch is allowed. In most programs all
//! calls are timed to the end.
//!
//! The first batch that is used up too fast ends this. A thread is started beside the program, which
//! opens and closes windows ([`sampler`](super::sampler)) from then on and sleeps between them. When the
//! calls of a window reach the number that was allowed, the calling thread itself points the slots back
//! and wakes the other one.
//!
//! Limit: if the thread cannot be started, nothing is measured.

use super::sampler::{Sampler, Seen};
use super::{COUNTERS, WINDOW, close, now, point_back, point_to_thunks};
use crate::mpi::backoff;
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
/// Bytes of the stack of the thread, which runs only the code of this folder.
const STACK: usize = 128 << 10;
/// The calls of the first and of the smallest batch, and the seconds for which the largest one is meant.
const BATCH: (u64, u64, f64) = (4096, 64, 2.0);
/// After so many cycles without a call the thread looks whether the program is still there.
const QUIET: u32 = 10;

/// State of the measurement.
struct Watch {
    /// The process that began it, to tell it from a forked child.
    process: u32,
    started: u64,
    /// Calls per second that may be timed.
    allowance: f64,
    /// When the present batch began, and how large it is.
    batch: (u64, u64),
    /// The thread, once there is one.
    thread: Option<JoinHandle<Seen>>,
}

static WATCH: Mutex<Option<Watch>> = Mutex::new(None);
/// Whether the thread was started.
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
    let cost = (2.0 * cost_of_clock() + THUNK) * backoff::per_processor().max(1.0);
    let allowance = SHARE / cost;
    let started = now();
    *watch = Some(Watch {
        process: std::process::id(),
        started,
        allowance,
        batch: (started, BATCH.0),
        thread: None,
    });
    drop(watch);
    open(1, BATCH.0, 1.0);
}

/// Ends; what was seen, and the seconds since the start.
pub fn stop() -> Option<(Seen, f64)> {
    STOP.store(true, Ordering::Release);
    let watch = WATCH.lock().take()?;
    // A child of the program has no such thread, and must not wait for it.
    if watch.process != std::process::id() {
        return None;
    }
    let elapsed = || seconds(watch.started, now());
    if let Some(thread) = watch.thread {
        wake();
        let seen = thread.join().ok()?;
        return Some((seen, elapsed()));
    }
    if WINDOW.load(Ordering::Acquire) == 0 {
        // The thread could not be started.
        return None;
    }
    let mut seen = Seen::default();
    let elapsed = elapsed();
    close(1, seen.add(elapsed, elapsed), 0);
    point_back();
    Some((seen, elapsed))
}

/// The calls of this window or batch are as many as allowed. Whether the one that is too much, the
/// `number`th from 0 on, may be timed all the same.
#[cold]
pub fn enough(number: u64, allowed: u64) -> bool {
    if !THREAD.load(Ordering::Acquire) {
        return next_batch(number);
    }
    if number == allowed {
        REACHED.store(now(), Ordering::Release);
        point_back();
        wake();
    }
    false
}

/// The next batch, or the end of timing all calls.
fn next_batch(number: u64) -> bool {
    // Another thread may hold the lock, or held it when the program was forked.
    let Some(mut held) = WATCH.try_lock() else { return false };
    let Some(watch) = held.as_mut() else { return false };
    if number < COUNTERS.allowed.load(Ordering::Acquire) {
        return true;
    }
    let time = now();
    let (since, size) = watch.batch;
    let took = seconds(since, time);
    let next = (watch.allowance * took.min(BATCH.2)) as u64;
    if next >= BATCH.1 {
        watch.batch = (time, next);
        COUNTERS.allowed.store(number + next, Ordering::Release);
        return true;
    }
    if WINDOW.load(Ordering::Acquire) == 0 || watch.thread.is_some() {
        return false;
    }
    // All was in one window so far.
    let mut seen = Seen::default();
    let so_far = seconds(watch.started, time);
    close(1, seen.add(so_far, so_far), 0);
    point_back();
    if watch.process != std::process::id() {
        return false;
    }
    let mut sampler = Sampler::new(time ^ u64::from(watch.process) << 40, watch.allowance);
    sampler.learn(size, took);
    THREAD.store(true, Ordering::Release);
    watch.thread = worker_thread::thread(Some(STACK), move || run(sampler, seen, time));
    false
}

/// Opens a window and points the slots of timed calls to the code that times them.
fn open(window: u32, calls: u64, weight: f64) {
    COUNTERS.begun.store(0, Ordering::Relaxed);
    COUNTERS.allowed.store(calls, Ordering::Relaxed);
    COUNTERS.planned.store((weight as f32).to_bits(), Ordering::Relaxed);
    REACHED.store(0, Ordering::Release);
    WINDOW.store(window, Ordering::Release);
    point_to_thunks();
}

fn seconds(from: u64, to: u64) -> f64 {
    to.saturating_sub(from) as f64 / 1e9
}

/// Seconds that reading the clock takes: the least of a few tries. On some machines it is a system call.
fn cost_of_clock() -> f64 {
    const READS: u32 = 16;
    let tries = (0..4).map(|_| {
        let start = now();
        (0..READS).for_each(|_| {
            std::hint::black_box(now());
        });
        seconds(start, now()) / f64::from(READS)
    });
    tries.fold(1e-5, f64::min)
}

/// What the thread does, from the time `began` on.
fn run(mut sampler: Sampler, mut seen: Seen, mut began: u64) -> Seen {
    let mut window = 1u32;
    let mut quiet = 0;
    let mut cycle = sampler.next();
    loop {
        if cycle.gap > 0.0 && !sleep(began, cycle.gap, false) {
            break;
        }
        let was_open = WINDOW.load(Ordering::Relaxed) != 0;
        if !was_open {
            window = following(window);
        }
        open(window, cycle.calls, cycle.weight);
        let opened = if was_open { began } else { now() };
        let goes_on = sleep(opened, cycle.window, true);
        let ended = match REACHED.load(Ordering::Acquire) {
            0 => now(),
            reached => reached.max(opened),
        };
        let calls = COUNTERS.begun.load(Ordering::Relaxed);
        sampler.learn(calls, seconds(opened, ended));
        let next = sampler.next();
        let weight = seen.add(seconds(began, ended), seconds(opened, ended));
        // Without a gap the next window follows at once, with a weight of its own.
        let stays = goes_on && next.gap == 0.0;
        let after = following(window);
        close(window, weight, if stays { after } else { 0 });
        if stays {
            window = after;
        } else {
            point_back();
        }
        if !goes_on {
            break;
        }
        quiet = if calls == 0 { quiet + 1 } else { 0 };
        if quiet >= QUIET {
            quiet = 0;
            if program_is_gone() {
                break;
            }
        }
        began = ended;
        cycle = next;
    }
    if WINDOW.swap(0, Ordering::AcqRel) != 0 {
        point_back();
    }
    seen
}

/// The number after this one, never 0.
fn following(window: u32) -> u32 {
    window.wrapping_add(1).max(1)
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
