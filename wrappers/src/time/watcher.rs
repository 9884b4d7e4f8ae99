//! The thread that watches the calls of busy entry points.
//!
//! At first no entry point is busy, and the library has no thread. In many programs this stays so to the end.
//! The first entry point that becomes busy starts the thread. It sleeps, and counts at random moments
//! ([`sampler`](super::sampler)) the threads that are in a call of a busy entry point.
//!
//! Limits: if the thread cannot be started, there is no figure. If a call is left by longjmp or by an
//! exception, the program's thread counts as being in a call as long as its later calls lie deeper on the
//! stack.

use super::sampler::{Plan, Sampler, Seen};
use super::{
    NOTED, SAMPLED, TimeInMpi, entries, now, point_all, point_busy, point_one, seconds, sums,
};
use crate::mpi::backoff;
use crate::record::counters;
use crate::sys::worker_thread;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// Part of the time of the program that timing its calls may take.
const SHARE: f64 = 0.0005;
/// The seconds that timing a call takes apart from reading the clock, if little of the code is in the caches.
/// If all of it is in the caches, it takes 40 ns.
const THUNK: f64 = 300e-9;
/// Bytes of the stack of the thread, which runs only the code of this folder.
const STACK: usize = 128 << 10;
/// The length of the thread's turns on the processor in nanoseconds. This is the smallest value that the kernel
/// accepts.
const TURN: u64 = 100_000;
/// After this many cycles without a noted call, the thread checks whether the program is still running.
const QUIET: u32 = 10;
/// Seconds between two calls of [`entries::retry`].
const RETRY: f64 = 0.5;
/// If the thread ran only for this last part of the time, or less, its samples may be too few for an estimate.
const SOON: f64 = 0.05;

/// State of the measurement.
struct Watch {
    /// The process that began it, to tell it from a forked child.
    process: u32,
    started: u64,
    /// Processes for each processor, at least 1.
    crowd: f64,
    /// The thread and when it began, once there is one.
    thread: Option<(JoinHandle<Seen>, u64)>,
}

static WATCH: Mutex<Option<Watch>> = Mutex::new(None);
/// True when a thread tried to start the watcher's thread.
static THREAD: AtomicBool = AtomicBool::new(false);
/// A word that changes to wake the thread.
static NEWS: AtomicU32 = AtomicU32::new(0);
static STOP: AtomicBool = AtomicBool::new(false);

/// Begins the measurement. At first all calls are timed.
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
    *watch = Some(Watch { process, started, crowd, thread: None });
    drop(watch);
    entries::start(started, allowance);
    SAMPLED.store(true, Ordering::Release);
    point_all();
}

/// Ends the measurement and returns its result.
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
    Some(TimeInMpi::estimated(sums::in_calls() + busy, error, elapsed, sums::calls()))
}

/// The time in calls of busy entry points and its standard error, from the samples of a thread that ran for the
/// last `length` of `elapsed` seconds.
fn busy_time(seen: Seen, length: f64, elapsed: f64) -> Option<(f64, f64)> {
    // Without an estimate, every time between 0 and `length` is taken as equally likely. These are its mean and
    // its standard deviation.
    let soon = (length < SOON * elapsed).then_some((length / 2.0, length / 12f64.sqrt()));
    seen.estimate(length).or(soon)
}

/// To be called when an entry point has become busy. The first call starts the thread.
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
    let sampler = Sampler::new(time ^ u64::from(watch.process) << 40, watch.crowd);
    let thread = worker_thread::thread(Some(STACK), move || run(sampler, time));
    watch.thread = thread.map(|thread| (thread, time));
}

/// Asks the kernel for short turns on the processor. A thread with short turns runs as soon as its time has come
/// (Linux 6.12 and later). Else it would often run only when the program's thread sleeps, and see no call.
fn take_short_turns() {
    /// The structure of the system call (sched_setattr(2)).
    #[repr(C)]
    #[derive(Default)]
    struct Attributes {
        size: u32,
        policy: u32,
        flags: u64,
        nice: i32,
        priority: u32,
        runtime: u64,
        deadline: u64,
        period: u64,
    }
    let size = size_of::<Attributes>() as u32;
    let mut attributes = Attributes { size, ..Attributes::default() };
    // SAFETY: the calling thread, and a structure of the size that is given.
    unsafe {
        if libc::syscall(libc::SYS_sched_getattr, 0, &raw mut attributes, size, 0) == 0
            && attributes.policy == libc::SCHED_OTHER as u32
        {
            attributes.runtime = TURN;
            libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0);
        }
    }
}

/// Asks the kernel to wake the calling thread at the moment that it asks for. By default, the kernel delays the end of
/// a sleep by up to 50 µs if another sleep ends in that time (PR_SET_TIMERSLACK, prctl(2)). The thread would then
/// often wake together with a thread of the program that sleeps between its calls, and see it outside of MPI.
fn take_exact_sleeps() {
    // SAFETY: changes a number of the calling thread.
    unsafe {
        libc::prctl(libc::PR_SET_TIMERSLACK, 1 as libc::c_ulong);
    }
}

/// What the thread does, from the time `began` on.
fn run(mut sampler: Sampler, began: u64) -> Seen {
    take_short_turns();
    take_exact_sleeps();
    let mut seen = Seen::default();
    let (mut noted, mut quiet, mut tried) = (0, 0, began);
    let mut plan = Plan::new(began);
    loop {
        let asked = sampler.next();
        if !sleep(plan.next(asked)) {
            break;
        }
        let (inside, sum) = counters::presence();
        let calls = sum.wrapping_sub(std::mem::replace(&mut noted, sum));
        let time = now();
        let (planned, length) = plan.end(time);
        seen.add(planned, length, inside, sampler.weight());
        if sampler.learn(calls, length) {
            seen.end_group();
        }
        let is_noting = sampler.is_noting();
        if NOTED.swap(is_noting, Ordering::AcqRel) != is_noting {
            point_busy();
        }
        if seconds(tried, time) > RETRY {
            tried = time;
            entries::retry(point_one);
        }
        quiet = if calls == 0 { quiet + 1 } else { 0 };
        if quiet % QUIET == QUIET - 1 && program_is_gone() {
            break;
        }
    }
    seen
}

/// Whether the first thread of the process has ended (pthread_exit) without MPI_Finalize. The watcher's thread
/// then ends, because it must not keep the process alive.
fn program_is_gone() -> bool {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let state = stat.rsplit_once(')').map(|(_, rest)| rest.trim_start());
    state.is_some_and(|rest| rest.starts_with('Z'))
}

/// Sleeps until a time. `false` when it is time to stop.
fn sleep(until: u64) -> bool {
    loop {
        let news = NEWS.load(Ordering::Acquire);
        if STOP.load(Ordering::Acquire) {
            return false;
        }
        let left = until.saturating_sub(now());
        if left == 0 {
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
