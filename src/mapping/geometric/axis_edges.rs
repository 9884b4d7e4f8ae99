//! The edges along the axes of a graph that may be a grid with a few irregular edges.
//!
//! An edge of a grid lies in squares. An edge between tasks that are far from each other lies in none, so such edges are
//! dropped. In a stencil with diagonals, an edge along an axis has more common neighbours than a diagonal one, so the
//! edges with the most common neighbours are kept. At the border of such a stencil this drops edges along the border,
//! too; `growth` does not need them.
//!
//! Most graphs are no grids. They are refused after [`SAMPLES`] vertices: around enough of them, the edges must form the
//! corner of a grid. Limits: two to four dimensions. A path or a ring has no squares, so it is not found here.

use super::point::DIMENSIONS;
use super::skeleton::Lists;
use crate::base::sorting::Arrange;
use crate::mapping::engine::Csr;

/// Vertices that are looked at before all others.
const SAMPLES: usize = 256;

/// One of this many samples must have regular surroundings.
const REGULAR_SHARE: usize = 24;

/// Vertices that a grid may be grown from, one after the other, until the points fit.
const STARTS: usize = 4;

/// Largest degree of a vertex in a stencil: four dimensions with diagonals.
const MAX_DEGREE: usize = 80;

/// The edges along the axes, as far as they are recognised.
pub(super) struct AxisEdges {
    pub(super) lists: Lists,
    pub(super) dimensions: usize,
    /// Some vertices with regular surroundings.
    pub(super) firsts: Vec<u32>,
    /// The stencil has diagonals.
    pub(super) diagonals: bool,
}

/// The edges along the axes. `None` if the surroundings of most vertices are not those of a grid.
pub(super) fn axis_edges(graph: &Csr) -> Option<AxisEdges> {
    let n = graph.len();
    let samples: Vec<usize> = (0..n.min(SAMPLES)).map(|i| i * n / n.min(SAMPLES)).collect();
    let heaviest = |&v: &usize| graph.arcs(v).map(|(_, w)| w).max().unwrap_or(0);
    let least = median(samples.iter().map(heaviest).collect())? / 8;
    let mut view = View { graph, least: least.max(1), common: 0, ways: vec![0; n] };
    view.common = match median(samples.iter().map(|&v| view.most_shared(v) as i64).collect())? {
        0 | 1 => 0,
        // Each edge of a triangulation lies in two triangles.
        2 => return None,
        shared => (3 * shared as usize).div_ceil(4),
    };
    let mut found = [0usize; DIMENSIONS + 1];
    let mut firsts: [Vec<(usize, u32)>; DIMENSIONS + 1] = Default::default();
    for &v in &samples {
        if let Some((dimensions, degree)) = view.corner_at(v) {
            found[dimensions] += 1;
            firsts[dimensions].push((degree, v as u32));
        }
    }
    let dimensions = (2..=DIMENSIONS).max_by_key(|&k| found[k])?;
    if found[dimensions] * REGULAR_SHARE < samples.len() || found[dimensions] == 0 {
        return None;
    }
    let mut lists = Lists { offsets: vec![0], targets: Vec::new() };
    for v in 0..n {
        lists.targets.extend(view.along_axes(v));
        lists.offsets.push(lists.targets.len() as u32);
    }
    // Those inside of the grid first.
    let mut firsts = std::mem::take(&mut firsts[dimensions]);
    firsts.arrange_by_key(|&(degree, _)| std::cmp::Reverse(degree));
    let firsts = firsts.into_iter().map(|(_, v)| v).take(STARTS).collect();
    Some(AxisEdges { lists, dimensions, firsts, diagonals: view.common > 0 })
}

/// The middle one of the values.
fn median(mut values: Vec<i64>) -> Option<i64> {
    let middle = values.len() / 2;
    (!values.is_empty()).then(|| *values.select_nth_unstable(middle).1)
}

/// The graph as the search for grids sees it.
struct View<'a> {
    graph: &'a Csr,
    /// Edges of less weight are not seen.
    least: i64,
    /// Common neighbours that the ends of an edge along an axis have; 0 if there are no diagonals.
    common: usize,
    /// By vertex: ways of two edges to it from the vertex that is looked at. All 0 in between.
    ways: Vec<u32>,
}

impl View<'_> {
    /// The neighbours of a vertex. None if they are more than in a stencil.
    fn beside(&self, v: usize) -> impl Iterator<Item = usize> + '_ {
        let few = self.graph.degree(v) <= 4 * MAX_DEGREE;
        let seen = move |&(_, w): &(usize, i64)| few && w >= self.least;
        let is_stencil = self.graph.arcs(v).filter(seen).take(MAX_DEGREE + 1).count() <= MAX_DEGREE;
        self.graph.arcs(v).filter(move |arc| is_stencil && seen(arc)).map(|(t, _)| t)
    }

    /// Calls `look` with the ways of two edges from `v`.
    fn with_ways<T>(&mut self, v: usize, look: impl FnOnce(&Self) -> T) -> T {
        let row: Vec<usize> = self.beside(v).collect();
        let ends: Vec<usize> = row.iter().flat_map(|&a| self.beside(a)).collect();
        ends.iter().for_each(|&x| self.ways[x] += 1);
        let answer = look(self);
        ends.iter().for_each(|&x| self.ways[x] = 0);
        answer
    }

    /// The most common neighbours that a vertex has with one of its neighbours.
    fn most_shared(&mut self, v: usize) -> usize {
        self.with_ways(v, |view| {
            view.beside(v).map(|t| view.ways[t] as usize).max().unwrap_or_default()
        })
    }

    /// The neighbours of a vertex along the axes, ascending.
    fn along_axes(&mut self, v: usize) -> Vec<u32> {
        self.with_ways(v, |view| {
            let in_a_square = |t: usize| view.beside(t).any(|x| x != v && view.ways[x] >= 2);
            let is_along = |&t: &usize| match view.common {
                0 => in_a_square(t),
                common => view.ways[t] as usize >= common,
            };
            view.beside(v).filter(is_along).map(|t| t as u32).collect()
        })
    }

    /// The number of dimensions at a vertex, and of its neighbours along them. `None` if these do not lie as in a grid:
    /// two neighbours have a common neighbour beyond the vertex, except for the one on the other side of it.
    fn corner_at(&mut self, v: usize) -> Option<(usize, usize)> {
        let row = self.along_axes(v);
        if !(2..=2 * DIMENSIONS).contains(&row.len()) {
            return None;
        }
        let rows: Vec<Vec<u32>> = row.iter().map(|&t| self.along_axes(t as usize)).collect();
        let mut opposite = vec![0usize; row.len()];
        for i in 0..row.len() {
            for j in i + 1..row.len() {
                if rows[i].contains(&row[j]) {
                    return None;
                }
                if common(&rows[i], &rows[j], v as u32) == 0 {
                    opposite[i] += 1;
                    opposite[j] += 1;
                }
            }
        }
        let pairs = opposite.iter().filter(|&&others| others == 1).count() / 2;
        let dimensions = row.len() - pairs;
        let fits = opposite.iter().all(|&others| others <= 1);
        (fits && (2..=DIMENSIONS).contains(&dimensions)).then_some((dimensions, row.len()))
    }
}

/// The number of vertices in both rows other than `v`. The rows are ascending.
pub(super) fn common(mut a: &[u32], mut b: &[u32], v: u32) -> usize {
    let mut both = 0;
    while let ([s, rest_of_a @ ..], [t, rest_of_b @ ..]) = (a, b) {
        both += usize::from(s == t && *s != v);
        if s <= t {
            a = rest_of_a;
        }
        if t <= s {
            b = rest_of_b;
        }
    }
    both
}
