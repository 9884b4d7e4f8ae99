//! The exported functions and the slot table behind them.
//!
//! Every exported `MPI_X` is one instruction: a jump through its slot. At first a slot points to a stub that
//! leads to the [`resolver`](crate::entry::resolver). The resolver finds the MPI library, decides where this
//! slot has to point, stores the address, and jumps there. This is the next function if the library has nothing
//! to do (the cost is one jump), and otherwise the wrapper. The slots are atomics, so a slot can be
//! changed while other threads call through it. While the calls of a slot are timed or noted, the slot holds a
//! [`thunk`], which jumps on to the address that the slot would hold otherwise.

use crate::arch;
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
                $crate::arch::jump_through!(super::SLOTS, $index)
            }
        )*
    };
}
use entry_point;

/// The stub to which slot `INDEX` points at first.
#[unsafe(naked)]
unsafe extern "C" fn unresolved<const INDEX: usize>() {
    arch::unresolved!(INDEX)
}

include!(concat!(env!("OUT_DIR"), "/slots.rs"));

/// Number of the entry point whose code is at `address`: the slot that its jump goes through.
///
/// # Safety
/// `address` is that of a function exported by this library.
pub unsafe fn at(address: usize) -> Option<usize> {
    // SAFETY: as the caller says.
    let slot = unsafe { arch::slot_of(address) }?;
    let offset = slot.checked_sub(SLOTS.as_ptr() as usize)?;
    (offset / 8 < COUNT).then_some(offset / 8)
}

/// Points a slot that was resolved from `from` to `to`, if it holds `from`. A change of the level has priority:
/// it sets the slot and its base, so the slot does not hold `from` any more.
pub fn exchange(index: usize, from: *const (), to: *const ()) {
    if !from.is_null() && !to.is_null() {
        let (from, to) = (from.cast_mut(), to.cast_mut());
        let _ = SLOTS[index].compare_exchange(from, to, Ordering::AcqRel, Ordering::Relaxed);
    }
}

/// Points a slot to `target`, without timing.
pub fn point(index: usize, target: *const ()) {
    timed::set_base(index, target);
    SLOTS[index].store(target.cast_mut(), Ordering::Release);
}

const _: () = assert!(COUNT <= time::MOST);

/// The thunk through which calls of entry point `index` have to go at present, if there is one.
pub fn thunk_now(index: usize) -> Option<*const ()> {
    match time::way(index) {
        _ if !timed::is_timed(index) => None,
        Way::Direct => None,
        Way::Timed => Some(thunk::of(index)),
        Way::Noted => Some(noting_thunk::of(index)),
    }
}

/// Points the slot of a timed entry point to the thunk that its calls have to go through at present, or past
/// the thunks. Several threads may do this at once.
pub fn point_timed(index: usize) {
    let base = timed::base(index);
    let target = thunk_now(index).unwrap_or(base);
    for from in [base, thunk::of(index), noting_thunk::of(index)] {
        if from != target {
            exchange(index, from, target);
        }
    }
}

/// Does this for all timed entry points. To be called after the level has changed, and when timing begins or
/// ends.
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
