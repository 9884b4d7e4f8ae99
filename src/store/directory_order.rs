//! The order in which a directory gives the names of the records of an index.
//!
//! In nearly all file systems, the names that a directory had before keep their order. A new name comes first (`tmpfs`), last
//! (Btrfs), or somewhere between the others (`ext4`, XFS, Lustre). So an index says at which place the name of each of its first rows
//! stood, and behind which other row the name of each later row stood. The order follows from this, however many rows were added
//! one after another. The places of the later rows would not be enough: on `tmpfs`, each name was the first one when it was added.
//!
//! The order is only a help. Names that do not follow it are searched for.

/// The row behind which the first name stands.
pub(super) const NOTHING: u32 = u32::MAX;

/// All rows in the order of their names. `position` gives the place of each of the first `base` rows, and the row behind which
/// each of the others stands.
pub(super) fn in_order(base: usize, all: usize, position: impl Fn(u32) -> u32) -> Vec<u32> {
    let place = |row: u32| u64::from(position(row)) << 32 | u64::from(row);
    let mut order: Vec<u64> = Vec::with_capacity(base);
    order.extend((0..base as u32).map(place));
    order.sort_unstable();
    let order = order.into_iter().map(|entry| entry as u32);
    if all <= base {
        return order.collect();
    }
    // The row behind each row, shifted by one: the first row is behind nothing.
    let mut next = vec![NOTHING; all + 1];
    let mut last = 0;
    for row in order {
        next[last] = row;
        last = row as usize + 1;
    }
    for row in base as u32..all as u32 {
        let before = position(row);
        let before = if before < row { before as usize + 1 } else { 0 };
        next[row as usize + 1] = std::mem::replace(&mut next[before], row);
    }
    let mut order = Vec::with_capacity(all);
    let mut row = next[0];
    while row != NOTHING {
        order.push(row);
        row = next[row as usize + 1];
    }
    order
}

/// Behind which row each new row stands. `new` are their places, ascending; `first` is the number of the first of them. `known`
/// gives the other rows that are there, with their places.
pub(super) fn behind(new: &[u32], first: u32, known: impl Iterator<Item = (u32, u32)>) -> Vec<u32> {
    // The last known row in front of each new one, and behind the new one in front of it.
    let mut last: Vec<Option<(u32, u32)>> = vec![None; new.len()];
    for (row, place) in known {
        let k = new.partition_point(|&new| new <= place);
        if let Some(last) = last.get_mut(k) {
            *last = (*last).max(Some((place, row)));
        }
    }
    let row = |(k, last): (usize, Option<(u32, u32)>)| match last {
        Some((_, row)) => row,
        None if k == 0 => NOTHING,
        None => first + k as u32 - 1,
    };
    last.into_iter().enumerate().map(row).collect()
}

#[cfg(test)]
#[path = "directory_order_tests.rs"]
mod tests;
