//! Communicators in use, by their handles.
//!
//! An entry is made when something is first recorded on a communicator. It is removed when the communicator is
//! freed. The library learns this from the delete callback of an attribute, which MPI calls for every language
//! and for every function that frees a communicator.
//!
//! The table owns the entries. Each thread keeps the address of the node of the table that it used last. The
//! key of the node changes before the entry is dropped ([`forget_handle`]).

use crate::mpi::abi::{Abi, Handle};
use crate::mpi::attribute;
use crate::mpi::pmpi::pmpi;
use crate::record::communicator::{self, Communicator};
use crate::record::counters;
use crate::record::digest_word;
use crate::record::epoch_sums::Moves;
use crate::record::expansion;
use crate::record::registry::{Node, Registry};
use crate::record::slot::{IN_SLOT, Slot};
use crate::record::thread::{self, Thread};
use crate::sys::panic_barrier::guarded;
use libc::{c_int, c_void};
use parking_lot::Mutex;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

/// The communicators in use.
pub static COMMUNICATORS: Registry<Slot> = Registry::new();
/// False while nothing is recorded: no communicator is added then.
static RECORDING: AtomicBool = AtomicBool::new(false);
static KEYVAL: AtomicI32 = AtomicI32::new(-1);
/// Counts that move from communicators into the rows of the matrix.
pub static MOVES: Moves = Moves::new();

/// Begins to record on communicators. Makes the keyval whose delete callback MPI calls when a communicator is
/// freed.
pub fn start<A: Abi>() {
    let keyval = attribute::keyval::<A::Comm>(deleted::<A>, |copy, delete, keyval| {
        // SAFETY: MPI is initialised; both callbacks have the standard's prototypes.
        unsafe { pmpi::<A>().comm_create_keyval(copy, delete, keyval, std::ptr::null_mut()) }
    });
    if let Some(keyval) = keyval {
        KEYVAL.store(keyval, Ordering::Release);
        RECORDING.store(true, Ordering::Release);
    }
}

unsafe extern "C" fn deleted<A: Abi>(
    comm: A::Comm,
    _keyval: c_int,
    value: *mut c_void,
    _extra: *mut c_void,
) -> c_int {
    guarded(|| {
        forget_handle::<A>(comm.bits(), Some(value as u64));
        Some(())
    });
    0
}

/// Drops the entry of a handle. Collective calls that were counted on the communicator are expanded before. If
/// a number is given, only the entry with this number is dropped. No lock is held while MPI is called.
fn forget_handle<A: Abi>(bits: u64, number: Option<u64>) {
    // If the program frees the communicator by a wrapped call, the entry is dropped before the delete callback
    // runs.
    let Some(node) = COMMUNICATORS.find(bits) else { return };
    if !node.value.has_collectives() {
        drop(COMMUNICATORS.leave(bits, number));
        return;
    }
    let moving = MOVES.begin();
    if let Some(communicator) = COMMUNICATORS.leave(bits, number) {
        counters::for_each_block(|block| expansion::fold::<A>(block, &communicator));
    }
    drop(moving);
}

/// A communicator that is being freed, from before the call until it has returned.
///
/// The program's attribute callbacks run in the thread that frees the communicator, and may still use it.
/// Nothing is recorded on it any more. If another thread uses the same handle, it means another communicator:
/// MPI may reuse the handle before the call that frees the first communicator has returned.
///
/// A callback may free another communicator. `before` is the handle of the communicator that the thread was
/// freeing until then.
#[derive(Debug)]
pub struct Leaving {
    bits: u64,
    before: u64,
}

impl Leaving {
    /// Expands the calls that were counted on `comm` and drops its entry. Until the returned value is dropped,
    /// nothing is recorded on `comm` in this thread. The same thread has to drop the value.
    pub fn start<A: Abi>(comm: A::Comm) -> Self {
        let (bits, leaving) = (comm.bits(), &thread::current().leaving);
        let before = leaving.load(Ordering::Relaxed);
        if comm != A::comm_world() {
            if before != 0 {
                OUTER.lock().push(here(before));
            }
            leaving.store(bits, Ordering::Relaxed);
            guarded(|| {
                forget_handle::<A>(bits, None);
                Some(())
            });
        }
        Leaving { bits, before }
    }

    /// Whether this thread is freeing the communicator of this handle.
    #[inline(always)]
    fn is(bits: u64) -> bool {
        let innermost = thread::current().leaving.load(Ordering::Relaxed);
        innermost == bits || (innermost != 0 && OUTER.lock().contains(&here(bits)))
    }
}

impl Drop for Leaving {
    #[inline(always)]
    fn drop(&mut self) {
        let leaving = &thread::current().leaving;
        if leaving.load(Ordering::Relaxed) != self.bits {
            return; // Nothing was stored for the world.
        }
        leaving.store(self.before, Ordering::Relaxed);
        if self.before != 0 {
            let mut outer = OUTER.lock();
            if let Some(at) = outer.iter().position(|&one| one == here(self.before)) {
                outer.swap_remove(at);
            }
        }
    }
}

/// Communicators that are being freed while one of their callbacks frees another communicator. Each is given by
/// the address of the state of its thread and the bits of its handle.
static OUTER: Mutex<Vec<(usize, u64)>> = Mutex::new(Vec::new());

/// The entry of [`OUTER`] for the calling thread and this handle.
fn here(bits: u64) -> (usize, u64) {
    (std::ptr::from_ref(thread::current()) as usize, bits)
}

/// Visits every communicator in use; no lock is held meanwhile, so `visit` may call MPI.
///
/// To be called where no other thread frees communicators: at the end of the job.
pub fn for_each(mut visit: impl FnMut(&Communicator)) {
    let mut entries: Vec<Arc<Communicator>> = Vec::new();
    COMMUNICATORS.for_each(|slot| entries.extend(slot.shared()));
    for entry in entries {
        visit(&entry);
    }
}

/// Visits every communicator in use, at any time: no entry is dropped meanwhile, because the table is locked.
/// `visit` must not call MPI.
pub fn look_at_each(mut visit: impl FnMut(&Communicator)) {
    COMMUNICATORS.for_each(|slot| {
        if let Some(entry) = slot.shared() {
            visit(&entry);
        }
    });
}

/// Whether neighbourhood collectives were recorded on a communicator. No call to MPI.
pub fn has_neighbours(bits: u64) -> bool {
    let entry = COMMUNICATORS.look(bits, Slot::shared);
    entry.is_some_and(|entry| entry.has_neighbours())
}

/// Makes `comm`, an argument of the call that this thread makes right now, the thread's current
/// communicator and runs `work` with both. `None` while nothing is recorded, or when `comm` is no valid
/// communicator.
#[inline(always)]
pub fn with<A: Abi, T>(
    comm: A::Comm,
    work: impl FnOnce(&'static Thread, &Communicator) -> Option<T>,
) -> Option<T> {
    let (thread, node) = enter_as::<A, true>(comm)?;
    let communicator = match NonNull::new(node.value.entry.load(Ordering::Acquire)) {
        Some(entry) => entry,
        None => complete::<A>(comm, node)?,
    };
    // SAFETY: the entry is in the table: the key of its node, which was just compared, changes before the
    // entry is dropped. It is dropped only when its communicator is freed. The program uses
    // the communicator in the very call that is being recorded, and the standard forbids freeing it
    // in another thread meanwhile; `work` is this library's and frees none. The reference does not
    // outlive `work`.
    work(thread, unsafe { communicator.as_ref() })
}

/// Makes `comm` the calling thread's current communicator.
#[inline(always)]
pub fn enter<A: Abi>(comm: A::Comm) -> Option<(&'static Thread, &'static Node<Slot>)> {
    enter_as::<A, false>(comm)
}

/// The same. A communicator that is used for the first time gets an entry at once if `COMPLETE` is true.
#[inline(always)]
fn enter_as<A: Abi, const COMPLETE: bool>(
    comm: A::Comm,
) -> Option<(&'static Thread, &'static Node<Slot>)> {
    let thread = thread::current();
    let node = match known(thread, comm.bits()) {
        Some(node) => node,
        None => change::<A, COMPLETE>(thread, comm)?,
    };
    Some((thread, node))
}

/// Makes the entry of a communicator that is in the table without one.
#[cold]
#[inline(never)]
fn complete<A: Abi>(comm: A::Comm, node: &Node<Slot>) -> Option<NonNull<Communicator>> {
    let mut made = Communicator::of::<A>(comm)?;
    made.number = node.value.number.load(Ordering::Relaxed);
    COMMUNICATORS.complete(comm.bits(), made)
}

/// Makes the communicator of this handle the thread's current one, if it is in use. `None` also if the thread
/// has no current communicator, because recording may be paused in this thread.
#[inline(always)]
pub fn known(thread: &Thread, bits: u64) -> Option<&'static Node<Slot>> {
    // SAFETY: nodes are never given back.
    let last = unsafe { thread.comm.load(Ordering::Relaxed).as_ref() }?;
    if last.is(bits) {
        return Some(last);
    }
    let found = COMMUNICATORS.get(bits)?;
    thread.comm.store(std::ptr::from_ref(found).cast_mut(), Ordering::Relaxed);
    Some(found)
}

/// Gives the communicator of this handle a digest if the thread used it before, and then another one.
#[inline(always)]
pub fn digest(thread: &Thread, bits: u64) {
    // SAFETY: nodes are never given back.
    if unsafe { thread.comm.load(Ordering::Relaxed).as_ref() }.is_some_and(|last| !last.is(bits)) {
        COMMUNICATORS.digest(bits, |slot| digest_word::of(slot, bits));
    }
}

/// Makes `comm` the thread's current communicator if [`known`] gave `None`.
#[cold]
#[inline(never)]
fn change<A: Abi, const COMPLETE: bool>(
    thread: &Thread,
    comm: A::Comm,
) -> Option<&'static Node<Slot>> {
    counters::mine()?;
    let node = match COMMUNICATORS.get(comm.bits()) {
        Some(node) => node,
        None => add::<A>(comm, COMPLETE)?,
    };
    thread.comm.store(std::ptr::from_ref(node).cast_mut(), Ordering::Relaxed);
    Some(node)
}

/// Adds a communicator to the table, with an entry if `complete` is true or it has more than a few ranks. `None` if
/// `comm` is not a valid communicator or is being freed.
#[cold]
#[inline(never)]
fn add<A: Abi>(comm: A::Comm, complete: bool) -> Option<&'static Node<Slot>> {
    let bits = comm.bits();
    if !RECORDING.load(Ordering::Acquire)
        || comm == A::comm_null()
        || bits == 0
        || Leaving::is(bits)
    {
        return None;
    }
    let is_world = comm == A::comm_world();
    let few = if is_world || complete { None } else { communicator::few_tasks::<A, IN_SLOT>(comm) };
    let made = if few.is_none() { Some(Communicator::of::<A>(comm)?) } else { None };
    let number = made.as_ref().map_or_else(communicator::next_number, |made| made.number);
    let effective = made.as_ref().map_or(bits, Communicator::effective);
    // The world lives until the end of the job. For every other communicator, MPI reports when it is freed. The
    // table is not locked while MPI is called, because MPI may call back.
    let tell = || {
        let (effective, keyval) = (A::Comm::from_bits(effective), KEYVAL.load(Ordering::Acquire));
        // SAFETY: keyval and communicator are valid; the value is a number, never dereferenced.
        is_world
            || unsafe { pmpi::<A>().comm_set_attr(effective, keyval, number as *mut c_void) } == 0
    };
    let node = match (made, few) {
        (Some(made), _) => COMMUNICATORS.enter(bits, made, tell),
        (None, Some((tasks, size))) => {
            let fill = |slot: &Slot| slot.fill_few(number, effective, &tasks[..size]);
            COMMUNICATORS.enter_as(bits, fill, tell)
        }
        (None, None) => return None,
    };
    if node.is_none() {
        // Without the attribute, the library would not learn when the communicator is freed.
        forget_handle::<A>(bits, Some(number));
    }
    node
}

/// The end of recording: all entries are dropped. Their attributes stay on the communicators.
pub fn stop() {
    RECORDING.store(false, Ordering::Release);
    COMMUNICATORS.clear(|slot| drop(slot.empty()));
}
