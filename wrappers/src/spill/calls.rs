//! Counters of collective calls in regions of the spill memory: one for each operation with its arguments.

use crate::spill::{self, Region};
use rw::store::spill::layout::{CALLS, ENTRY, Entry, Head, tag};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};

/// Identifies the collective calls that are counted together. They are expanded into messages later, when
/// their communicator is freed or the job ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CollectiveKey {
    /// Number of the communicator (see [`crate::record::communicator::Communicator::number`]).
    pub communicator: u64,
    pub operation: u32,
    pub root: u32,
    pub bytes: u64,
    pub element: u32,
    pub commutative: bool,
    pub nonblocking: bool,
}

/// Keys that each thread keeps at most. Calls with further keys are expanded at once.
const MOST_KEYS: usize = 4096;
/// Entries that are added at a time: a region of 1 KiB.
const AT_ONCE: usize = 15;

/// A hash of few numbers that costs little. The numbers are the program's own: nobody chooses them so that many
/// meet.
#[derive(Debug, Default)]
pub struct QuickHasher(u64);
type Quick = BuildHasherDefault<QuickHasher>;

impl Hasher for QuickHasher {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(byte.into());
        }
    }

    fn write_u8(&mut self, number: u8) {
        self.write_u64(number.into());
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(number.into());
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0.rotate_left(23) ^ number).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }

    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 32)
    }
}

/// The calls that one thread counted.
#[derive(Debug, Default)]
pub struct Calls {
    /// Address of the entry of each key, by communicator.
    entries: HashMap<u64, HashMap<CollectiveKey, usize, Quick>, Quick>,
    /// Number of keys of all communicators.
    keys: usize,
    /// Addresses of entries that are not in use.
    free: Vec<usize>,
}

/// The counter of an entry.
fn counter(entry: usize) -> &'static AtomicU64 {
    // SAFETY: an entry of a region that is never unmapped; its counter is only used as an atomic.
    unsafe { &*((entry + CALLS) as *const AtomicU64) }
}

impl Calls {
    /// The counter of a key, if it has one.
    pub fn get(&self, key: &CollectiveKey) -> Option<&'static AtomicU64> {
        self.entries.get(&key.communicator)?.get(key).map(|&entry| counter(entry))
    }

    /// The counter of a key, made if needed; `entry` describes the key in the file. `None` if there are too
    /// many keys or memory is out.
    pub fn get_or_add(&mut self, key: CollectiveKey, entry: &Entry) -> Option<&'static AtomicU64> {
        if let Some(known) = self.get(&key) {
            return Some(known);
        }
        if self.keys >= MOST_KEYS {
            return None;
        }
        if self.free.is_empty() {
            let head = Head { tag: tag::COLLECTIVES, ..Head::default() };
            let region: Region = spill::allocate(head, AT_ONCE, ENTRY, |_| {})?;
            self.free.extend((0..AT_ONCE).rev().map(|i| region.body() + i * ENTRY));
        }
        let address = self.free.pop()?;
        let bytes = entry.to_bytes();
        // SAFETY: an entry that is not in use. The number of the communicator, which makes it valid,
        // comes last.
        unsafe {
            std::ptr::copy_nonoverlapping(
                bytes.as_ptr().add(8),
                (address + 8) as *mut u8,
                ENTRY - 8,
            );
            (*(address as *const AtomicU64)).store(entry.communicator, Ordering::Release);
        }
        self.entries.entry(key.communicator).or_default().insert(key, address);
        self.keys += 1;
        Some(counter(address))
    }

    /// The calls on a communicator.
    pub fn of(&self, communicator: u64) -> Vec<(CollectiveKey, u64)> {
        let mine = self.entries.get(&communicator).into_iter().flatten();
        mine.map(|(key, &entry)| (*key, counter(entry).load(Ordering::Relaxed))).collect()
    }

    /// Forgets the calls on a communicator.
    pub fn forget(&mut self, communicator: u64) {
        let Some(entries) = self.entries.remove(&communicator) else { return };
        self.keys -= entries.len();
        for address in entries.into_values() {
            // SAFETY: the number of an entry.
            unsafe { (*(address as *const AtomicU64)).store(0, Ordering::Release) };
            self.free.push(address);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(communicator: u64, bytes: u64) -> (CollectiveKey, Entry) {
        let key = CollectiveKey {
            communicator,
            operation: 1,
            root: 0,
            bytes,
            element: 1,
            commutative: true,
            nonblocking: false,
        };
        (key, Entry { communicator, bytes, operation: 1, ..Entry::default() })
    }

    #[test]
    fn entries_are_found_again_and_used_again() {
        let mut calls = Calls::default();
        for round in 0..3 {
            for bytes in 0..100 {
                for communicator in [1, 2] {
                    let (key, entry) = key(communicator, bytes);
                    let first = calls.get_or_add(key, &entry).unwrap();
                    first.store(first.load(Ordering::Relaxed) + bytes, Ordering::Relaxed);
                    assert!(std::ptr::eq(first, calls.get(&key).unwrap()));
                }
            }
            let counted = calls.of(2);
            assert_eq!(counted.len(), 100);
            assert!(counted.iter().all(|(key, times)| *times == key.bytes));
            calls.forget(2);
            assert_eq!((calls.of(2).len(), calls.of(1).len()), (0, 100));
            assert_eq!(calls.get(&key(1, 5).0).unwrap().load(Ordering::Relaxed), 5 * (round + 1));
        }
        assert!(calls.free.len() >= 100 && calls.free.len() < 100 + AT_ONCE);
    }

    /// Keys that differ in one number only, by steps of any size, have different hashes in all parts that a table
    /// uses: the lowest bits and the seven highest ones.
    #[test]
    fn hashes_of_near_keys_are_spread() {
        use std::hash::BuildHasher;
        for step in [1u64, 8, 64, 4096, 1 << 20, 1 << 32] {
            let mut places = vec![0u32; 4096];
            let mut tops = vec![0u32; 128];
            for k in 0..4096 {
                let hash = Quick::default().hash_one(key(7, k * step).0);
                places[hash as usize % 4096] += 1;
                tops[(hash >> 57) as usize] += 1;
            }
            let most = |counts: &[u32]| counts.iter().max().copied().unwrap();
            assert!(
                most(&places) < 16 && most(&tops) < 80,
                "{step}: {} {}",
                most(&places),
                most(&tops)
            );
        }
    }

    #[test]
    fn there_is_a_limit() {
        let mut calls = Calls::default();
        let mut many = (0..5000).map(|bytes| key(1, bytes));
        assert_eq!(
            many.position(|(key, entry)| calls.get_or_add(key, &entry).is_none()),
            Some(MOST_KEYS)
        );
    }
}
