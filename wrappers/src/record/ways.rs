//! The ways in which a thread called collectives, and the counter of each: two small tables in front of
//! [`Calls`](crate::spill::calls::Calls), without a lock. The first table identifies a way by the arguments of
//! the call. The second identifies it by the operation, the root and the bytes.
//!
//! A way contains the number of its communicator. Numbers are never used again, so the ways of a freed
//! communicator match no later call. Handles of datatypes and operations are used again. A way in the first
//! table is therefore valid only until a datatype or an operation is freed
//! ([`FREED`](crate::record::thread::FREED)).
//!
//! Limits: a new way may overwrite another way. A call of the overwritten way is then looked up again in
//! [`Calls`](crate::spill::calls::Calls).

use crate::spill::calls::CollectiveKey;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

/// Places of ways by their arguments, a power of two.
const RECENT: usize = 256;
/// Places of ways by their keys, a power of two.
const KEYS: usize = 256;

/// The arguments of a call: number of the communicator, operation and root, number of elements, handle of the
/// datatype, handle of the reduction operation, and how many datatypes and operations were freed before.
pub type Arguments = [u64; 6];

/// A way of calling and its counter. The first word is the number of the communicator. Numbers begin with 1, so
/// that a place of zeros matches no call.
#[derive(Debug)]
struct Way<const WORDS: usize> {
    words: [AtomicU64; WORDS],
    calls: AtomicPtr<AtomicU64>,
}

impl<const WORDS: usize> Way<WORDS> {
    fn none() -> Self {
        let words = std::array::from_fn(|_| AtomicU64::new(0));
        Way { words, calls: AtomicPtr::new(std::ptr::null_mut()) }
    }

    /// The counter of the way, if `words` are the words of this way.
    #[inline(always)]
    fn get(&self, words: &[u64; WORDS]) -> Option<&'static AtomicU64> {
        // Without a loop, which the compiler would keep when it optimises for size.
        const { assert!(WORDS <= 6) };
        let same = self.has(words, 0)
            && self.has(words, 1)
            && self.has(words, 2)
            && self.has(words, 3)
            && self.has(words, 4)
            && self.has(words, 5);
        // SAFETY: null, or set by `put` to a counter that lives as long as the process.
        if same { unsafe { self.calls.load(Ordering::Relaxed).as_ref() } } else { None }
    }

    /// Whether word `i` of the way is that of `words`, or there is no such word.
    #[inline(always)]
    fn has(&self, words: &[u64; WORDS], i: usize) -> bool {
        i >= WORDS || self.words[i].load(Ordering::Relaxed) == words[i]
    }

    #[inline(always)]
    fn put(&self, words: &[u64; WORDS], calls: &'static AtomicU64) {
        const { assert!(WORDS <= 6) };
        self.set(words, 0);
        self.set(words, 1);
        self.set(words, 2);
        self.set(words, 3);
        self.set(words, 4);
        self.set(words, 5);
        self.calls.store(std::ptr::from_ref(calls).cast_mut(), Ordering::Relaxed);
    }

    /// Sets word `i` of the way, if there is such a word.
    #[inline(always)]
    fn set(&self, words: &[u64; WORDS], i: usize) {
        if i < WORDS {
            self.words[i].store(words[i], Ordering::Relaxed);
        }
    }

    #[inline(always)]
    fn word(&self, i: usize) -> u64 {
        self.words[i].load(Ordering::Relaxed)
    }
}

/// The ways of one thread at a time. Only that thread may use them.
#[derive(Debug)]
pub struct Ways {
    recent: Box<[Way<6>; RECENT]>,
    keys: Box<[Way<4>; KEYS]>,
}

impl Default for Ways {
    fn default() -> Ways {
        let recent = Box::new(std::array::from_fn(|_| Way::none()));
        Ways { recent, keys: Box::new(std::array::from_fn(|_| Way::none())) }
    }
}

/// A hash whose upper bits depend on all three words.
#[inline(always)]
fn mixed(a: u64, b: u64, c: u64) -> u64 {
    let one = a.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ b;
    (one.wrapping_mul(0xD6E8_FEB8_6659_FD93) ^ c).wrapping_mul(0xA076_1D64_78BD_642F)
}

/// The first place of a call by its arguments.
#[inline(always)]
fn place(arguments: &Arguments) -> usize {
    let [number, what, elements, datatype, op, _] = arguments;
    let handles = datatype.wrapping_add(op.rotate_left(21));
    (mixed(number ^ what << 20, *elements, handles) >> 40) as usize % RECENT
}

/// A key as four words, and its first place.
#[inline(always)]
fn words(key: &CollectiveKey) -> ([u64; 4], usize) {
    let what = u64::from(key.operation)
        | u64::from(key.commutative) << 16
        | u64::from(key.nonblocking) << 17
        | u64::from(key.root) << 32;
    let words = [key.communicator, what, key.bytes, u64::from(key.element)];
    (words, (mixed(words[0], words[1], words[2]) >> 40) as usize % KEYS)
}

impl Ways {
    /// The counter of calls with these arguments, if the first table has it.
    #[inline(always)]
    pub fn again(&self, arguments: &Arguments) -> Option<&'static AtomicU64> {
        let first = place(arguments);
        // Most ways are in their first place.
        let found = self.recent[first].get(arguments);
        if found.is_some() {
            return found;
        }
        (1..4).find_map(|choice| self.recent[first ^ choice].get(arguments))
    }

    /// Enters the counter of calls with these arguments in the first table.
    #[inline(always)]
    pub fn remember(&self, arguments: &Arguments, calls: &'static AtomicU64) {
        let first = place(arguments);
        let way = |choice: usize| &self.recent[first ^ choice];
        let ways: [&Way<6>; 4] = [way(0), way(1), way(2), way(3)];
        // First choice: the place of the same arguments before an object was freed. Second: a free place. Else
        // any of the four.
        let same = |way: &&&Way<6>| {
            way.has(arguments, 0)
                && way.has(arguments, 1)
                && way.has(arguments, 2)
                && way.has(arguments, 3)
                && way.has(arguments, 4)
        };
        let way = ways.iter().find(same);
        let way = way.or_else(|| ways.iter().find(|way| way.word(0) == 0));
        let any = (arguments[0] ^ arguments[2]) as usize % 4;
        way.unwrap_or(&ways[any]).put(arguments, calls);
    }

    /// The counter of calls with this key, if the second table has it.
    #[inline(always)]
    pub fn get(&self, key: &CollectiveKey) -> Option<&'static AtomicU64> {
        let (words, first) = words(key);
        let found = self.keys[first].get(&words);
        if found.is_some() {
            return found;
        }
        (1..4).find_map(|choice| self.keys[first ^ choice].get(&words))
    }

    /// Enters the counter of calls with this key in the second table.
    #[inline(always)]
    pub fn put(&self, key: &CollectiveKey, calls: &'static AtomicU64) {
        let (words, first) = words(key);
        let free = |&choice: &usize| self.keys[first ^ choice].word(0) == 0;
        if free(&0) {
            return self.keys[first].put(&words, calls);
        }
        // If all four places are taken, one is overwritten. Which one it is depends on the key.
        let choice = (1..4).find(free).unwrap_or((words[2] ^ words[0]) as usize % 4);
        self.keys[first ^ choice].put(&words, calls);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static COUNTERS: [AtomicU64; 2000] = [const { AtomicU64::new(0) }; 2000];

    fn key(i: usize) -> CollectiveKey {
        CollectiveKey {
            communicator: 1 + i as u64 % 64,
            operation: i as u32 % 3,
            root: 0,
            bytes: 8 * (i as u64 / 64),
            element: 8,
            commutative: i.is_multiple_of(2),
            nonblocking: false,
        }
    }

    fn arguments(i: usize) -> Arguments {
        let i = i as u64;
        [1 + i % 64, i % 3, i / 64, 0x7f00_0000 + 512 * (i % 5), 0x7e00_0000 + 256 * (i % 2), 1]
    }

    #[test]
    fn a_way_is_found_as_itself_or_not_at_all() {
        let ways = Ways::default();
        assert!(ways.get(&key(0)).is_none() && ways.again(&arguments(0)).is_none());
        for (i, counter) in COUNTERS.iter().enumerate() {
            ways.put(&key(i), counter);
            ways.remember(&arguments(i), counter);
            assert!(std::ptr::eq(ways.get(&key(i)).unwrap(), counter));
            assert!(std::ptr::eq(ways.again(&arguments(i)).unwrap(), counter));
        }
        let right = |i: usize, found: Option<&AtomicU64>| {
            assert!(found.is_none_or(|calls| std::ptr::eq(calls, &COUNTERS[i])));
            found.is_some()
        };
        assert!((0..2000).filter(|&i| right(i, ways.get(&key(i)))).count() > KEYS / 2);
        assert!((0..2000).filter(|&i| right(i, ways.again(&arguments(i)))).count() > RECENT / 2);
        // A way that was entered before an object was freed is not used, and is overwritten.
        let mut later = arguments(1999);
        later[5] = 2;
        assert!(ways.again(&later).is_none());
        ways.remember(&later, &COUNTERS[7]);
        assert!(ways.again(&arguments(1999)).is_none());
        assert!(std::ptr::eq(ways.again(&later).unwrap(), &COUNTERS[7]));
    }

    #[test]
    fn the_ways_that_a_program_uses_by_turns_do_not_displace_each_other() {
        let few = Ways::default();
        for (i, counter) in COUNTERS.iter().enumerate().take(64) {
            few.put(&key(i), counter);
            few.remember(&arguments(i), counter);
        }
        assert!((0..64).filter(|&i| few.get(&key(i)).is_some()).count() > 60);
        assert!((0..64).filter(|&i| few.again(&arguments(i)).is_some()).count() > 60);
    }
}
