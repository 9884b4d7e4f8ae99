//! Properties of the mapping of weighted tasks, with every algorithm.

use super::*;
use crate::base::error::ErrorKind;
use crate::mapping::{Budget, Objective, Preset, Problem, by_name, registry};
use crate::matrix::{Graph, synthetic::pattern};
use crate::metrics;
use crate::topology::parse;
use proptest::prelude::*;

fn spread(n: usize, seed: u64) -> Vec<u64> {
    (0..n as u64)
        .map(|t| 1 + (t.wrapping_mul(2_654_435_761).wrapping_add(seed) >> 7) % 20)
        .collect()
}

#[test]
fn equal_tasks_fill_slots_equally() {
    let graph = pattern("stencil:16x16,shuffle=1").unwrap();
    let topology = parse("tree:4:4@1:10").unwrap();
    let loads = Loads::new(vec![7; 256], 0.0).unwrap();
    for preset in Preset::ALL {
        let builder = Problem::builder(&graph, topology.as_ref()).preset(preset);
        let auto = by_name("auto").unwrap();
        let answer = map_with_loads(builder, &loads, auto, &mut Budget::unlimited()).unwrap();
        assert!(loads.of_slots(16, &answer.slot_of_task).iter().all(|&l| l == 16 * 7));
        // 4x4 blocks in 8x8 blocks: 2·16 edges cross at 10, 8·8 ... inside at 1.
        let cost = metrics::hop_bytes(&graph, topology.as_ref(), &answer.slot_of_task);
        assert!(cost <= 32 * 10 + 64 + 40, "{cost}");
    }
}

#[test]
fn beats_the_given_orders() {
    for (text, spec) in [("rgg:600,shuffle=2", "torus:5x5"), ("spmv:900", "tree:6:4@1:10")] {
        let graph = pattern(text).unwrap();
        let topology = parse(spec).unwrap();
        let loads = Loads::new(spread(graph.vertices(), 3), 0.05).unwrap();
        let answer = map_with_loads(
            Problem::builder(&graph, topology.as_ref()),
            &loads,
            by_name("auto").unwrap(),
            &mut Budget::unlimited(),
        )
        .unwrap();
        let most =
            loads.of_slots(topology.slots(), &answer.slot_of_task).into_iter().max().unwrap();
        let mean = loads.total() as f64 / topology.slots() as f64;
        assert!(most as f64 <= 1.05 * mean + 1.0, "{most} of {mean}");
        let slots = topology.slots();
        let blocks: Vec<usize> =
            (0..graph.vertices()).map(|t| t * slots / graph.vertices()).collect();
        let cost = |m: &[usize]| metrics::hop_bytes(&graph, topology.as_ref(), m);
        assert!(cost(&answer.slot_of_task) < cost(&blocks), "{text}");
    }
}

#[test]
fn wrong_loads_are_refused() {
    assert_eq!(Loads::new(vec![1], -0.1).unwrap_err().kind(), ErrorKind::Usage);
    assert!(Loads::new(vec![1], f64::NAN).is_err());
    let graph = Graph::from_edges(8, &[(0, 1, 1)]);
    let topology = parse("tree:2:2").unwrap();
    let auto = by_name("auto").unwrap();
    let run = |builder, loads: Vec<u64>| {
        map_with_loads(builder, &Loads::new(loads, 0.0).unwrap(), auto, &mut Budget::unlimited())
    };
    let builder = || Problem::builder(&graph, topology.as_ref());
    assert!(run(builder(), vec![1; 7]).is_err());
    assert!(run(builder().fix(9, 0), vec![1; 8]).is_err());
    assert!(run(builder().fix(0, 9), vec![1; 8]).is_err());
    assert!(run(builder().fix(0, 1).fix(0, 2), vec![1; 8]).is_err());
    assert!(run(builder().fix(0, 1).fix(0, 1), vec![1; 8]).is_ok());
    // Loads beyond 64 bits in sum, and none at all.
    assert!(run(builder(), vec![u64::MAX; 8]).is_ok());
    assert!(run(builder(), vec![0; 8]).is_ok());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]
    #[test]
    fn every_algorithm_keeps_the_limit(
        edges in prop::collection::vec((0u32..20, 0u32..20, 1u64..50), 0..60),
        weights in prop::collection::vec(0u64..30, 20),
        heavy in 0u64..1000,
        spec in 0usize..3,
        fixed in prop::collection::btree_map(0u32..20, 0usize..6, 0..4),
        objective in 0usize..7,
    ) {
        let topology = parse(["tree:2:3@1:9", "torus:2x3", "mesh:6"][spec]).unwrap();
        let graph = Graph::from_edges(20, &edges);
        let mut weights = weights;
        weights[3] += heavy;
        let loads = Loads::new(weights.clone(), 0.1).unwrap();
        for mapper in registry() {
            let mut builder = Problem::builder(&graph, topology.as_ref())
                .objective(Objective::ALL[objective]);
            for (&task, &slot) in &fixed {
                builder = builder.fix(task, slot);
            }
            let answer = match map_with_loads(builder, &loads, *mapper, &mut Budget::unlimited()) {
                Ok(answer) => answer,
                Err(error) => {
                    prop_assert_eq!(error.kind(), ErrorKind::Infeasible);
                    continue;
                }
            };
            prop_assert_eq!(answer.slot_of_task.len(), 20);
            for (&task, &slot) in &fixed {
                prop_assert_eq!(answer.slot_of_task[task as usize], slot, "{}", mapper.name());
            }
            let sums = loads.of_slots(topology.slots(), &answer.slot_of_task);
            prop_assert!(sums.iter().all(|&s| s <= answer.limit), "{}", mapper.name());
            // The limit itself is honest: not above list scheduling's 4/3 and what is fixed.
            if fixed.is_empty() {
                let mean = loads.total() as f64 / 6.0;
                let heaviest = *weights.iter().max().unwrap() as f64;
                let best = (mean.max(heaviest) * 1.1).max(mean.max(heaviest) * 4.0 / 3.0 + heaviest / 3.0);
                prop_assert!(answer.limit as f64 <= best + 1.0, "{} {}", answer.limit, best);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    /// Weighted tasks mapped again: no slot above the limit, fixed tasks in place, moves counted
    /// right, and never dearer than the previous mapping itself where that may stay.
    #[test]
    fn moves_of_weighted_tasks_pay(seed in 0u64..1000, price in 0u64..2000, gone in 0usize..9) {
        let graph = pattern(&format!("rgg:60,seed={seed}")).unwrap();
        let topology = parse("torus:3x3").unwrap();
        let loads = Loads::new(spread(60, seed), 0.3).unwrap();
        let auto = by_name("auto").unwrap();
        let budget = &mut Budget::unlimited();
        let all = Problem::builder(&graph, topology.as_ref()).preset(Preset::Fast);
        let before = map_with_loads(all.clone(), &loads, auto, budget).unwrap();
        let slots: Vec<usize> = (0..9).filter(|&s| s != gone).collect();
        let previous = crate::mapping::Previous {
            slot_of_task: before.slot_of_task.clone(),
            migration_cost: price,
        };
        let fixed = (7u32, slots[seed as usize % 8]);
        let less = all.clone().slots(&slots).fix(fixed.0, fixed.1);
        let answer = remap_with_loads(less, &loads, &previous, auto, budget).unwrap();
        let now = &answer.mapping.slot_of_task;
        prop_assert!(now.iter().all(|s| slots.contains(s)));
        prop_assert_eq!(now[7], fixed.1);
        prop_assert_eq!(answer.moved, previous.moved(now));
        prop_assert_eq!(answer.forced, before.slot_of_task.iter().filter(|&&s| s == gone).count());
        prop_assert!(answer.moved >= answer.forced);
        let most = loads.of_slots(9, now).into_iter().max().unwrap();
        prop_assert!(most <= answer.mapping.limit, "{} of {}", most, answer.mapping.limit);
        let same = remap_with_loads(all, &loads, &previous, auto, budget).unwrap();
        let cost = |m: &[usize]| metrics::hop_bytes(&graph, topology.as_ref(), m);
        let paid = cost(&same.mapping.slot_of_task) + u128::from(price) * same.moved as u128;
        prop_assert!(paid <= cost(&before.slot_of_task));
    }
}
