//! Properties of every placement of grids on nodes, and results that the papers report.

use super::{ALL, Points, node_groups};
use crate::mapping::TaskGrid;
use crate::mapping::engine::Prepared;
use crate::mapping::{Auto, Budget, Mapper, Preset, Problem, by_name};
use crate::matrix::{Graph, synthetic::pattern};
use crate::topology::{Topology, Tree, parse};
use proptest::prelude::*;

/// Two nodes and more of these sizes; between nodes 10, inside 1.
fn nodes(sizes: &[usize]) -> Tree {
    let paths: Vec<Vec<u32>> =
        sizes.iter().enumerate().flat_map(|(k, &size)| vec![vec![k as u32]; size]).collect();
    Tree::from_paths(&paths, &[10, 1]).unwrap()
}

/// Edges between nodes.
fn cut(graph: &Graph, topology: &dyn Topology, slots: &[usize]) -> u64 {
    (0..graph.vertices())
        .flat_map(|v| graph.arcs(v).map(move |(t, w)| (v, t as usize, w)))
        .filter(|&(v, t, _)| v < t && topology.node_of(slots[v]) != topology.node_of(slots[t]))
        .map(|(_, _, w)| w)
        .sum()
}

fn cut_by(name: &str, graph: &Graph, topology: &dyn Topology) -> u64 {
    let problem = Problem::builder(graph, topology).build().unwrap();
    let outcome = by_name(name).unwrap().map(&problem, &mut Budget::unlimited()).unwrap();
    problem.check(&outcome.slot_of_task).unwrap();
    cut(graph, topology, &outcome.slot_of_task)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Every group is filled exactly, whatever the sizes; no point is lost.
    #[test]
    fn rooms_are_filled_exactly(
        dims in prop::collection::vec(1usize..7, 1..4),
        sizes in prop::collection::vec(1usize..9, 2..12),
        wrap in any::<bool>())
    {
        let points: usize = dims.iter().product();
        let total: usize = sizes.iter().sum();
        let tree = nodes(&sizes);
        let grid = TaskGrid::new(&dims, &vec![wrap; dims.len()]);
        prop_assume!(points <= total && grid.is_some());
        let text: Vec<String> = dims.iter().map(usize::to_string).collect();
        let stencil = pattern(&format!("stencil:{}", text.join("x"))).unwrap();
        let edges: Vec<(u32, u32, u64)> = (0..points as u32)
            .flat_map(|v| stencil.arcs(v as usize).map(move |(t, w)| (v, t, w)))
            .collect();
        // Processes beyond the grid are tasks that talk to nobody.
        let graph = Graph::from_edges(total, &edges);
        let problem = Problem::builder(&graph, &tree).task_grid(grid).build().unwrap();
        let prepared = Prepared::new(&problem);
        let grid = Points::new(&prepared, None).unwrap();
        prop_assert_eq!(grid.len(), points);
        let Some((groups, over)) = node_groups(&prepared, points) else { return Ok(()) };
        prop_assert_eq!(over.len(), total - points);
        for decomposition in ALL {
            let Ok(parts) = (decomposition.parts)(&grid, &groups) else { continue };
            let filled: Vec<usize> = parts.iter().map(Vec::len).collect();
            let wanted: Vec<usize> = groups.iter().map(|group| group.places.len()).collect();
            prop_assert_eq!(filled, wanted, "{}", decomposition.name);
            let mut all: Vec<u32> = parts.concat();
            all.sort_unstable();
            prop_assert_eq!(all, (0..points as u32).collect::<Vec<u32>>(), "{}", decomposition.name);
        }
        for mapper in ALL {
            if let Ok(outcome) = mapper.map(&problem, &mut Budget::unlimited()) {
                problem.check(&outcome.slot_of_task).unwrap();
            }
        }
    }
}

/// Where node blocks exist, all but the baseline find the best cut or come close.
#[test]
fn squares_of_a_square_grid_are_found() {
    let graph = pattern("stencil:16x16,shuffle=3").unwrap();
    let tree = nodes(&[16; 16]);
    // Blocks of 4 x 4: three lines of 16 edges in both directions.
    for name in ["nodecart", "hyperplane", "kd-tree", "stencil-strips"] {
        assert_eq!(cut_by(name, &graph, &tree), 96, "{name}");
    }
    assert_eq!(cut_by("grid-rows", &graph, &tree), 240);
}

/// Node sizes that do not factor well: planes, trees and strips beat blocks (CLUSTER 2020, VI).
#[test]
fn odd_grids_need_no_blocks() {
    let graph = pattern("stencil:50x48").unwrap();
    let tree = nodes(&[48; 50]);
    let blocks = cut_by("nodecart", &graph, &tree);
    for name in ["hyperplane", "kd-tree", "stencil-strips"] {
        let edges = cut_by(name, &graph, &tree);
        assert!(10 * edges < 8 * blocks, "{name}: {edges}, blocks {blocks}");
    }
}

#[test]
fn nodes_of_any_size_are_filled() {
    let graph = pattern("torus:12x10").unwrap();
    let tree = nodes(&[24, 8, 16, 24, 10, 14, 24]);
    for name in ["hyperplane", "kd-tree", "stencil-strips"] {
        let rows = cut_by("grid-rows", &graph, &tree);
        assert!(cut_by(name, &graph, &tree) <= rows, "{name}");
    }
    let problem = Problem::builder(&graph, &tree).build().unwrap();
    let error = by_name("nodecart").unwrap().map(&problem, &mut Budget::unlimited()).unwrap_err();
    assert!(error.to_string().contains("the same number of tasks"), "{error}");
}

#[test]
fn no_grid_and_no_nodes_are_explained() {
    let random = pattern("rgg:64").unwrap();
    let grid = pattern("stencil:8x8").unwrap();
    for (graph, spec, what) in
        [(&random, "tree:8:8", "form a grid"), (&grid, "torus:8x8", "several nodes")]
    {
        let topology = parse(spec).unwrap();
        let problem = Problem::builder(graph, topology.as_ref()).build().unwrap();
        for mapper in ALL {
            let error = mapper.map(&problem, &mut Budget::unlimited()).unwrap_err().to_string();
            assert!(error.contains(what) && error.contains("try:"), "{error}");
        }
    }
}

/// A grid that cannot be recognised in the graph: every task sends to the task three rows below.
#[test]
fn a_known_grid_needs_no_recognition() {
    let edges: Vec<(u32, u32, u64)> = (0..90u32 - 27).map(|v| (v, v + 27, 1)).collect();
    let graph = Graph::from_edges(90, &edges);
    let tree = nodes(&[10; 9]);
    let build = |grid| Problem::builder(&graph, &tree).task_grid(grid).build().unwrap();
    let grid = TaskGrid::new(&[10, 9], &[false; 2]);
    let outcome = by_name("hyperplane").unwrap().map(&build(grid), &mut Budget::unlimited());
    assert_eq!(cut(&graph, &tree, &outcome.unwrap().slot_of_task), 0, "one column a node");
    let more = TaskGrid::new(&[10, 10], &[false; 2]);
    let refused = Problem::builder(&graph, &tree).task_grid(more).build();
    assert!(refused.err().unwrap().to_string().contains("100 points for 90 tasks"));
}

/// The portfolio is never worse than any of them, with each preset.
#[test]
fn auto_is_never_worse_than_the_best_placement() {
    for (text, sizes) in [
        ("stencil:50x48,shuffle=2", vec![48; 50]),
        ("stencil27:25x24", vec![24; 25]),
        ("torus:15x16", vec![20, 28, 20, 28, 20, 28, 24, 24, 24, 24]),
        ("stencil:9x8x7", vec![21; 24]),
    ] {
        let graph = pattern(text).unwrap();
        let tree = nodes(&sizes);
        for preset in Preset::ALL.into_iter().filter(|p| *p != Preset::Strong) {
            let problem = Problem::builder(&graph, &tree).preset(preset).build().unwrap();
            let cost = |mapper: &dyn Mapper| {
                mapper.map(&problem, &mut Budget::unlimited()).ok().map(|o| o.hop_bytes)
            };
            let auto = cost(&Auto).unwrap();
            for mapper in ALL {
                let other = cost(mapper).unwrap_or(u128::MAX);
                assert!(auto <= other, "{text} {preset:?}: {} {other}, auto {auto}", mapper.name());
            }
        }
    }
}

/// Groups of the network are separated first. Tasks inside nodes are placed as well.
#[test]
fn all_levels_count() {
    let graph = pattern("stencil:24x20").unwrap();
    // 2 switches with 6 nodes of 2 sockets with 20 cores.
    let tree = Tree::regular(&[2, 6, 2, 20], &[1000, 100, 10, 1]).unwrap();
    let problem = Problem::builder(&graph, &tree).build().unwrap();
    let cost = |name: &str| {
        by_name(name).unwrap().map(&problem, &mut Budget::unlimited()).unwrap().hop_bytes
    };
    let rows = cost("grid-rows");
    for name in ["nodecart", "hyperplane", "kd-tree"] {
        assert!(cost(name) < rows, "{name}");
    }
    assert!(cost("auto") <= cost("hyperplane"));
}
