//! Any small problem, any algorithm: an answer that keeps every promise, or an error.

use arbitrary::Arbitrary;
use rankweave::mapping::{Budget, Objective, Preset, Problem, registry};
use rankweave::matrix::{Graph, SparseMatrix, Traffic};
use rankweave::topology::{Topology, parse};

#[derive(Arbitrary, Debug)]
struct Input {
    algorithm: u8,
    objective: u8,
    topology: u8,
    tasks: u8,
    seed: u64,
    fixed: Vec<(u8, u8)>,
    slots: Option<Vec<u8>>,
    capacities: Vec<u8>,
    traffic: Vec<(u8, u8, u64)>,
}

const MACHINES: [&str; 8] = [
    "tree:2:3:2@1:10:100",
    "torus:3x4",
    "mesh:2x3x2",
    "hypercube:4",
    "dragonfly:3x2x2",
    "fattree:2:3:3",
    "tree:5",
    "4:2:2/7:7:9",
];

/// Runs an algorithm on a problem; `bytes` choose both.
pub fn algorithm(bytes: &[u8]) {
    let Some(input) = super::decoded::<Input>(bytes) else { return };
    let tasks = usize::from(input.tasks % 25);
    let entries: Vec<(u32, u32, Traffic)> = input
        .traffic
        .iter()
        .take(200)
        .map(|&(i, j, bytes)| (u32::from(i), u32::from(j), Traffic { bytes, messages: 1 }))
        .filter(|&(i, j, _)| (i as usize) < tasks && (j as usize) < tasks)
        .collect();
    let matrix = SparseMatrix::from_entries(tasks, &entries);
    let graph = Graph::from_traffic(&matrix);
    let machine = MACHINES[usize::from(input.topology) % MACHINES.len()];
    let topology: Box<dyn Topology> = parse(machine).expect("a right description");
    let slots: Vec<usize> = match &input.slots {
        Some(list) => list.iter().take(32).map(|&s| usize::from(s)).collect(),
        None => (0..topology.slots()).collect(),
    };
    let mut capacities: Vec<u32> = input.capacities.iter().map(|&c| u32::from(c % 4)).collect();
    capacities.resize(slots.len(), 1);
    let mut builder = Problem::builder(&graph, topology.as_ref())
        .slots(&slots)
        .capacities(&capacities)
        .traffic(&matrix)
        .objective(Objective::ALL[usize::from(input.objective) % Objective::ALL.len()])
        .preset(Preset::Fast)
        .seed(input.seed);
    for &(task, slot) in input.fixed.iter().take(6) {
        builder = builder.fix(u32::from(task), usize::from(slot));
    }
    let Ok(problem) = builder.build() else { return };
    let mapper = registry()[usize::from(input.algorithm) % registry().len()];
    let Ok(outcome) = mapper.map(&problem, &mut Budget::unlimited()) else { return };
    problem.check(&outcome.slot_of_task).expect("an answer keeps the constraints");
    let again = mapper.map(&problem, &mut Budget::unlimited()).expect("as before");
    assert_eq!(again.slot_of_task, outcome.slot_of_task, "{}", mapper.name());
    if mapper.name() == "auto" && problem.objective() == Objective::HopBytes {
        let given = problem.slots_of(&problem.identity_places());
        let cost =
            |slots: &[usize]| rankweave::metrics::hop_bytes(&graph, topology.as_ref(), slots);
        assert!(outcome.hop_bytes <= cost(&given));
    }
}
