//! Calls a function when this process ends with an exit code of failure.
//!
//! Limits: a process that ends by a signal, `_exit` or `quick_exit` has no exit code that can be seen here.

use crate::sys::panic_barrier::guarded;
use libc::{c_int, c_void};
use std::sync::OnceLock;

/// The function, and the process that registered it. In a process that is forked later it is not called.
static ON_FAILURE: OnceLock<(fn(c_int), u32)> = OnceLock::new();

unsafe extern "C" {
    /// glibc's `atexit` with the exit code.
    fn on_exit(function: unsafe extern "C" fn(c_int, *mut c_void), argument: *mut c_void) -> c_int;
}

/// Registers a function that is called with the exit code when this process ends with an exit code other than
/// 0. Only the first function that is registered is called.
pub fn on_failure(function: fn(c_int)) {
    if ON_FAILURE.set((function, std::process::id())).is_ok() {
        // SAFETY: the function has the prototype that glibc asks for, and this library is never unloaded.
        // If there is no memory for one more function, it is not called.
        let _ = unsafe { on_exit(ended, std::ptr::null_mut()) };
    }
}

unsafe extern "C" fn ended(status: c_int, _argument: *mut c_void) {
    // The part of the status that the parent process gets.
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
