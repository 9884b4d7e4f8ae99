//! A table of objects by the bits of their handles. Any thread reads it without a lock; adding and removing
//! take a lock. Each costs the same whatever the number of objects.
//!
//! Each object has a node. A hash of its handle names one node of an array, the *home* of the object. If the home
//! is free, it becomes the node of the object, and a reader needs one access to memory. Otherwise the object gets
//! another node, in a chain of nodes that have the same hash.
//!
//! The memory of a node is never given back: when an object is removed, its node is used for a later object. A
//! thread may therefore keep the address of the node that it used last. One comparison with the key of the node shows
//! whether the node still belongs to the same object. When an object is removed, the key of its node changes, so no
//! thread has to be informed.
//!
//! A reader follows a chain of nodes while other threads change it, and may miss an object that is in the
//! table. It never takes another object for it. If [`Registry::get`] misses an object, [`Registry::insert`]
//! looks for it again under the lock. [`Registry::find`] looks again under the lock itself, if chains were
//! changed during its search.
//!
//! Limits: the array of chains doubles when it has less than two for each object in a chain. Old arrays are kept,
//! since a thread may be reading them; together they are smaller than the new one. The number of homes is fixed.

use crate::record::digest::Digests;
pub use crate::record::node::Node;
use crate::record::node::{self, GONE};
use crate::sys::sync::{self, AtomicPtr, AtomicU64, Mutex, fence};
use std::sync::atomic::Ordering;

/// Chains at first, as a power of two.
const FIRST: usize = if sync::MODEL { 1 } else { 9 };
/// Nodes that are made at a time.
const AT_ONCE: usize = if sync::MODEL { 2 } else { 32 };
/// The number of homes, a power of two. Of 64 objects that are used by turns, about 60 are at home.
pub const HOMES: usize = if sync::MODEL { 2 } else { 512 };
/// Spreads the bits of handles. Consecutive numbers get places that are one or two apart, so one cache
/// line has the chains of five of them. Addresses in equal steps are spread as well as by any other factor of
/// this kind.
pub const MULTIPLIER: u64 = 0x1_9E37_79B9;
/// A factor that gives neighbouring numbers places without any relation to each other.
pub const SCATTER: u64 = 0x9E37_79B9_7F4A_7C15;

/// The objects of one kind. If `NEAR` is true, there are no homes, and neighbouring handles have neighbouring
/// chains: very many objects then cost fewer accesses to memory, if they are used in the order in which they were
/// made. Such handles should be numbers with few gaps.
#[derive(Debug)]
#[repr(C)]
pub struct Registry<T: 'static, const NEAR: bool = false> {
    /// The homes; null before the first object, and if `NEAR` is true.
    pub(crate) homes: AtomicPtr<Node<T>>,
    /// An array: the number of chains minus one, and then the first node of each chain. Null before the first
    /// object.
    pub(crate) chains: AtomicPtr<AtomicPtr<Node<T>>>,
    /// Digests of objects that are at home.
    pub digests: Digests,
    /// Twice the number of changes in which chains were cut or made again; odd during such a change.
    cuts: AtomicU64,
    pub(crate) changes: Mutex<Changes<T>>,
}

/// What is changed under the lock.
#[derive(Debug)]
pub(crate) struct Changes<T: 'static> {
    /// Objects in chains.
    objects: usize,
    /// The first of the nodes without an object that are no homes. Each leads to the next one.
    free: Option<&'static Node<T>>,
}

impl<T> Changes<T> {
    /// A node without an object, if there is one.
    fn take(&mut self) -> Option<&'static Node<T>> {
        let node = self.free?;
        // SAFETY: null, or a node, which is never given back to the system.
        self.free = unsafe { node.next.load(Ordering::Relaxed).as_ref() };
        Some(node)
    }

    /// Keeps a node for a later object. A reader that has come to this node goes on among the free nodes and may
    /// miss its object, so this is to be called during a cut if the node was in a chain.
    fn give_back(&mut self, node: &'static Node<T>) {
        let next = self.free.map_or(std::ptr::null(), std::ptr::from_ref);
        node.next.store(next.cast_mut(), Ordering::Release);
        self.free = Some(node);
    }
}

impl<T: Default, const NEAR: bool> Registry<T, NEAR> {
    sync::constant! { pub fn new() -> Self {
        let changes = Changes { objects: 0, free: None };
        Registry {
            homes: AtomicPtr::new(std::ptr::null_mut()),
            chains: AtomicPtr::new(std::ptr::null_mut()),
            digests: Digests::new(),
            cuts: AtomicU64::new(0),
            changes: Mutex::new(changes),
        }
    } }

    /// The index of the chain of a key, of `mask + 1` chains. The assembler of the fast path of a send computes
    /// the same for tables that are not `NEAR`.
    #[inline(always)]
    pub(crate) fn chain(bits: u64, mask: usize) -> usize {
        let place = if NEAR {
            // Consecutive handles share no chain, however many there are, because a collision costs an access
            // to memory that the processor cannot predict. The upper bits keep handles apart that differ by
            // multiples of a power of two.
            bits ^ (bits >> 11)
        } else {
            Self::hash(bits)
        };
        place as usize & mask
    }

    /// Its lowest bits are the indices of the home and of the line of digests of a key. The assembler of the fast
    /// path of a send computes the same.
    #[inline(always)]
    pub(crate) fn hash(bits: u64) -> u64 {
        bits.wrapping_mul(MULTIPLIER) >> 32
    }

    /// The home of a key. `None` before the first object, and if there are no homes.
    #[inline(always)]
    pub(crate) fn home(&self, bits: u64) -> Option<&'static Node<T>> {
        if NEAR {
            return None;
        }
        let homes = self.homes.load(Ordering::Acquire).cast_const();
        // SAFETY: an array of `HOMES` nodes that is never given back.
        (!homes.is_null()).then(|| unsafe { &*homes.add(Self::hash(bits) as usize & (HOMES - 1)) })
    }

    /// The array of chains: its mask, and the address of the first chain.
    #[inline(always)]
    fn array(&self) -> Option<(usize, *const AtomicPtr<Node<T>>)> {
        let chains = self.chains.load(Ordering::Acquire).cast_const();
        if chains.is_null() {
            return None;
        }
        // SAFETY: an array of `made`, never given back; its first element is the mask.
        unsafe { Some(((*chains).load(Ordering::Relaxed).addr(), chains.add(1))) }
    }

    /// A new array of `1 << bits` empty chains.
    fn made(bits: usize) -> *mut AtomicPtr<Node<T>> {
        let empty = |_| AtomicPtr::new(std::ptr::null_mut());
        let array: Box<[AtomicPtr<Node<T>>]> = (0..=1_usize << bits).map(empty).collect();
        let mask = (1_usize << bits) - 1;
        array[0].store(std::ptr::without_provenance_mut(mask), Ordering::Relaxed);
        Box::leak(array).as_mut_ptr()
    }

    /// The object of this handle. `None` if the object is unknown, or if a change of the chains at the same
    /// time made this search miss it.
    #[inline(always)]
    pub fn get(&self, bits: u64) -> Option<&'static Node<T>> {
        let home = self.home(bits);
        if home.is_some_and(|home| home.is(bits)) {
            return home;
        }
        let (mask, chains) = self.array()?;
        // SAFETY: the chain is one of the array; nodes are never given back.
        unsafe {
            let mut node = (*chains.add(Self::chain(bits, mask))).load(Ordering::Acquire);
            while let Some(one) = node.as_ref() {
                if one.is(bits) {
                    return Some(one);
                }
                node = one.next.load(Ordering::Acquire);
            }
        }
        None
    }

    /// The object of this handle. `None` only if the table has no object of this handle.
    #[inline(always)]
    pub fn find(&self, bits: u64) -> Option<&'static Node<T>> {
        let before = self.cuts.load(Ordering::Acquire);
        let found = self.get(bits);
        if found.is_some()
            || (before.is_multiple_of(2) && self.cuts.load(Ordering::Acquire) == before)
        {
            return found;
        }
        let _changes = self.changes.lock();
        self.get(bits)
    }

    /// Makes a change of chains during which a reader may miss objects. To be called under the lock.
    fn cut<R>(&self, change: impl FnOnce() -> R) -> R {
        let before = self.cuts.load(Ordering::Relaxed);
        self.cuts.store(before + 1, Ordering::Relaxed);
        fence(Ordering::Release);
        let result = change();
        self.cuts.store(before + 2, Ordering::Release);
        result
    }

    /// Adds an object, whose data `fill` writes. `Err` with the existing node if another thread added the
    /// object first.
    pub fn insert(
        &self,
        bits: u64,
        fill: impl FnOnce(&T),
    ) -> Result<&'static Node<T>, &'static Node<T>> {
        let mut changes = self.changes.lock();
        if let Some(known) = self.get(bits) {
            return Err(known);
        }
        if self.array().is_none_or(|(mask, _)| changes.objects > mask / 2) {
            self.cut(|| self.grow());
        }
        if !NEAR && self.homes.load(Ordering::Relaxed).is_null() {
            self.digests.make();
            let homes = node::row(HOMES).as_ptr();
            self.homes.store(homes.cast_mut(), Ordering::Release);
        }
        let home = self.home(bits).filter(|home| home.is(GONE));
        let node = match home.or_else(|| changes.take()) {
            Some(node) => node,
            None => {
                let (node, others) =
                    node::row(AT_ONCE).split_first().unwrap_or_else(|| unreachable!());
                others.iter().rev().for_each(|other| changes.give_back(other));
                node
            }
        };
        fill(&node.value);
        if home.is_none() {
            changes.objects += 1;
            self.link(node, bits);
        }
        node.key.store(bits, Ordering::Release);
        Ok(node)
    }

    /// Puts a node at the head of the chain of a key. To be called under the lock.
    fn link(&self, node: &'static Node<T>, bits: u64) {
        let Some((mask, chains)) = self.array() else { return };
        // SAFETY: the chain is one of the array.
        let head = unsafe { &*chains.add(Self::chain(bits, mask)) };
        node.next.store(head.load(Ordering::Relaxed), Ordering::Release);
        head.store(std::ptr::from_ref(node).cast_mut(), Ordering::Release);
    }

    /// Doubles the array of chains. To be called under the lock.
    #[cold]
    fn grow(&self) {
        let before = self.array();
        let bits = before.map_or(FIRST, |(mask, _)| (mask + 1).trailing_zeros() as usize + 1);
        self.chains.store(Self::made(bits), Ordering::Release);
        let Some((mask, chains)) = before else { return };
        for place in 0..=mask {
            // SAFETY: the chain is one of the old array; nodes are never given back.
            unsafe {
                let mut node = (*chains.add(place)).load(Ordering::Relaxed);
                while let Some(one) = node.as_ref() {
                    node = one.next.load(Ordering::Relaxed);
                    self.link(one, one.key.load(Ordering::Relaxed));
                }
            }
        }
    }

    /// Removes the object of this handle and returns the result of `take`. If there is no such object, or if
    /// `take` gives `None`, nothing is removed.
    pub fn remove<R>(&self, bits: u64, take: impl FnOnce(&T) -> Option<R>) -> Option<R> {
        let mut changes = self.changes.lock();
        if let Some(home) = self.home(bits).filter(|home| home.is(bits)) {
            // No chain leads through a home, so no reader can miss another object.
            let taken = take(&home.value)?;
            if !home.next.load(Ordering::Relaxed).is_null() {
                home.next.store(std::ptr::null_mut(), Ordering::Relaxed);
                self.digests.remove(Self::hash(bits), bits);
            }
            home.key.store(GONE, Ordering::Release);
            return Some(taken);
        }
        let (mask, chains) = self.array()?;
        // SAFETY: the chain is one of the array; nodes are never given back.
        unsafe {
            let mut place = &*chains.add(Self::chain(bits, mask));
            loop {
                let one = place.load(Ordering::Relaxed).as_ref()?;
                if one.is(bits) {
                    let taken = take(&one.value)?;
                    self.cut(|| {
                        one.key.store(GONE, Ordering::Release);
                        place.store(one.next.load(Ordering::Relaxed), Ordering::Release);
                        changes.give_back(one);
                    });
                    changes.objects -= 1;
                    return Some(taken);
                }
                place = &one.next;
            }
        }
    }

    /// The result of `look` for the object of this handle. `look` runs under the lock: it must not use this
    /// table, nor call MPI.
    pub fn look<R>(&self, bits: u64, look: impl FnOnce(&T) -> Option<R>) -> Option<R> {
        let _changes = self.changes.lock();
        look(&self.get(bits)?.value)
    }

    /// The homes that have an object.
    fn taken_homes(&self) -> impl Iterator<Item = &'static Node<T>> {
        let homes = self.homes.load(Ordering::Acquire).cast_const();
        let count = if homes.is_null() { 0 } else { HOMES };
        // SAFETY: an array of `HOMES` nodes that is never given back.
        (0..count).map(move |i| unsafe { &*homes.add(i) }).filter(|home| !home.is(GONE))
    }

    /// Visits all objects under the lock. `visit` must not use this table, nor call MPI.
    pub fn for_each(&self, mut visit: impl FnMut(&T)) {
        let _changes = self.changes.lock();
        self.taken_homes().for_each(|home| visit(&home.value));
        let Some((mask, chains)) = self.array() else { return };
        for place in 0..=mask {
            // SAFETY: the chain is one of the array; nodes are never given back.
            unsafe {
                let mut node = (*chains.add(place)).load(Ordering::Relaxed);
                while let Some(one) = node.as_ref() {
                    visit(&one.value);
                    node = one.next.load(Ordering::Relaxed);
                }
            }
        }
    }

    /// Removes all objects. `take` is called with each of them before.
    pub fn clear(&self, mut take: impl FnMut(&T)) {
        let mut changes = self.changes.lock();
        // First, because a digest may have the address of what `take` gives back.
        self.digests.clear();
        for home in self.taken_homes() {
            take(&home.value);
            home.next.store(std::ptr::null_mut(), Ordering::Relaxed);
            home.key.store(GONE, Ordering::Release);
        }
        let Some((mask, chains)) = self.array() else { return };
        self.cut(|| {
            for place in 0..=mask {
                // SAFETY: the chain is one of the array; nodes are never given back.
                unsafe {
                    let head = &*chains.add(place);
                    while let Some(one) = head.load(Ordering::Relaxed).as_ref() {
                        take(&one.value);
                        one.key.store(GONE, Ordering::Release);
                        head.store(one.next.load(Ordering::Relaxed), Ordering::Release);
                        changes.give_back(one);
                    }
                }
            }
        });
        changes.objects = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_come_and_go() {
        let table: Registry<AtomicU64> = Registry::new();
        assert!(table.get(7).is_none());
        assert_eq!(table.remove(7, |_| Some(())), None);
        for round in 0..3u64 {
            for bits in 0..2000 {
                let added = table.insert(bits, |v| v.store(bits + round, Ordering::Relaxed));
                assert!(added.is_ok());
            }
            assert!(table.insert(5, |_| ()).is_err_and(|n| n.is(5)));
            for bits in 0..2000 {
                let node = table.get(bits).unwrap();
                assert_eq!(node.value.load(Ordering::Relaxed), bits + round);
            }
            let kept = table.get(1999).unwrap();
            assert_eq!(table.remove(1999, |_| None::<()>), None, "it is to stay");
            assert!(kept.is(1999));
            for bits in (0..2000).filter(|b| b % 3 == round) {
                let taken = table.remove(bits, |v| Some(v.load(Ordering::Relaxed)));
                assert_eq!(taken, Some(bits + round));
                assert!(table.get(bits).is_none());
            }
            let mut left = 0;
            table.for_each(|_| left += 1);
            assert!((1333..=1334).contains(&left), "{left}");
            table.clear(|_| left -= 1);
            assert_eq!(left, 0);
            assert!(!kept.is(1999) && table.get(4).is_none());
        }
        // Three rounds of 2000 objects are 2000 nodes.
        let mut free = 0;
        while table.changes.lock().take().is_some() {
            free += 1;
        }
        assert!(free < 2000 + AT_ONCE, "{free}");
    }

    /// The chains of 64 communicators or datatypes are in few cache lines if handles are numbers. They are
    /// short if handles are addresses, for every distance of the addresses.
    #[test]
    fn handles_are_spread() {
        let steps = |first: u64, step: u64, n: u64, mask: usize| {
            let mut lengths = vec![0u32; mask + 1];
            for k in 0..n {
                lengths[Registry::<AtomicU64>::chain(first + k * step, mask)] += 1;
            }
            let lines = lengths.chunks(8).filter(|line| line.iter().any(|&n| n > 0)).count();
            (f64::from(lengths.iter().map(|n| n * (n + 1) / 2).sum::<u32>()) / n as f64, lines)
        };
        for first in [0x8400_0000, 0xc400_0000, 0x8c00_0005, 0xcc00_0003] {
            assert!(steps(first, 1, 64, 511) <= (1.0, 16), "{first:x}");
            assert!(steps(first, 1, 10_000, 32767) <= (1.01, 2100), "{first:x}");
        }
        let powers = (4..24).flat_map(|k| [1 << k, 3 << k, 5 << k]);
        let all: Vec<u64> = (16..8000).step_by(48).chain(powers).collect();
        for (n, mask) in [(64, 511), (1000, 2047)] {
            let found: Vec<f64> =
                all.iter().map(|&step| steps(0x5578_9dea_0380, step, n, mask).0).collect();
            let mean = found.iter().sum::<f64>() / found.len() as f64;
            assert!(mean < 1.3, "{mean}");
            assert!(found.iter().all(|&steps| steps < 5.5), "{found:?}");
        }
    }

    /// Most of 64 objects that are used by turns are at home: with numbers as handles all of them, with addresses
    /// at nearly every distance at least three quarters.
    #[test]
    fn objects_are_at_home() {
        let at_home = |first: u64, step: u64| {
            let table: Registry<AtomicU64> = Registry::new();
            for k in 0..64 {
                assert!(table.insert(first + k * step, |_| ()).is_ok());
            }
            table.taken_homes().count()
        };
        assert_eq!(at_home(0x8400_0000, 1), 64);
        assert_eq!(at_home(0xcc00_0003, 1), 64);
        let found: Vec<usize> =
            (16..8000).step_by(48).map(|step| at_home(0x5578_9dea_0380, step)).collect();
        let poor = found.iter().filter(|&&count| count < 48).count();
        assert!(poor * 20 < found.len(), "{found:?}");
    }

    /// Consecutive numbers have a chain each. Addresses in steps of any size are spread over many chains.
    #[test]
    fn near_handles_are_spread_well_enough() {
        for step in [1, 4, 6, 8, 40, 44, 64, 100, 256] {
            let mask = (1 << 15) - 1;
            let mut lengths = vec![0u32; mask + 1];
            for k in 0..10_000u64 {
                let key = (0x7f12_3456_7800_u64 >> 4) + k * step;
                lengths[Registry::<AtomicU64, true>::chain(key, mask)] += 1;
            }
            let steps: u32 = lengths.iter().map(|n| n * (n + 1) / 2).sum();
            assert!(steps < 30_000, "{step}: {steps} steps to find 10000");
            assert!(step != 1 || steps < 12_000, "{steps}");
        }
    }

    /// Threads add, find and remove objects of their own while the array grows and nodes are used again. None
    /// is mistaken for another. Each is found, at the latest under the lock.
    #[test]
    fn threads_find_their_own() {
        static TABLE: Registry<AtomicU64> = Registry::new();
        std::thread::scope(|scope| {
            for thread in 0..4u64 {
                scope.spawn(move || {
                    for round in 0..50u64 {
                        let mine = |k: u64| (k * 4 + thread) << 10;
                        for k in 0..100 {
                            let fill = |v: &AtomicU64| v.store(mine(k) + round, Ordering::Relaxed);
                            assert!(TABLE.insert(mine(k), fill).is_ok());
                        }
                        for k in 0..100 {
                            let found = TABLE.get(mine(k));
                            let node = found.or_else(|| TABLE.insert(mine(k), |_| ()).err());
                            for node in [node, TABLE.find(mine(k))] {
                                let value = node.unwrap().value.load(Ordering::Relaxed);
                                assert_eq!(value, mine(k) + round);
                            }
                        }
                        for k in 0..100 {
                            assert_eq!(TABLE.remove(mine(k), |_| Some(())), Some(()));
                        }
                    }
                });
            }
        });
        TABLE.for_each(|_| panic!("one is left"));
    }
}
