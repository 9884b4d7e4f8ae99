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
use crate::record::registry::{Node, Registry};
use crate::record::thread::{self, Thread};
use crate::record::window::Window;
use crate::sys::panic_barrier::guarded;
use libc::{c_int, c_void};
use rw::matrix::Kind;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, Ordering};

/// The windows in use, which own their entries.
static WINDOWS: Registry<AtomicPtr<Window>> = Registry::new();
/// False until windows are recorded.
static RECORDING: AtomicBool = AtomicBool::new(false);
static KEYVAL: AtomicI32 = AtomicI32::new(-1);

/// Begins to record windows. Makes the keyval whose delete callback runs when a window is freed.
pub fn start<A: Abi>() {
    let keyval = attribute::keyval::<A::Win>(deleted::<A>, |copy, delete, keyval| {
        // SAFETY: MPI is initialised; both callbacks have the standard's prototypes.
        unsafe { pmpi::<A>().win_create_keyval(copy, delete, keyval, std::ptr::null_mut()) }
    });
    if let Some(keyval) = keyval {
        KEYVAL.store(keyval, Ordering::Release);
        RECORDING.store(true, Ordering::Release);
    }
}

unsafe extern "C" fn deleted<A: Abi>(
    win: A::Win,
    _keyval: c_int,
    _value: *mut c_void,
    _extra: *mut c_void,
) -> c_int {
    let entry = take(win.bits());
    if !entry.is_null() {
        // SAFETY: made by `Box::into_raw` and taken out of the table once. The window is being freed, so that no
        // call uses it.
        drop(unsafe { Box::from_raw(entry) });
    }
    0
}

/// Takes the entry of a handle out of the table; null if there is none.
fn take(bits: u64) -> *mut Window {
    let out = |value: &AtomicPtr<Window>| Some(value.swap(std::ptr::null_mut(), Ordering::Relaxed));
    WINDOWS.remove(bits, out).unwrap_or(std::ptr::null_mut())
}

/// Address of the window's entry.
#[inline]
fn find<A: Abi>(thread: &Thread, win: A::Win) -> Option<NonNull<Window>> {
    // SAFETY: nodes are never given back.
    let last = unsafe { thread.win.load(Ordering::Relaxed).as_ref() };
    let node = match last {
        Some(last) if last.is(win.bits()) => last,
        _ => {
            let found = match WINDOWS.get(win.bits()) {
                Some(found) => found,
                None => add::<A>(win)?,
            };
            thread.win.store(std::ptr::from_ref(found).cast_mut(), Ordering::Relaxed);
            found
        }
    };
    NonNull::new(node.value.load(Ordering::Relaxed))
}

/// Makes the entry of a window. Of several threads that meet it at the same time one makes the entry, and
/// that one sets the attribute: setting it again would call the delete callback, which drops the entry.
#[cold]
fn add<A: Abi>(win: A::Win) -> Option<&'static Node<AtomicPtr<Window>>> {
    if win.bits() == 0 || !RECORDING.load(Ordering::Acquire) {
        return None;
    }
    let window = Box::new(Window::of::<A>(win)?);
    let fill = |value: &AtomicPtr<Window>| value.store(Box::into_raw(window), Ordering::Relaxed);
    let node = match WINDOWS.insert(win.bits(), fill) {
        Ok(node) => node,
        Err(other) => return Some(other),
    };
    let keyval = KEYVAL.load(Ordering::Acquire);
    // SAFETY: a valid window and keyval; the value is never read. MPI is called with no lock held.
    if unsafe { pmpi::<A>().win_set_attr(win, keyval, std::ptr::null_mut()) } != 0 {
        // Nothing would tell when it is freed. The entry stays in memory, because another thread may be
        // using it.
        take(win.bits());
        return None;
    }
    Some(node)
}

/// Counts bytes that go to the target, and bytes that come back from it.
#[inline(always)]
fn count<A: Abi>(win: A::Win, rank: c_int, sent: Option<u64>, fetched: Option<u64>) {
    guarded(|| {
        let block = counters::mine()?;
        let window = find::<A>(thread::current(), win)?;
        // SAFETY: an entry of the table. It is dropped only when the window is freed, and the program, which
        // uses the window in the very call that is being recorded, must not free it in another thread
        // meanwhile.
        let task = unsafe { window.as_ref() }.task(rank)?;
        if let Some(bytes) = sent {
            block.add(Kind::OneSided, task, bytes, 1);
        }
        if let Some(bytes) = fetched {
            block.add_fetched(task, bytes, 1);
        }
        Some(())
    });
}

#[inline(always)]
fn bytes<A: Abi>(count: i64, datatype: A::Datatype) -> u64 {
    if count == 0 {
        return 0;
    }
    (count as u64).wrapping_mul(datatypes::size::<A>(thread::current(), datatype))
}

pub unsafe fn put<A: Abi>(win: A::Win, rank: c_int, elements: i64, datatype: A::Datatype) {
    count::<A>(win, rank, Some(bytes::<A>(elements, datatype)), None);
}

pub unsafe fn get<A: Abi>(win: A::Win, rank: c_int, elements: i64, datatype: A::Datatype) {
    count::<A>(win, rank, None, Some(bytes::<A>(elements, datatype)));
}

/// Data goes to the target and the old value comes back. With MPI_NO_OP nothing goes to the target.
// The parameters are arguments of the MPI call.
#[allow(clippy::too_many_arguments)]
pub unsafe fn get_accumulate<A: Abi>(
    win: A::Win,
    rank: c_int,
    elements: i64,
    datatype: A::Datatype,
    result_count: i64,
    result_datatype: A::Datatype,
    op: A::Op,
) {
    let sent = (op != A::op_no_op()).then(|| bytes::<A>(elements, datatype));
    count::<A>(win, rank, sent, Some(bytes::<A>(result_count, result_datatype)));
}

pub unsafe fn fetch_and_op<A: Abi>(win: A::Win, rank: c_int, datatype: A::Datatype, op: A::Op) {
    let element = bytes::<A>(1, datatype);
    count::<A>(win, rank, (op != A::op_no_op()).then_some(element), Some(element));
}

/// Two elements go to the target (the value, and the one to compare with), and one comes back.
pub unsafe fn compare_and_swap<A: Abi>(win: A::Win, rank: c_int, datatype: A::Datatype) {
    let element = bytes::<A>(1, datatype);
    count::<A>(win, rank, Some(element.wrapping_mul(2)), Some(element));
}
