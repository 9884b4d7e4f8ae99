//! The counters of one thread: bytes and messages to every task.
//!
//! Memory: 16 bytes per task and kind of traffic that occurs, in the spill file where there is one
//! (see [`crate::spill`]), so that the sums outlive the process.

use crate::record::cell::Cell;
use crate::record::ways::Ways;
use crate::spill;
use crate::spill::calls::Calls;
use parking_lot::Mutex;
use rw::matrix::{Kind, Traffic};
use rw::store::spill::layout::{self, Head};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

/// Whether a thread is in a call of a busy entry point (see [`crate::time`]). Written by one thread, read by any.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Presence {
    /// The address on the stack of the innermost such call; 0 = the thread is in none.
    pub frame: AtomicU64,
    /// How many such calls the thread has made.
    pub calls: AtomicU64,
}

/// The counters of one thread at a time.
#[derive(Debug)]
pub struct Block {
    pub presence: Presence,
    tasks: usize,
    /// One row for each kind of traffic, and one for fetched traffic; null until it is needed.
    cells: [AtomicPtr<Cell>; layout::ROWS],
    /// Collective calls that are not expanded into messages yet (see [`crate::record::expansion`]).
    pub collectives: Mutex<Calls>,
    /// The ways of calling collectives that the thread used last. The tables are made at its first collective
    /// call.
    ways: OnceLock<Ways>,
}

impl Block {
    /// The counters of one thread in a job of so many tasks; `None` if memory is out.
    pub fn new(tasks: usize) -> Option<Block> {
        let block = Block {
            presence: Presence::default(),
            tasks,
            cells: std::array::from_fn(|_| AtomicPtr::new(std::ptr::null_mut())),
            collectives: Mutex::new(Calls::default()),
            ways: OnceLock::new(),
        };
        block.row(Kind::PointToPoint)?;
        Some(block)
    }

    /// The ways of calling collectives that the thread used last. Only the owning thread may call this.
    #[inline(always)]
    pub fn ways(&self) -> &Ways {
        self.ways.get_or_init(Ways::default)
    }

    /// The counters of one kind: `tasks + 1` cells. The last one is for all peers outside the world of the job.
    pub fn row(&self, kind: Kind) -> Option<&[Cell]> {
        self.cells_of(kind as usize)
    }

    /// Adds the counters of a row of the spill layout to `sums`, by task.
    pub fn add_to(&self, sums: &mut [Traffic], row: usize) {
        if !self.cells[row].load(Ordering::Acquire).is_null() {
            for (sum, cell) in sums.iter_mut().zip(self.cells_of(row).unwrap_or_default()) {
                let (bytes, messages) = cell.get();
                sum.add(Traffic { bytes, messages });
            }
        }
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

    /// The counter of a task in a row of the spill layout, if the row exists. Tasks outside the world share the
    /// last counter.
    #[inline(always)]
    pub fn cell(&self, row: usize, task: u32) -> Option<&Cell> {
        let cells = self.cells.get(row)?.load(Ordering::Acquire);
        // SAFETY: a row has one cell more than there are tasks, and is never unmapped.
        (!cells.is_null()).then(|| unsafe { &*cells.add((task as usize).min(self.tasks)) })
    }

    /// Counts a message of `kind` to `task`. Tasks outside the world share the last counter.
    #[inline(always)]
    pub fn add(&self, kind: Kind, task: u32, bytes: u64, messages: u64) {
        if let Some(row) = self.row(kind) {
            row[(task as usize).min(self.tasks)].add(bytes, messages);
        }
    }

    /// Counts a message that this process fetched from `task` (MPI_Get).
    pub fn add_fetched(&self, task: u32, bytes: u64, messages: u64) {
        if let Some(row) = self.cells_of(layout::FETCHED) {
            row[(task as usize).min(self.tasks)].add(bytes, messages);
        }
    }
}
