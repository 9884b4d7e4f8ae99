//! Pauses the recording of the calling thread during calls in which the MPI library itself may call MPI
//! functions by the names that the program uses.

use crate::record::thread;
use std::sync::atomic::Ordering;

/// Begins a pause: nothing is recorded in this thread until [`end`]. Pauses may be nested.
pub fn begin() {
    let thread = thread::current();
    let depth = thread.inside.load(Ordering::Relaxed);
    thread.inside.store(depth + 1, Ordering::Relaxed);
    if depth == 0 {
        // The fast paths read these fields. Without them they record nothing, and need not read the depth.
        thread.forget_communicator();
        thread.held.store(thread.block.load(Ordering::Relaxed), Ordering::Relaxed);
        thread.block.store(std::ptr::null_mut(), Ordering::Relaxed);
    }
}

/// Ends the innermost pause. Returns true if the thread records again.
pub fn end() -> bool {
    let thread = thread::current();
    let depth = thread.inside.load(Ordering::Relaxed).saturating_sub(1);
    thread.inside.store(depth, Ordering::Relaxed);
    if depth == 0 {
        thread.block.store(thread.held.load(Ordering::Relaxed), Ordering::Relaxed);
        thread.held.store(std::ptr::null_mut(), Ordering::Relaxed);
    }
    depth == 0
}

/// Whether the calling thread is in a pause.
pub fn is_active() -> bool {
    thread::current().inside.load(Ordering::Relaxed) > 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::block::Block;
    use crate::record::counters;
    use std::sync::atomic::AtomicU32;

    #[test]
    fn nothing_is_counted_during_a_pause() {
        let thread = thread::current();
        let mark = AtomicU32::new(0);
        let block: *mut Block = mark.as_ptr().cast();
        thread.block.store(block, Ordering::Relaxed);
        thread.comm.store(std::ptr::dangling_mut(), Ordering::Relaxed);
        begin();
        begin();
        assert!(counters::mine().is_none() && is_active());
        assert!(thread.comm.load(Ordering::Relaxed).is_null());
        assert!(!end(), "only the inner one");
        assert!(end() && !is_active());
        assert_eq!(thread.block.load(Ordering::Relaxed), block);
        assert_eq!(thread.inside.load(Ordering::Relaxed), 0);
        thread.block.store(std::ptr::null_mut(), Ordering::Relaxed);
    }
}
