//! The state of each thread: the communicator and the datatype that it used last, and its counters.
//!
//! The state lies in static thread-local storage (initial-exec model), so reaching it costs two
//! loads and no call. A preloaded library may use that model. It takes [`THREAD_BYTES`] bytes of every
//! thread, which [`arch`](crate::arch) reserves.

use crate::arch::{self, THREAD_BYTES};
use crate::record::block::Block;
use crate::record::cell::Cell;
use crate::record::registry::Node;
use crate::record::slot::Slot;
use crate::record::ways::Ways;
use crate::record::windows::Place;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering};

/// State of one thread. In a new thread all fields are zero, which means that the thread has used no object
/// yet.
///
/// Only the thread itself reads and changes its state. The fields are atomics because the state is reached by a
/// shared reference. All accesses are relaxed, that is, plain loads and stores. The key of a node shows whether
/// the node still belongs to the object that the thread used last.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Thread {
    /// The communicator used last; null = none, or nothing is recorded.
    pub comm: AtomicPtr<Node<Slot>>,
    /// Point-to-point counters by task.
    pub cells: AtomicPtr<Cell>,
    /// The datatype used last; null = none.
    pub datatype: AtomicPtr<Node<Size>>,
    /// This thread's counters.
    pub block: AtomicPtr<Block>,
    /// The datatype whose size MPI was asked for last, without keeping it; 0 = none.
    pub asked: AtomicU64,
    /// The ways of calling collectives in the tables of its block; null before the first such call.
    pub ways: AtomicPtr<Ways>,
    /// The window used last; null = none.
    pub win: AtomicPtr<Place>,
    /// The address on the stack of the call that is being timed, and when it began; 0 = none.
    pub timed: AtomicU64,
    pub timed_since: AtomicU64,
    /// The communicator that the thread is freeing at present (see [`crate::record::communicators::Leaving`]);
    /// 0 = none.
    pub leaving: AtomicU64,
    /// This thread's counters during a pause of its recording, while `block` is null.
    pub held: AtomicPtr<Block>,
    /// How often MPI was asked for the size of `asked`.
    pub questions: AtomicU64,
    /// Depth of pauses of the recording (see [`crate::record::pause`]).
    pub inside: AtomicU32,
}

const _: () = assert!(size_of::<Thread>() <= THREAD_BYTES);

impl Thread {
    /// Forgets the communicator that the thread used last. The next call then checks whether anything is
    /// recorded. Only the thread itself may call this.
    pub fn forget_communicator(&self) {
        self.comm.store(std::ptr::null_mut(), Ordering::Relaxed);
        self.ways.store(std::ptr::null_mut(), Ordering::Relaxed);
    }
}

/// The size of a datatype. The fast path of a send reads it by its offset.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Size {
    pub bytes: AtomicU64,
    /// The datatype was used in a collective call, so a [way](Ways) of calling may contain its handle.
    pub in_collective: AtomicBool,
}

/// How many datatypes and reduction operations were freed. Later ones may have the same handles.
pub static FREED: AtomicU64 = AtomicU64::new(0);

/// To be called when a datatype or a reduction operation is being freed.
pub fn freed() {
    FREED.fetch_add(1, Ordering::Release);
}

/// The calling thread's state.
#[inline(always)]
pub fn current() -> &'static Thread {
    // SAFETY: the bytes are the thread's own, aligned, zero at first, and live as long as the thread. Zero is a valid
    // value of every field. The reference is used by the same thread.
    unsafe { &*arch::thread_state().cast::<Thread>() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_thread_has_its_own_zeroed_state() {
        let here = current();
        assert!(std::ptr::eq(here, current()));
        here.inside.store(7, Ordering::Relaxed);
        let there = std::thread::spawn(|| {
            let mine = current();
            (std::ptr::from_ref(mine) as usize, mine.inside.load(Ordering::Relaxed))
        });
        let (address, inside) = there.join().unwrap();
        assert_ne!(address, std::ptr::from_ref(here) as usize);
        assert_eq!(inside, 0);
        here.inside.store(0, Ordering::Relaxed);
        assert_eq!(std::ptr::from_ref(here) as usize % align_of::<Thread>(), 0);
    }
}
