//! Meshes, tori and hypercubes: one slot at each point of an integer grid.
//!
//! Slots are numbered as `MPI_Cart_create` numbers ranks: the last coordinate varies fastest. Each dimension
//! wraps around or not. Routing is dimension-ordered: a message goes along one dimension after the other,
//! beginning with the first. In a dimension that wraps around it takes the shorter direction, or upwards if
//! both directions are equally long.

use super::network::is_bandwidth;
use super::{Network, Routing, SinglePath, Topology};

/// A grid of slots. Memory: 4 bytes per slot and dimension.
#[derive(Debug, Clone, PartialEq)]
pub struct Grid {
    label: String,
    dims: Vec<usize>,
    wrap: Vec<bool>,
    bandwidths: Vec<f64>,
    /// The difference of the slot numbers of two neighbours in each dimension.
    strides: Vec<usize>,
    /// Coordinates of all slots, `dims.len()` each.
    coordinates: Vec<u32>,
    slot_names: Vec<String>,
    /// Every dimension has two points: the distance is the number of different bits.
    binary: bool,
}

impl Grid {
    /// The most coordinates that a grid has, in all slots together (256 MiB). A description of a few
    /// bytes must not take all memory.
    pub const MAX_COORDINATES: usize = 1 << 26;

    /// A grid; `wrap` tells whether each dimension wraps around. A dimension of one or two points never
    /// does, because its points are neighbours already.
    ///
    /// `None` if there is no dimension, the lengths of the lists differ, a dimension is 0, or there are
    /// more than [`Grid::MAX_COORDINATES`] coordinates.
    pub fn new(dims: &[usize], wrap: &[bool]) -> Option<Grid> {
        let slots = super::slots_of(dims).filter(|_| dims.len() == wrap.len())?;
        let count = slots.checked_mul(dims.len()).filter(|&n| n <= Grid::MAX_COORDINATES)?;
        let mut strides = vec![1; dims.len()];
        for k in (0..dims.len() - 1).rev() {
            strides[k] = strides[k + 1] * dims[k + 1];
        }
        let mut coordinates = Vec::with_capacity(count);
        let mut point = vec![0; dims.len()];
        for _ in 0..slots {
            coordinates.extend_from_slice(&point);
            // The next point: the last coordinate that does not begin again grows.
            for (x, &d) in point.iter_mut().zip(dims).rev() {
                *x = if *x as usize + 1 < d { *x + 1 } else { 0 };
                if *x > 0 {
                    break;
                }
            }
        }
        let wrap: Vec<bool> = wrap.iter().zip(dims).map(|(&w, &d)| w && d > 2).collect();
        let text: Vec<String> = dims.iter().map(usize::to_string).collect();
        let kind = if wrap.iter().any(|&w| w) { "torus" } else { "mesh" };
        Some(Grid {
            label: format!("{kind}:{}", text.join("x")),
            dims: dims.to_vec(),
            bandwidths: vec![1.0; dims.len()],
            strides,
            coordinates,
            slot_names: Vec::new(),
            binary: dims.iter().all(|&d| d == 2),
            wrap,
        })
    }

    /// A grid that wraps around in every dimension.
    pub fn torus(dims: &[usize]) -> Option<Grid> {
        Grid::new(dims, &vec![true; dims.len()])
    }

    /// A grid that wraps around nowhere.
    pub fn mesh(dims: &[usize]) -> Option<Grid> {
        Grid::new(dims, &vec![false; dims.len()])
    }

    /// A hypercube of 2^`dimensions` slots; `None` for 0 or more than 21 dimensions.
    pub fn hypercube(dimensions: usize) -> Option<Grid> {
        Some(Grid::mesh(&vec![2; dimensions])?.with_label(format!("hypercube:{dimensions}")))
    }

    /// Sets the bandwidth of the links of each dimension (Gemini tori differ by dimension); `None`
    /// unless there is one positive number for each.
    pub fn with_bandwidths(mut self, bandwidths: &[f64]) -> Option<Grid> {
        let fits =
            bandwidths.len() == self.dims.len() && bandwidths.iter().all(|&b| is_bandwidth(b));
        self.bandwidths = bandwidths.to_vec();
        fits.then_some(self)
    }

    /// Sets the answer of [`Topology::name`].
    #[must_use]
    pub fn with_label(mut self, label: String) -> Grid {
        self.label = label;
        self
    }

    /// Sets the name of every slot.
    #[must_use]
    pub fn with_slot_names(mut self, names: Vec<String>) -> Grid {
        self.slot_names = names;
        self
    }

    /// Number of points in each dimension.
    pub fn dims(&self) -> &[usize] {
        &self.dims
    }

    /// The bandwidth of the links of each dimension.
    pub fn bandwidths(&self) -> &[f64] {
        &self.bandwidths
    }

    /// Whether each dimension wraps around; never for one or two points.
    pub fn wrap(&self) -> &[bool] {
        &self.wrap
    }

    /// The point of a slot, one coordinate per dimension.
    pub fn coordinates(&self, slot: usize) -> &[u32] {
        let d = self.dims.len();
        &self.coordinates[slot * d..(slot + 1) * d]
    }

    /// The slot at a point; `None` outside the grid.
    pub fn slot_at(&self, point: &[u32]) -> Option<usize> {
        if point.len() != self.dims.len() {
            return None;
        }
        point.iter().zip(&self.dims).zip(&self.strides).try_fold(0, |slot, ((&x, &d), &step)| {
            ((x as usize) < d).then_some(slot + x as usize * step)
        })
    }

    /// Steps between two coordinates of a dimension.
    pub(crate) fn along(&self, k: usize, x: u32, y: u32) -> u32 {
        let direct = x.abs_diff(y);
        if self.wrap[k] { direct.min(self.dims[k] as u32 - direct) } else { direct }
    }

    /// The difference of the slot numbers of two neighbours in dimension `k`.
    pub(super) fn stride(&self, k: usize) -> usize {
        self.strides[k]
    }

    #[inline]
    pub(super) fn link(&self, vertex: usize, k: usize, up: bool) -> usize {
        2 * (vertex * self.dims.len() + k) + usize::from(up)
    }

    /// The slot one step up or down from `slot` in dimension `k`.
    pub(super) fn step(&self, slot: usize, k: usize, up: bool) -> Option<usize> {
        let (d, step) = (self.dims[k], self.strides[k]);
        let x = slot / step % d;
        match (up, x) {
            (true, x) if x + 1 < d => Some(slot + step),
            (true, _) if self.wrap[k] => Some(slot + step - d * step),
            (false, x) if x > 0 => Some(slot - step),
            (false, _) if self.wrap[k] => Some(slot + (d - 1) * step),
            _ => None,
        }
    }
}

impl Topology for Grid {
    fn name(&self) -> String {
        self.label.clone()
    }

    fn slots(&self) -> usize {
        self.coordinates.len() / self.dims.len()
    }

    #[inline]
    fn distance(&self, a: usize, b: usize) -> u64 {
        if self.binary {
            return u64::from((a ^ b).count_ones());
        }
        let (p, q) = (self.coordinates(a), self.coordinates(b));
        let mut sum = 0;
        for (k, (&x, &y)) in p.iter().zip(q).enumerate() {
            sum += u64::from(self.along(k, x, y));
        }
        sum
    }

    fn distance_bounds(&self) -> (u64, u64) {
        let sides = self.dims.iter().zip(&self.wrap);
        (1, sides.map(|(&d, &wrap)| if wrap { d / 2 } else { d - 1 } as u64).sum())
    }

    fn as_grid(&self) -> Option<&Grid> {
        Some(self)
    }

    fn network(&self) -> Option<&dyn Network> {
        Some(self)
    }

    fn slot_name(&self, slot: usize) -> Option<&str> {
        self.slot_names.get(slot).map(String::as_str)
    }
}

impl Network for Grid {
    fn vertices(&self) -> usize {
        self.slots()
    }

    fn links(&self) -> usize {
        2 * self.slots() * self.dims.len()
    }

    fn bandwidth(&self, link: usize) -> f64 {
        self.bandwidths[link / 2 % self.dims.len()]
    }

    fn neighbours(&self, vertex: usize, visit: &mut dyn FnMut(usize, usize)) {
        for k in 0..self.dims.len() {
            for up in [false, true] {
                if let Some(other) = self.step(vertex, k, up) {
                    visit(other, self.link(vertex, k, up));
                }
            }
        }
    }

    fn route(&self, from: usize, to: usize, visit: &mut dyn FnMut(usize)) {
        let mut at = from;
        let ends = self.coordinates(from).iter().zip(self.coordinates(to));
        for (k, (&x, &y)) in ends.enumerate() {
            let (steps, length, stride) = (self.along(k, x, y), self.dims[k], self.strides[k]);
            let above = if y >= x { y - x } else { y + length as u32 - x };
            let up = if self.wrap[k] { above == steps } else { y > x };
            let mut here = x as usize;
            for _ in 0..steps {
                visit(self.link(at, k, up));
                let next = match up {
                    true if here + 1 == length => 0,
                    true => here + 1,
                    false if here == 0 => length - 1,
                    false => here - 1,
                };
                at = at + next * stride - here * stride;
                here = next;
            }
        }
    }

    fn routing(&self) -> Box<dyn Routing + '_> {
        Box::new(SinglePath(self))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_coordinate_varies_fastest() {
        let grid = Grid::torus(&[2, 3, 4]).unwrap();
        assert_eq!(grid.slots(), 24);
        assert_eq!(grid.coordinates(23), [1, 2, 3]);
        assert_eq!(grid.coordinates(4), [0, 1, 0]);
        assert_eq!(grid.slot_at(&[1, 0, 2]), Some(14));
        assert_eq!(grid.slot_at(&[2, 0, 0]), None);
        assert_eq!(grid.slot_at(&[0, 0]), None);
        for slot in 0..24 {
            assert_eq!(grid.slot_at(grid.coordinates(slot)), Some(slot));
        }
    }

    #[test]
    fn the_memory_of_a_description_is_limited() {
        assert_eq!(Grid::hypercube(22), None);
        assert_eq!(Grid::hypercube(usize::BITS as usize), None);
        assert_eq!(Grid::torus(&[1 << 26, 1]), None);
        assert_eq!(Grid::torus(&[3; 15]), None);
        assert!(Grid::hypercube(12).is_some());
    }

    #[test]
    fn distances_wrap_only_in_tori() {
        let (torus, mesh) = (Grid::torus(&[8]).unwrap(), Grid::mesh(&[8]).unwrap());
        assert_eq!((torus.distance(0, 7), mesh.distance(0, 7)), (1, 7));
        assert_eq!((torus.distance(1, 5), torus.distance(1, 6)), (4, 3));
        assert_eq!(Grid::hypercube(5).unwrap().distance(0, 0b10110), 3);
    }

    #[test]
    fn halfway_round_goes_upwards() {
        let ring = Grid::torus(&[4]).unwrap();
        let mut links = Vec::new();
        ring.route(3, 1, &mut |link| links.push(link));
        assert_eq!(links, [ring.link(3, 0, true), ring.link(0, 0, true)]);
    }

    #[test]
    fn impossible_grids_are_none() {
        assert!(Grid::mesh(&[]).is_none());
        assert!(Grid::mesh(&[3, 0]).is_none());
        assert!(Grid::new(&[3], &[true, false]).is_none());
        assert!(Grid::mesh(&[1 << 20, 1 << 20]).is_none());
        assert!(Grid::hypercube(0).is_none() && Grid::hypercube(64).is_none());
        assert!(Grid::mesh(&[3]).unwrap().with_bandwidths(&[0.0]).is_none());
    }

    #[test]
    fn bandwidth_belongs_to_the_dimension() {
        let grid = Grid::torus(&[4, 4]).unwrap().with_bandwidths(&[2.0, 5.0]).unwrap();
        let mut seen = Vec::new();
        grid.route(0, 6, &mut |link| seen.push(grid.bandwidth(link)));
        assert_eq!(seen, [2.0, 5.0, 5.0]);
    }
}
