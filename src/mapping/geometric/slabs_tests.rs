//! Tests of grids in slabs.

use super::*;
use crate::mapping::Problem;
use crate::mapping::engine::Prepared;
use crate::mapping::geometric::{detect, place_on_tree};
use crate::matrix::synthetic::pattern;
use crate::topology::parse;
use proptest::prelude::*;

/// The hop-bytes of a grid in slabs, and in boxes if there are some. Slots may be left out.
fn costs(grid: &str, tree: &str, without: usize) -> (i128, Option<i128>) {
    let (topology, graph) = (parse(tree).unwrap(), pattern(grid).unwrap());
    let slots: Vec<usize> = (without..topology.slots()).collect();
    let problem = Problem::builder(&graph, topology.as_ref()).slots(&slots).build().unwrap();
    let prepared = Prepared::new(&problem);
    let shape = detect(&prepared.graph).unwrap();
    let places = prepared.tree.as_ref().unwrap();
    let cost = |sorted: Vec<u32>| {
        let place_of: Vec<u32> = sorted.iter().map(|&k| places.order[k as usize]).collect();
        let mut taken = place_of.clone();
        taken.sort_unstable();
        taken.dedup();
        assert_eq!(taken.len(), graph.vertices(), "{grid} {tree}");
        prepared.cost(&place_of)
    };
    let boxes = place_on_tree(&prepared.graph, &shape, places);
    let slabs =
        place_in_slabs(&prepared.graph, &shape, places, &Budget::unlimited(), true).unwrap();
    (cost(slabs), boxes.map(|boxed| cost(boxed.position_of)))
}

#[test]
fn slabs_cost_less_than_boxes_where_the_groups_do_not_fit_the_grid() {
    // Three groups of 256 tasks: the best boxes are 8 × 32, and a slab has a step.
    assert_eq!(costs("stencil:24x32", "tree:16:2:8:3@1:10:20:60", 0), (8672, Some(9312)));
    let (slabs, boxes) = costs("stencil:15x12x16", "tree:36:2:8:5@1:5:15:75", 0);
    assert!(10 * slabs < 8 * boxes.unwrap(), "{slabs} {boxes:?}");
    // 6 and 4 rows, in 3 and 2 parts. Two groups tell too little of what the levels below cost.
    assert_eq!(costs("moore:10x12", "tree:2:3:4:5@1:3:30:60", 0).0, 8700);
    // Where boxes are the best parts, slabs find them.
    assert_eq!(costs("stencil:8x8", "tree:4:4:4@1:10:100", 0), (1984, Some(1984)));
}

/// Whether the boxes of a grid are good.
fn has_good_boxes(grid: &str, tree: &str) -> bool {
    let (topology, graph) = (parse(tree).unwrap(), pattern(grid).unwrap());
    let problem = Problem::builder(&graph, topology.as_ref()).build().unwrap();
    let prepared = Prepared::new(&problem);
    let shape = detect(&prepared.graph).unwrap();
    place_on_tree(&prepared.graph, &shape, prepared.tree.as_ref().unwrap()).unwrap().good
}

#[test]
fn boxes_are_good_if_no_sides_cut_much_less() {
    assert!(has_good_boxes("stencil:16x16x16", "tree:4:16:64@1:10:100"));
    assert!(has_good_boxes("stencil:32x32x2", "tree:8:16:16@1:10:100"));
    assert!(!has_good_boxes("stencil:24x32", "tree:16:2:8:3@1:10:20:60"));
    // Boxes of 4×5 points cut all three dimensions of this torus. A box that takes a whole ring of five cuts two.
    assert!(!has_good_boxes("torus:8x15x5", "tree:20:6:5@1:10:100"));
}

#[test]
fn groups_may_differ_in_size() {
    // The first node lends five of its slots to others: 15 + 20 + 20 tasks.
    let (slabs, boxes) = costs("stencil:5x11", "tree:20:3@1:10", 5);
    assert!(boxes.is_none());
    // 94 edges. The parts are three columns, four columns and four columns, so ten edges are cut.
    assert_eq!(slabs, 94 + 9 * 10);
}

#[test]
fn an_expired_budget_still_gives_a_placement() {
    let (topology, graph) =
        (parse("tree:6:5:4@1:10:100").unwrap(), pattern("stencil:10x12").unwrap());
    let problem = Problem::builder(&graph, topology.as_ref()).build().unwrap();
    let prepared = Prepared::new(&problem);
    let shape = detect(&prepared.graph).unwrap();
    let places = prepared.tree.as_ref().unwrap();
    let expired = Budget::within(std::time::Duration::ZERO);
    let mut sorted = place_in_slabs(&prepared.graph, &shape, places, &expired, true).unwrap();
    let unlimited = Budget::unlimited();
    assert_ne!(sorted, place_in_slabs(&prepared.graph, &shape, places, &unlimited, true).unwrap());
    sorted.sort_unstable();
    assert!(sorted.iter().zip(0..).all(|(&place, k)| place == k));
}

#[test]
fn four_dimensions_are_the_most() {
    assert!(costs("stencil:4x3x5x3", "tree:9:4:5@1:10:100", 0).0 > 0);
    let graph = pattern("stencil:2x2x2x2x2").unwrap();
    let topology = parse("tree:4:8@1:10").unwrap();
    let problem = Problem::builder(&graph, topology.as_ref()).build().unwrap();
    let prepared = Prepared::new(&problem);
    let shape = detect(&prepared.graph).unwrap();
    let places = prepared.tree.as_ref().unwrap();
    assert!(place_in_slabs(&prepared.graph, &shape, places, &Budget::unlimited(), true).is_none());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]
    /// Every place is taken once, for all grids, trees and gaps.
    #[test]
    fn every_place_is_taken_once(
        sides in proptest::collection::vec(2usize..7, 2..4),
        groups in 2usize..6,
        kind in proptest::sample::select(vec!["stencil", "torus", "moore"]),
        without in 0usize..4,
        compare in any::<bool>(),
    ) {
        let tasks: usize = sides.iter().product();
        let grid: Vec<String> = sides.iter().map(usize::to_string).collect();
        let in_group = (tasks + without).div_ceil(2 * groups);
        let gaps = 2 * groups * in_group - tasks;
        let tree = format!("tree:{in_group}:2:{groups}@1:3:10");
        let graph = pattern(&format!("{kind}:{}", grid.join("x"))).unwrap();
        let topology = parse(&tree).unwrap();
        let problem = Problem::builder(&graph, topology.as_ref()).slots(
            &(gaps..topology.slots()).collect::<Vec<_>>()).build().unwrap();
        let prepared = Prepared::new(&problem);
        let places = prepared.tree.as_ref().unwrap();
        let slabs = detect(&prepared.graph).and_then(|shape| {
            place_in_slabs(&prepared.graph, &shape, places, &Budget::unlimited(), compare)
        });
        // Rings of four count as two dimensions, so a torus may have too many. With diagonals, two points of a side of
        // two have the same neighbours.
        let unclear = [("torus", 4), ("moore", 2)];
        let may_fail = unclear.iter().any(|&(k, side)| kind == k && sides.contains(&side));
        prop_assert!(may_fail || slabs.is_some());
        let mut sorted = slabs.unwrap_or_else(|| (0..tasks as u32).collect());
        sorted.sort_unstable();
        prop_assert!(sorted.iter().enumerate().all(|(k, &place)| place as usize == k));
    }
}
