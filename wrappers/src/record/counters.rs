//! Counters: what this process sent to every task, kept by each thread for itself.
//!
//! A thread that records gets a [`Block`] of its own, so counting is a plain load, add and store even with
//! MPI_THREAD_MULTIPLE. When a thread ends, its block keeps its sums and is given to the next new thread. The
//! sums over all blocks are the row of the process in the matrix.

use crate::record::block::Block;
use crate::record::pool::{Owned, Pool};
use crate::record::thread;
use crate::sys::hook::Hook;
use crate::sys::thread_key;
use rw::matrix::{Kind, Traffic};
use rw::store::spill::layout;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The blocks of all threads, also of those that have ended.
static BLOCKS: Pool<Block> = Pool::new();
static TASKS: AtomicUsize = AtomicUsize::new(0);
/// Called when a call is to be recorded and no job has started. The registered function may start the job.
pub static LATE_START: Hook<fn()> = Hook::new();

/// Sets the number of tasks of the job. Before this call nothing is counted. With 0, new threads count nothing.
pub fn set_tasks(tasks: usize) {
    // The key is made here and not in the first recorded call, because the C library takes locks to make a key.
    key_of_ends();
    TASKS.store(tasks, Ordering::Release);
}

/// Number of tasks of the job, 0 while nothing is recorded.
#[inline]
pub fn tasks() -> usize {
    TASKS.load(Ordering::Acquire)
}

/// The block of the calling thread. It is made or taken over at the first call. `None` if nothing is recorded at
/// this time, or if there is no free memory.
pub fn mine() -> Option<&'static Block> {
    let thread = thread::current();
    let block = thread.block.load(Ordering::Relaxed);
    if !block.is_null() {
        // SAFETY: blocks are leaked, so the pointer stays valid.
        return Some(unsafe { &*block });
    }
    if tasks() == 0
        && let Some(start) = LATE_START.get()
    {
        start();
    }
    let tasks = tasks();
    if tasks == 0 || thread.inside.load(Ordering::Relaxed) != 0 {
        return None;
    }
    let owned = BLOCKS.take(|| Block::new(tasks))?;
    if !released_at_thread_end(owned) {
        // The block could not be given back when this thread ends, so nothing is recorded in this thread.
        owned.give_back();
        return None;
    }
    let block = &owned.what;
    thread.block.store(std::ptr::from_ref(block).cast_mut(), Ordering::Relaxed);
    let cells = block.row(Kind::PointToPoint).unwrap_or_default();
    thread.cells.store(cells.as_ptr().cast_mut(), Ordering::Relaxed);
    Some(block)
}

/// The calling thread's block, also during a pause of its recording. For adding sums of calls that were
/// counted before.
pub fn mine_for_sums() -> Option<&'static Block> {
    let held = thread::current().held.load(Ordering::Relaxed);
    // SAFETY: blocks are leaked, so the pointer stays valid.
    if held.is_null() { mine() } else { Some(unsafe { &*held }) }
}

/// Gives back the block of a thread that has ended.
unsafe extern "C" fn ended(owned: *mut libc::c_void) {
    // SAFETY: the value set below: a block that is never dropped.
    let owned: &Owned<Block> = unsafe { &*owned.cast() };
    // Destructors of other keys may still send. The thread then takes a block again.
    let thread = thread::current();
    thread.forget_communicator();
    thread.block.store(std::ptr::null_mut(), Ordering::Relaxed);
    owned.what.presence.frame.store(0, Ordering::Relaxed);
    owned.give_back();
}

/// The key whose destructor gives back the block of a thread; `None` if the program has taken all keys.
fn key_of_ends() -> Option<libc::pthread_key_t> {
    static KEY: std::sync::OnceLock<Option<libc::pthread_key_t>> = std::sync::OnceLock::new();
    *KEY.get_or_init(|| {
        let mut key = 0;
        // SAFETY: creates a key with a destructor of the right type.
        let code = unsafe { libc::pthread_key_create(&raw mut key, Some(ended)) };
        (code == 0 && key != thread_key::NONE).then_some(key)
    })
}

/// Makes the C library call [`ended`] when this thread ends. `false` if this is not possible.
fn released_at_thread_end(owned: &'static Owned<Block>) -> bool {
    let value: *const libc::c_void = std::ptr::from_ref(owned).cast();
    // SAFETY: the key exists; the value is only read by the destructor.
    if key_of_ends().is_some_and(|key| unsafe { libc::pthread_setspecific(key, value) == 0 }) {
        return true;
    }
    // The program has taken all keys. The first thread needs no destructor, because its block is in use until
    // the process ends.
    unsafe extern "C" fn ended_without_key(owned: *mut libc::c_void) {
        // SAFETY: the value is that of the destructor of the key.
        unsafe { ended(owned) };
        // Destructors of the program's keys run later. What they send is not recorded, because the block that
        // they would take could not be given back.
        let inside = &thread::current().inside;
        inside.store(inside.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }
    // SAFETY: numbers of the calling process and thread.
    let is_first = unsafe { libc::getpid() == libc::gettid() };
    is_first || thread_key::at_thread_end(ended_without_key, value.cast_mut())
}

/// Runs `visit` on every block that exists.
pub fn for_each_block(mut visit: impl FnMut(&'static Block)) {
    BLOCKS.all().for_each(|owned| visit(&owned.what));
}

/// How many threads are in a call of a busy entry point just now, and how many such calls were made.
pub fn presence() -> (u32, u64) {
    BLOCKS.all().fold((0, 0), |(inside, calls), owned| {
        let presence = &owned.what.presence;
        let is_inside = presence.frame.load(Ordering::Relaxed) != 0;
        (inside + u32::from(is_inside), calls + presence.calls.load(Ordering::Relaxed))
    })
}

/// This process's row of the matrix: `(task, traffic)` for each task with traffic, in ascending order of tasks.
/// Peers outside the world are left out.
pub fn row(kind: Kind) -> Vec<(u32, Traffic)> {
    sums(kind as usize)
}

/// What this process fetched from each task, in the form of [`row`].
pub fn fetched() -> Vec<(u32, Traffic)> {
    sums(layout::FETCHED)
}

fn sums(row: usize) -> Vec<(u32, Traffic)> {
    let mut sums = vec![Traffic::default(); tasks()];
    for_each_block(|block| block.add_to(&mut sums, row));
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
