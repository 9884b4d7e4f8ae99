//! Grids with longer steps along the axes are recognised; other graphs are refused.

use super::*;
use crate::mapping::engine::Scale;
use crate::mapping::geometric::changed_edges::with_one_edge_changed;
use crate::mapping::geometric::{place_on_grid, recognise};
use crate::matrix::{Graph, synthetic::pattern};
use crate::topology::{Grid, Topology};
use proptest::prelude::*;

fn found(graph: &Graph) -> Option<GridShape> {
    product_grid(&Csr::from_graph(graph, Scale::new(graph.total_weight(), 1)))
}

/// The sides of the grid in ascending order, and whether these are rings.
fn sides(shape: &GridShape) -> Vec<(usize, bool)> {
    let mut sides: Vec<_> = shape.dims.iter().copied().zip(shape.wrap.iter().copied()).collect();
    sides.sort_unstable();
    sides
}

#[test]
fn grids_with_longer_steps_are_found() {
    for (text, dims) in [
        ("star:16x16", vec![16, 16]),
        ("star:12x20", vec![12, 20]),
        ("star:12x20,steps=8:1", vec![12, 20]),
        ("star:6x8x10", vec![6, 8, 10]),
        ("star:12x12x12,steps=1:1:1:1", vec![12, 12, 12]),
        ("star:6x9x5x7,steps=4:2", vec![5, 6, 7, 9]),
        ("star:3x30,steps=5:3:1", vec![3, 30]),
        ("star:7x14,steps=1:1:1:1:1,along=1:50", vec![7, 14]),
        // Any two tasks of a line are neighbours, if it is a ring.
        ("star:5x5x5,steps=8:1", vec![5, 5, 5]),
        // Three light steps and a heavy one.
        ("star:13x14,steps=1:1:9", vec![13, 14]),
    ] {
        for periodic in [false, true] {
            for seed in [1, 2] {
                let text = format!("{text},periodic={},shuffle={seed}", u8::from(periodic));
                let shape = found(&pattern(&text).unwrap()).unwrap_or_else(|| panic!("{text}"));
                let sides = sides(&shape);
                assert!(sides.iter().map(|&(side, _)| side).eq(dims.iter().copied()), "{text}");
                // A short ring may have an edge between any two of its points.
                let is_ring =
                    |&(side, wrap): &(usize, bool)| wrap == periodic || (periodic && side < 10);
                assert!(sides.iter().all(is_ring), "{text}: {sides:?}");
            }
        }
    }
}

/// Layers with one diagonal, joined by lines.
#[test]
fn an_axis_may_be_a_lattice() {
    for (text, dims) in [
        ("hex:9x8x2", vec![2, 8, 9]),
        ("hex:3x9x2", vec![2, 3, 9]),
        ("hex:6x7x2,periodic=1", vec![2, 6, 7]),
        ("hex:6x7x9", vec![6, 7, 9]),
        ("hex:3x5x6,periodic=1", vec![3, 5, 6]),
        // Each dimension of the lattice counts.
        ("hex:6x7x2x2x2", vec![2, 2, 2, 6, 7]),
    ] {
        let shape = found(&pattern(&format!("{text},shuffle=1")).unwrap());
        let shape = shape.unwrap_or_else(|| panic!("{text}"));
        assert!(sides(&shape).iter().map(|&(side, _)| side).eq(dims), "{text}");
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
        "stencil19:6x6x6",
        "hex:8x8",
        "lines:8x8",
        "lines:3x4x5",
        "star:60",
        "bt:64",
    ] {
        assert!(found(&pattern(&format!("{text},shuffle=3")).unwrap()).is_none(), "{text}");
    }
    let star = pattern("star:9x10").unwrap();
    assert!(found(&star).is_some());
    assert!(with_one_edge_changed(&star).iter().all(|other| found(other).is_none()));
    for graph in
        [Graph::from_edges(0, &[]), Graph::from_edges(2, &[(0, 1, 1)]), Graph::from_edges(9, &[])]
    {
        assert!(found(&graph).is_none());
    }
    let tree: Vec<(u32, u32, u64)> = (1..200).map(|v| ((v - 1) / 3, v, 1)).collect();
    assert!(found(&Graph::from_edges(200, &tree)).is_none());
}

/// The weights of all edges times the distances of their ends.
fn cost(graph: &Graph, machine: &Grid, slot_of: impl Fn(usize) -> usize) -> u128 {
    let of = |v: usize| {
        let far = |(t, w): (u32, u64)| {
            u128::from(w) * u128::from(machine.distance(slot_of(v), slot_of(t as usize)))
        };
        graph.arcs(v).map(far).sum::<u128>()
    };
    (0..graph.vertices()).map(of).sum()
}

/// Lists such as `8:4` and `12x20`.
fn listed<T: ToString>(items: &[T], by: &str) -> String {
    items.iter().map(T::to_string).collect::<Vec<_>>().join(by)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Any stencil on any box: it is recognised, and its order costs no more than the one it was made with.
    #[test]
    fn any_box_is_recognised_and_fits_its_torus(
        kind in 0usize..5,
        sides in prop::collection::vec(5usize..11, 2..4),
        longest in 11usize..16,
        periodic: bool,
        shuffle: u16,
        along in prop::collection::vec(1u64..60, 4),
        mut steps in prop::collection::vec(1u64..9, 2..5),
    ) {
        let mut dims = sides;
        // Where all tasks on each line talk to each other, the grid is one of lines.
        dims[0] = longest;
        if kind == 4 && dims.len() == 2 {
            dims.push(5);
        }
        steps.sort_unstable_by(|a, b| b.cmp(a));
        let options = format!(
            "along={},periodic={}", listed(&along[..dims.len()], ":"), u8::from(periodic)
        );
        let head = match kind {
            0 => format!("star:{}", listed(&dims, "x")),
            1 | 2 => format!("star:{},steps={}", listed(&dims, "x"), listed(&steps, ":")),
            3 => format!("hex:{}", listed(&dims, "x")),
            _ => format!("stencil19:{}", listed(&dims, "x")),
        };
        let natural = pattern(&format!("{head},{options}")).unwrap();
        let shuffled = pattern(&format!("{head},{options},shuffle={shuffle}")).unwrap();
        let scale = Scale::new(shuffled.total_weight(), 1);
        let found = recognise(&Csr::from_graph(&shuffled, scale));
        prop_assert!(found.as_ref().is_some_and(|found| found.is_exact()), "{head},{options}");
        let machine = Grid::torus(&dims).unwrap();
        let slots = found.and_then(|found| place_on_grid(&found.shape, &machine));
        prop_assert!(slots.is_some(), "{head},{options}: does not fit");
        let slots = slots.unwrap_or_default();
        let (ours, theirs) =
            (cost(&shuffled, &machine, |v| slots[v] as usize), cost(&natural, &machine, |v| v));
        prop_assert!(ours <= theirs, "{head},{options}: {ours} {theirs}");
    }
}
