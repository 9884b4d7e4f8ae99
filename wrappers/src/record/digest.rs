//! Digests: what the fast path of a send needs of an object, in two words.
//!
//! A node of a communicator takes a line of the cache. If a program uses 64 communicators by turns, 64 lines of the
//! library displace data of the MPI library from the first cache, and each message waits for these data. Four
//! digests are in a line, so the same communicators have about 40 lines. Digests of datatypes are as small. What a
//! word means is said where it is made (`communicators`, `datatypes`).
//!
//! A hash of the handle names a place. If this is taken, the object has another place of the same line: those with a
//! number that differs in the lowest bit, in the bit above, or in both. Nearly all objects are at the first place, so the
//! processor predicts that the first comparison succeeds, and knows the word before it is made. An object gets its
//! digest when it is used again after another object: objects that live for one call do not pay for it. If its line is
//! full, it gets none, and is found at its home.
//!
//! Digests are added and removed under the lock of their table. They are read without a lock, as nodes are: the key
//! is stored after the word, and goes before another object gets the place.

use crate::record::node::{self, GONE};
use crate::sys::sync::{self, AtomicPtr, AtomicU64};
use std::sync::atomic::Ordering;

/// The number of places, a power of two. Of 64 objects, about 60 are at their first places.
pub const PLACES: usize = if sync::MODEL { 2 } else { 512 };
/// Digests in a line of the cache.
pub const IN_LINE: usize = if sync::MODEL { 2 } else { 4 };

/// A digest, or a free place for one.
#[derive(Debug)]
#[repr(C)]
pub struct Digest {
    /// The bits of the handle.
    pub key: AtomicU64,
    /// What is to be known of the object; 0 in a free place.
    pub word: AtomicU64,
}

/// The digests of the objects of a table.
#[derive(Debug)]
#[repr(C)]
pub struct Digests {
    /// The places; null before the first object.
    pub places: AtomicPtr<Digest>,
}

impl Digests {
    sync::constant! { pub fn new() -> Self {
        Digests { places: AtomicPtr::new(std::ptr::null_mut()) }
    } }

    /// Makes the places. To be called under the lock, before the table has an object.
    pub fn make(&self) {
        let free = || Digest { key: AtomicU64::new(GONE), word: AtomicU64::new(0) };
        let places = node::lines(PLACES, free).as_ptr();
        self.places.store(places.cast_mut(), Ordering::Release);
    }

    pub fn all(&self) -> &'static [Digest] {
        let places = self.places.load(Ordering::Acquire).cast_const();
        if places.is_null() {
            return &[];
        }
        // SAFETY: an array of `make`, which is never given back.
        unsafe { std::slice::from_raw_parts(places, PLACES) }
    }

    /// The places of an object whose hash is this one, the first one first.
    fn places_of(&self, hash: u64) -> impl Iterator<Item = &'static Digest> {
        let (all, first) = (self.all(), hash as usize & (PLACES - 1));
        (0..IN_LINE).filter_map(move |other| all.get(first ^ other))
    }

    /// Adds the digest of an object that has none. `word` is not 0. To be called under the lock. If no place is free,
    /// nothing happens.
    pub fn add(&self, hash: u64, bits: u64, word: u64) {
        let free = |place: &&Digest| place.key.load(Ordering::Relaxed) == GONE;
        if let Some(place) = self.places_of(hash).find(free) {
            place.word.store(word, Ordering::Relaxed);
            place.key.store(bits, Ordering::Release);
        }
    }

    /// Removes the digest of an object, if it has one. To be called under the lock.
    pub fn remove(&self, hash: u64, bits: u64) {
        let its = |place: &&Digest| place.key.load(Ordering::Relaxed) == bits;
        self.places_of(hash).filter(its).for_each(set_free);
    }

    /// Removes all digests. To be called under the lock.
    pub fn clear(&self) {
        self.all().iter().for_each(set_free);
    }
}

fn set_free(place: &Digest) {
    place.key.store(GONE, Ordering::Release);
    place.word.store(0, Ordering::Release);
}
