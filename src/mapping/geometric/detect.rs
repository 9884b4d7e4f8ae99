//! Recognises grids and tori of any dimension in a graph, for every numbering of the vertices.
//!
//! In a Cartesian product of paths and cycles, two edges at a vertex lie in different dimensions exactly if
//! they span a square. Rings of four are an exception: they are squares themselves and count as two dimensions
//! of two. Edges are joined across squares and along lines. The classes of joined edges are the dimensions. If
//! the edges of one class are removed, the layers across this dimension remain, which must form a path or a
//! ring. The final check compares all edges, so no wrong answer is possible.
//!
//! On large graphs this takes several seconds. Grids without rings and diagonals are recognised faster by `shells`, which
//! is tried first.

use super::joined::Joined;
use super::shape::GridShape;
use super::shells::grid_from_first;
use super::skeleton::{Lists, skeleton};
use crate::mapping::engine::Csr;

/// The largest number of different degrees that a stencil can have.
const DISTINCT_DEGREES: usize = 8;

/// Finds the grid in `graph`. If all edges together form no grid, tries the heavy ones alone, because
/// a recorded stencil often has light collective traffic between other tasks.
pub(crate) fn detect(graph: &Csr) -> Option<GridShape> {
    if graph.len() < 4 {
        return None;
    }
    grid_from_first(graph).or_else(|| by_classes(graph))
}

/// Finds the grid by the classes of its edges.
fn by_classes(graph: &Csr) -> Option<GridShape> {
    let n = graph.len();
    if are_few((0..n).map(|v| graph.degree(v))) {
        let targets = graph.arcs.iter(0..graph.arcs.len()).map(|(t, _)| t as u32).collect();
        let all = Lists { offsets: graph.offsets.clone(), targets };
        if let Some(shape) = detect_in(&all) {
            return Some(shape);
        }
    }
    let heaviest = |v: usize| graph.arcs(v).map(|(_, w)| w).max().unwrap_or(0);
    let mut tops: Vec<i64> = (0..n).map(heaviest).collect();
    let middle = tops.len() / 2;
    let (_, &mut typical, _) = tops.select_nth_unstable(middle);
    let is_heavy = |w: i64| w >= typical / 8;
    if !are_few((0..n).map(|v| graph.arcs(v).filter(|&(_, w)| is_heavy(w)).count())) {
        return None;
    }
    let mut heavy = Lists { offsets: vec![0], targets: Vec::new() };
    let (mut kept, mut total) = (0i128, 0i128);
    for v in 0..n {
        for (t, w) in graph.arcs(v) {
            total += i128::from(w);
            if is_heavy(w) {
                kept += i128::from(w);
                heavy.targets.push(t as u32);
            }
        }
        heavy.offsets.push(heavy.targets.len() as u32);
    }
    let worthwhile = heavy.targets.len() < graph.arcs.len() && kept * 4 >= total * 3;
    if worthwhile { detect_in(&heavy) } else { None }
}

/// True if all vertices have edges, and there are not more different degrees than a stencil has. Most other graphs are
/// refused after a few vertices.
fn are_few(degrees: impl Iterator<Item = usize>) -> bool {
    let mut seen: Vec<usize> = Vec::new();
    for degree in degrees {
        if !seen.contains(&degree) {
            seen.push(degree);
        }
        if degree == 0 || seen.len() > DISTINCT_DEGREES {
            return false;
        }
    }
    true
}

fn detect_in(lists: &Lists) -> Option<GridShape> {
    if !are_few((0..lists.len()).map(|v| lists.of(v).len())) {
        return None;
    }
    let axes = skeleton(lists)?;
    let (dimension_of_arc, dimensions) = classify(&axes)?;
    let mut shape = GridShape { dims: vec![], wrap: vec![], coordinates: vec![] };
    for k in 0..dimensions {
        let (length, wrap, coordinates) = layers(&axes, &dimension_of_arc, k)?;
        shape.dims.push(length);
        shape.wrap.push(wrap);
        shape.coordinates.push(coordinates);
    }
    is_grid(&axes, &shape).then_some(shape)
}

/// The dimension of every arc and the number of dimensions.
fn classify(lists: &Lists) -> Option<(Vec<u8>, usize)> {
    const MAX_DIMENSIONS: usize = 32;
    let n = lists.len();
    let arc = |v: usize, t: u32| -> Option<u32> {
        lists.of(v).binary_search(&t).ok().map(|i| lists.offsets[v] + i as u32)
    };
    let mut union = Joined::new(lists.targets.len());
    for v in 0..n {
        let row = lists.of(v);
        if row.len() > 2 * MAX_DIMENSIONS {
            return None;
        }
        for (i, &x) in row.iter().enumerate() {
            let vx = lists.offsets[v] + i as u32;
            union.join(vx, arc(x as usize, v as u32)?);
            for (j, &y) in row.iter().enumerate().skip(i + 1) {
                let vy = lists.offsets[v] + j as u32;
                match corner(lists, v as u32, x as usize, y as usize)? {
                    None => union.join(vx, vy),
                    Some(z) => {
                        union.join(vx, arc(y as usize, z)?);
                        union.join(vy, arc(x as usize, z)?);
                    }
                }
            }
        }
    }
    let mut number = std::collections::BTreeMap::new();
    let mut dimension = Vec::with_capacity(lists.targets.len());
    for a in 0..lists.targets.len() as u32 {
        let root = union.root(a);
        let next = number.len();
        let k = *number.entry(root).or_insert(next);
        if k >= MAX_DIMENSIONS {
            return None;
        }
        dimension.push(k as u8);
    }
    Some((dimension, number.len()))
}

/// The common neighbour of `x` and `y` other than `v`: `Some(None)` if there is no such vertex, `None` if there are
/// several.
fn corner(lists: &Lists, v: u32, x: usize, y: usize) -> Option<Option<u32>> {
    let (mut a, mut b) = (lists.of(x), lists.of(y));
    let mut found = None;
    while let ([s, rest_of_a @ ..], [t, rest_of_b @ ..]) = (a, b) {
        if s == t && *s != v && found.replace(*s).is_some() {
            return None;
        }
        if s <= t {
            a = rest_of_a;
        }
        if t <= s {
            b = rest_of_b;
        }
    }
    Some(found)
}

/// The layers across dimension `k`: their number, whether they close to a ring, and the layer of
/// every vertex.
fn layers(lists: &Lists, dimension_of_arc: &[u8], k: usize) -> Option<(usize, bool, Vec<u32>)> {
    let n = lists.len();
    let mut union = Joined::new(n);
    let arcs = |v: usize| (lists.offsets[v] as usize..).zip(lists.of(v));
    for v in 0..n {
        for (a, &t) in arcs(v) {
            if usize::from(dimension_of_arc[a]) != k {
                union.join(v as u32, t);
            }
        }
    }
    let mut id = vec![u32::MAX; n];
    let mut count = 0u32;
    let mut layer = vec![0u32; n];
    for (v, layer) in layer.iter_mut().enumerate() {
        let root = union.root(v as u32) as usize;
        if id[root] == u32::MAX {
            id[root] = count;
            count += 1;
        }
        *layer = id[root];
    }
    let mut beside = vec![[u32::MAX; 2]; count as usize];
    for v in 0..n {
        for (a, &t) in arcs(v) {
            if usize::from(dimension_of_arc[a]) != k {
                continue;
            }
            let (here, there) = (layer[v] as usize, layer[t as usize]);
            if here as u32 == there {
                return None;
            }
            let slots = &mut beside[here];
            if slots.contains(&there) {
                continue;
            }
            *slots.iter_mut().find(|s| **s == u32::MAX)? = there;
        }
    }
    let ends = beside.iter().filter(|b| b[1] == u32::MAX).count();
    let wrap = match (ends, count) {
        (2, _) => false,
        (0, 3..) => true,
        _ => return None,
    };
    let mut position = vec![u32::MAX; count as usize];
    let start = beside.iter().position(|b| b[1] == u32::MAX).unwrap_or(0);
    let (mut at, mut next) = (start, 0u32);
    loop {
        position[at] = next;
        next += 1;
        match beside[at].iter().find(|&&b| b != u32::MAX && position[b as usize] == u32::MAX) {
            Some(&b) => at = b as usize,
            None => break,
        }
    }
    if next != count {
        return None;
    }
    Some((count as usize, wrap, layer.iter().map(|&l| position[l as usize]).collect()))
}

/// True if every point is taken once and there are exactly the edges of the grid.
fn is_grid(lists: &Lists, shape: &GridShape) -> bool {
    let n = lists.len();
    if shape.dims.iter().try_fold(1usize, |a, &d| a.checked_mul(d)) != Some(n) {
        return false;
    }
    let mut seen = vec![false; n];
    for v in 0..n {
        let index = shape.index(v);
        if std::mem::replace(&mut seen[index], true) {
            return false;
        }
        for &t in lists.of(v) {
            let steps: usize = (0..shape.dims.len()).map(|k| shape.step(k, v, t as usize)).sum();
            if steps != 1 {
                return false;
            }
        }
    }
    let arcs: usize = (0..shape.dims.len())
        .map(|k| 2 * n / shape.dims[k] * (shape.dims[k] - usize::from(!shape.wrap[k])))
        .sum();
    arcs == lists.targets.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mapping::engine::Scale;
    use crate::matrix::{Graph, synthetic::pattern};

    fn found(graph: &Graph) -> Option<(Vec<usize>, Vec<bool>)> {
        detect(&Csr::from_graph(graph, Scale::new(graph.total_weight(), 1))).map(|s| {
            let mut both: Vec<(usize, bool)> = s.dims.into_iter().zip(s.wrap).collect();
            both.sort_unstable();
            both.into_iter().unzip()
        })
    }

    #[test]
    fn grids_of_all_kinds_are_found() {
        for (text, dims, wrap) in [
            ("stencil:8x8", vec![8, 8], false),
            ("stencil:3x5x7", vec![3, 5, 7], false),
            ("stencil:2x9", vec![2, 9], false),
            ("stencil:40", vec![40], false),
            ("torus:5x6x7", vec![5, 6, 7], true),
            ("torus:4x4", vec![2, 2, 2, 2], false),
            ("torus:30", vec![30], true),
            ("stencil27:6x5", vec![5, 6], false),
            ("stencil27:4x5x6", vec![4, 5, 6], false),
            // Diagonals of the same weight, as where a program exchanges blocks of one size.
            ("moore:6x5", vec![5, 6], false),
            ("moore:3x4", vec![3, 4], false),
            ("moore:32x32", vec![32, 32], false),
            ("moore:4x5x6", vec![4, 5, 6], false),
            ("moore:8x8x8", vec![8, 8, 8], false),
            ("fft:64", vec![2; 6], false),
            ("lu:128", vec![8, 16], false),
        ] {
            let graph = pattern(&format!("{text},shuffle=5")).unwrap();
            let wraps = vec![wrap; dims.len()];
            assert_eq!(found(&graph), Some((dims, wraps)), "{text}");
        }
    }

    #[test]
    fn both_methods_find_the_same() {
        for text in ["stencil:40", "stencil:2x9", "stencil:3x5x7", "stencil:3x4x2x5", "torus:4x4"] {
            for seed in 1..30 {
                let graph = pattern(&format!("{text},shuffle={seed}")).unwrap();
                let graph = Csr::breadth_first(&graph, |w| w as i64, 1).0;
                let fast = grid_from_first(&graph);
                assert!(fast.is_some() && fast == by_classes(&graph), "{text}");
            }
        }
    }

    #[test]
    fn light_traffic_across_the_grid_does_not_hide_it() {
        let grid = pattern("stencil:9x9").unwrap();
        let mut edges: Vec<(u32, u32, u64)> = (0..81u32)
            .flat_map(|v| grid.arcs(v as usize).map(move |(t, w)| (v, t, 500 * w)))
            .collect();
        edges.extend((1..81).map(|v| (0, v, 8)));
        assert_eq!(found(&Graph::from_edges(81, &edges)), Some((vec![9, 9], vec![false; 2])));
    }

    #[test]
    fn other_graphs_are_not_grids() {
        for text in ["rgg:256", "spmv:256", "powerlaw:256", "cg:256"] {
            assert_eq!(found(&pattern(text).unwrap()), None, "{text}");
        }
        let mut edges: Vec<(u32, u32, u64)> = vec![(0, 1, 1), (1, 2, 1), (2, 3, 1), (3, 0, 1)];
        edges.push((0, 2, 1));
        assert_eq!(found(&Graph::from_edges(4, &edges)), None);
    }
}
