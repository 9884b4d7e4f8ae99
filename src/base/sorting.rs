//! Sorting with little code.
//!
//! Each type of elements and each comparison gives the standard library's sorts another 7 kB of machine code, and
//! the preloaded library would have fifty of them. The sorts here compare through a pointer, sort indices, and move
//! the elements afterwards. So all of them share one sort of the standard library. The result is the same: equal
//! elements keep their order.
//!
//! Limits: at most 2³² elements. A sort takes about twice the time of the standard library's, and allocates four
//! bytes for each element. Inner loops use the standard library.

use std::cmp::Ordering;

/// Stable sorts of slices.
pub trait Arrange<T> {
    /// Sorts by a comparison.
    fn arrange_by(&mut self, compare: impl FnMut(&T, &T) -> Ordering);

    /// Sorts by a key.
    fn arrange_by_key<K: Ord>(&mut self, key: impl FnMut(&T) -> K);

    /// Sorts in ascending order.
    fn arrange(&mut self)
    where
        T: Ord;
}

impl<T> Arrange<T> for [T] {
    fn arrange_by(&mut self, mut compare: impl FnMut(&T, &T) -> Ordering) {
        let order = sorted(self.len(), &mut |a, b| compare(&self[a as usize], &self[b as usize]));
        place(self, order);
    }

    fn arrange_by_key<K: Ord>(&mut self, mut key: impl FnMut(&T) -> K) {
        self.arrange_by(|a, b| key(a).cmp(&key(b)));
    }

    fn arrange(&mut self)
    where
        T: Ord,
    {
        self.arrange_by(Ord::cmp);
    }
}

/// The indices from 0 in the order of `compare`.
fn sorted(length: usize, compare: &mut dyn FnMut(u32, u32) -> Ordering) -> Vec<u32> {
    let mut order: Vec<u32> = (0..length as u32).collect();
    order.sort_by(|&a, &b| compare(a, b));
    order
}

/// Moves element `order[i]` to place i, for all i.
fn place<T>(elements: &mut [T], mut order: Vec<u32>) {
    for start in 0..elements.len() {
        let mut at = start;
        loop {
            let from = std::mem::replace(&mut order[at], at as u32) as usize;
            if from == start {
                break;
            }
            elements.swap(at, from);
            at = from;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_result_is_that_of_the_standard_library(
            elements in prop::collection::vec((0u8..9, any::<u16>()), 0..200)
        ) {
            let mut expected = elements.clone();
            expected.sort_by_key(|element| element.0);
            let mut arranged = elements.clone();
            arranged.arrange_by_key(|element| element.0);
            prop_assert_eq!(&arranged, &expected);
            expected.sort();
            arranged.arrange();
            prop_assert_eq!(&arranged, &expected);
            let mut down = elements;
            down.arrange_by(|a, b| b.cmp(a));
            expected.reverse();
            prop_assert_eq!(down, expected);
        }
    }
}
