//! A matrix reduced to as many cells as a picture has.

use crate::matrix::SparseMatrix;

/// A square of cells, each the sum of the bytes of a block of tasks.
#[derive(Debug, Clone, PartialEq)]
pub struct Grid {
    side: usize,
    per_cell: usize,
    tasks: usize,
    cells: Vec<u64>,
}

impl Grid {
    /// Reduces a matrix to at most `most` × `most` cells. `position_of_task` is a permutation: the position at
    /// which each task is drawn.
    pub fn new(matrix: &SparseMatrix, position_of_task: &[u32], most: usize) -> Self {
        let tasks = matrix.tasks();
        let per_cell = tasks.div_ceil(most.max(1)).max(1);
        let side = tasks.div_ceil(per_cell);
        let mut cells = vec![0u64; side * side];
        for (i, j, traffic) in matrix.entries() {
            let place = |task: u32| {
                position_of_task.get(task as usize).copied().unwrap_or(task) as usize / per_cell
            };
            if let Some(cell) = cells.get_mut(place(i) * side + place(j)) {
                *cell = cell.saturating_add(traffic.bytes);
            }
        }
        Grid { side, per_cell, tasks, cells }
    }

    /// Cells in each direction.
    pub fn side(&self) -> usize {
        self.side
    }

    /// The number of tasks in each direction of a cell.
    pub fn per_cell(&self) -> usize {
        self.per_cell
    }

    /// The number of tasks in each direction of the whole grid.
    pub fn tasks(&self) -> usize {
        self.tasks
    }

    /// Bytes from the tasks of row `row` to those of column `column`.
    pub fn at(&self, row: usize, column: usize) -> u64 {
        self.cells.get(row * self.side + column).copied().unwrap_or(0)
    }

    /// The place of a cell on the scale with these ends, from 0 to 1; `None` if no bytes were sent.
    pub fn place(&self, row: usize, column: usize, range: (u64, u64)) -> Option<f64> {
        Some(self.at(row, column)).filter(|&bytes| bytes > 0).map(|b| on_log_scale(b, range))
    }

    /// The smallest and the largest number of bytes in a cell that is not empty; `None` if all cells are empty.
    pub fn range(&self) -> Option<(u64, u64)> {
        let filled = self.cells.iter().copied().filter(|&b| b > 0);
        Some((filled.clone().min()?, filled.max()?))
    }
}

/// The place of a number of bytes on a logarithmic scale: 0 at its lower end, 1 at its upper end.
pub fn on_log_scale(bytes: u64, (low, high): (u64, u64)) -> f64 {
    let (low, high) = ((low as f64).ln(), (high as f64).ln());
    if high <= low {
        return 1.0;
    }
    (((bytes as f64).ln() - low) / (high - low)).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::Traffic;
    use proptest::prelude::*;

    #[test]
    fn scale() {
        assert_eq!(on_log_scale(5, (5, 5)), 1.0);
        assert_eq!(on_log_scale(1, (1, 100)), 0.0);
        assert!((on_log_scale(10, (1, 100)) - 0.5).abs() < 1e-12);
    }

    proptest! {
        #[test]
        fn bytes_are_kept(
            raw in prop::collection::vec((0u32..20, 0u32..20, 1u64..100), 0..40), most in 1usize..25
        ) {
            let entries: Vec<_> =
                raw.iter().map(|&(i, j, bytes)| (i, j, Traffic { bytes, messages: 1 })).collect();
            let matrix = SparseMatrix::from_entries(20, &entries);
            let reversed: Vec<u32> = (0..20).rev().collect();
            let grid = Grid::new(&matrix, &reversed, most);
            prop_assert!(grid.side() <= most);
            let sum: u64 = (0..grid.side())
                .flat_map(|i| (0..grid.side()).map(move |j| (i, j)))
                .map(|(i, j)| grid.at(i, j))
                .sum();
            prop_assert_eq!(sum, matrix.total().bytes);
        }
    }

    #[test]
    fn no_tasks() {
        let grid = Grid::new(&SparseMatrix::empty(0), &[], 10);
        assert_eq!((grid.side(), grid.range()), (0, None));
    }
}
