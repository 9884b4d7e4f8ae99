//! What each thread caches: the communicator and the datatype that it used last, and its counters.
//!
//! The state lies in static thread-local storage (initial-exec model), so that reaching it costs two
//! loads and no call. A preloaded library may use that model. It takes [`SIZE`] bytes of every thread.
//! The assembler is needed because stable Rust cannot ask for the model.

use crate::record::block::{Block, Cell};
use crate::record::communicator::Communicator;
use crate::record::window::Window;
use std::arch::{asm, global_asm};
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

/// Bytes reserved per thread; [`Thread`] must fit.
const SIZE: usize = 320;
/// Datatypes whose size a thread remembers besides the last one.
pub const DATATYPES: usize = 8;

global_asm!(
    ".section .tbss.rankweave_thread,\"awT\",@nobits",
    ".balign 64",
    ".globl rankweave_thread",
    ".hidden rankweave_thread",
    ".type rankweave_thread,@object",
    ".size rankweave_thread,320",
    "rankweave_thread:",
    ".zero 320",
    ".previous",
);

/// A key of a cache that matches no handle: another thread has cleared the cache.
pub const GONE: u64 = u64::MAX;

/// Clears a cache of any thread if its key is `bits`.
///
/// Only the key changes. The thread that owns the cache may be filling it with something else at the
/// same time: the fields behind the key are its own to write.
pub fn clear(key: &AtomicU64, bits: u64) {
    let _ = key.compare_exchange(bits, GONE, Ordering::Relaxed, Ordering::Relaxed);
}

/// State of one thread. It is all zero in a new thread, which means that nothing is cached.
///
/// Fields are atomics because another thread may clear a cache when a communicator or datatype is
/// freed; all accesses are relaxed, that is plain loads and stores.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Thread {
    /// Handle of the communicator used last, as the program passed it; 0 = none.
    pub comm: AtomicU64,
    /// Handle to use instead (differs for a replaced world).
    pub effective: AtomicU64,
    /// Ranks that can be addressed in it.
    pub size: AtomicU32,
    /// Depth of calls in which nothing is recorded (see [`crate::record::pause`]).
    pub inside: AtomicU32,
    /// Task of each of these ranks, or [`crate::record::communicator::UNKNOWN`] and above.
    pub tasks: AtomicPtr<AtomicU32>,
    /// Point-to-point counters by task.
    pub cells: AtomicPtr<Cell>,
    /// Datatype used last and its size in bytes; 0 = none.
    pub datatype: AtomicU64,
    pub datatype_size: AtomicU64,
    /// The communicator's entry, for the slower paths.
    pub communicator: AtomicPtr<Communicator>,
    /// This thread's counters.
    pub block: AtomicPtr<Block>,
    /// The same, kept here while nothing is recorded.
    pub held: AtomicPtr<Block>,
    /// The last collective call (operation and root, elements, handles of the datatype and of the
    /// reduction operation), and where its calls are counted.
    pub collective: AtomicU64,
    pub collective_count: AtomicU64,
    pub collective_type: AtomicU64,
    pub collective_op: AtomicU64,
    pub collective_calls: AtomicPtr<AtomicU64>,
    /// Handle of the window used last and its entry; 0 = none.
    pub win: AtomicU64,
    pub window: AtomicPtr<Window>,
    /// Where on the stack the call lies that is being timed, and when it began; 0 = none.
    pub timed: AtomicU64,
    pub timed_since: AtomicU64,
    /// Datatypes used before and their sizes, by a hash of the handle.
    pub datatypes: [(AtomicU64, AtomicU64); DATATYPES],
}

const _: () = assert!(size_of::<Thread>() <= SIZE);

impl Thread {
    /// Empties the cache of the communicator. Only the thread itself may call this; other threads use
    /// [`clear`]. The key becomes 0. If the program passes a handle of zero bits, it matches this key: the
    /// cached size is 0, so nothing is counted, and the handle is passed on as it is.
    pub fn forget_communicator(&self) {
        self.comm.store(0, Ordering::Relaxed);
        self.size.store(0, Ordering::Relaxed);
        self.effective.store(0, Ordering::Relaxed);
        self.collective_calls.store(std::ptr::null_mut(), Ordering::Relaxed);
    }
}

/// The calling thread's state.
#[inline(always)]
pub fn current() -> &'static Thread {
    let address: *const Thread;
    // SAFETY: the x86-64 TLS ABI: fs:0 holds the thread pointer, and the linker fills the GOT entry
    // with the offset of our block, which is reserved above, aligned, zero-initialised and lives as
    // long as the thread. Zero is a valid value of every field. The reference is used by the same
    // thread, or by another one for atomic accesses while the thread is registered.
    unsafe {
        asm!(
            "mov {address}, qword ptr fs:[0]",
            "add {address}, qword ptr [rip + rankweave_thread@GOTTPOFF]",
            address = out(reg) address,
            options(pure, nomem, nostack),
        );
        &*address
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_thread_has_its_own_zeroed_state() {
        let here = current();
        assert!(std::ptr::eq(here, current()));
        here.size.store(7, Ordering::Relaxed);
        let there = std::thread::spawn(|| {
            let mine = current();
            (std::ptr::from_ref(mine) as usize, mine.size.load(Ordering::Relaxed))
        });
        let (address, size) = there.join().unwrap();
        assert_ne!(address, std::ptr::from_ref(here) as usize);
        assert_eq!(size, 0);
        assert_eq!(std::ptr::from_ref(here) as usize % align_of::<Thread>(), 0);
    }
}
