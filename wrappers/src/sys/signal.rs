//! Keeps signals from the program that a call of this library raises in the program's thread.
//!
//! A write to a closed pipe raises SIGPIPE, and a write beyond RLIMIT_FSIZE raises SIGXFSZ. Both end a
//! program that does not expect them. The signal is held back in this thread only, so other threads
//! of the program keep theirs.

/// Runs `call` without delivering `signal`, which the kernel sends to the thread that causes it. Only the call
/// in question returns an error. The signal is blocked before, removed if it was raised during `call`, and
/// unblocked again. If the signal was pending before, it stays pending.
pub fn without_signal<T>(signal: libc::c_int, call: impl FnOnce() -> T) -> T {
    // SAFETY: sets are filled before they are read.
    unsafe {
        let mut held: libc::sigset_t = std::mem::zeroed();
        let mut before: libc::sigset_t = std::mem::zeroed();
        let mut pending: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut held);
        libc::sigaddset(&raw mut held, signal);
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const held, &raw mut before);
        libc::sigpending(&raw mut pending);
        let raised_before = libc::sigismember(&raw const pending, signal) == 1;
        let result = call();
        if !raised_before {
            let at_once = libc::timespec { tv_sec: 0, tv_nsec: 0 };
            libc::sigtimedwait(&raw const held, std::ptr::null_mut(), &raw const at_once);
        }
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, std::ptr::null_mut());
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_signal_of_a_closed_pipe_does_not_arrive() {
        let mut ends = [0; 2];
        // SAFETY: an array of two; both ends are closed here. The default action of SIGPIPE would
        // end the test (the test harness ignores it, so it is set for this process).
        unsafe {
            assert_eq!(libc::pipe(ends.as_mut_ptr()), 0);
            libc::close(ends[0]);
            let before = libc::signal(libc::SIGPIPE, libc::SIG_DFL);
            let written =
                without_signal(libc::SIGPIPE, || libc::write(ends[1], [0u8].as_ptr().cast(), 1));
            assert_eq!(written, -1);
            libc::signal(libc::SIGPIPE, before);
            libc::close(ends[1]);
        }
    }
}
