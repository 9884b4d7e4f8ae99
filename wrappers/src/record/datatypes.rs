//! Sizes of datatypes, cached per thread.
//!
//! Predefined types never go away. A derived type gets an attribute whose delete callback clears
//! the caches, because its handle may be reused for a type of another size.

use crate::mpi::abi::{Abi, Handle};
use crate::mpi::attribute;
use crate::mpi::pmpi::pmpi;
use crate::record::counters;
use crate::record::thread::{self, DATATYPES, Thread};
use libc::{c_int, c_void};
use parking_lot::Mutex;
use std::collections::HashSet;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicI32, Ordering};

static KEYVAL: AtomicI32 = AtomicI32::new(-1);
/// Derived types that have our attribute.
static MARKED: LazyLock<Mutex<HashSet<u64>>> = LazyLock::new(Mutex::default);

/// Makes the keyval whose delete callback tells that a datatype is gone.
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
    let bits = datatype.bits();
    MARKED.lock().remove(&bits);
    counters::for_each_thread(|thread| drop_from(thread, bits));
    0
}

/// Size of `datatype` in bytes; 0 if it is invalid.
#[inline(always)]
pub fn size<A: Abi>(thread: &Thread, datatype: A::Datatype) -> u64 {
    if thread.datatype.load(Ordering::Relaxed) == datatype.bits() {
        return thread.datatype_size.load(Ordering::Relaxed);
    }
    again(thread, datatype.bits()).unwrap_or_else(|| ask::<A>(datatype))
}

/// Place of a datatype in a thread's table.
fn place(bits: u64) -> usize {
    (bits ^ bits >> 4 ^ bits >> 9) as usize % DATATYPES
}

/// Makes a datatype that this thread has used before the last one; its size.
#[inline(never)]
fn again(thread: &Thread, bits: u64) -> Option<u64> {
    let (known, size) = &thread.datatypes[place(bits)];
    if bits == 0 || known.load(Ordering::Relaxed) != bits {
        return None;
    }
    let size = size.load(Ordering::Relaxed);
    thread.datatype_size.store(size, Ordering::Relaxed);
    thread.datatype.store(bits, Ordering::Relaxed);
    Some(size)
}

/// Makes a thread forget a datatype.
fn drop_from(thread: &Thread, bits: u64) {
    if thread.collective_type.load(Ordering::Relaxed) == bits {
        thread.collective_calls.store(std::ptr::null_mut(), Ordering::Relaxed);
    }
    thread::clear(&thread.datatype, bits);
    for (known, _) in &thread.datatypes {
        thread::clear(known, bits);
    }
}

/// Makes a thread forget all datatypes.
pub fn drop_all(thread: &Thread) {
    thread.datatype.store(thread::GONE, Ordering::Relaxed);
    for (known, _) in &thread.datatypes {
        known.store(thread::GONE, Ordering::Relaxed);
    }
}

#[cold]
#[inline(never)]
fn ask<A: Abi>(datatype: A::Datatype) -> u64 {
    if datatype.bits() == 0 || datatype == A::datatype_null() {
        return 0;
    }
    let mpi = pmpi::<A>();
    let (mut size, mut small) = (-1i64, -1);
    let (mut i, mut a, mut t, mut combiner) = (0, 0, 0, A::COMBINER_NAMED);
    // SAFETY: the handle is one that the program passes to MPI right now.
    unsafe {
        if mpi.type_size(datatype, &raw mut small) != 0 {
            return 0;
        }
        if small == A::UNDEFINED && mpi.type_size_x(datatype, &raw mut size) != 0 {
            return 0;
        }
        if small >= 0 {
            size = i64::from(small);
        }
        let _ =
            mpi.type_get_envelope(datatype, &raw mut i, &raw mut a, &raw mut t, &raw mut combiner);
    }
    let size = size.max(0) as u64;
    if combiner != A::COMBINER_NAMED && !MARKED.lock().contains(&datatype.bits()) {
        let keyval = KEYVAL.load(Ordering::Acquire);
        // SAFETY: a valid derived type and keyval; the value is never read.
        let code = unsafe { mpi.type_set_attr(datatype, keyval, std::ptr::null_mut()) };
        if code != 0 {
            return size;
        }
        MARKED.lock().insert(datatype.bits());
    }
    let thread = thread::current();
    let (known, known_size) = &thread.datatypes[place(datatype.bits())];
    known_size.store(size, Ordering::Relaxed);
    known.store(datatype.bits(), Ordering::Relaxed);
    thread.datatype.store(datatype.bits(), Ordering::Relaxed);
    thread.datatype_size.store(size, Ordering::Relaxed);
    size
}
