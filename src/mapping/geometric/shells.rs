//! The coordinates of a grid in one pass over its edges, from the first vertex outwards.
//!
//! It needs a numbering in which every vertex comes after its neighbours that are nearer to vertex 0, such as a
//! breadth-first one. In a grid, the neighbours with smaller numbers are then one step nearer. If a vertex has several of
//! them, each lacks the last step of another dimension, so two of them give all coordinates. A vertex with only one lies
//! on a line through vertex 0 and continues it. Two neighbours of vertex 0 lie on the same line exactly if no other
//! vertex is beside both.
//!
//! Large graphs are numbered breadth-first, so nearly all accesses are near each other in memory. All edges and all points
//! are checked, so no wrong answer is possible. Limits: at most four dimensions, no rings of five or more and no
//! diagonals. `detect` has a slower method for these.

use super::point::{DIMENSIONS, Point, steps};
use super::shape::GridShape;
use crate::mapping::engine::Csr;

/// The grid, or `None` if there is none that this method recognises. Dimensions and their directions are numbered as by
/// `detect`.
pub(super) fn grid_from_first(graph: &Csr) -> Option<GridShape> {
    let n = graph.len();
    let (first, dimensions) = beside_first(graph)?;
    let mut points: Vec<Point> = Vec::with_capacity(n);
    points.push([0; DIMENSIONS]);
    let (mut lowest, mut highest) = ([0i16; DIMENSIONS], [0i16; DIMENSIONS]);
    for v in 1..n {
        let mut nearer = graph.arcs(v).map(|(t, _)| t).take_while(|&t| t < v);
        let p = nearer.next()?;
        let point = match nearer.next() {
            None if p == 0 => first.iter().find(|&&(t, _)| t as usize == v)?.1,
            None => continued(points[p])?,
            Some(q) => {
                let point = joined(points[p], points[q]);
                let is_beside = |t: usize| steps(point, points[t]) == 1;
                if !(is_beside(p) && is_beside(q) && nearer.all(is_beside)) {
                    return None;
                }
                point
            }
        };
        for (k, &x) in point.iter().enumerate() {
            lowest[k] = lowest[k].min(x);
            highest[k] = highest[k].max(x);
        }
        points.push(point);
    }
    let extents = || lowest.iter().zip(&highest).take(dimensions);
    let dims: Vec<usize> = extents().map(|(&l, &h)| usize::from(h.abs_diff(l)) + 1).collect();
    is_full(graph, &points, lowest, &dims).then(|| {
        let coordinates = (0..dimensions).map(|k| along(&points, k, lowest[k], highest[k]));
        let (coordinates, wrap) = (coordinates.collect(), vec![false; dims.len()]);
        GridShape { dims, wrap, coordinates }
    })
}

/// The neighbours of vertex 0 with their points, and the number of dimensions.
fn beside_first(graph: &Csr) -> Option<(Vec<(u32, Point)>, usize)> {
    if graph.len() < 2 || graph.degree(0) == 0 || graph.degree(0) > 2 * DIMENSIONS {
        return None;
    }
    let beside = |a: usize, b: usize| graph.arcs(a).any(|(t, _)| t == b);
    let mut found: Vec<(u32, Point)> = Vec::new();
    let mut dimensions = 0;
    for (t, _) in graph.arcs(0) {
        let on_one_line =
            |&(s, _): &(u32, Point)| !graph.arcs(t).any(|(x, _)| x != 0 && beside(x, s as usize));
        let mut point = [0; DIMENSIONS];
        match found.iter().find(|known| on_one_line(known)) {
            Some((_, opposite)) => point = opposite.map(|x| -x),
            None => {
                *point.get_mut(dimensions)? = 1;
                dimensions += 1;
            }
        }
        found.push((t as u32, point));
    }
    Some((found, dimensions))
}

/// The point after `p` on its line through vertex 0.
fn continued(mut p: Point) -> Option<Point> {
    let mut steps = p.iter_mut().filter(|x| **x != 0);
    let (step, None) = (steps.next()?, steps.next()) else { return None };
    *step = step.checked_add(step.signum())?;
    Some(p)
}

/// The point one step beyond both `p` and `q`.
#[inline(always)]
fn joined(p: Point, q: Point) -> Point {
    let farther = |k: usize| if p[k].unsigned_abs() >= q[k].unsigned_abs() { p[k] } else { q[k] };
    std::array::from_fn(farther)
}

/// True if every point of the grid is taken once, and there are as many edges as in the grid.
fn is_full(graph: &Csr, points: &[Point], lowest: Point, dims: &[usize]) -> bool {
    let n = graph.len();
    if dims.iter().try_fold(1usize, |a, &d| a.checked_mul(d)) != Some(n)
        || dims.iter().map(|&d| 2 * (n / d) * (d - 1)).sum::<usize>() != graph.arcs.len()
    {
        return false;
    }
    let mut seen = vec![0u64; n.div_ceil(64)];
    points.iter().all(|point| {
        let index = dims
            .iter()
            .enumerate()
            .fold(0usize, |index, (k, &d)| index * d + usize::from(point[k].abs_diff(lowest[k])));
        let (word, bit) = (&mut seen[index / 64], 1u64 << (index % 64));
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    })
}

/// Positions along dimension `k`. They begin at that end of the dimension which has the smaller vertex.
fn along(points: &[Point], k: usize, lowest: i16, highest: i16) -> Vec<u32> {
    let end = points.iter().map(|p| p[k]).find(|&x| x == lowest || x == highest);
    let start = end.unwrap_or(lowest);
    points.iter().map(|p| u32::from(p[k].abs_diff(start))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mapping::engine::Scale;
    use crate::matrix::{Graph, synthetic::pattern};

    fn renumbered(graph: &Graph) -> Csr {
        Csr::breadth_first(graph, |w| w as i64, 1).0
    }

    #[test]
    fn grids_are_found_from_any_first_vertex() {
        for (text, dims) in [
            ("stencil:40", vec![40]),
            ("stencil:2x9", vec![2, 9]),
            ("stencil:7x8", vec![7, 8]),
            ("stencil:3x5x7", vec![3, 5, 7]),
            ("stencil:2x2x2x2", vec![2; 4]),
            ("stencil:3x4x2x5", vec![2, 3, 4, 5]),
            ("torus:4x4", vec![2; 4]),
        ] {
            for seed in 1..30 {
                let graph = renumbered(&pattern(&format!("{text},shuffle={seed}")).unwrap());
                let shape = grid_from_first(&graph).unwrap();
                let mut found = shape.dims.clone();
                found.sort_unstable();
                assert_eq!(found, dims, "{text}");
            }
        }
        let rows = pattern("stencil:6x7").unwrap();
        let shape = grid_from_first(&Csr::from_graph(&rows, Scale::new(rows.total_weight(), 1)));
        assert_eq!(shape.unwrap().dims.len(), 2);
    }

    #[test]
    fn other_graphs_are_refused() {
        for text in ["torus:5x6", "rgg:256", "moore:6x6", "cg:256", "fft:64", "powerlaw:200"] {
            let graph = renumbered(&pattern(&format!("{text},shuffle=1")).unwrap());
            assert_eq!(grid_from_first(&graph), None, "{text}");
        }
        // A grid with one edge more, one edge less, and with a point less.
        let grid = pattern("stencil:5x6").unwrap();
        let edges: Vec<(u32, u32, u64)> = grid.each_edge().collect();
        let refused = |n, edges: &[(u32, u32, u64)]| {
            assert_eq!(grid_from_first(&renumbered(&Graph::from_edges(n, edges))), None);
        };
        let mut more = edges.clone();
        more.push((0, 29, 1));
        refused(30, &more);
        for k in 0..edges.len() {
            let mut less = edges.clone();
            less.remove(k);
            refused(30, &less);
        }
        let less: Vec<_> = edges.iter().copied().filter(|&(_, t, _)| t != 29).collect();
        refused(29, &less);
        refused(2, &[]);
    }
}
