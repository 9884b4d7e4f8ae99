//! The grid in which a program arranged its tasks (`MPI_Cart_create`).

/// A grid of tasks: task t is point t in row-major order, the last dimension fastest. Tasks behind
/// the last point belong to no grid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskGrid {
    dims: Vec<usize>,
    wrap: Vec<bool>,
}

impl TaskGrid {
    /// A grid of these extents and periods. Dimensions of extent 1 are left out, because they separate no
    /// points.
    ///
    /// `None` if an extent is 0, if the lists differ in length, or if no dimension is left.
    pub fn new(dims: &[usize], wrap: &[bool]) -> Option<TaskGrid> {
        let points = dims.iter().try_fold(1usize, |n, &d| n.checked_mul(d))?;
        if points < 2 || dims.len() != wrap.len() {
            return None;
        }
        let (dims, wrap) =
            dims.iter().zip(wrap).map(|(&d, &w)| (d, w)).filter(|&(d, _)| d > 1).unzip();
        Some(TaskGrid { dims, wrap })
    }

    /// Extent of each dimension, all above 1.
    pub fn dims(&self) -> &[usize] {
        &self.dims
    }

    /// Whether each dimension is periodic.
    pub fn wrap(&self) -> &[bool] {
        &self.wrap
    }

    /// Number of points.
    pub fn points(&self) -> usize {
        self.dims.iter().product()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extents_of_one_are_left_out() {
        let grid = TaskGrid::new(&[4, 1, 3], &[true, true, false]).unwrap();
        assert_eq!(
            (grid.dims(), grid.wrap(), grid.points()),
            (&[4, 3][..], &[true, false][..], 12)
        );
        assert_eq!(TaskGrid::new(&[1, 1], &[false; 2]), None);
        assert_eq!(TaskGrid::new(&[2, 0], &[false; 2]), None);
        assert_eq!(TaskGrid::new(&[2], &[]), None);
        assert_eq!(TaskGrid::new(&[usize::MAX, 2], &[false; 2]), None);
    }
}
