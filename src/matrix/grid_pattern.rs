//! The traffic between the points of a grid that differ by given offsets: stencils of all kinds.
//!
//! Each stencil is a list of offsets with weights. One of each pair of opposite offsets is enough, because an edge has
//! no direction. Limits: in a ring, a step of more than half of the ring is left out, as it is a shorter one in the
//! other direction.

/// Which points of a grid exchange data.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Stencil {
    /// Nearest neighbours along the axes.
    Faces,
    /// All neighbours, also across corners, with a tenth of the weight for each coordinate after the first.
    LighterDiagonals,
    /// All neighbours, also across corners.
    EqualDiagonals,
    /// Neighbours that differ in one or two coordinates.
    FacesAndEdges,
    /// Nearest neighbours, and those that are one step farther in the first two dimensions.
    OneDiagonal,
    /// Points that are several steps away along one axis. The weights are those of 1, 2, … steps.
    Steps(Vec<u64>),
}

/// A grid whose points exchange data.
#[derive(Debug, Clone)]
pub(super) struct GridPattern {
    pub(super) dims: Vec<usize>,
    /// All dimensions are rings.
    pub(super) periodic: bool,
    pub(super) stencil: Stencil,
    /// Factors of the weights along each dimension; 1 where there are none. An edge along several has the least.
    pub(super) along: Vec<u64>,
}

impl GridPattern {
    /// The edges with their weights. The last dimension varies fastest.
    pub(super) fn edges(&self) -> Vec<(u32, u32, u64)> {
        let n: usize = self.dims.iter().product();
        let offsets = self.offsets();
        let mut edges = Vec::new();
        for v in 0..n {
            for (offset, weight) in &offsets {
                edges.extend(self.other(v, offset).map(|t| (v as u32, t as u32, *weight)));
            }
        }
        edges
    }

    /// The point at an offset from `v`. `None` if there is none, or if it is the first of two ways around a ring.
    fn other(&self, v: usize, offset: &[i64]) -> Option<usize> {
        let (mut rest, mut other, mut stride) = (v, 0, 1);
        for (&len, &step) in self.dims.iter().zip(offset).rev() {
            let mut x = (rest % len) as i64 + step;
            rest /= len;
            let half = (2 * step.unsigned_abs() as usize).cmp(&len);
            if self.periodic && half.is_gt() {
                return None;
            }
            if x < 0 || x >= len as i64 {
                if !self.periodic || half.is_eq() {
                    return None;
                }
                x = x.rem_euclid(len as i64);
            }
            other += x as usize * stride;
            stride *= len;
        }
        Some(other)
    }

    /// One of each pair of opposite offsets, with its weight: the one whose first entry other than 0 is positive.
    fn offsets(&self) -> Vec<(Vec<i64>, u64)> {
        let reach = match &self.stencil {
            Stencil::Steps(weights) => weights.len() as i64,
            _ => 1,
        };
        let mut offsets: Vec<Vec<i64>> = vec![vec![]];
        for _ in &self.dims {
            let longer = |o: &Vec<i64>| {
                let o = o.clone();
                (-reach..=reach).map(move |d| [o.as_slice(), &[d]].concat())
            };
            let is_kept = |o: &Vec<i64>| self.may_begin_with(o);
            offsets = offsets.iter().flat_map(longer).filter(is_kept).collect();
        }
        let is_first = |o: &Vec<i64>| o.iter().find(|&&d| d != 0).is_some_and(|&d| d > 0);
        let weighted = |o: Vec<i64>| {
            let weight = self.weight(&o);
            (o, weight)
        };
        offsets.into_iter().filter(is_first).map(weighted).collect()
    }

    /// True if offsets of the stencil begin with these entries.
    fn may_begin_with(&self, offset: &[i64]) -> bool {
        let far = offset.iter().filter(|&&d| d != 0).count();
        match self.stencil {
            Stencil::Faces | Stencil::Steps(_) => far <= 1,
            Stencil::LighterDiagonals | Stencil::EqualDiagonals => true,
            Stencil::FacesAndEdges => far <= 2,
            Stencil::OneDiagonal => {
                far <= 1 || (far == 2 && matches!(offset, [1, 1, ..] | [-1, -1, ..]))
            }
        }
    }

    fn weight(&self, offset: &[i64]) -> u64 {
        let far = offset.iter().filter(|&&d| d != 0).count() as u32;
        let steps = offset.iter().map(|d| d.unsigned_abs() as usize).max().unwrap_or(1);
        let weight = match &self.stencil {
            Stencil::LighterDiagonals => 10u64.pow(3u32.saturating_sub(far)),
            Stencil::Steps(weights) => weights.get(steps.saturating_sub(1)).copied().unwrap_or(1),
            _ => 1,
        };
        let factors = (0..).zip(offset).filter(|&(_, &d)| d != 0);
        let factor =
            factors.map(|(k, _): (usize, _)| self.along.get(k).copied().unwrap_or(1)).min();
        weight.saturating_mul(factor.unwrap_or(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edges(
        dims: &[usize],
        periodic: bool,
        stencil: Stencil,
        along: &[u64],
    ) -> Vec<(u32, u32, u64)> {
        GridPattern { dims: dims.to_vec(), periodic, stencil, along: along.to_vec() }.edges()
    }

    #[test]
    fn each_stencil_has_its_offsets() {
        for (stencil, dims, each) in [
            (Stencil::Faces, vec![9, 9, 9], 3),
            (Stencil::EqualDiagonals, vec![9, 9, 9], 13),
            (Stencil::LighterDiagonals, vec![9, 9], 4),
            (Stencil::FacesAndEdges, vec![9, 9, 9], 9),
            (Stencil::OneDiagonal, vec![9, 9], 3),
            (Stencil::OneDiagonal, vec![9, 9, 9], 4),
            (Stencil::Steps(vec![1; 4]), vec![9, 9, 9], 12),
        ] {
            let n: usize = dims.iter().product();
            assert_eq!(edges(&dims, true, stencil.clone(), &[]).len(), each * n, "{stencil:?}");
            assert!(edges(&dims, false, stencil.clone(), &[]).len() < each * n, "{stencil:?}");
        }
    }

    #[test]
    fn an_edge_is_made_once_in_a_short_ring() {
        // In a ring of four, two steps lead to the same point in both directions.
        assert_eq!(edges(&[4], true, Stencil::Steps(vec![5, 3]), &[]).len(), 4 + 2);
        assert_eq!(edges(&[3], true, Stencil::Steps(vec![5, 3]), &[]).len(), 3);
        assert_eq!(edges(&[2], true, Stencil::Faces, &[]), [(0, 1, 1)]);
    }

    #[test]
    fn weights_are_those_of_the_steps_and_the_dimension() {
        let found = edges(&[1, 3], false, Stencil::Steps(vec![8, 1]), &[7, 2]);
        assert_eq!(found, [(0, 1, 16), (0, 2, 2), (1, 2, 16)]);
        let found = edges(&[2, 2], false, Stencil::OneDiagonal, &[7, 2]);
        assert_eq!(found, [(0, 1, 2), (0, 2, 7), (0, 3, 2), (1, 3, 7), (2, 3, 2)]);
    }
}
