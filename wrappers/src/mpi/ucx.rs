//! UCX, the communication library below many MPI libraries: its warnings.
//!
//! UCX writes its warnings to standard output. When MPI is finalised, it warns of each request that is not
//! finished. If some processes of a job run without the library, such a request of the library is left, and the
//! program's output would contain a line that the program did not write.

use libc::{c_char, c_int};
use std::ffi::CStr;

/// `ucs_status_t ucs_global_opts_set_value(const char *name, const char *value)`.
type SetValue = unsafe extern "C" fn(*const c_char, *const c_char) -> c_int;

const LIBRARY: &CStr = c"libucs.so.0";
const FUNCTION: &CStr = c"ucs_global_opts_set_value";

/// Limits the messages of UCX to errors, from now on. To be called if a request stays unfinished. Does nothing
/// without UCX.
pub fn only_errors() {
    // SAFETY: C strings. With RTLD_NOLOAD nothing is loaded; the handle keeps the library where it is.
    let function = unsafe {
        let library = libc::dlopen(LIBRARY.as_ptr(), libc::RTLD_NOLOAD | libc::RTLD_LAZY);
        if library.is_null() {
            return;
        }
        libc::dlsym(library, FUNCTION.as_ptr())
    };
    if function.is_null() {
        return;
    }
    // SAFETY: the function of this name has this type in all versions of UCX since 1.0. It copies its arguments.
    unsafe {
        let set: SetValue = std::mem::transmute::<*mut libc::c_void, SetValue>(function);
        let _ = set(c"LOG_LEVEL".as_ptr(), c"error".as_ptr());
    }
}
