//! Properties of every algorithm of the papers: a valid answer that fills each place at most once, fixed tasks
//! on their places, the same answer each time, and a cost that equals that of the evaluator.

use super::ALL;
use crate::base::error::ErrorKind;
use crate::mapping::{Budget, Mapper, Problem};
use crate::matrix::Graph;
use crate::metrics;
use crate::topology::parse;
use proptest::prelude::*;

/// A stencil on a grid of these sides, numbered with the last one fastest.
pub(super) fn stencil(sides: &[usize]) -> Graph {
    let n: usize = sides.iter().product();
    let mut edges = Vec::new();
    let mut stride = n;
    for &side in sides {
        stride /= side;
        for v in 0..n {
            if v / stride % side + 1 < side {
                edges.push((v as u32, (v + stride) as u32, 10));
            }
        }
    }
    Graph::from_edges(n, &edges)
}

/// Runs an algorithm twice and checks the properties that all algorithms have. `None` if the algorithm does not apply
/// to the problem.
fn checked(mapper: &dyn Mapper, problem: &Problem) -> Option<u128> {
    let first = match mapper.map(problem, &mut Budget::unlimited()) {
        Ok(outcome) => outcome,
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::Infeasible, "{}: {error}", mapper.name());
            assert!(error.to_string().contains("try:"), "{}: {error}", mapper.name());
            return None;
        }
    };
    if let Err(error) = problem.check(&first.slot_of_task) {
        panic!("{} on {}: {error}", mapper.name(), problem.topology().name());
    }
    let cost = metrics::hop_bytes(problem.graph(), problem.topology(), &first.slot_of_task);
    assert_eq!(first.hop_bytes, cost, "{}", mapper.name());
    let mut taken = vec![false; problem.places().len()];
    for &place in &first.place_of_task {
        assert!(!std::mem::replace(&mut taken[place as usize], true), "{}", mapper.name());
    }
    let again = mapper.map(problem, &mut Budget::unlimited()).unwrap();
    assert_eq!(first, again, "{} is not deterministic", mapper.name());
    Some(cost)
}

#[test]
fn valid_on_every_topology() {
    let stencil = stencil(&[4, 4]);
    let ring: Vec<(u32, u32, u64)> = (0..12).map(|v| (v, (v + 1) % 12, u64::from(v) + 1)).collect();
    let ring = Graph::from_edges(12, &ring);
    let empty = Graph::from_edges(5, &[]);
    let single = Graph::from_edges(1, &[]);
    for spec in [
        "tree:4:2:2@1:10:100",
        "tree:2:2:2:2",
        "tree:3:6",
        "torus:4x4",
        "torus:5x5",
        "mesh:16x1",
        "hypercube:4",
        "dragonfly:3x3x2",
        "fattree:2:4:2",
        "hwloc-synthetic:pack:2 l3:2 core:2 pu:2",
    ] {
        let topology = parse(spec).unwrap();
        for graph in [&stencil, &ring, &empty, &single] {
            let problem = Problem::builder(graph, topology.as_ref()).build().unwrap();
            let fixed = Problem::builder(graph, topology.as_ref()).fix(0, 7).build().unwrap();
            let odd: Vec<usize> = (0..topology.slots()).rev().step_by(2).collect();
            let crowded = Problem::builder(graph, topology.as_ref())
                .slots(&odd)
                .capacities(&vec![3; odd.len()])
                .build()
                .unwrap();
            let uneven: Vec<u32> = (0..odd.len() as u32).map(|k| 1 + k % 3).collect();
            let uneven =
                Problem::builder(graph, topology.as_ref()).slots(&odd).capacities(&uneven).build();
            for mapper in ALL {
                checked(*mapper, &problem);
                checked(*mapper, &fixed);
                checked(*mapper, &crowded);
                if let Ok(uneven) = &uneven {
                    checked(*mapper, uneven);
                }
            }
        }
    }
}

/// On these every algorithm that applies must beat a random order clearly.
#[test]
fn better_than_random() {
    let n = 64u32;
    let mix = |v: u32| (v * 37 + 11) % n;
    let plain = stencil(&[8, 8]);
    let mut edges = Vec::new();
    for v in 0..plain.vertices() {
        edges.extend(plain.arcs(v).map(|(u, w)| (mix(v as u32), mix(u), w)));
    }
    let graph = Graph::from_edges(64, &edges);
    for spec in ["torus:8x8", "tree:4:4:4@1:10:100", "fattree:8:8", "mesh:4x4x4"] {
        let topology = parse(spec).unwrap();
        let problem = Problem::builder(&graph, topology.as_ref()).build().unwrap();
        let mean = |name: &str| {
            let mapper = ALL.iter().find(|m| m.name() == name).unwrap();
            checked(*mapper, &problem).unwrap()
        };
        let random = mean("random");
        for mapper in ALL {
            if ["random", "round-robin", "packed"].contains(&mapper.name()) {
                continue;
            }
            if let Some(cost) = checked(*mapper, &problem) {
                let percent = cost * 100 / random;
                // The levels of a torus' breadth-first order are rings whose opposite points are
                // neighbours in the order: reverse Cuthill-McKee helps meshes and trees only.
                let limit = if mapper.name() == "libtopomap-rcm" { 125 } else { 90 };
                assert!(percent <= limit, "{} on {spec}: {percent} % of random", mapper.name());
            }
        }
    }
}

#[test]
fn the_documentation_lists_every_algorithm() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/algorithm-names.md");
    let text = std::fs::read_to_string(path).unwrap();
    for mapper in ALL {
        assert!(text.contains(&format!("`{}`", mapper.name())), "{}", mapper.name());
    }
}

/// Refinements must not lose what they refine, by the evaluator's count.
#[test]
fn refinements_never_worsen_their_aim() {
    for (pattern, spec) in [("spmv:144", "torus:12x12"), ("rgg:128", "mesh:4x4x8")] {
        let graph = crate::matrix::synthetic::pattern(pattern).unwrap();
        let mut entries = Vec::new();
        for v in 0..graph.vertices() {
            let cell = |bytes| crate::matrix::Traffic { bytes, messages: 1 };
            entries.extend(graph.arcs(v).map(|(u, w)| (v as u32, u, cell(w))));
        }
        let matrix = crate::matrix::SparseMatrix::from_entries(graph.vertices(), &entries);
        let topology = parse(spec).unwrap();
        let problem = Problem::builder(&graph, topology.as_ref()).build().unwrap();
        let run = |name: &str| {
            let mapper = ALL.iter().find(|m| m.name() == name).unwrap();
            let outcome = mapper.map(&problem, &mut Budget::unlimited()).unwrap();
            metrics::evaluate(&matrix, topology.as_ref(), &outcome.slot_of_task).unwrap()
        };
        let (greedy, hops) = (run("umpa-greedy"), run("umpa-wh"));
        assert!(hops.hop_bytes < greedy.hop_bytes, "{pattern}");
        assert!(run("umpa-mc").mc < hops.mc, "{pattern}");
        assert!(run("umpa-mmc").mmc <= hops.mmc, "{pattern}");
        assert!(run("refine-topolb").hop_bytes <= run("topolb").hop_bytes, "{pattern}");
    }
    let graph = stencil(&[4, 4, 2]);
    let topology = parse("mesh:6x6x4").unwrap();
    let slots: Vec<usize> = (0..144).filter(|s| s * 7 % 9 < 3).take(32).collect();
    let problem = Problem::builder(&graph, topology.as_ref()).slots(&slots).build().unwrap();
    let run = |name: &str| checked(*ALL.iter().find(|m| m.name() == name).unwrap(), &problem);
    let geom = run("geom").unwrap();
    for name in ["gsearch", "gsearch-by-rank", "gsearch-best"] {
        assert!(run(name).unwrap() < geom, "{name}");
    }
}

#[test]
fn limits_are_explained() {
    let graph = Graph::from_edges(4, &[(0, 1, 1)]);
    let topology = parse("torus:100x100").unwrap();
    let problem = Problem::builder(&graph, topology.as_ref()).build().unwrap();
    for name in ["topolb", "topolb-third-order", "hiertopomap-tree"] {
        let mapper = ALL.iter().find(|m| m.name() == name).unwrap();
        let error = mapper.map(&problem, &mut Budget::unlimited()).unwrap_err().to_string();
        assert!(error.contains("at most") && error.contains("10000"), "{error}");
    }
}

#[test]
fn time_limits_still_give_answers() {
    let graph = stencil(&[6, 6]);
    for spec in ["torus:6x6", "tree:6:6"] {
        let topology = parse(spec).unwrap();
        let problem = Problem::builder(&graph, topology.as_ref()).build().unwrap();
        for mapper in ALL {
            let mut budget = Budget::within(std::time::Duration::ZERO);
            if let Ok(outcome) = mapper.map(&problem, &mut budget) {
                assert!(problem.check(&outcome.slot_of_task).is_ok(), "{}", mapper.name());
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn valid_on_random_graphs(
        edges in prop::collection::vec((0u32..14, 0u32..14, 0u64..1000), 0..60),
        spec in 0usize..5,
        fixed in 0u32..14,
        seed in 0u64..1000,
    ) {
        let spec = ["tree:3:2:3@1:5:9", "torus:3x5", "mesh:2x3x3", "dragonfly:4x2x2", "tree:16"][spec];
        let topology = parse(spec).unwrap();
        let graph = Graph::from_edges(14, &edges);
        let problem = Problem::builder(&graph, topology.as_ref())
            .fix(fixed, (fixed as usize + 5) % 14)
            .seed(seed)
            .build()
            .unwrap();
        for mapper in ALL {
            checked(*mapper, &problem);
        }
    }
}
