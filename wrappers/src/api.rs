//! The C interface for programs that know of rankweave: `include/rankweave.h`.

use libc::c_int;

/// Gives the version of the library that is loaded; either pointer may be null. Always 0.
///
/// # Safety
/// Each argument is null or the address of an int.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rankweave_version(major: *mut c_int, minor: *mut c_int) -> c_int {
    let number = |text: &str| text.parse().unwrap_or(0);
    let parts = [
        (major, number(env!("CARGO_PKG_VERSION_MAJOR"))),
        (minor, number(env!("CARGO_PKG_VERSION_MINOR"))),
    ];
    for (place, value) in parts {
        if !place.is_null() {
            // SAFETY: by contract.
            unsafe { *place = value };
        }
    }
    0
}

/// Has the matrix so far put into the store, as `kill -USR1` does; returns before it is there. Each
/// call is for the node of the caller. 0, or 1 if nothing is recorded or there is no spill file.
#[unsafe(no_mangle)]
pub extern "C" fn rankweave_flush() -> c_int {
    c_int::from(!crate::spill_flush::now())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_is_that_of_the_package() {
        let (mut major, mut minor) = (-1, -1);
        // SAFETY: two ints; then null pointers, which are allowed.
        unsafe {
            assert_eq!(rankweave_version(&raw mut major, &raw mut minor), 0);
            assert_eq!(rankweave_version(std::ptr::null_mut(), std::ptr::null_mut()), 0);
        }
        assert!(env!("CARGO_PKG_VERSION").starts_with(&format!("{major}.{minor}.")));
    }
}
