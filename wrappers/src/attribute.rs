//! Attribute callbacks shared by communicators, datatypes and windows.

use libc::{c_int, c_void};

/// A copy callback that never copies: duplicates start without our attribute.
///
/// # Safety
/// Called by MPI with the standard's arguments: `flag` is a valid output.
pub unsafe extern "C" fn never_copied<H>(
    _old: H,
    _keyval: c_int,
    _extra: *mut c_void,
    _value: *mut c_void,
    _copy: *mut c_void,
    flag: *mut c_int,
) -> c_int {
    if !flag.is_null() {
        // SAFETY: by contract.
        unsafe { *flag = 0 };
    }
    0
}
