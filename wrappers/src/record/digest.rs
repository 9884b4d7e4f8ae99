//! Digests: what the fast path of a send needs of an object, in two words.
//!
//! A node of a communicator takes a line of the cache. If a program uses 64 communicators by turns, 64 lines of the
//! library displace data of the MPI library from the first cache, and each message waits for these data. Four
//! digests are in a line, so the same communicators have about 40 lines. Digests of datatypes are as small. What a
//! word means is said where it is made (`communicators`, `datatypes`).
//!
//! A hash of the handle names a line, and the object has any place in it. An object gets its digest when it is used
//! again after another object: objects that live for one call do not pay for it. If its line is full, it gets none,
//! and is found at its home.
//!
//! Digests are added and removed under the lock of their table. They are read without a lock, as nodes are: the key
//! is stored after the word, and goes before another object gets the place.

use crate::record::node::{self, GONE, Node};
use crate::record::registry::Registry;
use crate::sys::sync::{self, AtomicPtr, AtomicU64};
use std::sync::atomic::Ordering;

/// The number of lines, a power of two. Of 64 objects, all or nearly all have a digest.
pub const LINES: usize = if sync::MODEL { 1 } else { 64 };
/// Digests in a line.
pub const IN_LINE: usize = if sync::MODEL { 2 } else { 4 };

/// A digest, or a free place for one.
#[derive(Debug)]
#[repr(C)]
pub struct Digest {
    /// The bits of the handle.
    pub key: AtomicU64,
    /// What is to be known of the object.
    pub word: AtomicU64,
}

/// The digests of the objects of a table.
#[derive(Debug)]
#[repr(C)]
pub struct Digests {
    /// The places; null before the first object.
    pub places: AtomicPtr<Digest>,
    /// The word of a free place. A handle that is all ones is none of MPI's, but has the key of a free place.
    free: u64,
}

impl Digests {
    sync::constant! { pub fn new(free: u64) -> Self {
        Digests { places: AtomicPtr::new(std::ptr::null_mut()), free }
    } }

    /// Makes the places. To be called under the lock, before the table has an object.
    pub fn make(&self) {
        let free = || Digest { key: AtomicU64::new(GONE), word: AtomicU64::new(self.free) };
        let places = node::lines(LINES * IN_LINE, free).as_ptr();
        self.places.store(places.cast_mut(), Ordering::Release);
    }

    fn all(&self) -> &'static [Digest] {
        let places = self.places.load(Ordering::Acquire).cast_const();
        if places.is_null() {
            return &[];
        }
        // SAFETY: an array of `make`, which is never given back.
        unsafe { std::slice::from_raw_parts(places, LINES * IN_LINE) }
    }

    /// The places of an object whose hash is this one.
    fn line(&self, hash: u64) -> &'static [Digest] {
        let first = (hash as usize & (LINES - 1)) * IN_LINE;
        self.all().get(first..first + IN_LINE).unwrap_or_default()
    }

    /// Adds the digest of an object that has none. To be called under the lock. If no place is free, nothing
    /// happens.
    pub fn add(&self, hash: u64, bits: u64, word: u64) {
        let free = |place: &&Digest| place.key.load(Ordering::Relaxed) == GONE;
        if let Some(place) = self.line(hash).iter().find(free) {
            place.word.store(word, Ordering::Relaxed);
            place.key.store(bits, Ordering::Release);
        }
    }

    /// Removes the digest of an object, if it has one. To be called under the lock.
    pub fn remove(&self, hash: u64, bits: u64) {
        let its = |place: &&Digest| place.key.load(Ordering::Relaxed) == bits;
        if let Some(place) = self.line(hash).iter().find(its) {
            self.set_free(place);
        }
    }

    /// Removes all digests. To be called under the lock.
    pub fn clear(&self) {
        self.all().iter().for_each(|place| self.set_free(place));
    }

    fn set_free(&self, place: &Digest) {
        place.key.store(GONE, Ordering::Release);
        place.word.store(self.free, Ordering::Release);
    }
}

impl<T: Default> Registry<T> {
    /// Gives the object of this handle a digest, which `word` makes, if the object is at home and this was not
    /// tried before.
    #[inline(always)]
    pub fn digest(&self, bits: u64, word: impl FnOnce(&T) -> Option<u64>) {
        let home = self.home(bits).filter(|home| home.is(bits));
        if let Some(home) = home.filter(|home| home.next.load(Ordering::Relaxed).is_null()) {
            self.digest_home(home, bits, word);
        }
    }

    #[cold]
    #[inline(never)]
    fn digest_home(&self, home: &Node<T>, bits: u64, word: impl FnOnce(&T) -> Option<u64>) {
        let _changes = self.changes.lock();
        if !home.is(bits) || !home.next.load(Ordering::Relaxed).is_null() {
            return;
        }
        home.next.store(std::ptr::from_ref(home).cast_mut(), Ordering::Relaxed);
        if let Some(word) = word(&home.value) {
            self.digests.add(Self::hash(bits), bits, word);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 64 objects, with numbers or addresses as handles: nearly all get a digest, and it goes with the object.
    #[test]
    fn objects_have_digests() {
        let found = |table: &Registry<AtomicU64>, bits: u64| {
            let all = table.digests.all().iter();
            let mut its = all.filter(|place| place.key.load(Ordering::Relaxed) == bits);
            let word = its.next().map(|place| place.word.load(Ordering::Relaxed));
            assert!(its.next().is_none());
            word
        };
        for (first, step) in [(0x8400_0000, 1), (0xcc00_0003, 1), (0x5578_9dea_0380, 6720)] {
            let table: Registry<AtomicU64> = Registry::new();
            let handle = |k: u64| first + k * step;
            for k in 0..64 {
                assert!(table.insert(handle(k), |value| value.store(k, Ordering::Relaxed)).is_ok());
                assert!(found(&table, handle(k)).is_none(), "not at its first use");
            }
            for _ in 0..2 {
                for k in 0..64 {
                    table.digest(handle(k), |value| Some(value.load(Ordering::Relaxed)));
                }
                let right = (0..64).filter(|&k| found(&table, handle(k)) == Some(k)).count();
                assert!(right >= 60, "{first:x}: {right}");
            }
            for k in 0..32 {
                assert!(table.remove(handle(k), |_| Some(())).is_some());
                assert!(found(&table, handle(k)).is_none());
            }
            assert!(table.insert(handle(0), |value| value.store(70, Ordering::Relaxed)).is_ok());
            table.digest(handle(0), |_| Some(70));
            assert_eq!(found(&table, handle(0)), Some(70));
            table.clear(|_| ());
            assert!((0..64).all(|k| found(&table, handle(k)).is_none()));
        }
    }
}
