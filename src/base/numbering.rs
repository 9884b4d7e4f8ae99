//! Numbers for things in the order in which they first appear.
//!
//! Nodes, groups and hosts come with names or large numbers. Everything that is indexed by them wants
//! numbers from 0 without gaps, and the same ones on every process.

use std::collections::HashMap;
use std::hash::Hash;

/// The number of each value, from 0 in the order of first appearance, and each value once in that order.
pub fn by_first_appearance<T: Copy + Eq + Hash>(
    values: impl IntoIterator<Item = T>,
) -> (Vec<u32>, Vec<T>) {
    let mut number = HashMap::new();
    let mut distinct = Vec::new();
    let numbered = values
        .into_iter()
        .map(|value| {
            *number.entry(value).or_insert_with(|| {
                distinct.push(value);
                distinct.len() as u32 - 1
            })
        })
        .collect();
    (numbered, distinct)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_is_zero() {
        assert_eq!(by_first_appearance([7, 7, 3, 7, 5]), (vec![0, 0, 1, 0, 2], vec![7, 3, 5]));
        assert_eq!(by_first_appearance(["b", "a"]), (vec![0, 1], vec!["b", "a"]));
        assert_eq!(by_first_appearance(Vec::<u32>::new()), (vec![], vec![]));
    }
}
