//! The counter of what one thread sent to one task.

use crate::sys::sync::AtomicU64;
use std::sync::atomic::Ordering;

/// Bytes and messages to one task. Written by one thread, read by any.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Cell {
    pub bytes: AtomicU64,
    pub messages: AtomicU64,
}

impl Cell {
    /// Counts messages; only the owning thread may call this.
    #[inline(always)]
    pub fn add(&self, bytes: u64, messages: u64) {
        self.bytes.store(self.bytes.load(Ordering::Relaxed).wrapping_add(bytes), Ordering::Relaxed);
        let sum = self.messages.load(Ordering::Relaxed).wrapping_add(messages);
        self.messages.store(sum, Ordering::Relaxed);
    }

    /// Bytes and messages.
    pub fn get(&self) -> (u64, u64) {
        (self.bytes.load(Ordering::Relaxed), self.messages.load(Ordering::Relaxed))
    }
}
