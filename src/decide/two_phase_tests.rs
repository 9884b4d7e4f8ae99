use super::*;
use crate::decide::{self, Options};
use crate::matrix::{CommMatrix, SparseMatrix, Traffic};
use crate::metrics;
use crate::topology::{from_launch, parse};
use proptest::prelude::*;

const LIMIT: Duration = Duration::from_secs(60);

/// The order by both phases, as the processes of a job compute it one by one.
fn in_parts(network: &Network, topology: &dyn Topology, slots: &[usize], seeds: u64) -> Vec<u32> {
    let found = (0..seeds)
        .map(|seed| (network.search(seed, LIMIT).unwrap(), seed))
        .min_by_key(|(found, seed)| (found.cost, *seed))
        .unwrap()
        .0;
    assert!(network.accepts(&found));
    let answers: Vec<_> =
        network.parts(&found, topology, slots, 1).map(|part| part.place(LIMIT).unwrap()).collect();
    network.joined(answers.iter().map(Vec::as_slice)).unwrap()
}

/// Tasks of a square grid.
fn grid(side: u32) -> Graph {
    let edges: Vec<(u32, u32, u64)> = (0..side * side)
        .flat_map(|t| {
            let right = (t % side + 1 < side).then_some((t, t + 1, 10));
            let down = (t / side + 1 < side).then_some((t, t + side, 10));
            [right, down].into_iter().flatten()
        })
        .collect();
    Graph::from_edges((side * side) as usize, &edges)
}

#[test]
fn both_phases_together_are_as_good_as_one() {
    let tree = parse("tree:4:4:4:4@1:5:30:100").unwrap();
    // Processes dealt to the nodes like cards, and nodes of 16.
    let slots: Vec<usize> = (0..256).map(|k| (k % 16) * 16 + k / 16).collect();
    let nodes: Vec<u32> = slots.iter().map(|&s| (s / 16) as u32).collect();
    let graph = grid(16);
    let network =
        Network::new(graph.clone(), tree.as_ref(), &slots, &nodes, &[0], Preset::Default).unwrap();
    let order = in_parts(&network, tree.as_ref(), &slots, 3);
    assert_eq!(order[0], 0, "the fixed task stays");
    let cost = |order: &[u32]| {
        let slot_of: Vec<usize> = order.iter().map(|&p| slots[p as usize]).collect();
        metrics::hop_bytes(&graph, tree.as_ref(), &slot_of)
    };
    let cell = |bytes| Traffic { bytes, messages: 1 };
    let entries: Vec<(u32, u32, Traffic)> = (0..256)
        .flat_map(|v| graph.arcs(v).map(move |(u, w)| (v as u32, u, cell(w))))
        .filter(|e| e.0 < e.1)
        .collect();
    let matrix = CommMatrix::from_point_to_point(SparseMatrix::from_entries(256, &entries));
    let whole = decide::decide(&matrix, tree.as_ref(), &slots, &Options::default()).unwrap();
    let (split, whole) = (cost(&order) as f64, whole.cost_after as f64);
    assert!(split <= 1.1 * whole, "{split} in parts, {whole} at once");
    assert_eq!(order, in_parts(&network, tree.as_ref(), &slots, 3), "not deterministic");
}

#[test]
fn only_trees_with_several_nodes_are_cut() {
    let graph = grid(4);
    let slots: Vec<usize> = (0..16).collect();
    let new = |spec: &str, nodes: &[u32]| {
        let topology = parse(spec).unwrap();
        Network::new(graph.clone(), topology.as_ref(), &slots, nodes, &[], Preset::Fast).is_some()
    };
    let by = |n: u32| (0..16).map(|k| k / n).collect::<Vec<u32>>();
    assert!(new("tree:4:4", &by(4)));
    assert!(new("tree:2:2:4", &by(4)));
    assert!(new("tree:2:2:4", &by(2)));
    assert!(!new("tree:4:4", &by(16)), "one node");
    assert!(!new("tree:4:4", &by(1)), "one process on each");
    assert!(!new("tree:4:4", &by(8)), "nodes that hold several groups and are none");
    assert!(!new("tree:4:4", &by(3)), "nodes across groups");
    assert!(!new("torus:4x4", &by(4)), "no tree");
}

#[test]
fn wrong_answers_are_refused() {
    let tree = parse("tree:2:2").unwrap();
    let slots = [0, 1, 2, 3];
    let graph = Graph::from_edges(4, &[(0, 2, 5)]);
    let network =
        Network::new(graph, tree.as_ref(), &slots, &[0, 0, 1, 1], &[0], Preset::Default).unwrap();
    let found = |nodes: &[u32]| NodeAssignment { cost: 0, node_of_task: nodes.into(), cut: false };
    assert!(network.accepts(&found(&[0, 1, 0, 1])));
    for wrong in [&[0, 0, 0, 1][..], &[1, 0, 0, 1], &[0, 1, 0, 2], &[0, 1, 0], &[]] {
        assert!(!network.accepts(&found(wrong)), "{wrong:?}");
    }
    let joined = |pairs: &[(u32, u32)]| network.joined([pairs]);
    assert_eq!(joined(&[(0, 0), (1, 2), (2, 1), (3, 3)]), Some(vec![0, 2, 1, 3]));
    assert_eq!(joined(&[(0, 0), (1, 2), (2, 1)]), None);
    assert_eq!(joined(&[(0, 0), (1, 2), (2, 2), (3, 3)]), None);
    assert_eq!(joined(&[(0, 0), (1, 2), (2, 1), (3, 9)]), None);
    let mut damaged = network.clone();
    assert!(damaged.is_valid());
    damaged.paths.pop();
    assert!(!damaged.is_valid());
}

#[test]
fn tasks_stay_where_it_makes_no_difference() {
    // Nothing is known below the nodes, and tasks 0, 1 and 2 belong together.
    let nodes = [0, 1, 0, 1, 0, 1];
    let tree = from_launch(&nodes, &[], &[100]).unwrap();
    let slots: Vec<usize> = (0..6).collect();
    let graph = Graph::from_edges(6, &[(0, 1, 9), (1, 2, 9), (0, 2, 9)]);
    let network = Network::new(graph, &tree, &slots, &nodes, &[0], Preset::Default).unwrap();
    let order = in_parts(&network, &tree, &slots, 1);
    assert_eq!(order, [0, 4, 2, 3, 1, 5], "only 1 and 4 change places");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(5))]

    #[test]
    fn any_graph_gives_a_permutation(
        raw in prop::collection::vec((0u32..24, 0u32..24, 1u64..9), 0..80), seed in 0u64..4
    ) {
        let tree = parse("tree:2:3:4@1:4:20").unwrap();
        let slots: Vec<usize> = (0..24).map(|k| (k * 7) % 24).collect();
        let nodes: Vec<u32> = slots.iter().map(|&s| (s / 6) as u32).collect();
        let graph = Graph::from_edges(24, &raw);
        let network =
            Network::new(graph, tree.as_ref(), &slots, &nodes, &[0, 5], Preset::Default).unwrap();
        let found = network.search(seed, LIMIT).unwrap();
        prop_assert!(network.accepts(&found));
        let parts: Vec<Part> = network.parts(&found, tree.as_ref(), &slots, seed).collect();
        let placed: Vec<_> = parts.iter().map(|part| part.place(LIMIT).unwrap()).collect();
        let order = network.joined(placed.iter().map(Vec::as_slice)).unwrap();
        prop_assert_eq!((order[0], order[5]), (0, 5));
        let given: Vec<_> = parts.iter().map(Part::given).collect();
        prop_assert!(network.joined(given.iter().map(Vec::as_slice)).is_some());
        for (task, &process) in order.iter().enumerate() {
            prop_assert_eq!(network.node_of_process()[process as usize], found.node_of_task[task]);
        }
    }
}
