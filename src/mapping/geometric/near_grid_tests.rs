//! Grids whose edges were moved are recognised; other graphs are refused.

use super::*;
use crate::mapping::engine::Scale;
use crate::matrix::moved_edges::{MovedTo, with_moved_edges};
use crate::matrix::{Graph, synthetic::pattern};

fn found(graph: &Graph) -> Option<(GridShape, Csr)> {
    near_grid(&Csr::from_graph(graph, Scale::new(graph.total_weight(), 1)))
}

/// The share of the edges that the grid in a graph does not explain. `None` if another grid is found, or none.
fn unexplained(graph: &Graph, dims: &[usize], is_ring: bool) -> Option<f64> {
    let (shape, regular) = found(graph)?;
    let mut sorted: Vec<usize> = shape.dims.clone();
    sorted.sort_unstable();
    if sorted != dims || shape.wrap.iter().any(|&wrap| wrap != is_ring) {
        return None;
    }
    let mut seen = vec![false; graph.vertices()];
    (0..seen.len()).for_each(|v| seen[shape.index(v)] = true);
    assert!(seen.iter().all(|&seen| seen), "two vertices at one point");
    Some(1.0 - regular.arcs.len() as f64 / (2 * graph.edges()) as f64)
}

#[test]
fn grids_with_moved_edges_are_found() {
    for (text, dims, is_ring) in [
        ("stencil:24x20", vec![20, 24], false),
        ("stencil:12x11x10", vec![10, 11, 12], false),
        ("stencil:6x7x5x6", vec![5, 6, 6, 7], false),
        ("torus:24x20", vec![20, 24], true),
        ("torus:12x11x10", vec![10, 11, 12], true),
        ("moore:24x20", vec![20, 24], false),
        ("moore:12x11x10", vec![10, 11, 12], false),
        ("stencil27:12x11x10", vec![10, 11, 12], false),
        ("stencil:64x64", vec![64, 64], false),
        ("stencil:16x16x16", vec![16, 16, 16], false),
    ] {
        for (to, part, seed) in [
            (MovedTo::Anywhere, 0.0, 1),
            (MovedTo::Anywhere, 0.01, 2),
            (MovedTo::Neighbour, 0.01, 3),
            (MovedTo::Anywhere, 0.03, 4),
            (MovedTo::Anywhere, 0.03, 5),
            (MovedTo::Neighbour, 0.03, 6),
            (MovedTo::Neighbour, 0.03, 7),
        ] {
            let graph = pattern(&format!("{text},shuffle={seed}")).unwrap();
            let graph = with_moved_edges(&graph, part, to, seed);
            let share = unexplained(&graph, &dims, is_ring);
            // Ends of moved edges may have lost most of their neighbours.
            assert!(
                share.is_some_and(|s| s <= 1.2 * part + 0.01),
                "{text} {to:?} {part}: {share:?}"
            );
        }
    }
}

#[test]
fn other_graphs_are_refused() {
    for text in
        ["rgg:2048", "spmv:2048", "powerlaw:2048", "cg:256", "fft:256", "lines:16x16", "torus:300"]
    {
        assert!(found(&pattern(text).unwrap()).is_none(), "{text}");
    }
    assert!(found(&Graph::from_edges(9, &[])).is_none());
    assert!(found(&Graph::from_edges(2, &[(0, 1, 1)])).is_none());
    // Half of the edges are irregular.
    let half = with_moved_edges(&pattern("stencil:30x30").unwrap(), 0.5, MovedTo::Anywhere, 1);
    assert!(found(&half).is_none());
}
