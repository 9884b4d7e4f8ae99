//! The exported functions and the slot table behind them.
//!
//! Every exported `MPI_X` is one instruction: a jump through its slot. A slot first points to a
//! stub that leads to the [`resolver`](crate::entry::resolver), which finds the MPI library, decides what
//! this call needs, stores the answer and jumps on: to the real function where nothing has to be done (cost:
//! one jump), else to our wrapper. The table has atomics, so that a slot can be pointed elsewhere while
//! other threads call through it. While calls are timed the slots of some hold a
//! [`thunk`] instead, which jumps on to what the slot would hold else.
//!
//! Limits: x86-64 with the System V calling convention.

#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
compile_error!("librankweave.so has entry points for x86-64 Linux only so far");

use crate::entry::next::COUNT;
use crate::entry::{noting_thunk, thunk, timed};
use crate::time::{self, Way};
use std::sync::atomic::{AtomicPtr, Ordering};

/// Declares the entry points: for each a slot, a resolver stub, and the exported names that jump through
/// the slot.
macro_rules! entry_points {
    ($($index:literal [$($name:ident)*])*) => {
        mod exported {
            $(super::entry_point!($index [$($name)*]);)*
        }

        /// Where each entry point jumps to.
        static SLOTS: [AtomicPtr<()>; COUNT] =
            [$(AtomicPtr::new(unresolved::<$index> as *const () as *mut ())),*];
    };
}

/// One entry point under all its names.
macro_rules! entry_point {
    ($index:literal [$($name:ident)*]) => {
        $(
            #[unsafe(naked)]
            #[unsafe(no_mangle)]
            #[allow(non_snake_case)]
            pub(super) unsafe extern "C" fn $name() {
                std::arch::naked_asm!(
                    "jmp qword ptr [rip + {slots} + 8 * {index}]",
                    slots = sym super::SLOTS,
                    index = const $index,
                )
            }
        )*
    };
}
use entry_point;

/// What slot `INDEX` points to at first.
#[unsafe(naked)]
unsafe extern "C" fn unresolved<const INDEX: usize>() {
    std::arch::naked_asm!(
        "mov r11d, {index}",
        "jmp rankweave_resolve",
        index = const INDEX,
    )
}

include!(concat!(env!("OUT_DIR"), "/slots.rs"));

/// Number of the entry point whose code is at `address`: the slot that its jump goes through.
///
/// # Safety
/// `address` is that of a function exported by this library.
pub unsafe fn at(address: usize) -> Option<usize> {
    // SAFETY: every function has at least the six bytes of an entry point (functions are aligned).
    unsafe {
        let code = address as *const u8;
        // jmp qword ptr [rip + displacement]
        if *code != 0xff || *code.add(1) != 0x25 {
            return None;
        }
        let displacement = code.add(2).cast::<i32>().read_unaligned() as isize;
        let slot = (address + 6).wrapping_add_signed(displacement);
        let offset = slot.checked_sub(SLOTS.as_ptr() as usize)?;
        (offset / 8 < COUNT).then_some(offset / 8)
    }
}

/// Points a slot that was called through, and holds `from`, elsewhere. A change of the level has
/// priority: it sets both words, so that the slot does not hold `from` any more.
pub fn exchange(index: usize, from: *const (), to: *const ()) {
    if !from.is_null() && !to.is_null() {
        let (from, to) = (from.cast_mut(), to.cast_mut());
        let _ = SLOTS[index].compare_exchange(from, to, Ordering::AcqRel, Ordering::Relaxed);
    }
}

/// Points a slot to `target`, untimed.
pub fn point(index: usize, target: *const ()) {
    timed::set_base(index, target);
    SLOTS[index].store(target.cast_mut(), Ordering::Release);
}

const _: () = assert!(COUNT <= time::MOST);

/// The thunk through which calls of entry `index` go just now, if they go through one.
pub fn thunk_now(index: usize) -> Option<*const ()> {
    match time::way(index) {
        _ if !timed::is_timed(index) => None,
        Way::Direct => None,
        Way::Timed => Some(thunk::of(index)),
        Way::Noted => Some(noting_thunk::of(index)),
    }
}

/// Points the slot of a call to where its calls go just now: to one of its thunks, or past them. May be done by
/// several threads at once.
pub fn point_timed(index: usize) {
    let base = timed::base(index);
    let target = thunk_now(index).unwrap_or(base);
    for from in [base, thunk::of(index), noting_thunk::of(index)] {
        if from != target {
            exchange(index, from, target);
        }
    }
}

/// Does so for all. To be called after slots were pointed elsewhere: at the start of a job, before other threads
/// open or close windows, and after its end.
pub fn changed() {
    (0..COUNT).filter(|&index| timed::is_timed(index)).for_each(point_timed);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::names::number;

    #[test]
    fn an_entry_point_is_known_by_its_code() {
        for index in [0, number("MPI_Send", "", 0), COUNT - 1] {
            let stub = SLOTS[index].load(Ordering::Relaxed) as usize;
            // SAFETY: a slot that was not called through yet holds a resolver, a function.
            let entry = unsafe { at(stub) };
            assert_eq!(entry, None, "a resolver is no entry point");
        }
        let entry = exported::MPI_Send as *const () as usize;
        // SAFETY: a function exported by this library.
        assert_eq!(unsafe { at(entry) }, Some(number("MPI_Send", "", 0)));
    }
}
