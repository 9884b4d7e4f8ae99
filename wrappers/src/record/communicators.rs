//! Communicators in use, by their handles.
//!
//! An entry is made when something is first recorded on a communicator. It is removed when the
//! communicator is freed. An attribute with a delete callback tells, in every language and whichever
//! call frees it.
//!
//! The table owns the entries. Each thread keeps the address of the entry that it used last. That
//! address is cleared in all threads before the entry is dropped ([`forget_handle`]).

use crate::mpi::abi::{Abi, Handle};
use crate::mpi::attribute;
use crate::mpi::pmpi::pmpi;
use crate::record::block::Block;
use crate::record::communicator::Communicator;
use crate::record::counters;
use crate::record::datatypes;
use crate::record::epoch_sums::Moves;
use crate::record::expansion;
use crate::record::thread::{self, Thread};
use crate::sys::panic_barrier::guarded;
use libc::{c_int, c_void};
use parking_lot::{Mutex, RwLock};
use rw::matrix::Kind;
use std::collections::HashMap;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

/// The communicators in use.
#[derive(Debug, Default)]
struct Table {
    /// Entries by the bits of their handles.
    entries: HashMap<u64, Arc<Communicator>>,
    /// The bits of the handle of each entry, by the number of the entry.
    handles: HashMap<u64, u64>,
}

impl Table {
    fn remove(&mut self, bits: u64) -> Option<Arc<Communicator>> {
        let entry = self.entries.remove(&bits)?;
        self.handles.remove(&entry.number);
        Some(entry)
    }
}

/// `None` while nothing is recorded.
static TABLE: RwLock<Option<Table>> = RwLock::new(None);
static KEYVAL: AtomicI32 = AtomicI32::new(-1);
/// Counts that move from communicators into the rows of the matrix.
pub static MOVES: Moves = Moves::new();

/// Makes the keyval whose delete callback tells that a communicator is gone.
pub fn start<A: Abi>() {
    let keyval = attribute::keyval::<A::Comm>(deleted::<A>, |copy, delete, keyval| {
        // SAFETY: MPI is initialised; both callbacks have the standard's prototypes.
        unsafe { pmpi::<A>().comm_create_keyval(copy, delete, keyval, std::ptr::null_mut()) }
    });
    if let Some(keyval) = keyval {
        KEYVAL.store(keyval, Ordering::Release);
        *TABLE.write() = Some(Table::default());
    }
}

unsafe extern "C" fn deleted<A: Abi>(
    _comm: A::Comm,
    _keyval: c_int,
    value: *mut c_void,
    _extra: *mut c_void,
) -> c_int {
    let _ = std::panic::catch_unwind(|| forget::<A>(value as u64));
    0
}

/// Drops the entry with this number, after folding in what was recorded on it.
fn forget<A: Abi>(number: u64) {
    let bits = TABLE.read().as_ref().and_then(|table| table.handles.get(&number).copied());
    if let Some(bits) = bits {
        forget_handle::<A>(bits);
    }
}

/// Drops the entry of a handle, after folding in what was recorded on it. No lock is held while MPI
/// is called.
fn forget_handle<A: Abi>(bits: u64) {
    let moving = MOVES.begin();
    let entry = TABLE.write().as_mut().and_then(|table| table.remove(bits));
    let Some(communicator) = entry else { return };
    counters::for_each_thread(|thread| drop_caches(thread, bits));
    counters::for_each_block(|block| expansion::fold::<A>(block, &communicator));
    drop(moving);
}

/// The communicators that are being freed right now, each as the address of the state of the thread
/// that frees it and the bits of its handle.
///
/// The program's attribute callbacks run in that thread and may still use the communicator, but nothing
/// is kept about it any more. Another thread that uses the same bits means another communicator: MPI may
/// give the handle to it before the call that frees the first has returned.
static LEAVING: Mutex<Vec<(usize, u64)>> = Mutex::new(Vec::new());

/// A communicator on its way out, from before it is freed until the call has returned.
#[derive(Debug)]
pub struct Leaving((usize, u64));

/// The calling thread and a handle, as in [`LEAVING`].
fn here(bits: u64) -> (usize, u64) {
    (std::ptr::from_ref(thread::current()) as usize, bits)
}

impl Leaving {
    /// Folds in what was recorded on `comm` and keeps it from being recorded on again.
    pub fn start<A: Abi>(comm: A::Comm) -> Self {
        let bits = comm.bits();
        if comm != A::comm_world() {
            LEAVING.lock().push(here(bits));
            guarded(|| {
                forget_handle::<A>(bits);
                Some(())
            });
        }
        Leaving(here(bits))
    }
}

impl Drop for Leaving {
    fn drop(&mut self) {
        let mut leaving = LEAVING.lock();
        if let Some(at) = leaving.iter().position(|&one| one == self.0) {
            leaving.swap_remove(at);
        }
    }
}

fn drop_caches(thread: &Thread, bits: u64) {
    thread::clear(&thread.comm, bits);
}

/// A reduction operation is being freed: the next one of this handle may not commute.
pub fn forget_reductions() {
    counters::for_each_thread(|thread| {
        thread.collective_calls.store(std::ptr::null_mut(), Ordering::Relaxed);
    });
}

/// Forgets everything that threads have cached: recording stops or the world changes.
pub fn drop_all_caches() {
    counters::for_each_thread(|thread| {
        thread.comm.store(thread::GONE, Ordering::Relaxed);
        datatypes::drop_all(thread);
        thread.win.store(0, Ordering::Relaxed);
    });
}

/// Visits every communicator in use; no lock is held meanwhile, so `visit` may call MPI.
///
/// To be called where no other thread frees communicators: at the end of the job.
pub fn for_each(mut visit: impl FnMut(&Communicator)) {
    let entries: Vec<Arc<Communicator>> =
        TABLE.read().iter().flat_map(|table| table.entries.values()).cloned().collect();
    for entry in entries {
        visit(&entry);
    }
}

/// The same at any time: none of them is freed meanwhile. `visit` must not call MPI.
pub fn look_at_each(mut visit: impl FnMut(&Communicator)) {
    let table = TABLE.read();
    for entry in table.iter().flat_map(|table| table.entries.values()) {
        visit(entry);
    }
}

/// Whether neighbourhood collectives were recorded on a communicator. No call to MPI.
pub fn has_neighbours(bits: u64) -> bool {
    let table = TABLE.read();
    table.as_ref().and_then(|t| t.entries.get(&bits)).is_some_and(|entry| entry.has_neighbours())
}

/// Makes `comm`, an argument of the call that this thread makes right now, the thread's current
/// communicator and runs `work` with both. `None` while nothing is recorded, or when `comm` is no valid
/// communicator.
#[inline(always)]
pub fn with<A: Abi, T>(
    comm: A::Comm,
    work: impl FnOnce(&'static Thread, &Communicator) -> Option<T>,
) -> Option<T> {
    let (thread, communicator) = enter::<A>(comm)?;
    // SAFETY: the entry is in the table, or was when this thread kept its address, which is cleared
    // before an entry is dropped. It is dropped only when its communicator is freed. The program uses
    // the communicator in the very call that is being recorded, and the standard forbids freeing it
    // in another thread meanwhile; `work` is this library's and frees none. The reference does not
    // outlive `work`.
    work(thread, unsafe { communicator.as_ref() })
}

/// Makes `comm` the calling thread's current communicator.
#[cold]
#[inline(never)]
fn enter<A: Abi>(comm: A::Comm) -> Option<(&'static Thread, NonNull<Communicator>)> {
    let thread = thread::current();
    if thread.comm.load(Ordering::Relaxed) == comm.bits() {
        let known = thread.communicator.load(Ordering::Relaxed);
        return Some((thread, NonNull::new(known)?));
    }
    let block: &Block = counters::mine()?;
    let found = find::<A>(comm)?;
    // SAFETY: an entry of the table that was just found or made there; see `with` for why it is not
    // dropped before this call of the program is over.
    let communicator = unsafe { found.as_ref() };
    thread.effective.store(communicator.effective(), Ordering::Relaxed);
    thread.size.store(communicator.size(), Ordering::Relaxed);
    thread.tasks.store(communicator.tasks(), Ordering::Relaxed);
    if let Some(row) = block.row(Kind::PointToPoint) {
        thread.cells.store(row.as_ptr().cast_mut(), Ordering::Relaxed);
    }
    thread.communicator.store(found.as_ptr(), Ordering::Relaxed);
    thread.collective_calls.store(std::ptr::null_mut(), Ordering::Relaxed);
    thread.comm.store(comm.bits(), Ordering::Relaxed);
    Some((thread, found))
}

/// Address of an entry of the table.
fn address(entry: &Arc<Communicator>) -> NonNull<Communicator> {
    NonNull::from(entry.as_ref())
}

fn find<A: Abi>(comm: A::Comm) -> Option<NonNull<Communicator>> {
    let known = TABLE.read().as_ref()?.entries.get(&comm.bits()).map(address);
    known.or_else(|| add::<A>(comm))
}

/// Makes the entry of a communicator; `None` if it is no valid one, or is being freed.
#[cold]
#[inline(never)]
fn add<A: Abi>(comm: A::Comm) -> Option<NonNull<Communicator>> {
    if comm == A::comm_null() || comm.bits() == 0 || LEAVING.lock().contains(&here(comm.bits())) {
        return None;
    }
    let made = Arc::new(Communicator::of::<A>(comm)?);
    let (number, effective, is_world) = (made.number, made.effective(), made.is_world());
    let found = {
        let mut table = TABLE.write();
        let table = table.as_mut()?;
        if let Some(other) = table.entries.get(&comm.bits()) {
            // Another thread was faster.
            return Some(address(other));
        }
        table.handles.insert(number, comm.bits());
        address(table.entries.entry(comm.bits()).or_insert(made))
    };
    // The world lives until the end; everything else tells when it goes. MPI is not called with the
    // table locked: it may call back.
    if !is_world {
        let (effective, keyval) = (A::Comm::from_bits(effective), KEYVAL.load(Ordering::Acquire));
        // SAFETY: keyval and communicator are valid; the value is a number, never dereferenced.
        let code = unsafe { pmpi::<A>().comm_set_attr(effective, keyval, number as *mut c_void) };
        if code != 0 {
            // Nothing would tell when it is freed. The entry stays in memory, because another thread
            // may be using it.
            let entry = TABLE.read().as_ref().and_then(|t| t.entries.get(&comm.bits()).cloned());
            std::mem::forget(entry);
            forget::<A>(number);
            return None;
        }
    }
    Some(found)
}

/// The end of recording: entries are taken out of the table (their attributes outlive it).
pub fn stop() {
    *TABLE.write() = None;
}
