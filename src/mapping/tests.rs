//! Properties of every registered algorithm, checked with problems of all kinds.

use super::*;
use crate::base::error::ErrorKind;
use crate::matrix::{Graph, synthetic::pattern};
use crate::metrics;
use crate::topology::{Grid, Topology, Tree};
use proptest::prelude::*;

fn machines() -> Vec<Box<dyn Topology>> {
    let irregular: Vec<Vec<u32>> = [
        [0, 0],
        [0, 0],
        [0, 0],
        [0, 1],
        [1, 0],
        [1, 1],
        [1, 1],
        [2, 0],
        [2, 0],
        [2, 0],
        [2, 0],
        [2, 1],
    ]
    .map(Vec::from)
    .to_vec();
    vec![
        Box::new(Tree::regular(&[3, 2, 2], &[100, 10, 1]).unwrap()),
        Box::new(Tree::from_paths(&irregular, &[9, 3, 1]).unwrap()),
        Box::new(Grid::torus(&[3, 4]).unwrap()),
        Box::new(Grid::mesh(&[2, 3, 2]).unwrap()),
        Box::new(Tree::regular(&[2, 3, 2], &[1 << 40, 1 << 21, 3]).unwrap()),
    ]
}

/// Runs twice; checks validity, the reported cost and determinism. `None` if not applicable.
fn checked(mapper: &dyn Mapper, problem: &Problem<'_>) -> Option<Outcome> {
    let outcome = match mapper.map(problem, &mut Budget::unlimited()) {
        Ok(outcome) => outcome,
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::Infeasible, "{}: {error}", mapper.name());
            return None;
        }
    };
    let name = mapper.name();
    problem.check(&outcome.slot_of_task).unwrap_or_else(|e| panic!("{name}: {e}"));
    assert_eq!(problem.slots_of(&outcome.place_of_task), outcome.slot_of_task, "{name}");
    let cost = metrics::hop_bytes(problem.graph(), problem.topology(), &outcome.slot_of_task);
    assert_eq!(outcome.hop_bytes, cost, "{name}");
    let threads = &mut Budget::unlimited().with_threads(2);
    assert_eq!(mapper.map(problem, threads).unwrap(), outcome, "{name} is not deterministic");
    Some(outcome)
}

fn identity_cost(problem: &Problem<'_>) -> u128 {
    Identity.map(problem, &mut Budget::unlimited()).unwrap().hop_bytes
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn all_algorithms_answer_validly(
        raw in prop::collection::vec((0u32..12, 0u32..12, 0u64..50), 0..40),
        tasks in 1usize..=12, machine in 0usize..5, seed in 0u64..9,
        fixed in prop::collection::btree_map(0u32..12, 0usize..12, 0..3),
        size in 0usize..3)
    {
        let machine = &machines()[machine];
        let edges: Vec<(u32, u32, u64)> =
            raw.iter().map(|&(a, b, w)| (a, b, [w, w << 50, u64::MAX - w][size])).collect();
        let graph = Graph::from_edges(tasks, &edges);
        let mut builder = Problem::builder(&graph, machine.as_ref()).seed(seed);
        let mut used = Vec::new();
        for (&task, &slot) in &fixed {
            if (task as usize) < tasks && !used.contains(&slot) {
                builder = builder.fix(task, slot);
                used.push(slot);
            }
        }
        let problem = builder.build().unwrap();
        for mapper in registry() {
            checked(*mapper, &problem);
        }
        let auto = Auto.map(&problem, &mut Budget::unlimited()).unwrap();
        prop_assert!(auto.hop_bytes <= identity_cost(&problem));
    }
}

#[test]
fn capacities_and_chosen_slots_are_honoured() {
    let graph = pattern("rgg:16,shuffle=1").unwrap();
    for machine in machines() {
        let slots: Vec<usize> = (1..9).rev().collect();
        let problem = Problem::builder(&graph, machine.as_ref())
            .slots(&slots)
            .capacities(&[1, 2, 3, 2, 2, 3, 2, 2])
            .fix(5, 4)
            .build()
            .unwrap();
        for preset in Preset::ALL {
            let problem = Problem::builder(&graph, machine.as_ref())
                .slots(&slots)
                .capacities(&[1, 2, 3, 2, 2, 3, 2, 2])
                .preset(preset)
                .build()
                .unwrap();
            assert!(checked(&Auto, &problem).unwrap().hop_bytes <= identity_cost(&problem));
        }
        checked(&Auto, &problem);
    }
}

#[test]
fn every_objective_is_never_worse_than_the_given_order() {
    let graph = pattern("powerlaw:12,shuffle=1").unwrap();
    for machine in machines() {
        for objective in Objective::ALL {
            let problem =
                Problem::builder(&graph, machine.as_ref()).objective(objective).build().unwrap();
            let slots = checked(&Auto, &problem).unwrap().slot_of_task;
            let given = problem.slots_of(&problem.identity_places());
            let value = |slots: &[usize]| evaluation::value(&problem, slots);
            assert!(value(&slots) <= value(&given), "{objective:?} on {}", machine.name());
        }
    }
}

#[test]
fn the_time_is_never_worse_than_that_of_other_answers() {
    let cases = [
        ("torus:3x4,routing=adaptive", "powerlaw:12,shuffle=2"),
        ("fattree:2:3:2@2:1,routing=ecmp", "rgg:12,shuffle=2"),
        ("dragonfly:3x2x2,routing=adaptive,message=50", "fft:8,shuffle=2"),
        ("mesh:3x4,injection=0.5", "powerlaw:12,shuffle=2"),
    ];
    for (spec, text) in cases {
        let graph = pattern(text).unwrap();
        let machine = crate::topology::parse(spec).unwrap();
        let answer = |objective| {
            let build = Problem::builder(&graph, machine.as_ref()).objective(objective);
            let problem = build.preset(Preset::Fast).build().unwrap();
            let slots = Auto.map(&problem, &mut Budget::unlimited()).unwrap().slot_of_task;
            let given = problem.slots_of(&problem.identity_places());
            let time = |slots: &[usize]| evaluation::time(&problem, slots).unwrap().slowest;
            (time(&slots), time(&given))
        };
        let (time, given) = answer(Objective::Time);
        for other in [given, answer(Objective::HopBytes).0, answer(Objective::Mc).0] {
            assert!(time <= other * (1.0 + 1e-9), "{text} on {spec}: {time} and {other}");
        }
    }
}

/// The rounds in which equal times are simulated can lower the predicted time. A stronger preset left out those of a weaker
/// one if its own answer was better than the one from which the weaker preset went on.
#[test]
fn regression_stronger_presets_have_the_rounds_of_weaker_ones() {
    let machine = crate::topology::parse("dragonfly:4x2x2@4:1:1,routing=adaptive").unwrap();
    let edges = [
        (0, 7, 50),
        (0, 12, 130),
        (1, 7, 130),
        (2, 10, 10),
        (2, 6, 80),
        (3, 13, 10),
        (3, 7, 20),
        (3, 11, 20),
        (6, 7, 80),
        (7, 12, 80),
        (7, 8, 20),
        (10, 12, 30),
        (11, 14, 50),
        (12, 15, 30),
    ];
    let graph = Graph::from_edges(16, &edges);
    let mut last = f64::INFINITY;
    for preset in Preset::ALL {
        let build = Problem::builder(&graph, machine.as_ref()).objective(Objective::Time);
        let problem = build.preset(preset).seed(619).build().unwrap();
        let slots = Auto.map(&problem, &mut Budget::unlimited()).unwrap().slot_of_task;
        let time = evaluation::time(&problem, &slots).unwrap().slowest;
        assert!(time <= last, "{preset:?}: {time} after {last}");
        last = time;
    }
}

#[test]
fn a_meaningful_order_is_never_made_worse() {
    let never_worse = |text: &str, preset, objective| {
        let graph = pattern(text).unwrap();
        for machine in machines() {
            let build = Problem::builder(&graph, machine.as_ref());
            let problem = build.preset(preset).objective(objective).build().unwrap();
            let slots = Auto.map(&problem, &mut Budget::unlimited()).unwrap().slot_of_task;
            let given = problem.slots_of(&problem.identity_places());
            let value = |slots: &[usize]| evaluation::value(&problem, slots);
            let name = machine.name();
            assert!(value(&slots) <= value(&given), "{text}, {objective:?} on {name}");
        }
    };
    for text in ["stencil:4x3", "torus:3x4", "stencil:3x2x2", "rgg:12", "powerlaw:12", "fft:8"] {
        for objective in Objective::ALL {
            never_worse(text, Preset::Fast, objective);
        }
    }
    for preset in Preset::ALL {
        never_worse("stencil:4x3", preset, Objective::HopBytes);
    }
}

#[test]
fn more_slots_than_tasks_uses_the_close_ones() {
    let graph = pattern("stencil:4x2,shuffle=3").unwrap();
    let tree = Tree::regular(&[4, 8], &[10, 1]).unwrap();
    let problem = Problem::builder(&graph, &tree).fix(3, 17).build().unwrap();
    let outcome = checked(&Auto, &problem).unwrap();
    assert_eq!(outcome.hop_bytes, graph.total_weight(), "all in the node of slot 17");
    let mesh = Grid::mesh(&[9, 9]).unwrap();
    let problem = Problem::builder(&graph, &mesh).build().unwrap();
    assert_eq!(checked(&Auto, &problem).unwrap().hop_bytes, graph.total_weight());
}

#[test]
fn grids_on_grids_are_perfect() {
    for (text, machine) in [
        ("stencil:8x8", Grid::torus(&[4, 4, 4])),
        ("stencil:8x8", Grid::mesh(&[8, 8])),
        ("torus:6x5x4", Grid::torus(&[4, 5, 6])),
        ("torus:8x8x8", Grid::torus(&[8, 8, 8])),
        ("stencil:64x48", Grid::mesh(&[48, 64])),
    ] {
        let graph = pattern(&format!("{text},shuffle=4")).unwrap();
        let machine = machine.unwrap();
        let problem = Problem::builder(&graph, &machine).build().unwrap();
        let outcome = Auto.map(&problem, &mut Budget::unlimited()).unwrap();
        assert_eq!(outcome.hop_bytes, graph.total_weight(), "{text} on {}", machine.name());
    }
}

#[test]
fn stencils_on_trees_reach_the_known_optima() {
    for (text, arity, optimum) in
        [("stencil:32x32", [32, 16, 2], 44_032), ("stencil:8x8x8", [16, 8, 4], 37_632)]
    {
        let graph = pattern(&format!("{text},shuffle=4")).unwrap();
        let tree = Tree::regular(&arity, &[100, 10, 1]).unwrap();
        let build = || Problem::builder(&graph, &tree).preset(Preset::Fast);
        let free = build().build().unwrap();
        let outcome = Auto.map(&free, &mut Budget::unlimited()).unwrap();
        assert_eq!(outcome.hop_bytes, optimum);
        // To fix task 0 on slot 0, as the preloaded library does, costs nothing, because whole groups can be
        // exchanged.
        let fixed = build().fix(0, 0).build().unwrap();
        assert_eq!(Auto.map(&fixed, &mut Budget::unlimited()).unwrap().hop_bytes, optimum);
    }
}

#[test]
fn an_expired_budget_still_gives_a_valid_answer() {
    let graph = pattern("rgg:300").unwrap();
    let tree = Tree::regular(&[10, 30], &[10, 1]).unwrap();
    let problem = Problem::builder(&graph, &tree).build().unwrap();
    let outcome = Auto.map(&problem, &mut Budget::within(std::time::Duration::ZERO)).unwrap();
    problem.check(&outcome.slot_of_task).unwrap();
    assert!(outcome.hop_bytes <= identity_cost(&problem));
}

#[test]
fn large_graphs_are_renumbered_and_back() {
    let graph = pattern("rgg:12000,shuffle=2").unwrap();
    let tree = Tree::regular(&[30, 20, 20], &[100, 10, 1]).unwrap();
    let problem = Problem::builder(&graph, &tree)
        .preset(Preset::Fast)
        .fix(0, 0)
        .fix(77, 300)
        .build()
        .unwrap();
    let outcome = checked(&Auto, &problem).unwrap();
    assert!(outcome.hop_bytes * 5 < identity_cost(&problem));
}

#[test]
fn grids_on_scattered_nodes_keep_their_order() {
    let graph = pattern("stencil:4x4x4,shuffle=3").unwrap();
    let torus = Grid::torus(&[8, 8, 8]).unwrap();
    let slots: Vec<usize> = (0..512).filter(|s| s * 37 % 512 < 64).collect();
    for preset in [Preset::Fast, Preset::Default] {
        let problem =
            Problem::builder(&graph, &torus).slots(&slots).preset(preset).build().unwrap();
        let cost = |name: &str| {
            let outcome = by_name(name).unwrap().map(&problem, &mut Budget::unlimited()).unwrap();
            problem.check(&outcome.slot_of_task).unwrap();
            outcome.hop_bytes
        };
        assert!(cost("auto") <= cost("geom"), "{preset:?}");
    }
}
