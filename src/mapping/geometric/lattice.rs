//! Recognises grids whose stencil has some of the diagonals, for every numbering of the vertices.
//!
//! Grids with one diagonal (a triangular lattice) and stencils of 19 points have neither squares that tell the axes
//! from the diagonals, nor all diagonals, as `detect` needs them. Here `frames` finds the offset of every edge, and a
//! point for every vertex. In a ring, the points continue around it. An edge that closes the ring therefore ends at a
//! point that is some rings away from that of its vertex. The lengths of the rings are the greatest common divisors of
//! these distances.
//!
//! A triangular lattice looks the same along three directions. All pairs of them are tried as the axes, and of those
//! whose box is full the one with the least traffic along the diagonal is taken. All points and edges are counted, so
//! no wrong answer is possible. Limits: the stencils of `offsets`; at least three points along each dimension (four in
//! the rings of a stencil of 19 points).

use super::frames::Frames;
use super::offsets::{Axes, Offset, Offsets, Stencil, along};
use super::shape::GridShape;
use crate::mapping::engine::Csr;

/// The grid, if the graph is one with a stencil of `offsets`.
pub(super) fn lattice_grid(graph: &Csr) -> Option<GridShape> {
    let degree = (0..graph.len()).map(|v| graph.degree(v)).max()?;
    let stencil = Stencil::of_degree(degree)?;
    stencil.choices().find_map(|offsets| {
        let frames = Frames::new(graph, &offsets)?;
        let fitted = |axes| Fitted::new((graph, stencil.dimensions), &offsets, &frames, axes);
        let best = stencil.axes.iter().filter_map(fitted).min_by_key(|found| found.cost)?;
        Some(best.shape)
    })
}

/// The grid along some axes.
struct Fitted {
    shape: GridShape,
    /// The traffic of all edges times their steps.
    cost: i128,
}

impl Fitted {
    /// `None` if the vertices do not fill a box along these axes.
    fn new(
        (graph, dimensions): (&Csr, usize),
        offsets: &Offsets,
        frames: &Frames,
        axes: &Axes,
    ) -> Option<Self> {
        let steps: Vec<Offset> = offsets.list.iter().map(|&o| along(axes, o)).collect();
        let points: Vec<Offset> = frames.points.iter().map(|&p| along(axes, p)).collect();
        let (mut rings, mut cost) = ([0u32; 3], 0i128);
        for v in 0..graph.len() {
            for (arc, (t, weight)) in graph.range(v).zip(graph.arcs(v)) {
                let step = steps.get(usize::from(frames.label_of_arc[arc]))?;
                for k in 0..dimensions {
                    let apart = points[v][k] + step[k] - points[t][k];
                    rings[k] = common_divisor(rings[k], apart.unsigned_abs());
                }
                let far: u32 = step.iter().map(|x| x.unsigned_abs()).sum();
                cost += i128::from(weight) * i128::from(far);
            }
        }
        let mut shape = GridShape { dims: vec![], wrap: vec![], coordinates: vec![] };
        for (k, &ring) in rings.iter().enumerate().take(dimensions) {
            let least = points.iter().map(|p| p[k]).min()?;
            let most = points.iter().map(|p| p[k]).max()?;
            let length = if ring > 0 { ring } else { most.abs_diff(least) + 1 };
            shape.dims.push(length as usize);
            shape.wrap.push(ring > 0);
            shape.coordinates.push(points.iter().map(|p| p[k].abs_diff(least) % length).collect());
        }
        is_full(graph, &shape, &steps).then_some(Fitted { shape, cost })
    }
}

/// True if every point is taken once, and there are as many edges as in the grid.
///
/// All edges have the steps of their labels, and those of a vertex have different labels, so they are the edges of the
/// grid.
fn is_full(graph: &Csr, shape: &GridShape, steps: &[Offset]) -> bool {
    let n = graph.len();
    if shape.dims.iter().try_fold(1usize, |all, &d| all.checked_mul(d)) != Some(n) {
        return false;
    }
    let arcs = |step: &Offset| {
        let starts = |(k, &d): (usize, &usize)| match shape.wrap[k] {
            true => d,
            false => d.saturating_sub(step[k].unsigned_abs() as usize),
        };
        shape.dims.iter().enumerate().map(starts).product::<usize>()
    };
    let mut seen = vec![false; n];
    let mut is_new = |v: usize| !std::mem::replace(&mut seen[shape.index(v)], true);
    steps.iter().map(arcs).sum::<usize>() == graph.arcs.len() && (0..n).all(&mut is_new)
}

/// The greatest common divisor; 0 is divided by all numbers.
fn common_divisor(mut a: u32, mut b: u32) -> u32 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
#[path = "lattice_tests.rs"]
mod tests;
