//! The coordinates of places on a grid, one axis after the other.
//!
//! The distance between two places of a grid is the sum of their distances along each axis. So what a task costs on a
//! place is a sum as well, of what it costs at each coordinate of the place. A search keeps these few numbers for each
//! task, in a row of [`Axes::width`] columns, and looks a cost up instead of adding up the edges of the task.
//!
//! Limits: up to four axes, at most [`Axes::WIDEST`] columns, and no more numbers than stay in the caches.

/// Axes that there is room for.
const AXES: usize = 4;

/// The columns of the coordinates of a place, one for each axis.
pub(crate) type Columns = [u16; AXES];

/// The coordinates along one axis.
#[derive(Debug, Clone)]
pub(crate) struct Axis {
    /// Column of coordinate 0.
    pub(crate) first: usize,
    /// Number of coordinates.
    pub(crate) length: usize,
    /// Distances between all pairs of coordinates, row by row.
    distances: Vec<i32>,
}

impl Axis {
    /// The distances of all coordinates from the one with this column.
    #[inline]
    pub(crate) fn distances_from(&self, column: u16) -> &[i32] {
        let start = (column as usize - self.first) * self.length;
        &self.distances[start..start + self.length]
    }
}

/// The axes of a grid, and the columns of every place.
#[derive(Debug, Clone)]
pub(crate) struct Axes {
    list: Vec<Axis>,
    columns: Vec<Columns>,
}

impl Axes {
    /// The largest number of columns. A task that moves changes whole rows of its partners.
    pub(crate) const WIDEST: usize = 160;
    /// The largest number of columns of all places together: tables of about 16 MiB, with numbers of 32 bits.
    const MOST: usize = 4 << 20;

    /// `None` if there are more axes, coordinates or places than there is room for. `lengths` are the numbers of
    /// coordinates along each axis, `distance(axis, a, b)` is the distance between two coordinates, and `points` has the
    /// coordinates of all places.
    pub(crate) fn new<P: AsRef<[u32]>>(
        lengths: &[usize],
        distance: impl Fn(usize, u32, u32) -> u32,
        points: impl ExactSizeIterator<Item = P>,
    ) -> Option<Self> {
        let width = lengths.iter().sum::<usize>();
        if lengths.len() > AXES || width > Self::WIDEST || points.len() * width > Self::MOST {
            return None;
        }
        let mut list: Vec<Axis> = Vec::new();
        for (axis, &length) in lengths.iter().enumerate() {
            let first = list.last().map_or(0, |last| last.first + last.length);
            let all = 0..length as u32;
            let pairs = all.clone().flat_map(|a| all.clone().map(move |b| (a, b)));
            let pairs = pairs.map(|(a, b)| distance(axis, a, b));
            let distances = pairs.map(i32::try_from).collect::<Result<_, _>>().ok()?;
            list.push(Axis { first, length, distances });
        }
        let columns = |point: P| {
            let mut columns = [0; AXES];
            for ((column, axis), &x) in columns.iter_mut().zip(&list).zip(point.as_ref()) {
                *column = axis.first as u16 + x as u16;
            }
            columns
        };
        let columns = points.map(columns).collect();
        Some(Axes { list, columns })
    }

    /// Columns of a row.
    pub(crate) fn width(&self) -> usize {
        self.list.last().map_or(0, |last| last.first + last.length)
    }

    /// All axes.
    #[inline(always)]
    pub(crate) fn list(&self) -> &[Axis] {
        &self.list
    }

    /// The columns of a place. Those beyond the number of axes are 0.
    #[inline(always)]
    pub(crate) fn columns(&self, place: u32) -> &Columns {
        &self.columns[place as usize]
    }

    /// The largest distance between two places.
    pub(crate) fn largest_distance(&self) -> i64 {
        let largest = |axis: &Axis| i64::from(axis.distances.iter().copied().max().unwrap_or(0));
        self.list.iter().map(largest).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_sums_over_the_axes() {
        let ring = |axis: usize, a: u32, b: u32| match axis {
            0 => a.abs_diff(b).min(5 - a.abs_diff(b)),
            _ => a.abs_diff(b),
        };
        let points: Vec<[u32; 2]> = (0..15).map(|p| [p / 3, p % 3]).collect();
        let axes = Axes::new(&[5, 3], ring, points.iter()).unwrap();
        assert_eq!((axes.width(), axes.largest_distance()), (8, 2 + 2));
        for (p, a) in points.iter().enumerate() {
            for (q, b) in points.iter().enumerate() {
                let (from, to) = (axes.columns(p as u32), axes.columns(q as u32));
                let along = |(k, axis): (usize, &Axis)| {
                    axis.distances_from(from[k])[to[k] as usize - axis.first]
                };
                let sum: i32 = axes.list().iter().enumerate().map(along).sum();
                assert_eq!(sum as u32, ring(0, a[0], b[0]) + ring(1, a[1], b[1]));
            }
        }
    }

    #[test]
    fn too_many_axes_coordinates_or_places_are_refused() {
        let none = || std::iter::empty::<[u32; 1]>();
        assert!(Axes::new(&[2; 5], |_, _, _| 0, none()).is_none());
        assert!(Axes::new(&[Axes::WIDEST, 1], |_, _, _| 0, none()).is_none());
        assert!(Axes::new(&[2], |_, _, _| u32::MAX, none()).is_none());
        let many = |n: usize| Axes::new(&[100], |_, _, _| 0, vec![[0u32]; n].into_iter());
        assert!(many(Axes::MOST / 100).is_some() && many(Axes::MOST / 100 + 1).is_none());
        assert_eq!(Axes::new(&[], |_, _, _| 0, none()).unwrap().width(), 0);
    }
}
