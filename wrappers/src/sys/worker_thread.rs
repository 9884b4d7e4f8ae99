//! Work in a thread of its own, within a time limit. A failure of the work costs the job at most this time.
//!
//! The thread makes no MPI call and gets no signal. The caller sleeps meanwhile. If the work panics, ends
//! without an answer or takes too long, the caller goes on without an answer. A thread that takes too long is
//! not stopped. Its work has a time limit of its own, by which it ends soon.
//!
//! Limit: an allocation that fails ends the process (Rust's standard library aborts). Work that needs much
//! memory asks [`memory::has_room`](crate::sys::memory::has_room) first.

use crate::sys::floating_point;
use parking_lot::Mutex;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Once};
use std::thread::JoinHandle;
use std::time::Duration;

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// The work took longer than allowed.
    TooLong,
    /// The work panicked. The text says at which place in the source.
    Panic(String),
    /// The work ended without an answer.
    NoAnswer,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Failure::TooLong => f.write_str("the search for a rank order did not end in time"),
            Failure::Panic(place) => {
                write!(f, "the search for a rank order met an internal error{place}")
            }
            Failure::NoAnswer => f.write_str("the search for a rank order ended without an answer"),
        }
    }
}

/// Does `work` in a thread, and waits at most `patience` for its answer. If no thread can be started, the
/// caller does the work itself, without a limit.
pub fn run<T, F>(patience: Duration, work: F) -> Result<T, Failure>
where
    T: Send + 'static,
    F: FnOnce() -> Option<T> + Send + 'static,
{
    quiet_panics();
    let (answer, answered) = channel();
    let work = Arc::new(Mutex::new(Some(work)));
    let in_thread = work.clone();
    let started = beside(move || {
        let result = once(&in_thread);
        // The caller may have stopped waiting. Then the result is dropped.
        let _ = answer.send(result);
    });
    if !started {
        return once(&work);
    }
    match answered.recv_timeout(patience) {
        Ok(result) => result,
        Err(RecvTimeoutError::Timeout) => Err(Failure::TooLong),
        Err(RecvTimeoutError::Disconnected) => Err(Failure::NoAnswer),
    }
}

/// Does the work, unless it has been taken already.
fn once<T, F: FnOnce() -> Option<T>>(work: &Mutex<Option<F>>) -> Result<T, Failure> {
    let Some(work) = work.lock().take() else { return Err(Failure::NoAnswer) };
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(result) => result.ok_or(Failure::NoAnswer),
        Err(_) => Err(Failure::Panic(take_place())),
    }
}

/// Starts a thread that sees no signal of the program. `false` if the system allows no more threads.
pub fn beside(work: impl FnOnce() + Send + 'static) -> bool {
    let work = move || {
        let _ = catch_unwind(AssertUnwindSafe(work));
    };
    thread(None, work).is_some()
}

/// Starts a thread with a stack of `stack` bytes, or of the default size if `stack` is `None`. Returns the handle
/// for joining, or `None` if the thread could not be started. The thread gets no signal of the program.
pub fn thread<T: Send + 'static>(
    stack: Option<usize>,
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<JoinHandle<T>> {
    let work = move || {
        floating_point::forget_inherited();
        work()
    };
    let mut builder = std::thread::Builder::new().name("rankweave".into());
    if let Some(bytes) = stack {
        builder = builder.stack_size(bytes);
    }
    // SAFETY: sets are filled before they are read; the mask is put back. Threads inherit it.
    unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        let mut before: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before);
        let started = builder.spawn(work).ok();
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, std::ptr::null_mut());
        started
    }
}

/// The place in the source of the last panic.
static PLACE: Mutex<String> = Mutex::new(String::new());

/// Sets a panic hook that keeps the place of a panic for the message about it, and prints nothing. The hook
/// belongs to the copy of the standard library in this shared object, which the program does not use.
fn quiet_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        std::panic::set_hook(Box::new(|info| {
            let place = info.location().map(|l| format!(" ({}:{})", l.file(), l.line()));
            *PLACE.lock() = place.unwrap_or_default();
        }));
    });
}

fn take_place() -> String {
    std::mem::take(&mut *PLACE.lock())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn answers_come_back() {
        assert_eq!(run(LONG, || Some(7)), Ok(7));
        assert_eq!(run(LONG, || None::<i32>), Err(Failure::NoAnswer));
    }

    #[test]
    fn a_panic_is_an_answer_with_its_place() {
        let Err(Failure::Panic(place)) = run(LONG, || -> Option<()> { panic!("on purpose") })
        else {
            panic!("not seen as one");
        };
        assert!(place.contains("worker_thread.rs"), "{place}");
    }

    #[test]
    fn patience_ends() {
        let started = Instant::now();
        let slow = || {
            std::thread::sleep(Duration::from_secs(3));
            Some(())
        };
        assert_eq!(run(Duration::from_millis(50), slow), Err(Failure::TooLong));
        assert!(started.elapsed() < Duration::from_millis(2900));
    }

    #[test]
    fn signals_stay_with_the_program() {
        let blocked = run(LONG, || {
            // SAFETY: a set that is filled before it is read.
            unsafe {
                let mut mask: libc::sigset_t = std::mem::zeroed();
                libc::pthread_sigmask(libc::SIG_BLOCK, std::ptr::null(), &raw mut mask);
                Some(libc::sigismember(&raw const mask, libc::SIGALRM))
            }
        });
        assert_eq!(blocked, Ok(1));
    }
}
