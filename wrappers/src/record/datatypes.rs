//! Sizes of datatypes, by their handles.
//!
//! Predefined datatypes are never freed. A derived datatype gets an attribute whose delete callback removes its
//! size from the table, because its handle may be reused for a datatype of another size.
//!
//! To set the attribute takes longer than to ask MPI for the size several times. A size is therefore kept only
//! after [`BEFORE_KEPT`] uses: programs that make a datatype for one message do not pay for the attribute.
//!
//! Limits: the uses of some hundred datatypes are counted. If a program uses more datatypes by turns, MPI is
//! asked for their sizes each time.

use crate::mpi::abi::{Abi, Handle};
use crate::mpi::attribute;
use crate::mpi::pmpi::pmpi;
use crate::record::registry::{Node, Registry, SCATTER};
use crate::record::thread::{self, Size, Thread};
use crate::sys::panic_barrier::guarded;
use libc::{c_int, c_void};
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};

/// Sizes in bytes.
pub static SIZES: Registry<Size> = Registry::new();
/// Uses of a datatype in which its size is asked for, before it is kept.
const BEFORE_KEPT: u64 = 4;
/// Each word has the handle of a datatype that was used (upper 56 bits) and how often (lower 8 bits). A hash
/// gives two possible words for each handle. Threads may lose each other's counts: the numbers only decide when
/// a size is worth keeping.
static USES: [AtomicU64; 1024] = [const { AtomicU64::new(0) }; 1024];
/// The bits of a word in [`USES`] that count the uses.
const NUMBER: u64 = 0xff;

/// The two words of a handle in [`USES`], and the value of a word for this handle without a use.
fn uses(bits: u64) -> ([&'static AtomicU64; 2], u64) {
    let first = (bits.wrapping_mul(SCATTER) >> 54) as usize;
    ([&USES[first], &USES[first ^ 1]], bits << 8)
}

/// Whether a datatype was used so often that its size is worth keeping. If not, this use is counted.
fn is_worth_keeping(bits: u64) -> bool {
    let (places, none) = uses(bits);
    let words = places.map(|place| place.load(Ordering::Relaxed));
    if let Some(i) = words.iter().position(|word| word & !NUMBER == none) {
        if words[i] & NUMBER >= BEFORE_KEPT {
            return true;
        }
        places[i].store(words[i] + 1, Ordering::Relaxed);
    } else {
        // The datatype with fewer uses is forgotten.
        let i = usize::from(words[1] & NUMBER < words[0] & NUMBER);
        places[i].store(none + 1, Ordering::Relaxed);
    }
    false
}

/// Sets the number of uses of a handle to 0, because the next datatype with this handle is another one.
fn forget_uses(bits: u64) {
    let (places, none) = uses(bits);
    for place in places.into_iter().filter(|p| p.load(Ordering::Relaxed) & !NUMBER == none) {
        place.store(none, Ordering::Relaxed);
    }
}

/// The value of [`KEYVAL`] if no keyval could be made. No MPI library has a keyval of this value.
const NO_KEYVAL: c_int = -1;
static KEYVAL: AtomicI32 = AtomicI32::new(NO_KEYVAL);

/// Makes the keyval whose delete callback MPI calls when a datatype is freed.
pub fn start<A: Abi>() {
    let keyval = attribute::keyval::<A::Datatype>(deleted::<A>, |copy, delete, keyval| {
        // SAFETY: MPI is initialised; both callbacks have the standard's prototypes.
        unsafe { pmpi::<A>().type_create_keyval(copy, delete, keyval, std::ptr::null_mut()) }
    });
    if let Some(keyval) = keyval {
        KEYVAL.store(keyval, Ordering::Release);
    }
}

unsafe extern "C" fn deleted<A: Abi>(
    datatype: A::Datatype,
    _keyval: c_int,
    _value: *mut c_void,
    _extra: *mut c_void,
) -> c_int {
    guarded(|| {
        forget(datatype.bits());
        Some(())
    });
    0
}

/// Forgets the datatype of this handle, because it is being freed.
fn forget(bits: u64) {
    let gone = |size: &Size| {
        size.bytes.store(0, Ordering::Relaxed);
        Some(size.in_collective.load(Ordering::Relaxed))
    };
    if SIZES.remove(bits, gone) == Some(true) {
        thread::freed();
    }
    forget_uses(bits);
}

/// Forgets all sizes, so that MPI is asked for them again.
pub fn forget_all() {
    SIZES.clear(|_| ());
}

/// Size of `datatype` in bytes; 0 if it is invalid.
#[inline(always)]
pub fn size<A: Abi>(thread: &Thread, datatype: A::Datatype) -> u64 {
    known(thread, datatype.bits()).unwrap_or_else(|| ask::<A>(datatype))
}

/// Size of `datatype` in bytes for a collective call, and whether the call may be identified by the handle
/// until the datatype is freed.
#[inline(always)]
pub fn size_in_collective<A: Abi>(thread: &Thread, datatype: A::Datatype) -> (u64, bool) {
    let size = size::<A>(thread, datatype);
    // SAFETY: nodes are never given back.
    let node = unsafe { thread.datatype.load(Ordering::Relaxed).as_ref() };
    let Some(node) = node.filter(|node| node.is(datatype.bits())) else { return (size, false) };
    if !node.value.in_collective.load(Ordering::Relaxed) {
        node.value.in_collective.store(true, Ordering::Relaxed);
    }
    (size, true)
}

/// Size of the datatype of this handle, if the size is kept.
#[inline(always)]
pub fn known(thread: &Thread, bits: u64) -> Option<u64> {
    // SAFETY: nodes are never given back.
    let last = unsafe { thread.datatype.load(Ordering::Relaxed).as_ref() };
    let node = match last {
        Some(last) if last.is(bits) => last,
        _ => {
            let found = SIZES.get(bits)?;
            keep(thread, found);
            found
        }
    };
    Some(node.value.bytes.load(Ordering::Relaxed))
}

/// Makes a datatype the one that the thread used last.
#[inline(always)]
fn keep(thread: &Thread, node: &'static Node<Size>) {
    thread.datatype.store(std::ptr::from_ref(node).cast_mut(), Ordering::Relaxed);
}

#[cold]
#[inline(never)]
fn ask<A: Abi>(datatype: A::Datatype) -> u64 {
    if datatype.bits() == 0 || datatype == A::datatype_null() {
        return 0;
    }
    let (mpi, bits) = (pmpi::<A>(), datatype.bits());
    let (mut size, mut small) = (-1i64, -1);
    // SAFETY: the handle is one that the program passes to MPI right now.
    unsafe {
        if mpi.type_size(datatype, &raw mut small) != 0 {
            return 0;
        }
        if small == A::UNDEFINED && mpi.type_size_x(datatype, &raw mut size) != 0 {
            return 0;
        }
    }
    let size = if small >= 0 { small as u64 } else { size.max(0) as u64 };
    if !is_worth_keeping(bits) {
        return size;
    }
    let (mut i, mut a, mut t, mut combiner) = (0, 0, 0, A::COMBINER_NAMED);
    // SAFETY: the same handle.
    let _ = unsafe {
        mpi.type_get_envelope(datatype, &raw mut i, &raw mut a, &raw mut t, &raw mut combiner)
    };
    let fill = |value: &Size| {
        value.bytes.store(size, Ordering::Relaxed);
        value.in_collective.store(false, Ordering::Relaxed);
    };
    let keyval = KEYVAL.load(Ordering::Acquire);
    if combiner != A::COMBINER_NAMED && keyval == NO_KEYVAL {
        // MPI would raise an error for an attribute without a valid keyval, which can end the program.
        return size;
    }
    let node = match SIZES.insert(bits, fill) {
        // Another thread added the datatype first, and sets the attribute.
        Err(node) => node,
        Ok(node) if combiner == A::COMBINER_NAMED => node,
        Ok(node) => {
            // SAFETY: a valid derived type and keyval; the value is never read. MPI is called with no lock
            // held: it may call back.
            if unsafe { mpi.type_set_attr(datatype, keyval, std::ptr::null_mut()) } != 0 {
                // Without the attribute, the library would not learn when the datatype is freed.
                forget(bits);
                return size;
            }
            node
        }
    };
    keep(thread::current(), node);
    size
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_is_kept_after_several_uses_and_not_after_one() {
        let handles = |k: u64| 0x7f00_1234_0000 + 352 * k;
        let mut kept = 0;
        for _ in 0..=BEFORE_KEPT {
            kept = (0..64).filter(|&k| is_worth_keeping(handles(k))).count();
        }
        assert!(kept > 60, "{kept}");
        assert!((0..64).all(|k| {
            forget_uses(handles(k));
            !is_worth_keeping(handles(k))
        }));
        for _ in 0..20 {
            kept = (100..100_000).filter(|&k| is_worth_keeping(handles(k))).count();
        }
        assert!(kept <= USES.len(), "{kept}");
    }
}
