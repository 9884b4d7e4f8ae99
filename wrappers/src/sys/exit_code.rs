//! Calls a function when this process ends with an exit code of failure.
//!
//! Limits: a process that ends by a signal, `_exit` or `quick_exit` has no exit code that can be seen here.

use crate::sys::panic_barrier::guarded;
use libc::{c_int, c_void};
use std::sync::OnceLock;

/// What is called, and the process that asked for it: a process that it forks is another one.
static ON_FAILURE: OnceLock<(fn(c_int), u32)> = OnceLock::new();

unsafe extern "C" {
    /// glibc's `atexit` with the exit code.
    fn on_exit(function: unsafe extern "C" fn(c_int, *mut c_void), argument: *mut c_void) -> c_int;
}

/// Has a function called with the exit code when this process ends with another one than 0. The first
/// function that is given stays.
pub fn on_failure(function: fn(c_int)) {
    if ON_FAILURE.set((function, std::process::id())).is_ok() {
        // SAFETY: the function has the prototype that glibc asks for, and this library is never unloaded.
        // If there is no memory for one more function, it is not called.
        let _ = unsafe { on_exit(ended, std::ptr::null_mut()) };
    }
}

unsafe extern "C" fn ended(status: c_int, _argument: *mut c_void) {
    // What the parent sees of it.
    let code = status & 0xff;
    if code == 0 {
        return;
    }
    if let Some(&(function, process)) = ON_FAILURE.get()
        && process == std::process::id()
    {
        guarded(|| {
            function(code);
            Some(())
        });
    }
}
