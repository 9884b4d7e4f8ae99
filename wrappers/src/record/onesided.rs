//! One-sided calls: bytes move from the origin to the target (put, accumulate) or back (get).
//!
//! A get moves bytes from the target to the caller. These bytes belong in the target's row of the matrix, which
//! this process does not own. They are counted apart, as fetched traffic. Rank 0 adds them to the row of the
//! target when it gathers the rows.

use crate::mpi::abi::{Abi, Handle};
use crate::mpi::attribute;
use crate::mpi::pmpi::pmpi;
use crate::record::counters;
use crate::record::datatypes;
use crate::record::thread::{self, Thread};
use crate::record::window::Window;
use crate::record::windows::{Place, Windows};
use crate::sys::panic_barrier::guarded;
use libc::{c_int, c_void};
use rw::matrix::Kind;
use rw::store::spill::layout;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

/// The windows in use.
static WINDOWS: Windows = Windows::new();
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

/// The delete callback of the keyval. MPI calls it when a window is freed. It takes the entry of the window out of the
/// table and frees it.
unsafe extern "C" fn deleted<A: Abi>(
    win: A::Win,
    _keyval: c_int,
    _value: *mut c_void,
    _extra: *mut c_void,
) -> c_int {
    // The window is being freed, so no call uses it.
    drop(WINDOWS.take(win.bits()));
    0
}

/// The entry of the window with this handle, if the window was used before.
#[inline(always)]
fn known(thread: &Thread, bits: u64) -> Option<&'static Place> {
    WINDOWS.known(&thread.win, bits)
}

/// Makes the entry of a window.
#[cold]
fn add<A: Abi>(win: A::Win) -> Option<&'static Place> {
    // MPI reports the null handle; asked about it here, it would do so twice.
    if win == A::win_null() || win.bits() == 0 || !RECORDING.load(Ordering::Acquire) {
        return None;
    }
    let window = Box::new(Window::of::<A>(win)?);
    let keyval = KEYVAL.load(Ordering::Acquire);
    WINDOWS.add(win.bits(), window, || {
        // SAFETY: a valid window and keyval; the value is never read.
        unsafe { pmpi::<A>().win_set_attr(win, keyval, std::ptr::null_mut()) == 0 }
    })
}

/// A count and a datatype.
type Elements<A> = (i64, <A as Abi>::Datatype);

/// A one-sided call: what goes to the target, and what comes back from it.
pub struct Transfer<A: Abi> {
    win: A::Win,
    rank: c_int,
    sent: Option<Elements<A>>,
    fetched: Option<Elements<A>>,
}

impl<A: Abi> Transfer<A> {
    /// Counts the call if this thread knows the window and the datatypes and has the counters. Otherwise
    /// returns `None` and counts nothing.
    #[inline(always)]
    pub fn again(&self) -> Option<()> {
        let thread = thread::current();
        // SAFETY: the block of a thread lives as long as the process.
        let block = unsafe { thread.block.load(Ordering::Relaxed).as_ref() }?;
        let window = known(thread, self.win.bits())?.value.load(Ordering::Relaxed);
        // SAFETY: an entry of the table. It is dropped only when the window is freed, and the program, which
        // uses the window in the very call that is being recorded, must not free it in another thread
        // meanwhile.
        let Some(task) = unsafe { window.as_ref() }?.task(self.rank) else { return Some(()) };
        let at_hand = |elements: Option<Elements<A>>, row| match elements {
            None => Some(None),
            Some((0, _)) => Some(Some((block.cell(row, task)?, 0))),
            Some((count, datatype)) => {
                let size = datatypes::known(thread, datatype.bits())?;
                Some(Some((block.cell(row, task)?, (count as u64).wrapping_mul(size))))
            }
        };
        let sent = at_hand(self.sent, Kind::OneSided as usize)?;
        let fetched = at_hand(self.fetched, layout::FETCHED)?;
        if let Some((cell, bytes)) = sent {
            cell.add(bytes, 1);
        }
        if let Some((cell, bytes)) = fetched {
            cell.add(bytes, 1);
        }
        Some(())
    }

    /// Counts a call that [`again`](Self::again) could not count.
    pub fn first(&self) {
        guarded(|| {
            let block = counters::mine()?;
            let thread = thread::current();
            let node = match known(thread, self.win.bits()) {
                Some(node) => node,
                None => add::<A>(self.win)?,
            };
            // SAFETY: as in `again`.
            let window = unsafe { node.value.load(Ordering::Relaxed).as_ref() }?;
            let task = window.task(self.rank)?;
            if let Some(elements) = self.sent {
                block.add(Kind::OneSided, task, bytes::<A>(elements), 1);
            }
            if let Some(elements) = self.fetched {
                block.add_fetched(task, bytes::<A>(elements), 1);
            }
            Some(())
        });
    }

    /// Counts the call. Only the wrappers of Fortran use this function. It is not a part of them, because there are
    /// a hundred of them for each MPI library.
    #[inline(never)]
    pub fn now(&self) {
        if self.again().is_none() {
            self.first();
        }
    }
}

/// Bytes of these elements. For a count of 0, MPI is not asked for the size of the datatype.
fn bytes<A: Abi>((count, datatype): Elements<A>) -> u64 {
    if count == 0 {
        return 0;
    }
    (count as u64).wrapping_mul(datatypes::size::<A>(thread::current(), datatype))
}

pub unsafe fn put<A: Abi>(
    win: A::Win,
    rank: c_int,
    count: i64,
    datatype: A::Datatype,
) -> Transfer<A> {
    Transfer { win, rank, sent: Some((count, datatype)), fetched: None }
}

pub unsafe fn get<A: Abi>(
    win: A::Win,
    rank: c_int,
    count: i64,
    datatype: A::Datatype,
) -> Transfer<A> {
    Transfer { win, rank, sent: None, fetched: Some((count, datatype)) }
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
) -> Transfer<A> {
    let sent = (op != A::op_no_op()).then_some((count, datatype));
    Transfer { win, rank, sent, fetched: Some((result_count, result_datatype)) }
}

pub unsafe fn fetch_and_op<A: Abi>(
    win: A::Win,
    rank: c_int,
    datatype: A::Datatype,
    op: A::Op,
) -> Transfer<A> {
    let sent = (op != A::op_no_op()).then_some((1, datatype));
    Transfer { win, rank, sent, fetched: Some((1, datatype)) }
}

/// Two elements go to the target (the value, and the one to compare with), and one comes back.
pub unsafe fn compare_and_swap<A: Abi>(
    win: A::Win,
    rank: c_int,
    datatype: A::Datatype,
) -> Transfer<A> {
    Transfer { win, rank, sent: Some((2, datatype)), fetched: Some((1, datatype)) }
}
