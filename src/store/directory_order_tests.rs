use super::*;
use proptest::prelude::*;

#[test]
fn the_first_rows_stand_at_their_places_and_the_others_behind_rows() {
    let positions = [2, 0, 1, NOTHING, 3, 0, 0, 99];
    let order = in_order(3, positions.len(), |row| positions[row as usize]);
    // 1, 2, 0; then 3 first, 4 behind 3, 5 and 6 behind 0; 7 says what cannot be.
    assert_eq!(order, [7, 3, 4, 1, 2, 0, 6, 5]);
    assert_eq!(in_order(3, 3, |row| positions[row as usize]), [1, 2, 0]);
    assert_eq!(in_order(0, 0, |_| 0), [] as [u32; 0]);
}

#[test]
fn new_rows_stand_behind_known_ones_or_behind_each_other() {
    let known = [(7, 2), (8, 5), (9, u32::MAX)];
    assert_eq!(behind(&[0, 1, 3, 4, 6], 10, known.into_iter()), [NOTHING, 10, 7, 12, 8]);
    assert_eq!(behind(&[], 10, known.into_iter()), [] as [u32; 0]);
    assert_eq!(behind(&[0, 0], 0, std::iter::empty()), [NOTHING, 0]);
}

proptest! {
    /// Wherever names are put, and whichever are removed: the order is that of the directory.
    #[test]
    fn the_order_is_that_of_the_directory(
        base in 0usize..40,
        parts in prop::collection::vec((prop::collection::vec(0usize..100, 0..6), prop::collection::vec(0usize..100, 0..6)), 0..20),
    ) {
        // Row numbers, in the order of the directory.
        let mut directory: Vec<u32> = (0..base as u32).rev().collect();
        let mut positions: Vec<u32> = directory.clone();
        for (removed, added) in parts {
            for k in removed {
                if !directory.is_empty() {
                    directory.remove(k % directory.len());
                }
            }
            let (first, mut next) = (positions.len() as u32, positions.len() as u32);
            for k in added {
                let place = k % (directory.len() + 1);
                directory.insert(place, next);
                next += 1;
            }
            // Rows that are added together get their numbers in the order of their places.
            let mut number = first;
            directory.iter_mut().filter(|row| **row >= first).for_each(|row| {
                *row = number;
                number += 1;
            });
            let places = || (0..).zip(&directory).map(|(place, &row)| (row, place));
            let new: Vec<u32> = places().filter(|&(row, _)| row >= first).map(|(_, p)| p).collect();
            positions.extend(behind(&new, first, places().filter(|&(row, _)| row < first)));
        }
        let mut order = in_order(base, positions.len(), |row| positions[row as usize]);
        order.retain(|row| directory.contains(row));
        prop_assert_eq!(order, directory);
    }
}
