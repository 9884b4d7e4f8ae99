//! Counters of collective calls in regions of the spill memory: one for each operation with its arguments.

use crate::spill::{self, Region};
use rw::store::spill::layout::{CALLS, ENTRY, Entry, Head, tag};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hash, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};

/// Identifies the collective calls that are counted together. They are expanded into messages later, when
/// their communicator is freed or the job ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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

impl Hash for CollectiveKey {
    /// In four words: each costs a multiplication.
    #[inline(always)]
    fn hash<H: Hasher>(&self, state: &mut H) {
        let flags = u32::from(self.commutative) << 16 | u32::from(self.nonblocking) << 17;
        state.write_u64(self.communicator);
        state.write_u64(u64::from(self.operation ^ flags) << 32 | u64::from(self.root));
        state.write_u64(self.bytes);
        state.write_u64(self.element.into());
    }
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
    #[inline(always)]
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(byte.into());
        }
    }

    #[inline(always)]
    fn write_u8(&mut self, number: u8) {
        self.write_u64(number.into());
    }

    #[inline(always)]
    fn write_u32(&mut self, number: u32) {
        self.write_u64(number.into());
    }

    #[inline(always)]
    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0.rotate_left(23) ^ number).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }

    #[inline(always)]
    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 32)
    }
}

/// The calls of one key.
#[derive(Debug)]
struct Counted {
    key: CollectiveKey,
    /// Address of its entry.
    entry: usize,
    /// The place of other calls on the same communicator, or of another free place; [`NONE`] = there is none.
    next: u32,
}

/// The place of no calls.
const NONE: u32 = u32::MAX;

/// The calls that one thread counted. Nothing is allocated for a communicator whose calls take the places of those
/// of a communicator that was freed.
#[derive(Debug)]
pub struct Calls {
    counted: Vec<Counted>,
    /// The place of each key in `counted`.
    places: HashMap<CollectiveKey, u32, Quick>,
    /// The place of the latest key of each communicator.
    latest: HashMap<u64, u32, Quick>,
    /// The first free place. Its entry is kept for the next key.
    free: u32,
    /// Addresses of entries that were never in use.
    entries: Vec<usize>,
}

impl Default for Calls {
    fn default() -> Calls {
        Calls {
            counted: Vec::new(),
            places: HashMap::default(),
            latest: HashMap::default(),
            free: NONE,
            entries: Vec::new(),
        }
    }
}

/// The counter of an entry.
fn counter(entry: usize) -> &'static AtomicU64 {
    // SAFETY: an entry of a region that is never unmapped; its counter is only used as an atomic.
    unsafe { &*((entry + CALLS) as *const AtomicU64) }
}

impl Calls {
    /// The counter of a key, if it has one.
    pub fn get(&self, key: &CollectiveKey) -> Option<&'static AtomicU64> {
        let place = *self.places.get(key)?;
        Some(counter(self.counted.get(place as usize)?.entry))
    }

    /// The counter of a key, made if needed; `entry` describes the key in the file. `None` if there are too
    /// many keys or memory is out.
    pub fn get_or_add(&mut self, key: CollectiveKey, entry: &Entry) -> Option<&'static AtomicU64> {
        if let Some(known) = self.get(&key) {
            return Some(known);
        }
        if self.places.len() >= MOST_KEYS {
            return None;
        }
        let place = self.free_place(key)?;
        let counted = self.counted.get_mut(place as usize)?;
        self.free = counted.next;
        counted.key = key;
        counted.next = self.latest.insert(key.communicator, place).unwrap_or(NONE);
        let address = counted.entry;
        self.places.insert(key, place);
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
        Some(counter(address))
    }

    /// The first free place, which is made if there is none. `key` is any key. `None` if memory is out.
    fn free_place(&mut self, key: CollectiveKey) -> Option<u32> {
        if self.free == NONE {
            if self.entries.is_empty() {
                let head = Head { tag: tag::COLLECTIVES, ..Head::default() };
                let region: Region = spill::allocate(head, AT_ONCE, ENTRY, |_| {})?;
                self.entries.extend((0..AT_ONCE).rev().map(|i| region.body() + i * ENTRY));
            }
            let entry = self.entries.pop()?;
            self.free = self.counted.len() as u32;
            self.counted.push(Counted { key, entry, next: NONE });
        }
        Some(self.free)
    }

    /// Some calls on a communicator: their place, their key and how many they are. Each key comes once if the first
    /// call is with `None` and every other call is with the place that the call before gave.
    #[inline(always)]
    pub fn next(&self, communicator: u64, after: Option<u32>) -> Option<(u32, CollectiveKey, u64)> {
        let place = match after {
            None => *self.latest.get(&communicator)?,
            Some(place) => self.counted.get(place as usize)?.next,
        };
        let counted = self.counted.get(place as usize)?;
        Some((place, counted.key, counter(counted.entry).load(Ordering::Relaxed)))
    }

    /// The calls on a communicator.
    pub fn of(&self, communicator: u64) -> Vec<(CollectiveKey, u64)> {
        let all = std::iter::successors(self.next(communicator, None), |one| {
            self.next(communicator, Some(one.0))
        });
        all.map(|(_, key, calls)| (key, calls)).collect()
    }

    /// Forgets the calls on a communicator.
    pub fn forget(&mut self, communicator: u64) {
        let mut place = self.latest.remove(&communicator).unwrap_or(NONE);
        while let Some(counted) = self.counted.get_mut(place as usize) {
            // SAFETY: the number of an entry.
            unsafe { (*(counted.entry as *const AtomicU64)).store(0, Ordering::Release) };
            self.places.remove(&counted.key);
            let next = std::mem::replace(&mut counted.next, self.free);
            self.free = std::mem::replace(&mut place, next);
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
        let places = calls.counted.len();
        assert!((200..200 + AT_ONCE).contains(&places), "{places}");
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
