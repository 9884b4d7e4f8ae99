//! The world the program sees: MPI_COMM_WORLD, or the reordered communicator in its place.

use crate::mpi::abi::{Abi, Handle};
use crate::mpi::attribute;
use crate::mpi::pmpi::pmpi;
use libc::{c_int, c_void};
use parking_lot::RwLock;
use std::sync::atomic::{AtomicI32, AtomicI64, AtomicU64, Ordering};

/// Bits of the replacement; 0 = the world is not replaced.
static REPLACEMENT: AtomicU64 = AtomicU64::new(0);
/// The replacement's Fortran handle, passed by address.
static IN_FORTRAN: AtomicI32 = AtomicI32::new(0);

/// The communicator to use where the program passes `comm`.
#[inline(always)]
pub fn effective<A: Abi>(comm: A::Comm) -> A::Comm {
    if comm == A::comm_world() {
        let replacement = REPLACEMENT.load(Ordering::Relaxed);
        if replacement != 0 {
            return A::Comm::from_bits(replacement);
        }
    }
    comm
}

/// The replacement of the world, if there is one.
pub fn replacement<A: Abi>() -> Option<A::Comm> {
    match REPLACEMENT.load(Ordering::Acquire) {
        0 => None,
        bits => Some(A::Comm::from_bits(bits)),
    }
}

/// No keyval.
const NONE: i64 = i64::MAX;
/// The keyval of an attribute that the replacement and its duplicates have.
static MARK: AtomicI64 = AtomicI64::new(NONE);

/// Marks the replacement. Its duplicates, and theirs, inherit the mark.
///
/// Open MPI copies the predefined attributes of MPI_COMM_WORLD (MPI_TAG_UB and others) to its duplicates. The replacement
/// has none of them, and they cannot be set. So a duplicate that lacks an attribute is known by its mark.
pub fn mark<A: Abi>(replacement: A::Comm) {
    let mpi = pmpi::<A>();
    let keyval = attribute::inherited_keyval::<A::Comm>(|copy, delete, keyval| {
        // SAFETY: MPI is initialised; both callbacks have the standard's prototypes.
        unsafe { mpi.comm_create_keyval(copy, delete, keyval, std::ptr::null_mut()) }
    });
    let Some(keyval) = keyval else { return };
    // SAFETY: a valid communicator and keyval; the value is never read.
    if unsafe { mpi.comm_set_attr(replacement, keyval, std::ptr::null_mut()) } == 0 {
        MARK.store(i64::from(keyval), Ordering::Release);
    }
}

/// Whether a communicator is the replacement or one of its duplicates. `comm` must be valid.
pub fn is_marked<A: Abi>(comm: A::Comm) -> bool {
    let Ok(keyval) = c_int::try_from(MARK.load(Ordering::Acquire)) else { return false };
    let (mut value, mut flag): (*mut c_void, c_int) = (std::ptr::null_mut(), 0);
    // SAFETY: a valid communicator and keyval; both outputs are writable.
    let code =
        unsafe { pmpi::<A>().comm_get_attr(comm, keyval, (&raw mut value).cast(), &raw mut flag) };
    code == 0 && flag != 0
}

/// The communicator whose ranks are the tasks, in a job of sessions; 0 = the ranks of the world are the tasks.
static BASE: AtomicU64 = AtomicU64::new(0);

/// Makes the ranks of `comm` the tasks.
pub fn set_base<A: Abi>(comm: Option<A::Comm>) {
    BASE.store(comm.map_or(0, Handle::bits), Ordering::Release);
}

/// The communicator whose ranks are the tasks.
pub fn tasks<A: Abi>() -> A::Comm {
    match BASE.load(Ordering::Acquire) {
        0 => effective::<A>(A::comm_world()),
        bits => A::Comm::from_bits(bits),
    }
}

/// Process of each task, while the world is replaced.
static ORDER: RwLock<Vec<c_int>> = RwLock::new(Vec::new());

/// Keeps the order of the replaced world, for groups that are made from a process set.
pub fn set_order(process_of_task: &[u32]) {
    *ORDER.write() = process_of_task.iter().map(|&p| p as c_int).collect();
}

/// Replaces a group of all processes in launcher order by one in the order of the tasks.
///
/// # Safety
/// `group` holds a group that was just made and belongs to the caller.
pub unsafe fn order_group<A: Abi>(group: *mut A::Group) {
    let order = ORDER.read();
    let mpi = pmpi::<A>();
    // SAFETY: a valid group; the ranks are a permutation of it.
    unsafe {
        let (mut size, mut ordered) = (0, *group);
        if mpi.group_size(*group, &raw mut size) != 0
            || order.is_empty()
            || order.len() != size as usize
            || mpi.group_incl(*group, size, order.as_ptr(), &raw mut ordered) != 0
        {
            return;
        }
        let _ = mpi.group_free(group);
        *group = ordered;
    }
}

/// Replaces the world by a communicator, or, with `None`, ends the replacement.
pub fn replace<A: Abi>(comm: Option<A::Comm>) {
    if let Some(comm) = comm {
        IN_FORTRAN.store(A::comm_to_fortran(comm), Ordering::Release);
    }
    REPLACEMENT.store(comm.map_or(0, Handle::bits), Ordering::Release);
}

/// Address of the replacement's Fortran handle, if the world is replaced.
pub fn replacement_in_fortran() -> Option<*mut c_int> {
    (REPLACEMENT.load(Ordering::Relaxed) != 0).then_some(IN_FORTRAN.as_ptr())
}

/// Address of the replacement's handle, if the world is replaced. A handle of less than 64 bits is in the first
/// bytes at this address (little-endian).
pub fn replacement_in_place() -> Option<*mut c_void> {
    (REPLACEMENT.load(Ordering::Relaxed) != 0).then_some(REPLACEMENT.as_ptr().cast())
}
