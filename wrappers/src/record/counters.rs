//! Counters: what this process sent to every task, kept by each thread for itself.
//!
//! A thread that records gets a [`Block`] of its own, so that counting is a plain load, add and
//! store even under MPI_THREAD_MULTIPLE. When a thread ends its block keeps its sums and is handed
//! to the next new thread; sums over all blocks are the process's row of the matrix.
//!
//! Memory: 16 bytes per task and kind of traffic that occurs, in the spill file where there is one
//! (see [`crate::spill`]), so that the sums outlive the process.

use crate::record::thread::{self, Thread};
use crate::spill;
use crate::spill::calls::Calls;
use crate::sys::hook::Hook;
use parking_lot::Mutex;
use rw::matrix::{Kind, Traffic};
use rw::store::spill::layout::{self, Head};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering};

/// Bytes and messages to one task. Written by one thread, read by any.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Cell {
    pub(crate) bytes: AtomicU64,
    pub(crate) messages: AtomicU64,
}

impl Cell {
    /// Counts messages; only the owning thread may call this.
    #[inline(always)]
    pub fn add(&self, bytes: u64, messages: u64) {
        self.bytes.store(self.bytes.load(Ordering::Relaxed).wrapping_add(bytes), Ordering::Relaxed);
        let sum = self.messages.load(Ordering::Relaxed).wrapping_add(messages);
        self.messages.store(sum, Ordering::Relaxed);
    }

    fn get(&self) -> Traffic {
        Traffic {
            bytes: self.bytes.load(Ordering::Relaxed),
            messages: self.messages.load(Ordering::Relaxed),
        }
    }
}

/// The counters of one thread at a time.
#[derive(Debug)]
pub struct Block {
    tasks: usize,
    /// By kind of traffic, and what was fetched.
    cells: [AtomicPtr<Cell>; layout::ROWS],
    in_use: AtomicBool,
    /// The thread it belongs to, while in use.
    owner: AtomicPtr<Thread>,
    /// Calls of each collective, folded in when a communicator is freed or the job ends.
    pub collectives: Mutex<Calls>,
}

static BLOCKS: Mutex<Vec<&'static Block>> = Mutex::new(Vec::new());
static TASKS: AtomicUsize = AtomicUsize::new(0);
/// Called at the first call that would be recorded while there is no job: it may begin now.
pub static LATE_START: Hook<fn()> = Hook::new();

/// Sets the number of tasks of the job; before it nothing can be counted.
pub fn set_tasks(tasks: usize) {
    TASKS.store(tasks, Ordering::Release);
}

/// Number of tasks of the job, 0 while nothing is recorded.
#[inline]
pub fn tasks() -> usize {
    TASKS.load(Ordering::Acquire)
}

impl Block {
    fn new(tasks: usize) -> Option<&'static Block> {
        let block = Block {
            tasks,
            cells: std::array::from_fn(|_| AtomicPtr::new(std::ptr::null_mut())),
            in_use: AtomicBool::new(true),
            owner: AtomicPtr::new(std::ptr::null_mut()),
            collectives: Mutex::new(Calls::default()),
        };
        block.row(Kind::PointToPoint)?;
        Some(Box::leak(Box::new(block)))
    }

    /// The counters of one kind: `tasks + 1` cells, the last for peers outside the job's world.
    pub fn row(&self, kind: Kind) -> Option<&[Cell]> {
        self.cells_of(kind as usize)
    }

    fn cells_of(&self, row: usize) -> Option<&[Cell]> {
        let slot = self.cells.get(row)?;
        let mut cells = slot.load(Ordering::Acquire);
        if cells.is_null() {
            let head = Head { tag: layout::tag::ROW, number: row as u64, ..Head::default() };
            let region = spill::allocate(head, self.tasks + 1, size_of::<Cell>(), |_| {})?;
            cells = region.body() as *mut Cell;
            slot.store(cells, Ordering::Release);
        }
        // SAFETY: a region of this many cells, zero-initialised, never unmapped.
        Some(unsafe { std::slice::from_raw_parts(cells, self.tasks + 1) })
    }

    /// Makes the owning thread look its collective counter up again: counters are about to go.
    pub fn forget_current_collective(&self) {
        let _held = BLOCKS.lock();
        let owner = self.owner.load(Ordering::Acquire);
        if !owner.is_null() {
            // SAFETY: the owner is cleared, under the lock held here, before its storage goes away.
            let owner = unsafe { &*owner };
            owner.collective_calls.store(std::ptr::null_mut(), Ordering::Relaxed);
        }
    }

    /// Counts a message of `kind` to `task`; tasks beyond the world go to the last cell.
    pub fn add(&self, kind: Kind, task: u32, bytes: u64, messages: u64) {
        if let Some(row) = self.row(kind) {
            row[(task as usize).min(self.tasks)].add(bytes, messages);
        }
    }

    /// Counts a message that was fetched from `task`, which the other side sent.
    pub fn add_fetched(&self, task: u32, bytes: u64, messages: u64) {
        if let Some(row) = self.cells_of(layout::FETCHED) {
            row[(task as usize).min(self.tasks)].add(bytes, messages);
        }
    }
}

/// The calling thread's block, made or taken over at the first call; `None` while nothing is
/// recorded or when memory is out.
pub fn mine() -> Option<&'static Block> {
    let thread = thread::current();
    let block = thread.block.load(Ordering::Relaxed);
    if !block.is_null() {
        // SAFETY: blocks are leaked, so the pointer stays valid.
        return Some(unsafe { &*block });
    }
    if tasks() == 0 {
        if let Some(start) = LATE_START.get() {
            start();
        }
    }
    let tasks = tasks();
    if tasks == 0 || thread.inside.load(Ordering::Relaxed) != 0 {
        return None;
    }
    let mut blocks = BLOCKS.lock();
    let free = blocks.iter().copied().find(|b| !b.in_use.swap(true, Ordering::AcqRel));
    let block = match free {
        Some(block) => block,
        None => {
            let block = Block::new(tasks)?;
            blocks.push(block);
            block
        }
    };
    if !released_at_thread_end(block) {
        // Nobody would tell when this thread ends: it is not recorded.
        block.in_use.store(false, Ordering::Release);
        return None;
    }
    block.owner.store(std::ptr::from_ref(thread).cast_mut(), Ordering::Release);
    drop(blocks);
    thread.block.store(std::ptr::from_ref(block).cast_mut(), Ordering::Relaxed);
    thread
        .cells
        .store(block.cells[Kind::PointToPoint as usize].load(Ordering::Acquire), Ordering::Relaxed);
    Some(block)
}

/// The calling thread's block, also where nothing new is recorded: for sums of what was counted
/// before.
pub fn mine_for_sums() -> Option<&'static Block> {
    let held = thread::current().held.load(Ordering::Relaxed);
    // SAFETY: blocks are leaked, so the pointer stays valid.
    if held.is_null() { mine() } else { Some(unsafe { &*held }) }
}

/// Registers a destructor that hands the block back when this thread ends; `false` if it cannot.
fn released_at_thread_end(block: &'static Block) -> bool {
    static KEY: std::sync::OnceLock<Option<libc::pthread_key_t>> = std::sync::OnceLock::new();
    unsafe extern "C" fn ended(block: *mut libc::c_void) {
        // SAFETY: the value set below: a leaked block.
        let block: &Block = unsafe { &*block.cast() };
        let _held = BLOCKS.lock();
        block.owner.store(std::ptr::null_mut(), Ordering::Release);
        // Destructors of other keys may still send: they take a block anew.
        let thread = thread::current();
        thread.forget_communicator();
        thread.block.store(std::ptr::null_mut(), Ordering::Relaxed);
        block.in_use.store(false, Ordering::Release);
    }
    let key = KEY.get_or_init(|| {
        let mut key = 0;
        // SAFETY: creates a key with a destructor of the right type.
        (unsafe { libc::pthread_key_create(&raw mut key, Some(ended)) } == 0).then_some(key)
    });
    // SAFETY: the key exists; the value is only read by the destructor.
    key.is_some_and(|key| unsafe {
        libc::pthread_setspecific(key, std::ptr::from_ref(block).cast()) == 0
    })
}

/// Runs `visit` on every block that exists.
pub fn for_each_block(mut visit: impl FnMut(&'static Block)) {
    let blocks: Vec<_> = BLOCKS.lock().clone();
    for block in blocks {
        visit(block);
    }
}

/// Runs `visit` on the state of every thread that has recorded something and still lives.
pub fn for_each_thread(mut visit: impl FnMut(&Thread)) {
    let blocks = BLOCKS.lock();
    for block in blocks.iter() {
        let owner = block.owner.load(Ordering::Acquire);
        if !owner.is_null() {
            // SAFETY: the owner is cleared, under the lock held here, before its storage goes away.
            visit(unsafe { &*owner });
        }
    }
}

/// This process's row of the matrix: `(task, traffic)` with traffic, ascending; peers outside the
/// world are left out.
pub fn row(kind: Kind) -> Vec<(u32, Traffic)> {
    sums(kind as usize)
}

/// What this process fetched from each task, in the same form.
pub fn fetched() -> Vec<(u32, Traffic)> {
    sums(layout::FETCHED)
}

fn sums(row: usize) -> Vec<(u32, Traffic)> {
    let mut sums = vec![Traffic::default(); tasks()];
    for_each_block(|block| {
        if !block.cells[row].load(Ordering::Acquire).is_null() {
            for (sum, cell) in sums.iter_mut().zip(block.cells_of(row).unwrap_or_default()) {
                sum.add(cell.get());
            }
        }
    });
    sums.into_iter().enumerate().filter(|(_, t)| !t.is_zero()).map(|(i, t)| (i as u32, t)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Threads that come and go: nothing is lost, blocks are used again.
    #[test]
    fn sums_over_threads_are_exact() {
        set_tasks(4);
        for _ in 0..3 {
            let threads: Vec<_> = (0..4)
                .map(|_| {
                    std::thread::spawn(|| {
                        for i in 0..1000u32 {
                            mine().unwrap().add(Kind::OneSided, i % 5, 8, 1);
                        }
                    })
                })
                .collect();
            for thread in threads {
                thread.join().unwrap();
            }
        }
        let expected = Traffic { bytes: 3 * 4 * 200 * 8, messages: 3 * 4 * 200 };
        // Task 4 does not exist: its traffic is outside and left out.
        assert_eq!(row(Kind::OneSided), (0..4).map(|t| (t, expected)).collect::<Vec<_>>());
        let mut blocks = 0;
        for_each_block(|_| blocks += 1);
        assert!(blocks <= 5, "{blocks} blocks for at most five threads at a time");
    }
}
