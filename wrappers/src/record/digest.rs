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

use crate::record::node::{self, GONE};
use crate::sys::sync::{self, AtomicPtr, AtomicU64};
use std::sync::atomic::Ordering;

/// The number of lines, a power of two. Of 128 objects, all or nearly all have a digest.
pub const LINES: usize = if sync::MODEL { 1 } else { 128 };
/// Digests in a line.
pub const IN_LINE: usize = if sync::MODEL { 2 } else { 4 };

/// A line: places for digests. The keys come first, because the fast path of a send compares all of them and picks the
/// word without a branch. A program that uses many objects by turns makes such branches unpredictable.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Line {
    /// The bits of the handles, [`GONE`] in a free place.
    pub keys: [AtomicU64; IN_LINE],
    /// What is to be known of the objects: never 0, which is the word of a free place.
    pub words: [AtomicU64; IN_LINE],
}

impl Line {
    fn free() -> Self {
        Line {
            keys: std::array::from_fn(|_| AtomicU64::new(GONE)),
            words: std::array::from_fn(|_| AtomicU64::new(0)),
        }
    }

    /// The place with this key.
    fn place(&self, bits: u64) -> Option<usize> {
        self.keys.iter().position(|key| key.load(Ordering::Relaxed) == bits)
    }

    fn set_free(&self, place: usize) {
        self.keys[place].store(GONE, Ordering::Release);
        self.words[place].store(0, Ordering::Release);
    }
}

/// The digests of the objects of a table.
#[derive(Debug)]
#[repr(C)]
pub struct Digests {
    /// An array of [`LINES`] lines; null before the first object.
    pub lines: AtomicPtr<Line>,
}

impl Digests {
    sync::constant! { pub fn new() -> Self {
        Digests { lines: AtomicPtr::new(std::ptr::null_mut()) }
    } }

    /// Makes the lines. To be called under the lock, before the table has an object.
    pub fn make(&self) {
        self.lines.store(node::lines(LINES, Line::free).as_ptr().cast_mut(), Ordering::Release);
    }

    pub(crate) fn all(&self) -> &'static [Line] {
        let lines = self.lines.load(Ordering::Acquire).cast_const();
        if lines.is_null() {
            return &[];
        }
        // SAFETY: an array of `make`, which is never given back.
        unsafe { std::slice::from_raw_parts(lines, LINES) }
    }

    /// The line of an object whose hash is this one.
    fn line(&self, hash: u64) -> Option<&'static Line> {
        self.all().get(hash as usize & (LINES - 1))
    }

    /// Adds the digest of an object that has none. `word` is not 0. To be called under the lock. If no place is free,
    /// nothing happens.
    pub fn add(&self, hash: u64, bits: u64, word: u64) {
        let Some(line) = self.line(hash) else { return };
        if let Some(place) = line.place(GONE) {
            line.words[place].store(word, Ordering::Relaxed);
            line.keys[place].store(bits, Ordering::Release);
        }
    }

    /// Removes the digest of an object, if it has one. To be called under the lock.
    pub fn remove(&self, hash: u64, bits: u64) {
        let Some(line) = self.line(hash) else { return };
        if let Some(place) = line.place(bits) {
            line.set_free(place);
        }
    }

    /// Removes all digests. To be called under the lock.
    pub fn clear(&self) {
        for line in self.all() {
            (0..IN_LINE).for_each(|place| line.set_free(place));
        }
    }
}
