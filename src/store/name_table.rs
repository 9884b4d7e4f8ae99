//! A table in which a name is found among the rows of an index, also if there are a million. It holds numbers and no names:
//! at least 8 bytes for each row, and at most 16.

use std::hash::{BuildHasher, RandomState};

/// A slot without number.
const EMPTY: u32 = u32::MAX;

/// Numbers, each in the slot of its name or behind it.
#[derive(Debug)]
pub(super) struct NameTable {
    slots: Vec<u32>,
    hasher: RandomState,
}

impl NameTable {
    /// The table of at most `count` numbers. `name` gives the name of each.
    pub(super) fn new<'a>(
        count: usize,
        numbers: impl Iterator<Item = u32>,
        name: impl Fn(u32) -> &'a [u8],
    ) -> NameTable {
        let slots = vec![EMPTY; (2 * count).next_power_of_two()];
        let mut table = NameTable { slots, hasher: RandomState::new() };
        for number in numbers.take(count) {
            let slot = table.places(name(number)).find(|&slot| table.slots[slot] == EMPTY);
            if let Some(slot) = slot {
                table.slots[slot] = number;
            }
        }
        table
    }

    /// The number of a name. `name` is that of [`Self::new`].
    pub(super) fn find<'a>(&self, wanted: &[u8], name: impl Fn(u32) -> &'a [u8]) -> Option<u32> {
        let numbers = self.places(wanted).map(|slot| self.slots[slot]);
        numbers.take_while(|&number| number != EMPTY).find(|&number| name(number) == wanted)
    }

    /// The slots in which a name can be, the first one first.
    fn places(&self, name: &[u8]) -> impl Iterator<Item = usize> + use<> {
        let (count, first) = (self.slots.len(), self.hasher.hash_one(name) as usize);
        (0..count).map(move |k| first.wrapping_add(k) & (count - 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found() {
        for count in [0, 1, 2, 3, 64, 1000] {
            let names: Vec<String> = (0..count).map(|k| format!("n{k}")).collect();
            let name = |number: u32| names[number as usize].as_bytes();
            let table = NameTable::new(count, 0..count as u32, name);
            for (k, one) in names.iter().enumerate() {
                assert_eq!(table.find(one.as_bytes(), name), Some(k as u32));
            }
            assert_eq!(table.find(b"other", name), None);
        }
    }
}
