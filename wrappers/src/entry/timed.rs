//! Which entry points are timed, and the address to which a call goes after the thunk.

use crate::arch::REGISTERS;
use crate::entry::names::real_name;
use crate::entry::next::{C_COUNT, COUNT};
use std::sync::atomic::{AtomicPtr, Ordering};

include!(concat!(env!("OUT_DIR"), "/timed.rs"));

/// How a call is timed: 0 if it is not, else 1 and the number of its arguments that lie on the stack, and 128 for one
/// whose entry has no other purpose.
pub static TIMED: [u8; COUNT] = with_words_on_stack(ARGUMENTS);

/// Takes from the numbers of arguments those in registers.
const fn with_words_on_stack(arguments: &[u8; COUNT]) -> [u8; COUNT] {
    let mut timed = *arguments;
    let mut index = 0;
    while index < COUNT {
        let (number, only) = (arguments[index] & 127, arguments[index] & 128);
        if number > 0 {
            timed[index] = 1 + (number - 1).saturating_sub(REGISTERS as u8) + only;
        }
        index += 1;
    }
    timed
}

/// The address that each slot holds while its calls are not timed; null until the slot was resolved.
pub static BASE: [AtomicPtr<()>; COUNT] = [const { AtomicPtr::new(std::ptr::null_mut()) }; COUNT];

/// True if calls of an entry point are timed.
pub fn is_timed(index: usize) -> bool {
    TIMED[index] != 0
}

/// True if an entry point exists only so that its calls can be timed.
pub fn is_only_timed(index: usize) -> bool {
    TIMED[index] & 128 != 0
}

/// How many arguments of a timed call lie on the stack.
pub fn words_on_stack(index: usize) -> u64 {
    u64::from(TIMED[index] & 127).saturating_sub(1)
}

/// True if a C entry point wraps the function with this profiling name, and not only to time it. Letters may have another case,
/// as in names of Fortran.
pub fn wraps(profiling: &[u8]) -> bool {
    let is = |index| real_name(index, false).to_bytes().eq_ignore_ascii_case(profiling);
    (0..C_COUNT).any(|index| !is_only_timed(index) && is(index))
}

/// The address that the slot holds while its calls are not timed; null if it was not resolved yet.
#[inline]
pub fn base(index: usize) -> *const () {
    BASE[index].load(Ordering::Acquire)
}

/// Sets this address.
pub fn set_base(index: usize, target: *const ()) {
    BASE[index].store(target.cast_mut(), Ordering::Release);
}
