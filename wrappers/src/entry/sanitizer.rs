//! The options that AddressSanitizer asks a program for before it begins.
//!
//! The runtime of gcc's `-fsanitize=address` (and of clang's with `-shared-libasan`) ends a program if the
//! runtime is not the first library of the process. This library is preloaded, so the runtime comes after
//! it. The order does no harm, because this library defines no function that the runtime replaces. The runtime
//! asks `__asan_default_options`, which any object may define, for options. Options that the user sets in
//! ASAN_OPTIONS have priority over them. The answer here switches the check of the order off. Programs that
//! define the function themselves keep theirs; `rankweave run` sets ASAN_OPTIONS for them.

use libc::{RTLD_NEXT, c_char, c_void, dlsym};
use std::cell::UnsafeCell;
use std::ffi::CStr;

/// Switches the check of the order of libraries off.
const OPTION: &[u8] = b"verify_asan_link_order=0";
const ROOM: usize = 4096;

/// The answer, which the runtime reads after the call.
struct Answer(UnsafeCell<[u8; ROOM]>);

// SAFETY: written by the runtime's only call, before the process has a second thread.
unsafe impl Sync for Answer {}

static ANSWER: Answer = Answer(UnsafeCell::new([0; ROOM]));

type Options = unsafe extern "C" fn() -> *const c_char;

/// Options of AddressSanitizer: the option above, and the options of the next object that defines this
/// function. Called by the runtime before anything else; allocates nothing.
#[unsafe(no_mangle)]
pub extern "C" fn __asan_default_options() -> *const c_char {
    // SAFETY: finds the function behind this one: in a library of the program, or that of the runtime.
    let next = unsafe { dlsym(RTLD_NEXT, c"__asan_default_options".as_ptr()) };
    let given = match next.is_null() {
        true => std::ptr::null(),
        // SAFETY: a function of this name has this type.
        false => unsafe { std::mem::transmute::<*mut c_void, Options>(next)() },
    };
    let given: &[u8] = match given.is_null() {
        true => &[],
        // SAFETY: the function gives a string.
        false => unsafe { CStr::from_ptr(given) }.to_bytes(),
    };
    // SAFETY: see `Answer`.
    let answer = unsafe { &mut *ANSWER.0.get() };
    write(answer, given);
    answer.as_ptr().cast()
}

/// Writes the option, and behind it the given options, which have priority because they come later. If there is
/// no room for both, writes the given options only.
fn write(answer: &mut [u8; ROOM], given: &[u8]) {
    let parts: [&[u8]; 3] = match given.len() + OPTION.len() + 2 <= ROOM {
        true if given.is_empty() => [OPTION, b"", b""],
        true => [OPTION, b":", given],
        false => [&given[..given.len().min(ROOM - 1)], b"", b""],
    };
    for (place, byte) in answer.iter_mut().zip(parts.into_iter().flatten().chain(b"\0")) {
        *place = *byte;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_others_stay() {
        let of = |given: &[u8]| {
            let mut answer = [b'x'; ROOM];
            write(&mut answer, given);
            CStr::from_bytes_until_nul(&answer).unwrap().to_bytes().to_vec()
        };
        assert_eq!(of(b""), OPTION);
        assert_eq!(of(b"a=1"), b"verify_asan_link_order=0:a=1");
        let long = vec![b'y'; ROOM + 5];
        assert_eq!(of(&long).len(), ROOM - 1);
        assert_eq!(of(&long[..ROOM - 20]), &long[..ROOM - 20]);
    }
}
