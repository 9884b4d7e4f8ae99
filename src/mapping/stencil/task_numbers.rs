//! Finds the dimensions of a grid from the numbers of the tasks.
//!
//! Stencils with long steps and stencils that leave out a dimension are no grid graphs, and cannot be
//! recognised in the graph for every numbering. But programs number their tasks row by row. The numbers of
//! neighbours then differ by few amounts: the strides of the grid and small multiples of them.

use crate::mapping::TaskGrid;
use crate::mapping::engine::Csr;

/// A stencil has no more different steps than this.
const STEPS: usize = 96;
/// More dimensions are no process grid.
const DIMENSIONS: usize = 4;

/// The grid that follows from the numbers of the tasks. `None` if the numbers follow no grid.
pub(super) fn by_numbers(graph: &Csr, number: impl Fn(usize) -> u32) -> Option<TaskGrid> {
    let n = graph.len();
    // By step: weight, and number of arcs.
    let mut kinds = vec![(0i128, 0usize); n];
    let mut all = 0i128;
    for v in 0..n {
        for (t, w) in graph.arcs(v) {
            let step = number(v).abs_diff(number(t));
            let kind = &mut kinds[step as usize];
            *kind = (kind.0 + i128::from(w), kind.1 + 1);
            all += i128::from(w);
        }
    }
    // Light traffic across the grid, of collectives, does not count.
    let used = |&(_, &(_, arcs)): &(usize, &(i128, usize))| arcs > 0;
    let mut steps: Vec<(usize, (i128, usize))> =
        kinds.iter().enumerate().filter(used).map(|(step, &kind)| (step, kind)).collect();
    steps.sort_unstable_by_key(|&(step, (weight, _))| (-weight, step));
    let mut kept = 0i128;
    let enough = steps.iter().position(|&(_, (weight, _))| {
        kept += weight;
        10 * kept >= 9 * all
    })?;
    steps.truncate(enough + 1);
    if steps.len() > STEPS.min(n / 8) {
        return None;
    }
    // Strides: each divides the next one, and the last one divides the number of tasks.
    let mut strides = vec![1usize];
    let mut sorted: Vec<(usize, usize)> =
        steps.iter().map(|&(step, (_, arcs))| (step, arcs)).collect();
    sorted.sort_unstable();
    for &(step, arcs) in &sorted {
        let last = strides[strides.len() - 1];
        // Steps of up to three points along a row are steps; a stride is longer. Every point has a
        // neighbour a stride away, but few have one across the border of a ring.
        let rows = step.is_multiple_of(last) && n.is_multiple_of(step) && step / last > 3;
        if rows && step < n && arcs >= n {
            strides.push(step);
        }
    }
    if strides.len() > DIMENSIONS || strides.len() < 2 {
        return None;
    }
    let mut dims: Vec<usize> = strides.windows(2).map(|w| w[1] / w[0]).collect();
    dims.push(n / strides[strides.len() - 1]);
    dims.reverse();
    // A ring has edges across its border: a step back over the whole ring except one point, for every line of
    // points.
    let wrap: Vec<bool> = (0..dims.len())
        .map(|k| {
            let stride: usize = dims[k + 1..].iter().product();
            let border = stride * (dims[k] - 1);
            kinds.get(border).is_some_and(|&(_, arcs)| arcs * dims[k] >= 2 * n)
        })
        .collect();
    TaskGrid::new(&dims, &wrap)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mapping::engine::Scale;
    use crate::matrix::{Graph, synthetic::pattern};

    fn found(graph: &Graph) -> Option<(Vec<usize>, Vec<bool>)> {
        let csr = Csr::from_graph(graph, Scale::new(graph.total_weight(), 1));
        by_numbers(&csr, |v| v as u32).map(|g| (g.dims().to_vec(), g.wrap().to_vec()))
    }

    /// Points of a grid of two dimensions that are these steps apart.
    fn stencil(dims: [i64; 2], steps: &[[i64; 2]]) -> Graph {
        let mut edges = Vec::new();
        for v in 0..dims[0] * dims[1] {
            for s in steps {
                let (x, y) = (v / dims[1] + s[0], v % dims[1] + s[1]);
                if (0..dims[0]).contains(&x) && (0..dims[1]).contains(&y) {
                    edges.push((v as u32, (x * dims[1] + y) as u32, 1));
                }
            }
        }
        Graph::from_edges((dims[0] * dims[1]) as usize, &edges)
    }

    #[test]
    fn hops_and_missing_dimensions_are_no_hindrance() {
        let open = Some((vec![50, 48], vec![false, false]));
        assert_eq!(found(&stencil([50, 48], &[[1, 0], [0, 1], [2, 0], [3, 0]])), open);
        assert_eq!(found(&stencil([50, 48], &[[1, 0]])), open);
        assert_eq!(found(&pattern("torus:9x8x7").unwrap()), Some((vec![9, 8, 7], vec![true; 3])));
    }

    #[test]
    fn other_numbers_give_no_grid() {
        for text in ["stencil:50x48,shuffle=1", "rgg:1024", "powerlaw:512", "fft:1024"] {
            assert_eq!(found(&pattern(text).unwrap()), None, "{text}");
        }
    }
}
