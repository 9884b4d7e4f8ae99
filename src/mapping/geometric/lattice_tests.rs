//! Grids with some of the diagonals are recognised; other graphs are refused.

use super::*;
use crate::mapping::engine::Scale;
use crate::mapping::geometric::changed_edges::with_one_edge_changed;
use crate::matrix::{Graph, synthetic::pattern};

fn found(graph: &Graph) -> Option<GridShape> {
    lattice_grid(&Csr::from_graph(graph, Scale::new(graph.total_weight(), 1)))
}

#[test]
fn grids_with_some_diagonals_are_found() {
    for (text, dims) in [
        ("hex:16x16", vec![16, 16]),
        ("hex:12x20", vec![12, 20]),
        ("hex:5x31", vec![5, 31]),
        ("hex:6x7,along=1:40", vec![6, 7]),
        ("hex:4x9", vec![4, 9]),
        ("hex:3x8", vec![3, 8]),
        ("stencil19:4x8x8", vec![4, 8, 8]),
        ("stencil19:4x5x9", vec![4, 5, 9]),
        ("stencil19:4x4x5", vec![4, 4, 5]),
        ("stencil19:8x8x8", vec![8, 8, 8]),
        ("stencil19:6x8x10", vec![6, 8, 10]),
        ("stencil19:5x5x9,along=1:7:3", vec![5, 5, 9]),
    ] {
        for periodic in [false, true] {
            for seed in 1..6 {
                let text = format!("{text},periodic={},shuffle={seed}", u8::from(periodic));
                let shape = found(&pattern(&text).unwrap()).unwrap_or_else(|| panic!("{text}"));
                let mut sides = shape.dims.clone();
                sides.sort_unstable();
                assert_eq!(sides, dims, "{text}");
                assert!(shape.wrap.iter().all(|&wrap| wrap == periodic), "{text}");
            }
        }
    }
}

#[test]
fn short_open_grids_are_found() {
    for (text, dims) in [
        ("hex:3x3", vec![3, 3]),
        ("hex:3x9", vec![3, 9]),
        ("hex:4x5", vec![4, 5]),
        ("stencil19:3x3x3", vec![3, 3, 3]),
        ("stencil19:3x4x7", vec![3, 4, 7]),
    ] {
        let graph = pattern(&format!("{text},shuffle=2")).unwrap();
        let mut sides = found(&graph).unwrap_or_else(|| panic!("{text}")).dims;
        sides.sort_unstable();
        assert_eq!(sides, dims, "{text}");
    }
}

/// With the weights of a square torus, all three directions may be axes: the lightest one is the diagonal.
#[test]
fn the_lightest_direction_is_the_diagonal() {
    let torus = pattern("hex:9x9,periodic=1").unwrap();
    for heavy in 0..3 {
        let weight = |v: u32, t: u32| {
            let (rows, columns) = ((t / 9 + 9 - v / 9) % 9, (t % 9 + 9 - v % 9) % 9);
            let direction = usize::from(columns != 0) + usize::from(rows == columns);
            let backwards = if rows == 0 { columns > 4 } else { rows > 4 };
            (!backwards, if direction == heavy { 1 } else { 10 })
        };
        let edges: Vec<(u32, u32, u64)> = (0..81u32)
            .flat_map(|v| torus.arcs(v as usize).map(move |(t, _)| (v, t, weight(v, t))))
            .filter(|&(_, _, (first, _))| first)
            .map(|(v, t, (_, weight))| (v, t, weight))
            .collect();
        let graph = Graph::from_edges(81, &edges);
        let shape = found(&graph).unwrap();
        let cost: usize = edges
            .iter()
            .map(|&(v, t, w)| {
                let steps: usize = (0..2).map(|k| shape.step(k, v as usize, t as usize)).sum();
                w as usize * steps
            })
            .sum();
        assert_eq!(cost, 81 * (10 + 10 + 2), "{heavy}");
    }
}

#[test]
fn other_graphs_are_refused() {
    for text in [
        "rgg:300",
        "spmv:300",
        "powerlaw:300",
        "cg:256",
        "moore:8x8",
        "stencil:8x8",
        "stencil:6x6x6",
        "torus:6x6x6",
        "star:9x9",
        "lines:8x8",
    ] {
        assert!(found(&pattern(&format!("{text},shuffle=3")).unwrap()).is_none(), "{text}");
    }
    for text in ["hex:9x10", "stencil19:5x5x5"] {
        let grid = pattern(text).unwrap();
        assert!(found(&grid).is_some());
        assert!(with_one_edge_changed(&grid).iter().all(|other| found(other).is_none()), "{text}");
    }
}
