use super::*;
use crate::mapping::{Preset, by_name, registry};
use crate::matrix::{Graph, TrafficSketch, synthetic::pattern};
use crate::topology::parse;
use proptest::prelude::*;

fn total(previous: &Previous, r: &Remapped) -> u128 {
    r.outcome.hop_bytes + u128::from(previous.migration_cost) * r.moved as u128
}

/// The higher the price of a move, the fewer tasks move. With a price of 0 the result is a fresh mapping. With
/// a very high price only the tasks move that have to.
#[test]
fn the_price_decides_how_much_moves() {
    for spec in ["tree:4:8:4@1:10:100", "torus:8x16", "dragonfly:8x4x4"] {
        let topology = parse(spec).unwrap();
        let graph = pattern("rgg:100,shuffle=3").unwrap();
        let auto = by_name("auto").unwrap();
        let builder = || Problem::builder(&graph, topology.as_ref()).preset(Preset::Fast);
        let all = builder().build().unwrap();
        let before = auto.map(&all, &mut Budget::unlimited()).unwrap();
        // Five of the slots in use are gone.
        let gone: Vec<usize> = before.slot_of_task.iter().copied().step_by(20).collect();
        let left: Vec<usize> = (0..128).filter(|s| !gone.contains(s)).collect();
        let problem = builder().slots(&left).build().unwrap();
        let run = |migration_cost| {
            let previous = Previous { slot_of_task: before.slot_of_task.clone(), migration_cost };
            let answer = remap(&problem, &previous, auto, &mut Budget::unlimited()).unwrap();
            problem.check(&answer.outcome.slot_of_task).unwrap();
            assert_eq!(answer.moved, previous.moved(&answer.outcome.slot_of_task));
            assert_eq!(answer.forced, 5);
            assert_eq!(remap(&problem, &previous, auto, &mut Budget::unlimited()).unwrap(), answer);
            answer
        };
        let fresh = auto.map(&problem, &mut Budget::unlimited()).unwrap();
        let (free, cheap, dear) = (run(0), run(20), run(u64::MAX));
        assert!(free.outcome.hop_bytes <= fresh.hop_bytes, "{spec}");
        assert_eq!(dear.moved, 5, "{spec}");
        assert!(cheap.moved <= free.moved.max(5), "{spec}");
        assert!(cheap.moved < 50, "{spec}: {} moved", cheap.moved);
        for price in [0, 20, u64::MAX] {
            let previous =
                Previous { slot_of_task: before.slot_of_task.clone(), migration_cost: price };
            let best = total(&previous, &run(price));
            for other in [&free, &cheap, &dear] {
                assert!(best <= total(&previous, other), "{spec} at {price}");
            }
        }
    }
}

/// A fresh mapping of the same problem equals the old one except for symmetries, so no task has to move.
#[test]
fn nothing_moves_when_nothing_changed() {
    let graph = pattern("rgg:128,shuffle=1").unwrap();
    let topology = parse("tree:4:4:8@1:10:100").unwrap();
    let problem = Problem::builder(&graph, topology.as_ref()).build().unwrap();
    let auto = by_name("auto").unwrap();
    let first = auto.map(&problem, &mut Budget::unlimited()).unwrap();
    // The same mapping with the nodes in another order.
    let turned: Vec<usize> = first.slot_of_task.iter().map(|s| (s + 48) % 128).collect();
    for slot_of_task in [first.slot_of_task.clone(), turned] {
        let previous = Previous { slot_of_task, migration_cost: 1000 };
        let answer = remap(&problem, &previous, auto, &mut Budget::unlimited()).unwrap();
        assert_eq!((answer.moved, answer.forced), (0, 0));
    }
}

#[test]
fn wrong_requests_are_refused() {
    let graph = Graph::from_edges(2, &[(0, 1, 1)]);
    let topology = parse("torus:4").unwrap();
    let auto = by_name("auto").unwrap();
    let build = |o| Problem::builder(&graph, topology.as_ref()).objective(o).build().unwrap();
    let previous = |n: usize| Previous { slot_of_task: (0..n).collect(), migration_cost: 1 };
    let run = |o, n| remap(&build(o), &previous(n), auto, &mut Budget::unlimited());
    assert!(run(Objective::HopBytes, 3).is_err());
    assert!(run(Objective::Mc, 2).is_err());
    assert!(run(Objective::TotalHops, 2).is_ok());
    assert_eq!(run(Objective::HopBytes, 1).unwrap().moved, 0, "new tasks move for free");
}

/// The graph with the heaviest edge of some tasks moved to other tasks.
fn with_moved_edges(graph: &Graph, every: usize) -> Graph {
    let n = graph.vertices();
    let edges: Vec<(u32, u32, u64)> = (0..n)
        .flat_map(|v| graph.arcs(v).map(move |(u, w)| (v as u32, u, w)))
        .filter(|e| e.0 < e.1)
        .enumerate()
        .map(|(k, (v, u, w))| match k % every {
            0 => (v, ((u as usize + n / 3) % n) as u32, w),
            _ => (v, u, w),
        })
        .collect();
    Graph::from_edges(n, &edges)
}

#[test]
fn a_small_change_needs_no_search() {
    for spec in ["tree:4:4:8@1:10:100", "torus:8x16", "dragonfly:4x4x8"] {
        let topology = parse(spec).unwrap();
        let before = pattern("rgg:128,shuffle=3").unwrap();
        let auto = by_name("auto").unwrap();
        let builder = |graph| Problem::builder(graph, topology.as_ref());
        let first = auto.map(&builder(&before).build().unwrap(), &mut Budget::unlimited()).unwrap();
        let previous = Previous { slot_of_task: first.slot_of_task.clone(), migration_cost: 0 };
        let (few, many) = (with_moved_edges(&before, 100), with_moved_edges(&before, 2));
        let sketch = TrafficSketch::new(&before);
        for basis in [Basis::Graph(&before), Basis::Sketch(&sketch)] {
            let budget = &Budget::unlimited();
            let same = adapt(&builder(&before).build().unwrap(), &previous, basis, budget).unwrap();
            assert!(same.outcome.hop_bytes <= first.hop_bytes, "{spec}");
            let problem = builder(&few).build().unwrap();
            let answer = adapt(&problem, &previous, basis, budget).unwrap();
            problem.check(&answer.outcome.slot_of_task).unwrap();
            assert_eq!(answer.moved, previous.moved(&answer.outcome.slot_of_task));
            let kept = crate::metrics::hop_bytes(&few, topology.as_ref(), &first.slot_of_task);
            assert!(answer.outcome.hop_bytes <= kept, "{spec}");
            let anew = auto.map(&problem, &mut Budget::unlimited()).unwrap().hop_bytes as f64;
            assert!(answer.outcome.hop_bytes as f64 <= 1.02 * anew, "{spec} {answer:?} {anew}");
            let dear = Previous { migration_cost: u64::MAX, ..previous.clone() };
            assert_eq!(adapt(&problem, &dear, basis, budget).unwrap().moved, 0, "{spec}");
            let other = builder(&many).build().unwrap();
            assert_eq!(adapt(&other, &previous, basis, budget), None, "{spec}: much changed");
            let other = builder(&many).preset(Preset::Fast).build().unwrap();
            let searched = remap_from(&other, &previous, basis, auto, &mut budget.clone()).unwrap();
            let anew = remap(&other, &previous, auto, &mut budget.clone()).unwrap();
            assert_eq!(searched, anew, "{spec}");
        }
    }
}

/// A previous mapping that is far from a local optimum, or worse than the given order, is no start.
#[test]
fn a_bad_mapping_is_not_adapted() {
    let graph = pattern("stencil:16x16").unwrap();
    let topology = parse("tree:4:8:8@1:10:100").unwrap();
    let problem = Problem::builder(&graph, topology.as_ref()).build().unwrap();
    let previous =
        Previous { slot_of_task: (0..256).map(|t| t * 97 % 256).collect(), migration_cost: 0 };
    let budget = &Budget::unlimited();
    assert_eq!(adapt(&problem, &previous, Basis::Graph(&graph), budget), None);
    for wrong in [vec![0; 256], (0..255).collect(), (0..257).collect(), vec![999; 256]] {
        let previous = Previous { slot_of_task: wrong, migration_cost: 0 };
        assert_eq!(adapt(&problem, &previous, Basis::Graph(&graph), budget), None);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn an_adapted_mapping_is_valid_and_never_worse(
        edges in prop::collection::vec((0u32..10, 0u32..10, 1u64..50), 1..30),
        more in prop::collection::vec((0u32..10, 0u32..10, 1u64..3), 0..3),
        seed in 0usize..1000,
        price in prop::sample::select(vec![0u64, 1, 7, 100, u64::MAX]),
        spec in 0usize..3,
    ) {
        let topology = parse(["tree:2:2:3@1:5:9", "torus:3x4", "mesh:12"][spec]).unwrap();
        let before = Graph::from_edges(10, &edges);
        let after = Graph::from_edges(10, &[&edges[..], &more].concat());
        let slot_of_task: Vec<usize> = (0..10).map(|t| (t * 5 + seed) % 12).collect();
        let problem = Problem::builder(&after, topology.as_ref())
            .capacities(&[2; 12])
            .fix(3, slot_of_task[3])
            .build()
            .unwrap();
        let previous = Previous { slot_of_task, migration_cost: price };
        if let Some(answer) = adapt(&problem, &previous, Basis::Graph(&before), &Budget::unlimited()) {
            prop_assert!(problem.check(&answer.outcome.slot_of_task).is_ok());
            let cost = |slots: &[usize]| {
                let moved = u128::from(price) * previous.moved(slots) as u128;
                crate::metrics::hop_bytes(&after, topology.as_ref(), slots) + moved
            };
            let now = cost(&answer.outcome.slot_of_task);
            prop_assert_eq!(now, total(&previous, &answer));
            prop_assert!(now <= cost(&previous.slot_of_task));
            prop_assert!(now <= cost(&problem.slots_of(&problem.identity_places())));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn every_algorithm_answers_validly(
        edges in prop::collection::vec((0u32..10, 0u32..10, 1u64..50), 0..30),
        before in prop::collection::vec(0usize..16, 0..=10),
        slots in prop::collection::btree_set(0usize..12, 5..12),
        capacity in 2u32..3,
        price in prop::sample::select(vec![0u64, 1, 7, 100, u64::MAX]),
        spec in 0usize..3,
        fixed in 0usize..5,
    ) {
        let topology = parse(["tree:2:2:3@1:5:9", "torus:3x4", "mesh:12"][spec]).unwrap();
        let graph = Graph::from_edges(10, &edges);
        let slots: Vec<usize> = slots.into_iter().collect();
        let problem = Problem::builder(&graph, topology.as_ref())
            .slots(&slots)
            .capacities(&vec![capacity; slots.len()])
            .fix(3, slots[fixed])
            .build()
            .unwrap();
        let previous = Previous { slot_of_task: before, migration_cost: price };
        for mapper in registry() {
            let Ok(fresh) = mapper.map(&problem, &mut Budget::unlimited()) else { continue };
            let answer = remap(&problem, &previous, *mapper, &mut Budget::unlimited()).unwrap();
            prop_assert!(problem.check(&answer.outcome.slot_of_task).is_ok(), "{}", mapper.name());
            let moved = previous.moved(&fresh.slot_of_task);
            let fresh = fresh.hop_bytes + u128::from(price) * moved as u128;
            prop_assert!(total(&previous, &answer) <= fresh, "{}", mapper.name());
        }
    }
}
