//! The tasks as points of a grid, and the stencil along which they exchange messages.
//!
//! The grid is the one that the program declared, or else the one that is recognised in the matrix, or else the
//! one that follows from the numbers of the tasks ([`super::task_numbers`]). The stencil is read from the
//! matrix: the weight of all edges with the same steps along the dimensions. Neighbours that the program
//! declares are not used.

use super::task_numbers::by_numbers;
use crate::mapping::TaskGrid;
use crate::mapping::engine::Prepared;
use crate::mapping::geometric::{GridShape, inner_weight};

/// A stencil has at most this many kinds of edges; further kinds, with the longest steps, are left out.
const KINDS: usize = 4096;

/// A grid of tasks with its stencil.
pub(super) struct Points {
    /// Extents and periods; without the coordinates, which follow from a point's number.
    pub(super) shape: GridShape,
    /// The vertex at every point, points in row-major order.
    pub(super) vertex_at: Vec<u32>,
    /// Steps along each dimension, as absolute values, and the weight of all edges with them.
    offsets: Vec<(Vec<usize>, f64)>,
    /// By dimension: the weight that a plane across it cuts, for each of its points.
    pub(super) crossing: Vec<f64>,
}

impl Points {
    /// The points of a problem; `detected` is what is recognised in its graph.
    /// `None` where there is no grid.
    pub(super) fn new(prepared: &Prepared<'_, '_>, detected: Option<&GridShape>) -> Option<Points> {
        let graph = &prepared.graph;
        let number = |v: usize| prepared.task(v) as u32;
        let given = prepared.problem.task_grid().cloned();
        let (dims, wrap, vertex_at) = match (given, detected) {
            (Some(grid), _) => by_number(graph.len(), number, &grid),
            (None, Some(shape)) => by_shape(shape)?,
            (None, None) => by_number(graph.len(), number, &by_numbers(graph, number)?),
        };
        let shape = GridShape { dims, wrap, coordinates: Vec::new() };
        let mut points =
            Points { crossing: vec![0.0; shape.dims.len()], shape, vertex_at, offsets: vec![] };
        points.read_stencil(prepared);
        Some(points)
    }

    pub(super) fn len(&self) -> usize {
        self.vertex_at.len()
    }

    /// Coordinate of a point along a dimension.
    #[inline]
    pub(super) fn coordinate(&self, point: u32, k: usize) -> usize {
        let stride: usize = self.shape.dims[k + 1..].iter().product();
        point as usize / stride % self.shape.dims[k]
    }

    fn read_stencil(&mut self, prepared: &Prepared<'_, '_>) {
        let mut point_of = vec![u32::MAX; prepared.graph.len()];
        for (point, &v) in self.vertex_at.iter().enumerate() {
            point_of[v as usize] = point as u32;
        }
        let dims = self.shape.dims.clone();
        // By steps, which are a point's number themselves.
        let mut weight_of = vec![0.0f64; self.vertex_at.len()];
        for &v in &self.vertex_at {
            let from = point_of[v as usize] as usize;
            for (t, w) in prepared.graph.arcs(v as usize) {
                let to = point_of[t] as usize;
                if t < v as usize || to == u32::MAX as usize {
                    continue;
                }
                let (mut a, mut b, mut stride, mut kind) = (from, to, 1, 0);
                for (&length, &wrap) in dims.iter().zip(&self.shape.wrap).rev() {
                    let apart = (a % length).abs_diff(b % length);
                    kind += stride * if wrap { apart.min(length - apart) } else { apart };
                    (a, b, stride) = (a / length, b / length, stride * length);
                }
                weight_of[kind] += w as f64;
            }
        }
        let kinds = weight_of.iter().enumerate().filter(|(_, weight)| **weight > 0.0);
        self.offsets = kinds
            .take(KINDS)
            .map(|(kind, &weight)| {
                let steps = |k: usize| self.coordinate(kind as u32, k);
                ((0..dims.len()).map(steps).collect(), weight)
            })
            .collect();
        for (k, crossing) in self.crossing.iter_mut().enumerate() {
            let sum: f64 = self.offsets.iter().map(|(steps, w)| steps[k] as f64 * w).sum();
            *crossing = sum / self.vertex_at.len().max(1) as f64;
        }
    }

    /// Weight that stays inside if the grid is cut into boxes of these sides.
    pub(super) fn inside(&self, sides: &[usize]) -> f64 {
        inner_weight(&self.shape, &self.offsets, sides)
    }
}

type Shape = (Vec<usize>, Vec<bool>, Vec<u32>);

fn by_shape(shape: &GridShape) -> Option<Shape> {
    let n = shape.coordinates.first()?.len();
    let mut vertex_at = vec![u32::MAX; n];
    for v in 0..n {
        *vertex_at.get_mut(shape.index(v))? = v as u32;
    }
    Some((shape.dims.clone(), shape.wrap.clone(), vertex_at))
}

fn by_number(vertices: usize, number: impl Fn(usize) -> u32, grid: &TaskGrid) -> Shape {
    let mut vertex_of = vec![0u32; vertices];
    for v in 0..vertices {
        vertex_of[number(v) as usize] = v as u32;
    }
    vertex_of.truncate(grid.points());
    (grid.dims().to_vec(), grid.wrap().to_vec(), vertex_of)
}
