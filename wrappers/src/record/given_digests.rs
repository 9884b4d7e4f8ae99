//! Gives the objects of a table their [digests](crate::record::digest).
//!
//! An object has a digest only while it is at home. Its node then leads to itself, so that a digest is tried once for
//! each object. All changes are made under the lock of the table.

use crate::record::node::Node;
use crate::record::registry::Registry;
use std::sync::atomic::Ordering;

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
    use std::sync::atomic::AtomicU64;

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
                    table.digest(handle(k), |value| Some(1 + value.load(Ordering::Relaxed)));
                }
                let right = (0..64).filter(|&k| found(&table, handle(k)) == Some(1 + k)).count();
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
