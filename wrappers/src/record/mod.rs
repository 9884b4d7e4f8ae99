//! Recorders: what is counted at each class of call. `calls.tbl` names a recorder for each MPI function. The
//! generated wrappers call the recorders with the program's own arguments, before the call is passed on.
//!
//! A recorder returns the communicator to use in the call, which differs from the program's argument if the
//! world is replaced. The hot path of a send compares the communicator with the one that the thread used last,
//! looks up the task of the rank, and adds to two counters.

pub mod block;
pub mod cell;
pub mod collective;
pub mod communicator;
pub mod communicators;
pub mod counters;
pub mod datatypes;
pub mod digest;
pub mod digest_word;
pub mod epoch_sums;
pub mod expansion;
mod given_digests;
pub mod neighbour;
pub mod node;
pub mod onesided;
pub mod pause;
pub mod persistent;
pub mod pool;
pub mod registry;
pub mod slot;
pub mod thread;
pub mod uniform;
pub mod ways;
pub mod window;
pub mod windows;

use crate::comm::world;
use crate::mpi::abi::{Abi, Handle};
use crate::record::thread::Thread;
use crate::sys::panic_barrier::guarded;
use libc::c_int;
use rw::matrix::Kind;
use std::sync::atomic::Ordering;

/// Counts a message of `count` elements of `datatype` from the caller to rank `dest` of `comm`, and gives
/// the communicator to use. `None`, with nothing counted, unless the communicator, the task of the rank and the
/// size of the datatype are known.
///
/// # Safety
/// Called by the wrapper of a send with the program's own arguments.
#[inline(always)]
pub unsafe fn send<A: Abi>(
    comm: A::Comm,
    dest: c_int,
    count: i64,
    datatype: A::Datatype,
) -> Option<A::Comm> {
    let thread = thread::current();
    let size = || datatypes::known(thread, datatype.bits());
    // SAFETY: the caller promises what this function asks for.
    unsafe { known_message::<A>(thread, comm, dest, count, size) }
}

/// Counts a message to a rank whose task is known, of a datatype whose size `size` gives.
///
/// # Safety
/// Called by the wrapper of a send with the program's own arguments.
#[inline(always)]
unsafe fn known_message<A: Abi>(
    thread: &Thread,
    comm: A::Comm,
    dest: c_int,
    count: i64,
    size: impl FnOnce() -> Option<u64>,
) -> Option<A::Comm> {
    let node = communicators::known(thread, comm.bits())?;
    // A negative rank (MPI_PROC_NULL) becomes a large one here.
    if (dest as u32) < node.value.size.load(Ordering::Relaxed) {
        // SAFETY: the table of tasks has `size` entries and lives as long as the communicator; tasks below
        // OUTSIDE are below the number of counters of the row.
        unsafe {
            let tasks = node.value.tasks.load(Ordering::Relaxed);
            let task = (*tasks.add(dest as usize)).load(Ordering::Relaxed);
            if task >= communicator::OUTSIDE {
                return None;
            }
            let bytes = (count.max(0) as u64).wrapping_mul(size()?);
            (*thread.cells.load(Ordering::Relaxed).add(task as usize)).add(bytes, 1);
        }
    }
    Some(A::Comm::from_bits(node.value.effective.load(Ordering::Relaxed)))
}

/// Counts a message that [`send`] cannot count: the first message on a communicator or to a rank, or a message
/// with a datatype whose size is not kept. Returns the communicator to use. The fast path in assembler also leaves to
/// it a message whose communicator or datatype has no [digest](digest) yet.
///
/// # Safety
/// Called by the wrapper of a send with the program's own arguments.
#[inline(always)]
pub unsafe fn send_slow<A: Abi>(
    comm: A::Comm,
    dest: c_int,
    count: i64,
    datatype: A::Datatype,
) -> A::Comm {
    let thread = thread::current();
    // A program that makes a datatype and sends some messages asks for its size again and again.
    let again = || datatypes::ask_again::<A>(thread, datatype);
    // SAFETY: the caller promises what these functions ask for.
    unsafe {
        if datatypes::is_asked(thread, datatype.bits())
            && let Some(comm) = known_message::<A>(thread, comm, dest, count, again)
        {
            return comm;
        }
        send_slower::<A>(comm, dest, count, datatype)
    }
}

/// Counts a message as [`send_slow`] does, whatever is known.
///
/// # Safety
/// As that of [`send_slow`].
#[inline(never)]
unsafe fn send_slower<A: Abi>(
    comm: A::Comm,
    dest: c_int,
    count: i64,
    datatype: A::Datatype,
) -> A::Comm {
    let thread = thread::current();
    datatypes::stop_asking(thread, datatype.bits());
    communicators::digest(thread, comm.bits());
    datatypes::digest(thread, datatype.bits());
    let size = || Some(datatypes::size::<A>(thread, datatype));
    // SAFETY: the caller promises what this function asks for.
    if let Some(comm) = unsafe { known_message::<A>(thread, comm, dest, count, size) } {
        return comm;
    }
    message::<A>(comm, dest, count, datatype, |task, bytes| {
        counters::mine()?.add(Kind::PointToPoint, task, bytes, 1);
        Some(())
    })
}

/// Calls `take` with the task and the bytes of a message, unless `dest` is no rank of the communicator. Returns
/// the communicator to use.
fn message<A: Abi>(
    comm: A::Comm,
    dest: c_int,
    count: i64,
    datatype: A::Datatype,
    take: impl FnOnce(u32, u64) -> Option<()>,
) -> A::Comm {
    guarded(|| {
        let (thread, node) = communicators::enter::<A>(comm)?;
        if dest < 0 || dest as u32 >= node.value.size.load(Ordering::Relaxed) {
            return Some(());
        }
        // SAFETY: the table of tasks has `size` entries and lives as long as the communicator, which the program
        // is using in this very call.
        let known = unsafe { &*node.value.tasks.load(Ordering::Relaxed).add(dest as usize) };
        let task = match known.load(Ordering::Relaxed) {
            communicator::UNKNOWN => communicators::with::<A, u32>(comm, |_, communicator| {
                Some(communicator.task::<A>(dest as u32))
            })?,
            task => task,
        };
        let size = datatypes::size::<A>(thread, datatype);
        take(task, (count.max(0) as u64).wrapping_mul(size))
    });
    world::effective::<A>(comm)
}

/// Counts a message by [`send`], or by [`send_slow`] where that gives `None`.
///
/// # Safety
/// Called by the wrapper of a send with the program's own arguments.
pub unsafe fn send_now<A: Abi>(comm: A::Comm, dest: c_int, count: i64, datatype: A::Datatype) {
    // SAFETY: the caller is the wrapper of a send and passes on the program's own arguments.
    unsafe {
        if send::<A>(comm, dest, count, datatype).is_none() {
            send_slow::<A>(comm, dest, count, datatype);
        }
    }
}

/// Reads a program's array of datatypes.
pub trait Types<A: Abi>: Copy {
    /// Element `i`.
    ///
    /// # Safety
    /// The array has more than `i` elements.
    unsafe fn at(self, i: u32) -> A::Datatype;
}

impl<A: Abi> Types<A> for *const A::Datatype {
    unsafe fn at(self, i: u32) -> A::Datatype {
        // SAFETY: the caller promises that the array has more than `i` elements.
        unsafe { *self.add(i as usize) }
    }
}

/// Reads a program's array of counts, `int` or MPI_Count.
pub trait Counts: Copy {
    /// Element `i`.
    ///
    /// # Safety
    /// The array has more than `i` elements.
    unsafe fn at(self, i: u32) -> i64;
}

impl Counts for *const c_int {
    unsafe fn at(self, i: u32) -> i64 {
        // SAFETY: the caller promises that the array has more than `i` elements.
        i64::from(unsafe { *self.add(i as usize) })
    }
}

impl Counts for *const i64 {
    unsafe fn at(self, i: u32) -> i64 {
        // SAFETY: the caller promises that the array has more than `i` elements.
        unsafe { *self.add(i as usize) }
    }
}
