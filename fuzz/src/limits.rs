//! Limits of time and memory for an input. Time is that of the processor, so that a busy machine changes nothing.
//! Memory is what the thread of the input has allocated and not freed. Other threads are not measured.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// What an input may use.
pub struct Limits {
    /// Seconds of processor time.
    pub seconds: f64,
    /// Bytes of memory at the same time.
    pub memory: usize,
}

/// The limits of every input. Those of `tests/rust/hostile.rs` are the same.
pub const INPUT: Limits = Limits { seconds: 1.0, memory: 64 << 20 };

/// Allocated bytes of a thread.
#[derive(Clone, Copy)]
struct Allocated {
    now: usize,
    most: usize,
}

thread_local! {
    static MORE: Cell<(f64, usize)> = const { Cell::new((0.0, 0)) };
    static ALLOCATED: Cell<Allocated> = const { Cell::new(Allocated { now: 0, most: 0 }) };
}

/// What an input may use more for each slot that it describes, because short descriptions of large machines are right:
/// seconds and bytes. With its counters for coverage, this build takes ten times as long as a release. Beside other
/// jobs, a ring of 316 000 nodes took 2.6 s in a build for tests.
const FOR_A_SLOT: (f64, usize) = (1e-5, 192);

/// Levels of a tree that the bytes for a slot suffice for.
const LEVELS_OF_A_SLOT: usize = 4;

/// What an input may use more for each task of the matrix that it describes: a row in each layer, while two copies of a
/// layer exist.
const FOR_A_TASK: (f64, usize) = (1e-6, 48);

/// Tells that the input describes a machine of so many slots. A tree of many levels counts as more slots, because it
/// has a group for each slot and level.
pub fn describes_slots(slots: usize, levels: usize) {
    allow(FOR_A_SLOT, slots.saturating_mul(levels.div_ceil(LEVELS_OF_A_SLOT).max(1)));
}

/// Tells that the input describes a matrix of so many tasks. A line can name a high number of a task.
pub fn describes_tasks(tasks: usize) {
    allow(FOR_A_TASK, tasks);
}

fn allow(each: (f64, usize), items: usize) {
    let (seconds, memory) = MORE.get();
    MORE.set((seconds.max(each.0 * items as f64), memory.max(each.1.saturating_mul(items))));
}

impl Limits {
    /// Runs a function within these limits.
    ///
    /// # Panics
    /// If the function panics, or has used more than the limits when it ends.
    pub fn hold(&self, run: impl FnOnce()) {
        ALLOCATED.set(Allocated { now: 0, most: 0 });
        MORE.set((0.0, 0));
        let begin = processor_seconds();
        run();
        let seconds = processor_seconds() - begin;
        let memory = ALLOCATED.get().most;
        let more = MORE.get();
        let most_seconds = self.seconds + more.0;
        let most_memory = self.memory.saturating_add(more.1);
        assert!(seconds <= most_seconds, "an input took {seconds:.3} s of processor time");
        assert!(memory <= most_memory, "an input took {memory} bytes of memory");
    }
}

/// The processor time of this thread.
fn processor_seconds() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the clock exists on every Linux, and `time` is writable during the call.
    let code = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    assert_eq!(code, 0, "the clock of the thread is readable");
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// The allocator of the system, which counts.
struct Counting;

#[global_allocator]
static COUNTING: Counting = Counting;

/// Counts that a thread has `more` bytes than before, and no longer has `less` bytes. A thread may free what another
/// one has allocated.
fn count(more: usize, less: usize) {
    // A thread that ends has no counter any more.
    let _ = ALLOCATED.try_with(|cell| {
        let before = cell.get();
        let now = (before.now + more).saturating_sub(less);
        cell.set(Allocated { now, most: before.most.max(now) });
    });
}

// SAFETY: every call goes to the allocator of the system as it is. Counting allocates nothing, because the counter
// is a constant-initialised cell without a destructor.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), 0);
        // SAFETY: the caller keeps the rules of `alloc`, which are those of the allocator of the system.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), 0);
        // SAFETY: as in `alloc`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, address: *mut u8, layout: Layout) {
        count(0, layout.size());
        // SAFETY: `address` came from the allocator of the system, with this layout.
        unsafe { System.dealloc(address, layout) }
    }

    unsafe fn realloc(&self, address: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size, layout.size());
        // SAFETY: `address` came from the allocator of the system, with this layout.
        unsafe { System.realloc(address, layout, size) }
    }
}
