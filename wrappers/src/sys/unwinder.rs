//! The unwinder that is linked into this library, and exceptions that another unwinder throws.
//!
//! An error handler of the program may throw a C++ exception, and a thread may be cancelled inside an MPI call. The
//! unwinder of the program then visits the frames of this library. For frames with destructors it calls Rust's
//! personality routine, which uses functions of the unwinder that is linked in here (`docs/decisions/0010`). These
//! look up the sizes of registers in a table, which an unwinder fills when it unwinds for the first time. This
//! unwinder has not unwound anything before. With an empty table it would end the process.
//!
//! Limit: both unwinders must describe a frame in the same way. All versions of libgcc for a processor do.

use libc::{c_int, c_void};
use std::sync::Once;

/// `_URC_END_OF_STACK`: no further frame is wanted.
const STOP: c_int = 5;

unsafe extern "C" {
    fn _Unwind_Backtrace(
        each: extern "C" fn(*mut c_void, *mut c_void) -> c_int,
        argument: *mut c_void,
    ) -> c_int;
}

extern "C" fn stop(_frame: *mut c_void, _argument: *mut c_void) -> c_int {
    STOP
}

/// Lets the unwinder fill its table, once in a process.
pub fn prepare() {
    static DONE: Once = Once::new();
    // SAFETY: the function visits the frame of its caller only, and the argument is not used.
    DONE.call_once(|| unsafe {
        _Unwind_Backtrace(stop, std::ptr::null_mut());
    });
}
