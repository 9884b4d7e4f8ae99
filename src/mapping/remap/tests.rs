use super::*;
use crate::mapping::{Preset, by_name, registry};
use crate::matrix::{Graph, synthetic::pattern};
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
