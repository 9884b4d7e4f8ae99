//! Blocking MPI calls in jobs with more processes than processors.
//!
//! MPI has no nonblocking call that makes a communicator in another rank order, and some MPI libraries
//! wait by spinning. A process that waits for one without a processor then keeps its own processor for
//! a whole time slice. With 64 processes on two processors that took seconds. Here a timer interrupts
//! the waiting thread after 50 µs, and the signal handler sleeps for a while. Yielding alone would not
//! do: the spinning process would get the processor back before the processes that it waits for have
//! run.
//!
//! This is done only in MPICH and its relatives, and only where the node has more processes than
//! processors. It uses a signal that no code uses, for the calling thread alone, and everything is
//! restored afterwards.
//!
//! Limit: a system call of the MPI library that does not restart (poll) may end with EINTR, which it
//! must expect at any time.

use crate::mpi::library::{self, Family};
use libc::c_int;
use std::cell::Cell;
use std::ptr;
use std::sync::OnceLock;

/// How long a process may wait before it rests.
const SLICE_NANOSECONDS: i64 = 50_000;
/// How long it rests. (64 ranks of MPICH on two processors, in the same series: a new world took 31 ms,
/// with a rest of 0.1 ms 63 ms.)
const REST_NANOSECONDS: i64 = 1_000_000;

/// How a process waits between two tests of a request.
#[derive(Debug, Clone, Copy)]
struct Manner {
    /// After each of this many tests at the beginning, it only yields the processor.
    yields: u32,
    /// After the next test it sleeps for this many microseconds, and twice as long after each further test,
    first: u32,
    /// but never longer than this many microseconds.
    longest: u32,
}

/// Open MPI finishes a step sooner if waiting processes test often, and its calls yield the processor
/// themselves.
const OFTEN: Manner = Manner { yields: 200, first: 100, longest: 100 };
/// Where processes outnumber processors, tests may take all the time of the processors.
const SELDOM: Manner = Manner { yields: 20, first: 100, longest: 1000 };

impl Manner {
    /// Microseconds to sleep after this many `tries`; 0 means to yield the processor.
    fn pause(self, tries: u32) -> u32 {
        match tries.checked_sub(self.yields) {
            None => 0,
            Some(slept) => (self.first << slept.min(8)).min(self.longest),
        }
    }
}

/// Waits before the next test of a request, after so many `tries`.
pub fn pause(tries: u32) {
    static HERE: OnceLock<Manner> = OnceLock::new();
    let manner = HERE.get_or_init(|| if helps() { SELDOM } else { OFTEN });
    // SAFETY: no preconditions.
    unsafe {
        match manner.pause(tries) {
            0 => libc::sched_yield(),
            microseconds => libc::usleep(microseconds),
        };
    }
}

const NO_TIMER: usize = usize::MAX;

thread_local! {
    /// The timer of this thread, while there is one; the number of the first timer is 0.
    static TIMER: Cell<usize> = const { Cell::new(NO_TIMER) };
}

/// The variables in which launchers say how many processes of the job run on this node.
const ON_NODE: [&str; 3] = ["OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "PMI_LOCAL_SIZE"];

/// Runs `call`, which may block. In Open MPI there is no timer: it yields by itself where processes are many,
/// and the timer would slow it down.
pub fn in_turns<T>(call: impl FnOnce() -> T) -> T {
    let alarm = if helps() { Alarm::new() } else { None };
    let result = call();
    drop(alarm);
    result
}

/// Whether a waiting process has to give its processor to other processes.
fn helps() -> bool {
    let spins = library::get().is_some_and(|library| library.family != Family::OpenMpi);
    spins && per_processor() > 1.0
}

/// Processes of the job for each processor of this node, as the launcher says it; 1 if it does not.
pub fn per_processor() -> f64 {
    let number = |name| std::env::var(name).ok()?.parse().ok();
    ON_NODE.into_iter().find_map(number).map_or(1.0, shared_by)
}

/// How many of `processes` a processor has to run.
fn shared_by(processes: u32) -> f64 {
    // SAFETY: no preconditions.
    let processors = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) };
    f64::from(processes) / processors.max(1) as f64
}

/// The timer, its signal, and the action that the signal had before.
struct Alarm {
    timer: libc::timer_t,
    signal: c_int,
    before: libc::sigaction,
}

impl Alarm {
    /// `None` if there is no signal to spare or no timer.
    fn new() -> Option<Alarm> {
        // SAFETY: all structures are filled before they are read; the handler calls only functions
        // that may be called in one.
        unsafe {
            let signal = spare_signal()?;
            let mut action: libc::sigaction = std::mem::zeroed();
            let mut before: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = give_way as *const () as usize;
            action.sa_flags = libc::SA_RESTART;
            if libc::sigaction(signal, &raw const action, &raw mut before) != 0 {
                return None;
            }
            let mut event: libc::sigevent = std::mem::zeroed();
            event.sigev_notify = libc::SIGEV_THREAD_ID;
            event.sigev_signo = signal;
            event.sigev_notify_thread_id = libc::gettid();
            let mut timer = ptr::null_mut();
            if libc::timer_create(libc::CLOCK_MONOTONIC, &raw mut event, &raw mut timer) != 0 {
                libc::sigaction(signal, &raw const before, ptr::null_mut());
                return None;
            }
            TIMER.set(timer as usize);
            arm(timer);
            Some(Alarm { timer, signal, before })
        }
    }
}

impl Drop for Alarm {
    fn drop(&mut self) {
        TIMER.set(NO_TIMER);
        // SAFETY: the timer and the action of `new`. A last signal is taken off while it is held
        // back, so that it does not meet the action from before.
        unsafe {
            let mut held: libc::sigset_t = std::mem::zeroed();
            let mut mask: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&raw mut held);
            libc::sigaddset(&raw mut held, self.signal);
            libc::pthread_sigmask(libc::SIG_BLOCK, &raw const held, &raw mut mask);
            let gone = libc::timer_delete(self.timer) == 0 || disarm(self.timer);
            let at_once = libc::timespec { tv_sec: 0, tv_nsec: 0 };
            while libc::sigtimedwait(&raw const held, ptr::null_mut(), &raw const at_once) > 0 {}
            // A timer that is still set would end the process by the signal's default action.
            if gone {
                libc::sigaction(self.signal, &raw const self.before, ptr::null_mut());
            }
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const mask, ptr::null_mut());
        }
    }
}

/// A real-time signal with its default action that this thread does not hold back.
///
/// # Safety
/// None; the calls only read.
unsafe fn spare_signal() -> Option<c_int> {
    // SAFETY: sets are filled before they are read.
    unsafe {
        let mut mask: libc::sigset_t = std::mem::zeroed();
        libc::pthread_sigmask(libc::SIG_BLOCK, ptr::null(), &raw mut mask);
        (libc::SIGRTMIN()..libc::SIGRTMAX()).rev().find(|&signal| {
            let mut action: libc::sigaction = std::mem::zeroed();
            libc::sigaction(signal, ptr::null(), &raw mut action) == 0
                && action.sa_sigaction == libc::SIG_DFL
                && libc::sigismember(&raw const mask, signal) == 0
        })
    }
}

/// Sets the timer once.
///
/// # Safety
/// A timer of this process.
unsafe fn arm(timer: libc::timer_t) {
    let soon = libc::itimerspec {
        it_interval: libc::timespec { tv_sec: 0, tv_nsec: 0 },
        it_value: libc::timespec { tv_sec: 0, tv_nsec: SLICE_NANOSECONDS },
    };
    // SAFETY: the caller passes a timer that exists; the time is a valid structure.
    unsafe { libc::timer_settime(timer, 0, &raw const soon, ptr::null_mut()) };
}

/// Stops the timer; `false` if this fails.
///
/// # Safety
/// A timer of this process.
unsafe fn disarm(timer: libc::timer_t) -> bool {
    let never = libc::itimerspec {
        it_interval: libc::timespec { tv_sec: 0, tv_nsec: 0 },
        it_value: libc::timespec { tv_sec: 0, tv_nsec: 0 },
    };
    // SAFETY: the caller passes a timer that exists; the time is a valid structure.
    unsafe { libc::timer_settime(timer, 0, &raw const never, ptr::null_mut()) == 0 }
}

extern "C" fn give_way(_signal: c_int) {
    // SAFETY: bare system calls, which may be made in a handler and are no points of cancellation; errno is
    // put back. The timer is set anew only now: time without a processor does not count.
    unsafe {
        let errno = libc::__errno_location();
        let before = *errno;
        let rest = libc::timespec { tv_sec: 0, tv_nsec: REST_NANOSECONDS };
        libc::syscall(libc::SYS_nanosleep, &raw const rest, ptr::null_mut::<libc::timespec>());
        let timer = TIMER.get();
        if timer != NO_TIMER {
            arm(timer as libc::timer_t);
            #[cfg(test)]
            tests::GAVE_WAY.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        }
        *errno = before;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::time::{Duration, Instant};

    pub(super) static GAVE_WAY: AtomicU32 = AtomicU32::new(0);

    #[test]
    fn everything_is_as_before() {
        let action = |signal| {
            // SAFETY: filled before it is read.
            unsafe {
                let mut action: libc::sigaction = std::mem::zeroed();
                libc::sigaction(signal, ptr::null(), &raw mut action);
                action.sa_sigaction
            }
        };
        // SAFETY: only reads.
        let signal = unsafe { spare_signal() }.unwrap();
        let alarm = Alarm::new();
        assert_ne!(action(signal), libc::SIG_DFL);
        let started = Instant::now();
        while GAVE_WAY.load(Ordering::Relaxed) < 3 && started.elapsed() < Duration::from_secs(30) {}
        assert!(GAVE_WAY.load(Ordering::Relaxed) >= 3, "again and again");
        drop(alarm);
        assert_eq!(action(signal), libc::SIG_DFL);
        // A pending signal would end the test here.
        std::thread::sleep(Duration::from_millis(2));
    }

    #[test]
    fn pauses_grow() {
        let pauses: Vec<u32> = [0, 19, 20, 21, 22, 23, 24, 1000, u32::MAX]
            .into_iter()
            .map(|tries| SELDOM.pause(tries))
            .collect();
        assert_eq!(pauses, [0, 0, 100, 200, 400, 800, 1000, 1000, 1000]);
        assert_eq!((OFTEN.pause(199), OFTEN.pause(200), OFTEN.pause(9999)), (0, 100, 100));
    }

    #[test]
    fn crowds() {
        assert!(shared_by(1) <= 1.0);
        assert!(shared_by(1 << 20) > 1.0);
    }
}
