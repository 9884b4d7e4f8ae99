//! Recognises grids with a few irregular edges, for every numbering of the vertices.
//!
//! Programs on grids often have some edges that no grid has, or lack some: a refined corner, a coupling, a task that
//! collects. `detect` refuses such graphs. Here the edges along the axes are found first (`axis_edges`), then the points of
//! most vertices (`growth`). The lengths of rings follow from edges whose ends have points that are far from each other;
//! all other extents are the layers that are mostly full. The remaining vertices go to the free points beside most of their
//! neighbours.
//!
//! The answer is a full grid: each vertex has a point of its own. It contains most of the traffic. Nothing else is certain,
//! so its mappings compete with those of a search. Limits: two to four dimensions, no rings of less than five, and no
//! vertices missing.

use super::axis_edges::{AxisEdges, axis_edges};
use super::growth::grown;
use super::point::{DIMENSIONS, Point};
use super::shape::GridShape;
use crate::base::sorting::Arrange;
use crate::mapping::engine::Csr;

/// Positions along a dimension that points can have.
const POSITIONS: usize = 1 << 16;

/// The shortest ring.
const SHORTEST_RING: usize = 5;

/// Times that misplaced vertices are looked for.
const REPAIRS: usize = 3;

/// The edges of the grid have at least this share of all traffic, in quarters.
const QUARTERS: i128 = 3;

/// Times that vertices get the points beside their neighbours, before the rest gets any.
const ROUNDS: usize = 12;

/// Fewer vertices are not looked at.
const LEAST: usize = 64;

/// Finds the grid that most of the traffic of `graph` runs along, and the edges between neighbours in this grid, also those
/// across corners. `None` if there is no such grid.
pub(super) fn near_grid(graph: &Csr) -> Option<(GridShape, Csr)> {
    if graph.len() < LEAST {
        return None;
    }
    let edges = axis_edges(graph)?;
    edges.firsts.iter().find_map(|&first| grown_from(graph, &edges, first))
}

/// The same, by growth from one vertex.
fn grown_from(graph: &Csr, edges: &AxisEdges, first: u32) -> Option<(GridShape, Csr)> {
    let points = grown(edges, first);
    let (mut shape, starts) = extents(edges, &points)?;
    let mut filled = Filled::new(&shape, edges.diagonals);
    let mut rest = Vec::new();
    for (v, point) in points.iter().enumerate() {
        let index = point.and_then(|point| filled.index(point, &starts));
        if !index.is_some_and(|index| filled.take(v as u32, index)) {
            rest.push(v as u32);
        }
    }
    // A few vertices may lack points, and all corners and edges of a box with diagonals.
    let most = if edges.diagonals { graph.len() / 2 } else { graph.len() / 8 };
    if rest.len() > most || !filled.may_explain(graph) {
        return None;
    }
    filled.fill(graph, rest);
    for _ in 0..REPAIRS {
        let loose = filled.without_neighbours(graph);
        if loose.is_empty() {
            break;
        }
        filled.fill(graph, loose);
    }
    shape.coordinates = filled.coordinates();
    let regular = regular(graph, &shape)?;
    Some((shape, regular))
}

/// The extents of the grid, without coordinates, and its first coordinate in each dimension. `None` if it has not as many
/// points as there are vertices.
fn extents(edges: &AxisEdges, points: &[Option<Point>]) -> Option<(GridShape, Vec<i16>)> {
    let rings = rings(edges, points);
    let mut shape = GridShape { dims: vec![], wrap: vec![], coordinates: vec![] };
    let mut starts = Vec::new();
    for (k, ring) in rings.into_iter().take(edges.dimensions).enumerate() {
        let mut layers = vec![0usize; POSITIONS];
        let number = |x: i16| (i32::from(x) - i32::from(i16::MIN)) as usize;
        points.iter().flatten().for_each(|point| layers[number(point[k])] += 1);
        let fullest = *layers.iter().max()?;
        let positions = (i16::MIN..=i16::MAX).zip(&layers);
        let mut full = positions.filter(|&(_, &count)| 2 * count > fullest).map(|(x, _)| x);
        let first = full.next()?;
        let last = full.next_back().unwrap_or(first);
        starts.push(first);
        shape.dims.push(ring.unwrap_or(usize::from(last.abs_diff(first)) + 1));
        shape.wrap.push(ring.is_some());
    }
    let is_full = |dims: &[usize]| {
        dims.iter().try_fold(1usize, |all, &d| all.checked_mul(d)) == Some(points.len())
    };
    if edges.diagonals && !is_full(&shape.dims) {
        // The vertices at the border have no edges along the axes except those across the border.
        for k in (0..shape.dims.len()).filter(|&k| !shape.wrap[k]) {
            shape.dims[k] += 2;
            starts[k] = starts[k].checked_sub(1)?;
        }
    }
    is_full(&shape.dims).then_some((shape, starts))
}

/// The length of the ring in each dimension; `None` where there is none.
///
/// The points of two neighbours differ by one step along one dimension, and by any number of rings along all dimensions.
fn rings(edges: &AxisEdges, points: &[Option<Point>]) -> [Option<usize>; DIMENSIONS] {
    let mut votes: [Vec<usize>; DIMENSIONS] = std::array::from_fn(|_| vec![0; POSITIONS + 1]);
    for (v, p) in points.iter().enumerate() {
        let Some(p) = p else { continue };
        let later = edges.lists.of(v).iter().filter(|&&t| t as usize > v);
        for q in later.filter_map(|&t| points[t as usize]) {
            for (k, votes) in votes.iter_mut().enumerate() {
                let apart = usize::from(p[k].abs_diff(q[k]));
                // Most lines have their points in a row, so the edge that closes them is one shorter than the ring.
                for (length, weight) in [(apart + 1, 3), (apart, 2), (apart.wrapping_sub(1), 2)] {
                    if apart > 2 && length >= SHORTEST_RING {
                        votes[length] += weight;
                    }
                }
            }
        }
    }
    let n = points.len();
    votes.map(|votes| {
        let (length, weight) = votes.into_iter().enumerate().max_by_key(|&(_, weight)| weight)?;
        // Each line of the ring has one edge that closes it. Half of these edges must be there.
        (2 * weight * length > 3 * n).then_some(length)
    })
}

/// The points of a grid that are taken.
struct Filled<'a> {
    shape: &'a GridShape,
    diagonals: bool,
    /// By point, the last dimension fastest: its vertex, or `u32::MAX`.
    vertex_at: Vec<u32>,
    /// By vertex: its point, or `u32::MAX`.
    index_of: Vec<u32>,
}

impl<'a> Filled<'a> {
    fn new(shape: &'a GridShape, diagonals: bool) -> Self {
        let n = shape.dims.iter().product();
        Filled { shape, diagonals, vertex_at: vec![u32::MAX; n], index_of: vec![u32::MAX; n] }
    }

    /// The number of a point. `None` outside of the grid.
    fn index(&self, point: Point, starts: &[i16]) -> Option<usize> {
        let mut index = 0;
        for (k, &length) in self.shape.dims.iter().enumerate() {
            let x = i64::from(point[k]) - i64::from(starts[k]);
            let x = if self.shape.wrap[k] { x.rem_euclid(length as i64) } else { x };
            let x = usize::try_from(x).ok().filter(|&x| x < length)?;
            index = index * length + x;
        }
        Some(index)
    }

    /// Gives a point to a vertex. False if the point is taken.
    fn take(&mut self, v: u32, index: usize) -> bool {
        let is_free = self.vertex_at[index] == u32::MAX;
        if is_free {
            self.vertex_at[index] = v;
            self.index_of[v as usize] = index as u32;
        }
        is_free
    }

    /// The points beside a point, those across corners too if there are diagonals.
    fn around(&self, index: usize) -> Vec<usize> {
        let mut around = vec![index];
        let mut stride = self.vertex_at.len();
        for (&length, &wrap) in self.shape.dims.iter().zip(&self.shape.wrap) {
            stride /= length;
            let x = index / stride % length;
            let after = if x + 1 < length { Some(x + 1) } else { wrap.then_some(0) };
            let before = if x > 0 { Some(x - 1) } else { wrap.then_some(length - 1) };
            // Without diagonals, steps begin at the point itself only.
            let from = if self.diagonals { around.len() } else { 1 };
            for y in after.into_iter().chain(before) {
                for k in 0..from {
                    around.push(around[k] - x * stride + y * stride);
                }
            }
        }
        around.swap_remove(0);
        around
    }

    /// The steps between two points along all dimensions. `None` if there are several along one.
    fn steps(&self, a: u32, b: u32) -> Option<usize> {
        let (mut a, mut b, mut sum) = (a as usize, b as usize, 0);
        for (&length, &wrap) in self.shape.dims.iter().zip(&self.shape.wrap).rev() {
            let apart = (a % length).abs_diff(b % length);
            let steps = if wrap { apart.min(length - apart) } else { apart };
            if steps > 1 {
                return None;
            }
            sum += steps;
            (a, b) = (a / length, b / length);
        }
        Some(sum)
    }

    /// True if two points are beside each other, or also across a corner if there are diagonals.
    fn are_beside(&self, a: u32, b: u32) -> bool {
        self.steps(a, b).is_some_and(|steps| steps == 1 || self.diagonals)
    }

    /// Gives points to all other vertices: the free ones beside most of their neighbours, or any.
    fn fill(&mut self, graph: &Csr, mut rest: Vec<u32>) {
        // Vertices for which something changed since they were looked at.
        let mut awake = rest.clone();
        for _ in 0..ROUNDS {
            let mut wishes: Vec<(i128, u32, usize)> = Vec::new();
            for v in std::mem::take(&mut awake) {
                wishes.extend(self.best_free(graph, v).map(|(weight, at)| (-weight, v, at)));
            }
            wishes.arrange();
            // Vertices with few neighbours that have points, such as corners, wait until others have theirs.
            let most = wishes.first().map_or(0, |&(weight, ..)| weight);
            for (weight, v, index) in wishes {
                if self.index_of[v as usize] != u32::MAX {
                    continue;
                }
                if 2 * weight <= most && self.take(v, index) {
                    let without = |&t: &usize| self.index_of[t] == u32::MAX;
                    awake.extend(
                        graph.arcs(v as usize).map(|(t, _)| t).filter(without).map(|t| t as u32),
                    );
                } else {
                    awake.push(v);
                }
            }
            awake.retain(|&v| self.index_of[v as usize] == u32::MAX);
            awake.arrange();
            awake.dedup();
            if awake.is_empty() {
                break;
            }
        }
        rest.retain(|&v| self.index_of[v as usize] == u32::MAX);
        let free: Vec<usize> =
            (0..self.vertex_at.len()).filter(|&i| self.vertex_at[i] == u32::MAX).collect();
        for (v, index) in rest.into_iter().zip(free) {
            self.take(v, index);
        }
    }

    /// True unless the edges between vertices that have points already are too much traffic that the grid does not explain.
    fn may_explain(&self, graph: &Csr) -> bool {
        let (mut other, mut total) = (0i128, 0i128);
        for v in 0..graph.len() {
            for (t, w) in graph.arcs(v) {
                total += i128::from(w);
                let (a, b) = (self.index_of[v], self.index_of[t]);
                if a != u32::MAX && b != u32::MAX && self.steps(a, b).is_none() {
                    other += i128::from(w);
                }
            }
        }
        4 * other <= (4 - QUARTERS) * total
    }

    /// Takes their points from the vertices that have less than half of their traffic with the points beside their own.
    fn without_neighbours(&mut self, graph: &Csr) -> Vec<u32> {
        let is_loose = |&v: &u32| {
            let (mut near, mut all) = (0i128, 0i128);
            for (t, w) in graph.arcs(v as usize) {
                all += i128::from(w);
                if self.are_beside(self.index_of[v as usize], self.index_of[t]) {
                    near += i128::from(w);
                }
            }
            2 * near < all
        };
        let loose: Vec<u32> = (0..self.index_of.len() as u32).filter(is_loose).collect();
        for &v in &loose {
            let index = std::mem::replace(&mut self.index_of[v as usize], u32::MAX);
            self.vertex_at[index as usize] = u32::MAX;
        }
        loose
    }

    /// The free point beside neighbours of a vertex with the most traffic, and this traffic.
    fn best_free(&self, graph: &Csr, v: u32) -> Option<(i128, usize)> {
        let mut wishes: Vec<(usize, i64)> = Vec::new();
        for (t, w) in graph.arcs(v as usize) {
            let at = self.index_of[t];
            if at != u32::MAX {
                let free = |&index: &usize| self.vertex_at[index] == u32::MAX;
                let around = self.around(at as usize).into_iter().filter(free);
                wishes.extend(around.map(|index| (index, w)));
            }
        }
        wishes.arrange_by_key(|&(index, _)| index);
        let sums = wishes
            .chunk_by(|a, b| a.0 == b.0)
            .map(|equal| (equal.iter().map(|&(_, w)| i128::from(w)).sum::<i128>(), equal[0].0));
        sums.max_by_key(|&(weight, _)| weight)
    }

    fn coordinates(&self) -> Vec<Vec<u32>> {
        let mut stride = self.vertex_at.len();
        let along = |&length: &usize| {
            stride /= length;
            let stride = stride as u32;
            self.index_of.iter().map(|&index| index / stride % length as u32).collect()
        };
        self.shape.dims.iter().map(along).collect()
    }
}

/// The edges between neighbours in the grid, also those across corners. `None` if they have too little of the traffic.
fn regular(graph: &Csr, shape: &GridShape) -> Option<Csr> {
    let mut regular = Csr { offsets: vec![0], sizes: graph.sizes.clone(), ..Csr::default() };
    let (mut kept, mut total) = (0i128, 0i128);
    for v in 0..graph.len() {
        for (t, w) in graph.arcs(v) {
            total += i128::from(w);
            if (0..shape.dims.len()).map(|k| shape.step(k, v, t)).max() == Some(1) {
                kept += i128::from(w);
                regular.arcs.push(t as u32, w);
            }
        }
        regular.end_row();
    }
    (4 * kept >= QUARTERS * total).then_some(regular)
}

#[cfg(test)]
#[path = "near_grid_tests.rs"]
mod tests;
