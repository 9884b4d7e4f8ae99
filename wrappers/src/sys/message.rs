//! Messages of the library: single lines on stderr, never on stdout.

use crate::sys::signal::without_signal;
use std::sync::atomic::{AtomicBool, Ordering};

static SAID: AtomicBool = AtomicBool::new(false);

/// Prints one line on stderr.
pub fn line(text: &str) {
    let mut bytes = Vec::with_capacity(text.len() + 12);
    bytes.extend_from_slice(b"rankweave: ");
    bytes.extend_from_slice(text.as_bytes());
    bytes.push(b'\n');
    // If stderr is closed, the error is ignored, and the signal that it raises is kept from the program.
    without_signal(libc::SIGPIPE, || {
        // SAFETY: the buffer is valid for its length; one write keeps the line whole.
        unsafe { libc::write(2, bytes.as_ptr().cast(), bytes.len()) }
    });
}

/// Prints one line on stderr, once in each process, whatever the text of later calls is.
pub fn once(text: &str) {
    if !SAID.swap(true, Ordering::Relaxed) {
        line(text);
    }
}
