//! The offsets of stencils that are neither axes alone nor all diagonals.
//!
//! An offset is a number of steps along each dimension. A *label* is the number of an offset in the list; the labels
//! of opposite offsets differ in the lowest bit. `frames` finds the labels of all edges with the tables here. A
//! stencil with other offsets is a line in [`STENCILS`]. In a ring of three or four points, points meet on the other
//! side too, so there are tables for each choice of such rings. Limits: no rings of three in a stencil of 19 points,
//! whose neighbours may then be matched in ways that lead no farther; three dimensions and 32 offsets.

use fnv::FnvHashMap;

/// Steps along each dimension; those of a third dimension are 0 if there are two.
pub(super) type Offset = [i32; 3];

/// The coordinates along other axes: a row for each of them.
pub(super) type Axes = [Offset; 3];

/// A stencil: half of its offsets, the axes that its grid may have, and the directions that a short ring may have.
pub(super) struct Stencil {
    pub(super) dimensions: usize,
    half: &'static [Offset],
    pub(super) axes: &'static [Axes],
    directions: &'static [Offset],
    /// The lengths of short rings that are told apart; 0 stands for all others.
    lengths: &'static [i32],
}

const GIVEN: Axes = [[1, 0, 0], [0, 1, 0], [0, 0, 1]];

/// Each two of three directions in a plane may be those of the sides of the grid.
const TWO_OF_THREE: [Axes; 3] =
    [GIVEN, [[1, -1, 0], [0, 1, 0], [0, 0, 1]], [[-1, 1, 0], [1, 0, 0], [0, 0, 1]]];

/// The stencils, all of different numbers of offsets.
const STENCILS: [Stencil; 2] = [
    // One diagonal in a plane.
    Stencil {
        dimensions: 2,
        half: &[[1, 0, 0], [0, 1, 0], [1, 1, 0]],
        axes: &TWO_OF_THREE,
        directions: &[[1, 0, 0], [0, 1, 0], [1, 1, 0]],
        lengths: &[0, 4, 3],
    },
    // No corners.
    Stencil {
        dimensions: 3,
        half: &[
            [1, 0, 0],
            [0, 1, 0],
            [0, 0, 1],
            [1, 1, 0],
            [1, -1, 0],
            [1, 0, 1],
            [1, 0, -1],
            [0, 1, 1],
            [0, 1, -1],
        ],
        axes: &[GIVEN],
        directions: &GIVEN,
        lengths: &[0, 4],
    },
];

impl Stencil {
    /// The stencil whose inner points have so many neighbours.
    pub(super) fn of_degree(degree: usize) -> Option<&'static Self> {
        STENCILS.iter().find(|stencil| 2 * stencil.half.len() == degree)
    }

    /// The offsets with all choices of short rings, those without such rings first.
    pub(super) fn choices(&'static self) -> impl Iterator<Item = Offsets> {
        let count = self.lengths.len().pow(self.directions.len() as u32);
        (0..count).map(move |mut choice| {
            let mut rings: Vec<Offset> = Vec::new();
            for direction in self.directions {
                let length = self.lengths[choice % self.lengths.len()];
                choice /= self.lengths.len();
                if length > 0 {
                    rings.push(direction.map(|x| x * length));
                }
            }
            Offsets::new(self, &rings)
        })
    }
}

/// Labels by their points.
type Labels = FnvHashMap<Offset, usize>;

/// The offsets of a stencil with a table of their sums.
pub(super) struct Offsets {
    pub(super) list: Vec<Offset>,
    /// The label of each point beside the first one, also those that are so around short rings.
    labels: Labels,
    /// `sum[s][t]`: the label of the sum of two offsets, if this is an offset.
    sum: Vec<Vec<Option<usize>>>,
}

impl Offsets {
    /// `rings` are the offsets that lead around short rings.
    fn new(stencil: &Stencil, rings: &[Offset]) -> Self {
        let list: Vec<Offset> = stencil.half.iter().flat_map(|&o| [o, o.map(|x| -x)]).collect();
        let mut points: Vec<(Offset, usize)> = list.iter().copied().zip(0..).collect();
        for ring in rings {
            let around = |&(point, label): &(Offset, usize)| {
                [[0; 3], *ring, ring.map(|x| -x)].map(|turn| (plus(point, turn), label))
            };
            points = points.iter().flat_map(around).collect();
        }
        let labels: Labels = points.into_iter().collect();
        let row = |&s: &Offset| list.iter().map(|&t| labels.get(&plus(s, t)).copied()).collect();
        let sum = list.iter().map(row).collect();
        Offsets { list, labels, sum }
    }

    /// `near[s][t]`: a bit for each label of a neighbour of the first point that the point at s + t is beside.
    pub(super) fn near(&self) -> Vec<Vec<u32>> {
        let all = || 0..self.list.len();
        let beside = |s: usize, t: usize, u: usize| {
            let point = plus(plus(self.list[s], self.list[t]), self.list[u ^ 1]);
            u32::from(self.labels.contains_key(&point)) << u
        };
        let row = |s: usize| all().map(|t| all().map(|u| beside(s, t, u)).sum()).collect();
        all().map(row).collect()
    }

    /// The label of offset u − s.
    pub(super) fn difference(&self, u: usize, s: usize) -> Option<usize> {
        self.sum[u][s ^ 1]
    }

    /// A bit for each label t of a point at s + t which is neither the first point nor beside it, and which is beside
    /// exactly those `known` neighbours of the first point that are in `beside`. `near` is the row of `s`.
    pub(super) fn beyond(&self, s: usize, near: &[u32], known: u32, beside: u32) -> u32 {
        let is_beyond =
            |&t: &usize| t != s ^ 1 && self.sum[s][t].is_none() && near[t] & known == beside;
        (0..self.list.len()).filter(is_beyond).map(|t| 1 << t).sum()
    }

    /// A bit for each label of a neighbour that is beside the neighbour with label `t`.
    pub(super) fn beside(&self, t: usize) -> u32 {
        let is_beside = |&u: &usize| self.difference(u, t).is_some();
        (0..self.list.len()).filter(is_beside).map(|u| 1 << u).sum()
    }
}

fn plus(a: Offset, b: Offset) -> Offset {
    std::array::from_fn(|k| a[k] + b[k])
}

/// An offset or a point, along other axes.
pub(super) fn along(axes: &Axes, point: Offset) -> Offset {
    axes.map(|row| row.iter().zip(point).map(|(factor, x)| factor * x).sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_and_neighbours_of_offsets_are_right() {
        let choices: Vec<Offsets> = Stencil::of_degree(6).unwrap().choices().collect();
        assert_eq!(choices.len(), 27);
        // Labels: 0 and 1 along the first axis, 2 and 3 along the second one, 4 and 5 along the diagonal.
        let hexagonal = &choices[0];
        assert_eq!(hexagonal.difference(4, 0), Some(2));
        assert_eq!(hexagonal.difference(0, 2), None);
        assert_eq!(hexagonal.beside(4), 1 << 0 | 1 << 2);
        // Two steps along the first axis: beside one neighbour only.
        let near = hexagonal.near();
        assert_eq!(hexagonal.beyond(0, &near[0], 0b11_1111, 1 << 0), 1 << 0);
        assert_eq!(hexagonal.beyond(0, &near[0], 1 << 0, 1 << 0) & 1, 1);
        // In a ring of four along the first axis, it is also beside the neighbour on the other side.
        assert_eq!(choices[1].near()[0][0], 0b11);
        // In a ring of three, it is this neighbour.
        assert_eq!((choices[2].difference(1, 0), choices[2].beside(0) & 0b11), (Some(0), 0b10));
        assert!(Stencil::of_degree(18).is_some() && Stencil::of_degree(7).is_none());
    }

    #[test]
    fn along_other_axes_all_offsets_are_within_one_step() {
        for stencil in &STENCILS {
            for axes in stencil.axes {
                let steps = |&o: &Offset| along(axes, o).iter().all(|x| x.abs() <= 1);
                assert!(stencil.half.iter().all(steps));
            }
        }
    }
}
