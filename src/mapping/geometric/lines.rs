//! Recognises a grid whose tasks talk to all others on their lines, for every numbering of the tasks.
//!
//! Programs with an FFT in pencils exchange data among all tasks of a row, and among all tasks of a column; codes for
//! dense matrices broadcast along rows and columns. Such an affinity graph is a product of complete graphs, a *Hamming
//! graph* (Brouwer, Cohen, Neumaier, "Distance-Regular Graphs", 1989, section 9.2). The neighbours of a vertex are the other
//! points of its lines, and no edge joins two lines of it elsewhere. So the lines of one vertex are the connected parts
//! of its neighbourhood. They give the coordinates of its neighbours. A vertex farther away has, in each dimension, the
//! largest coordinate of its neighbours that are one step nearer, because the first vertex has all coordinates 0.
//!
//! Limits: two to four dimensions. If light edges do not fit the lines, those below a quarter of the median weight are left
//! out. If that is not enough, as with light traffic among all tasks, only edges above a half, a quarter or an eighth of the
//! heaviest one of a typical task are looked at.

use super::GridShape;
use super::part::MOST_DIMENSIONS;
use crate::mapping::engine::Csr;
use std::ops::RangeInclusive;

/// Tasks above which the edges of the lines would be too many.
const MOST: usize = 65_536;

/// Dimensions of a grid of lines.
const DIMENSIONS: RangeInclusive<usize> = 2..=MOST_DIMENSIONS;

/// The points of the shortest line.
const SHORTEST: usize = 2;

/// The coordinates of each vertex, if the edges are those among all points of each line.
pub(crate) fn detect_lines(graph: &Csr) -> Option<GridShape> {
    let n = graph.len();
    // So many other points are on the lines of a task at least: those of a cube of the most dimensions.
    let side = libm::pow(n as f64, 1.0 / MOST_DIMENSIONS as f64);
    let least = (MOST_DIMENSIONS as f64 * (side - 1.0)) as usize;
    if !(SHORTEST * SHORTEST..=MOST).contains(&n) || graph.arcs.len() / n < least {
        return None;
    }
    with_edges_from(graph, i64::MIN).or_else(|| {
        let mut weights: Vec<i64> =
            (0..n).flat_map(|v| graph.arcs(v)).map(|(_, weight)| weight).collect();
        // There are some: a grid of four points has more than one edge at each.
        let middle = weights.len() / 2;
        let (_, &mut median, _) = weights.select_nth_unstable(middle);
        with_edges_from(graph, (median + 3) / 4).or_else(|| {
            let heaviest = |v| graph.arcs(v).map(|(_, weight)| weight).max();
            let mut heaviest: Vec<i64> = (0..n).filter_map(heaviest).collect();
            let middle = heaviest.len() / 2;
            let (_, &mut typical, _) = heaviest.select_nth_unstable(middle);
            // The points of a short line exchange more with each other than those of a long one.
            [2, 4, 8].into_iter().find_map(|part| with_edges_from(graph, typical / part + 1))
        })
    })
}

/// True if at least three quarters of the traffic are along lines, and the weights along a dimension differ by at most a
/// quarter. Then it hardly matters which points of a line are together.
pub(crate) fn are_even(graph: &Csr, shape: &GridShape) -> bool {
    let mut weights = vec![(i64::MAX, 0i64); shape.dims.len()];
    let (mut on_lines, mut all) = (0i128, 0i128);
    for v in 0..graph.len() {
        for (t, weight) in graph.arcs(v) {
            all += i128::from(weight);
            if let Some(k) = shape.line(v, t) {
                let (least, most): &mut (i64, i64) = &mut weights[k];
                (*least, *most) = (weight.min(*least), weight.max(*most));
                on_lines += i128::from(weight);
            }
        }
    }
    4 * on_lines >= 3 * all && weights.iter().all(|&(least, most)| most - least <= least / 4)
}

/// The same with the edges of at least a weight.
fn with_edges_from(graph: &Csr, least: i64) -> Option<GridShape> {
    let n = graph.len();
    let heavy = |v: usize| graph.arcs(v).filter(move |&(_, w)| w >= least).map(|(t, _)| t);
    let lines = lines_of(n, 0, heavy)?;
    let dims: Vec<usize> = lines.iter().map(|line| line.len() + 1).collect();
    let fits = DIMENSIONS.contains(&dims.len()) && dims.iter().all(|&d| d >= SHORTEST);
    let degree = dims.iter().map(|d| d - 1).sum::<usize>();
    let points = dims.iter().try_fold(1usize, |a, &b| a.checked_mul(b));
    if !fits || points != Some(n) || (0..n).any(|v| heavy(v).count() != degree) {
        return None;
    }
    let coordinates = coordinates(n, &lines, heavy);
    let wrap = vec![false; dims.len()];
    let shape = GridShape { dims, wrap, coordinates };
    is_grid_of_lines(n, &shape, heavy).then_some(shape)
}

/// The lines through a vertex, without itself. `None` if an edge joins two of them.
fn lines_of<I: Iterator<Item = usize>>(
    n: usize,
    vertex: usize,
    heavy: impl Fn(usize) -> I,
) -> Option<Vec<Vec<usize>>> {
    let (mut is_near, mut is_taken) = (vec![false; n], vec![false; n]);
    heavy(vertex).for_each(|v| is_near[v] = true);
    let mut lines: Vec<Vec<usize>> = Vec::new();
    for v in heavy(vertex) {
        if is_taken[v] {
            continue;
        }
        let others = heavy(v).filter(|&t| is_near[t]);
        let line: Vec<usize> = std::iter::once(v).chain(others).collect();
        if lines.len() == MOST_DIMENSIONS || line.iter().any(|&t| is_taken[t]) {
            return None;
        }
        line.iter().for_each(|&t| is_taken[t] = true);
        lines.push(line);
    }
    Some(lines)
}

/// The coordinates of all vertices, by dimension, if the graph is a grid of lines, and these are the lines of vertex 0.
fn coordinates<I: Iterator<Item = usize>>(
    n: usize,
    lines: &[Vec<usize>],
    heavy: impl Fn(usize) -> I,
) -> Vec<Vec<u32>> {
    let mut coordinates = vec![vec![0; n]; lines.len()];
    let mut steps = vec![usize::MAX; n];
    steps[0] = 0;
    for (line, column) in lines.iter().zip(&mut coordinates) {
        for (&v, number) in line.iter().zip(1..) {
            (steps[v], column[v]) = (1, number);
        }
    }
    let mut reached: Vec<usize> = lines.concat();
    let mut next = 0;
    while let Some(&v) = reached.get(next) {
        next += 1;
        for t in heavy(v) {
            if steps[t] == usize::MAX {
                steps[t] = steps[v] + 1;
                reached.push(t);
            }
            if steps[t] == steps[v] + 1 {
                coordinates.iter_mut().for_each(|column| column[t] = column[t].max(column[v]));
            }
        }
    }
    coordinates
}

/// True if every vertex has a point of its own, and its edges lead along lines. All vertices have as many edges as their
/// lines have other points, so then no edge is missing either.
fn is_grid_of_lines<I: Iterator<Item = usize>>(
    n: usize,
    shape: &GridShape,
    heavy: impl Fn(usize) -> I,
) -> bool {
    let mut is_taken = vec![false; n];
    (0..n).all(|v| {
        let is_new =
            is_taken.get_mut(shape.index(v)).is_some_and(|taken| !std::mem::replace(taken, true));
        is_new && heavy(v).all(|t| shape.line(v, t).is_some())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::permutation::is_injective;
    use crate::mapping::engine::{Scale, seeded};
    use crate::matrix::Graph;
    use crate::matrix::synthetic::pattern;
    use proptest::prelude::*;

    fn lines_in(graph: &Graph) -> Option<Vec<usize>> {
        let shape = detect_lines(&Csr::from_graph(graph, Scale::new(1, 1)))?;
        let points: Vec<u32> = (0..graph.vertices()).map(|v| shape.index(v) as u32).collect();
        assert!(is_injective(&points, graph.vertices()));
        let mut dims = shape.dims;
        dims.sort_unstable();
        Some(dims)
    }

    fn edges(graph: &Graph) -> Vec<(u32, u32, u64)> {
        let arcs = |a: usize| graph.arcs(a).map(move |(b, w)| (a as u32, b, w));
        (0..graph.vertices()).flat_map(arcs).filter(|&(a, b, _)| a < b).collect()
    }

    proptest! {
        /// Lines are found for every numbering of the tasks, also beside light traffic of some or of all pairs.
        #[test]
        fn lines_are_found(
            dims in prop::collection::vec(2usize..7, 2..5),
            shuffle in 0u64..1000,
            light in 0usize..40,
            of_all in any::<bool>(),
        ) {
            let text: Vec<String> = dims.iter().map(usize::to_string).collect();
            let graph = pattern(&format!("lines:{},shuffle={shuffle}", text.join("x"))).unwrap();
            let (mut edges, n) = (edges(&graph), graph.vertices());
            let rng = &mut seeded(shuffle);
            for _ in 0..light.min(edges.len() / 4) {
                let (a, b) = (rng.below(n), rng.below(n));
                if a != b {
                    edges.push((a as u32, b as u32, 1));
                }
            }
            if of_all {
                let pairs = (0..n as u32).flat_map(|a| (0..a).map(move |b| (a, b, 1)));
                edges.extend(pairs);
            }
            let mut sorted = dims;
            sorted.sort_unstable();
            prop_assert_eq!(lines_in(&Graph::from_edges(n, &edges)), Some(sorted));
        }
    }

    #[test]
    fn lines_with_blocks_or_much_other_traffic_are_not_even() {
        let whole = edges(&pattern("lines:6x8").unwrap());
        let even = |edges: &[(u32, u32, u64)]| {
            let graph = Csr::from_graph(&Graph::from_edges(48, edges), Scale::new(1, 1));
            are_even(&graph, &detect_lines(&graph).unwrap())
        };
        assert!(even(&whole));
        // The last dimension is the fastest: in rows of eight, points of the same half talk more.
        let mut blocks = whole.clone();
        for edge in blocks.iter_mut().filter(|(a, b, _)| a / 8 == b / 8 && a % 8 / 4 == b % 8 / 4) {
            edge.2 *= 2;
        }
        assert!(!even(&blocks));
        let mut all = whole.clone();
        let light = whole.iter().map(|edge| edge.2).min().unwrap() / 3;
        all.extend((0..48).flat_map(|a| (0..a).map(move |b| (a, b, light))));
        assert!(!even(&all));
    }

    /// What is like a grid of lines, but is none.
    #[test]
    fn other_graphs_have_no_lines() {
        for text in ["torus:4x4x4", "stencil:5x5", "moore:6x6", "rgg:64", "fft:64", "powerlaw:100"]
        {
            assert_eq!(lines_in(&pattern(text).unwrap()), None, "{text}");
        }
        let whole = pattern("lines:5x6").unwrap();
        let mut missing = edges(&whole);
        missing.pop();
        assert_eq!(lines_in(&Graph::from_edges(30, &missing)), None, "an edge is missing");
        // Two edges exchange their ends, far from the first task: all degrees stay.
        let mut crossed = edges(&whole);
        for (edge, other) in [((7, 8), (7, 15)), ((14, 15), (8, 14))] {
            let at = crossed.iter().position(|&(a, b, _)| (a, b) == edge).unwrap();
            (crossed[at].0, crossed[at].1) = other;
        }
        assert_eq!(lines_in(&Graph::from_edges(30, &crossed)), None, "edges are crossed");
        // The Shrikhande graph has the degrees and the common neighbours of 4x4 lines.
        let steps = [(0, 1), (1, 0), (1, 1)];
        let twisted: Vec<_> = (0..16u32)
            .flat_map(|v| steps.map(|(x, y)| (v, (v / 4 + x) % 4 * 4 + (v + y) % 4, 9)))
            .collect();
        assert_eq!(lines_in(&Graph::from_edges(16, &twisted)), None, "Shrikhande");
        assert_eq!(lines_in(&pattern("lines:4x4").unwrap()), Some(vec![4, 4]));
    }
}
