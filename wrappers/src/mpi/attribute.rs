//! Attribute callbacks shared by communicators, datatypes and windows.

use libc::{c_int, c_void};

/// A delete callback, as all kinds of objects have it.
pub type Deleted<H> = unsafe extern "C" fn(H, c_int, *mut c_void, *mut c_void) -> c_int;
type Copied<H> =
    unsafe extern "C" fn(H, c_int, *mut c_void, *mut c_void, *mut c_void, *mut c_int) -> c_int;

/// A new keyval. Its values are not copied to duplicates, and its delete callback reports that an object is freed.
/// `create` calls MPI with the addresses of both callbacks and of the keyval.
pub fn keyval<H>(
    deleted: Deleted<H>,
    create: impl FnOnce(*mut c_void, *mut c_void, *mut c_int) -> c_int,
) -> Option<c_int> {
    with_callbacks(never_copied::<H>, deleted, create)
}

/// A new keyval whose values are copied to duplicates. `create` is as in [`keyval`].
pub fn inherited_keyval<H>(
    create: impl FnOnce(*mut c_void, *mut c_void, *mut c_int) -> c_int,
) -> Option<c_int> {
    with_callbacks(always_copied::<H>, forgotten::<H>, create)
}

fn with_callbacks<H>(
    copied: Copied<H>,
    deleted: Deleted<H>,
    create: impl FnOnce(*mut c_void, *mut c_void, *mut c_int) -> c_int,
) -> Option<c_int> {
    let mut keyval = -1;
    (create(copied as *mut c_void, deleted as *mut c_void, &raw mut keyval) == 0).then_some(keyval)
}

/// A copy callback that always copies.
///
/// # Safety
/// Called by MPI with the standard's arguments: `copy` and `flag` are valid outputs.
unsafe extern "C" fn always_copied<H>(
    _old: H,
    _keyval: c_int,
    _extra: *mut c_void,
    value: *mut c_void,
    copy: *mut c_void,
    flag: *mut c_int,
) -> c_int {
    if !copy.is_null() && !flag.is_null() {
        // SAFETY: MPI passes the addresses of the new value and of a flag to set; both were checked for null.
        unsafe {
            *copy.cast::<*mut c_void>() = value;
            *flag = 1;
        }
    }
    0
}

/// A delete callback that has nothing to do.
unsafe extern "C" fn forgotten<H>(_: H, _: c_int, _: *mut c_void, _: *mut c_void) -> c_int {
    0
}

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
        // SAFETY: MPI passes the address of a flag to set; it was checked for null.
        unsafe { *flag = 0 };
    }
    0
}
