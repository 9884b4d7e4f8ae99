//! What the library says: single lines on stderr, from one process of the job, never on stdout.

use std::sync::atomic::{AtomicBool, Ordering};

static SAID: AtomicBool = AtomicBool::new(false);

/// Prints one line on stderr.
pub fn line(text: &str) {
    let mut bytes = Vec::with_capacity(text.len() + 12);
    bytes.extend_from_slice(b"rankweave: ");
    bytes.extend_from_slice(text.as_bytes());
    bytes.push(b'\n');
    // SAFETY: the buffer is valid for its length; one write keeps the line whole. A failure (closed
    // stderr) is of no interest to the program, nor is the SIGPIPE that would come with it: the
    // signal is held back in this thread, taken off if the write raised it, and let through again.
    unsafe {
        let mut pipe: libc::sigset_t = std::mem::zeroed();
        let mut before: libc::sigset_t = std::mem::zeroed();
        let mut pending: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut pipe);
        libc::sigaddset(&raw mut pipe, libc::SIGPIPE);
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const pipe, &raw mut before);
        libc::sigpending(&raw mut pending);
        let raised_before = libc::sigismember(&raw const pending, libc::SIGPIPE) == 1;
        let written = libc::write(2, bytes.as_ptr().cast(), bytes.len());
        if written < 0 && !raised_before {
            let at_once = libc::timespec { tv_sec: 0, tv_nsec: 0 };
            libc::sigtimedwait(&raw const pipe, std::ptr::null_mut(), &raw const at_once);
        }
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, std::ptr::null_mut());
    }
}

/// Prints one line on stderr, the first time only: for trouble that every process may meet.
pub fn once(text: &str) {
    if !SAID.swap(true, Ordering::Relaxed) {
        line(text);
    }
}
