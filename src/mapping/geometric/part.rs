//! A part of a grid: some of its points.

/// Dimensions up to which a point has its coordinates in one array.
pub(super) const MOST_DIMENSIONS: usize = 4;

/// Coordinates of every point of the grid; those of further dimensions are 0.
type Coordinates = [[u32; MOST_DIMENSIONS]];

/// Some points of a grid, sorted by their coordinates, the last dimension fastest.
pub(super) struct Part {
    /// The numbers of the points in the grid.
    pub(super) points: Vec<u32>,
    /// The number of coordinates in each dimension, from the least to the greatest.
    pub(super) extents: [usize; MOST_DIMENSIONS],
    /// The least coordinate in each dimension.
    least: [u32; MOST_DIMENSIONS],
    /// A hash of the points relative to the least coordinates.
    shape: u64,
}

impl Part {
    /// Sorts the points.
    pub(super) fn new(mut points: Vec<u32>, coordinates: &Coordinates) -> Self {
        if !points.is_sorted() {
            points.sort_unstable();
        }
        let (mut least, mut most) = ([u32::MAX; MOST_DIMENSIONS], [0u32; MOST_DIMENSIONS]);
        for &point in &points {
            for (k, &at) in coordinates[point as usize].iter().enumerate() {
                (least[k], most[k]) = (least[k].min(at), most[k].max(at));
            }
        }
        let extents: [usize; MOST_DIMENSIONS] =
            std::array::from_fn(|k| most[k].saturating_sub(least[k]) as usize + 1);
        let shape = points.iter().fold(0, |hash, &point| {
            let at = &coordinates[point as usize];
            mixed(hash, (0..at.len()).fold(0, |n, k| n << 16 ^ u64::from(at[k] - least[k])))
        });
        Part { points, extents, least, shape }
    }

    /// A hash of the shape and of further numbers.
    pub(super) fn key(&self, numbers: impl Iterator<Item = u64>) -> u64 {
        numbers.fold(self.shape, mixed)
    }

    /// The points along dimension `k`, plane by plane, and in a plane by the `others`, there and back.
    pub(super) fn sorted(&self, k: usize, others: &[usize], coordinates: &Coordinates) -> Vec<u32> {
        let number = |&point: &u32| {
            let at = &coordinates[point as usize];
            let along = |k: usize| (at[k] - self.least[k]) as usize;
            others.iter().fold(along(k), |number, &j| {
                let back = number % 2 == 1;
                let at = if back { self.extents[j] - 1 - along(j) } else { along(j) };
                number * self.extents[j] + at
            })
        };
        // No two points have the same number, and a part fills much of its box.
        let mut sorted = vec![u32::MAX; self.extents.iter().product()];
        self.points.iter().for_each(|point| sorted[number(point)] = *point);
        sorted.retain(|&point| point != u32::MAX);
        sorted
    }
}

/// The hash with one more number.
fn mixed(hash: u64, number: u64) -> u64 {
    (hash.rotate_left(5) ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The coordinates of a grid of these lengths.
    fn grid(rows: u32, columns: u32) -> Vec<[u32; MOST_DIMENSIONS]> {
        (0..rows * columns).map(|p| [p / columns, p % columns, 0, 0]).collect()
    }

    #[test]
    fn a_part_is_walked_there_and_back() {
        let coordinates = grid(3, 4);
        let part = Part::new((0..12).rev().collect(), &coordinates);
        assert_eq!(part.extents, [3, 4, 1, 1]);
        let rows = part.sorted(0, &[1], &coordinates);
        assert_eq!(rows, [0, 1, 2, 3, 7, 6, 5, 4, 8, 9, 10, 11]);
        let columns = part.sorted(1, &[0], &coordinates);
        assert_eq!(columns, [0, 4, 8, 9, 5, 1, 2, 6, 10, 11, 7, 3]);
        // Only some points of the box.
        let part = Part::new(vec![1, 2, 4, 6], &coordinates);
        assert_eq!(part.sorted(0, &[1], &coordinates), [1, 2, 6, 4]);
    }

    #[test]
    fn parts_of_the_same_shape_have_the_same_key() {
        let coordinates = grid(5, 5);
        let key = |points: &[u32]| Part::new(points.to_vec(), &coordinates).key([7].into_iter());
        assert_eq!(key(&[0, 1, 5]), key(&[18, 19, 23]));
        assert_ne!(key(&[0, 1, 5]), key(&[0, 1, 6]));
        // Two points in a row, and two points at the end and the start of rows.
        assert_ne!(key(&[3, 4]), key(&[4, 5]));
    }
}
