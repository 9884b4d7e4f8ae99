//! One-sided calls: bytes move from the origin to the target (put, accumulate) or back (get).
//!
//! A get moves bytes from the target to the caller: it belongs in the target's row of the matrix,
//! which this process does not own. Such traffic is kept apart as fetched traffic. It is moved to the row of
//! the target when the rows are gathered.

use crate::mpi::abi::{Abi, Handle};
use crate::mpi::attribute;
use crate::mpi::pmpi::pmpi;
use crate::record::counters;
use crate::record::datatypes;
use crate::record::thread::{self, Thread};
use crate::record::window::Window;
use crate::sys::panic_barrier::guarded;
use libc::{c_int, c_void};
use parking_lot::RwLock;
use rw::matrix::Kind;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicI32, Ordering};

/// Windows in use by the bits of their handles; `None` while nothing is recorded.
type Table = Option<HashMap<u64, Box<Window>>>;

static WINDOWS: RwLock<Table> = RwLock::new(None);
static KEYVAL: AtomicI32 = AtomicI32::new(-1);

/// Begins to record windows. Makes the keyval whose delete callback runs when a window is freed.
pub fn start<A: Abi>() {
    let keyval = attribute::keyval::<A::Win>(deleted::<A>, |copy, delete, keyval| {
        // SAFETY: MPI is initialised; both callbacks have the standard's prototypes.
        unsafe { pmpi::<A>().win_create_keyval(copy, delete, keyval, std::ptr::null_mut()) }
    });
    if let Some(keyval) = keyval {
        KEYVAL.store(keyval, Ordering::Release);
        *WINDOWS.write() = Some(HashMap::new());
    }
}

unsafe extern "C" fn deleted<A: Abi>(
    win: A::Win,
    _keyval: c_int,
    _value: *mut c_void,
    _extra: *mut c_void,
) -> c_int {
    let bits = win.bits();
    let entry = WINDOWS.write().as_mut().and_then(|windows| windows.remove(&bits));
    if let Some(entry) = entry {
        counters::for_each_thread(|thread| {
            thread::clear(&thread.win, bits);
        });
        // No thread has its address any more.
        drop(entry);
    }
    0
}

/// Address of the window's entry; no lock is taken while a thread stays with one window.
#[inline]
fn find<A: Abi>(thread: &Thread, win: A::Win) -> Option<NonNull<Window>> {
    if win.bits() == 0 {
        return None; // no window of any MPI, and what a thread without one has in its cache
    }
    if thread.win.load(Ordering::Relaxed) == win.bits() {
        return NonNull::new(thread.window.load(Ordering::Relaxed));
    }
    let known = WINDOWS.read().as_ref()?.get(&win.bits()).map(|entry| address(entry));
    let window = match known {
        Some(window) => window,
        None => add::<A>(win)?,
    };
    thread.window.store(window.as_ptr(), Ordering::Relaxed);
    thread.win.store(win.bits(), Ordering::Relaxed);
    Some(window)
}

/// Address of an entry of the table.
fn address(entry: &Window) -> NonNull<Window> {
    NonNull::from(entry)
}

/// Makes the entry of a window. Of several threads that meet it at the same time one makes the entry, and
/// that one sets the attribute: setting it again would call the delete callback, which drops the entry.
#[cold]
fn add<A: Abi>(win: A::Win) -> Option<NonNull<Window>> {
    let window = Window::of::<A>(win)?;
    let found = {
        let mut windows = WINDOWS.write();
        match windows.as_mut()?.entry(win.bits()) {
            Entry::Occupied(other) => return Some(address(other.get())),
            Entry::Vacant(place) => address(place.insert(Box::new(window))),
        }
    };
    let keyval = KEYVAL.load(Ordering::Acquire);
    // SAFETY: a valid window and keyval; the value is never read. MPI is called with no lock held.
    if unsafe { pmpi::<A>().win_set_attr(win, keyval, std::ptr::null_mut()) } != 0 {
        // Nothing would tell when it is freed. The entry stays in memory, because another thread may be
        // using it.
        std::mem::forget(WINDOWS.write().as_mut().and_then(|windows| windows.remove(&win.bits())));
        counters::for_each_thread(|thread| thread::clear(&thread.win, win.bits()));
        return None;
    }
    Some(found)
}

fn target<A: Abi>(win: A::Win, rank: c_int) -> Option<u32> {
    let window = find::<A>(thread::current(), win)?;
    // SAFETY: an entry of the table; threads that keep its address lose it before it is dropped. It is
    // dropped only when the window is freed, and the program, which uses the window in the very call
    // that is being recorded, must not free it in another thread meanwhile.
    unsafe { window.as_ref() }.task(rank)
}

fn sent<A: Abi>(win: A::Win, rank: c_int, bytes: u64) {
    guarded(|| {
        let block = counters::mine()?;
        block.add(Kind::OneSided, target::<A>(win, rank)?, bytes, 1);
        Some(())
    });
}

fn fetched<A: Abi>(win: A::Win, rank: c_int, bytes: u64) {
    guarded(|| {
        let block = counters::mine()?;
        block.add_fetched(target::<A>(win, rank)?, bytes, 1);
        Some(())
    });
}

fn bytes<A: Abi>(count: i64, datatype: A::Datatype) -> u64 {
    if count == 0 {
        return 0;
    }
    (count as u64).wrapping_mul(datatypes::size::<A>(thread::current(), datatype))
}

pub unsafe fn put<A: Abi>(win: A::Win, rank: c_int, count: i64, datatype: A::Datatype) {
    sent::<A>(win, rank, bytes::<A>(count, datatype));
}

pub unsafe fn get<A: Abi>(win: A::Win, rank: c_int, count: i64, datatype: A::Datatype) {
    fetched::<A>(win, rank, bytes::<A>(count, datatype));
}

/// Data goes to the target and the old value comes back. With MPI_NO_OP nothing goes to the target.
// The parameters are arguments of the MPI call.
#[allow(clippy::too_many_arguments)]
pub unsafe fn get_accumulate<A: Abi>(
    win: A::Win,
    rank: c_int,
    count: i64,
    datatype: A::Datatype,
    result_count: i64,
    result_datatype: A::Datatype,
    op: A::Op,
) {
    if op != A::op_no_op() {
        sent::<A>(win, rank, bytes::<A>(count, datatype));
    }
    fetched::<A>(win, rank, bytes::<A>(result_count, result_datatype));
}

pub unsafe fn fetch_and_op<A: Abi>(win: A::Win, rank: c_int, datatype: A::Datatype, op: A::Op) {
    // SAFETY: the window, the rank and the datatype are those of the program's call, which moves one
    // element each way.
    unsafe { get_accumulate::<A>(win, rank, 1, datatype, 1, datatype, op) };
}

/// Two elements go to the target (the value, and the one to compare with), and one comes back.
pub unsafe fn compare_and_swap<A: Abi>(win: A::Win, rank: c_int, datatype: A::Datatype) {
    sent::<A>(win, rank, bytes::<A>(2, datatype));
    fetched::<A>(win, rank, bytes::<A>(1, datatype));
}
