use super::*;
use crate::matrix::Traffic;
use crate::metrics::{hop_bytes, rail_loads};
use crate::topology::slot_rails::tests::rails;
use crate::topology::{Tree, WithRails, parse};
use proptest::prelude::*;

/// Nodes of `arity` with the rails of their places.
fn machine(
    nodes: usize,
    arity: &[usize],
    rails_of_node: usize,
    of_place: &[usize],
) -> Box<dyn Topology> {
    let arity: Vec<usize> = [&[nodes], arity].concat();
    let costs = [100, 10, 4, 1];
    let tree = Tree::regular(&arity, &costs[..arity.len()]).unwrap().with_node_level(Some(0));
    WithRails::on(Box::new(tree), Some(rails(nodes as u32, rails_of_node, of_place)))
}

fn matrix(tasks: usize, entries: &[(u32, u32, u64)]) -> SparseMatrix {
    let entry = |&(i, j, bytes): &(u32, u32, u64)| (i, j, Traffic { bytes, messages: 1 });
    SparseMatrix::from_entries(tasks, &entries.iter().map(entry).collect::<Vec<_>>())
}

/// What the step minimises, from the independent metrics.
fn cost(matrix: &SparseMatrix, topology: &dyn Topology, slots: &[usize]) -> u128 {
    let graph = Graph::from_traffic(matrix);
    hop_bytes(&graph, topology, slots) + rail_loads(matrix, topology, slots).unwrap().uneven_cost
}

fn spread_given(matrix: &SparseMatrix, topology: &dyn Topology, fixed: &[u32]) -> Vec<usize> {
    spread_from((0..matrix.tasks()).collect(), matrix, topology, fixed)
}

fn spread_from(
    given: Vec<usize>,
    matrix: &SparseMatrix,
    topology: &dyn Topology,
    fixed: &[u32],
) -> Vec<usize> {
    let mut slots = given.clone();
    let changed = spread(&Graph::from_traffic(matrix), matrix, topology, fixed, &mut slots);
    assert_eq!(changed, slots != given);
    slots
}

/// The mapping with the lowest cost over all permutations inside the nodes, node after node: what one node does changes
/// nothing for another.
fn least(tasks: usize, size: usize, cost: &dyn Fn(&[usize]) -> u128) -> Vec<usize> {
    let mut slots: Vec<usize> = (0..tasks).collect();
    for first in (0..slots.len()).step_by(size) {
        let mut best = (u128::MAX, slots.clone());
        permutations(&mut slots, first, first + size, &mut |slots| {
            let found = cost(slots);
            if found < best.0 {
                best = (found, slots.to_vec());
            }
        });
        slots = best.1;
    }
    slots
}

fn permutations(list: &mut [usize], from: usize, to: usize, visit: &mut dyn FnMut(&[usize])) {
    if from == to {
        return visit(list);
    }
    for k in from..to {
        list.swap(from, k);
        permutations(list, from + 1, to, visit);
        list.swap(from, k);
    }
}

/// Each task of the first package of a node sends to the same task of the next node; the second package is silent.
#[test]
fn talkers_near_one_rail_are_spread_over_both() {
    let of_place = [0, 0, 0, 0, 1, 1, 1, 1];
    let topology = machine(2, &[2, 4], 2, &of_place);
    let mut entries: Vec<(u32, u32, u64)> = (0..4).map(|t| (t, t + 8, 1000)).collect();
    // Pairs inside the node stay together, as they are exchanged together.
    entries.extend((0..16).step_by(2).map(|t| (t, t + 1, 2000)));
    let matrix = matrix(16, &entries);
    let given: Vec<usize> = (0..16).collect();
    let before = rail_loads(&matrix, topology.as_ref(), &given).unwrap();
    let slots = spread_given(&matrix, topology.as_ref(), &[0]);
    let after = rail_loads(&matrix, topology.as_ref(), &slots).unwrap();
    assert_eq!((before.busiest, after.busiest), (4000, 2000));
    assert_eq!((before.imbalance, after.imbalance, after.uneven_cost), (2.0, 1.0, 0));
    assert_eq!(slots[0], 0);
    let graph = Graph::from_traffic(&matrix);
    let inside = |slots: &[usize]| hop_bytes(&graph, topology.as_ref(), slots);
    assert_eq!(inside(&slots), inside(&given), "no pair was separated");
}

/// Bytes inside the node outweigh what the rails gain.
#[test]
fn tasks_with_much_traffic_inside_stay_together() {
    let topology = machine(2, &[2, 2], 2, &[0, 0, 1, 1]);
    let heavy = |bytes| {
        let mut entries: Vec<(u32, u32, u64)> = (0..2).map(|t| (t, t + 4, 10)).collect();
        entries.extend([(0, 1, bytes), (4, 5, bytes)]);
        spread_given(&matrix(8, &entries), topology.as_ref(), &[])
    };
    assert_eq!(heavy(1_000_000), (0..8).collect::<Vec<_>>());
    assert_ne!(heavy(1), (0..8).collect::<Vec<_>>());
}

#[test]
fn nothing_changes_without_a_choice() {
    let entries: Vec<(u32, u32, u64)> = (0..4).map(|t| (t, t + 4, 10 + u64::from(t))).collect();
    let matrix = matrix(8, &entries);
    for (rails, of_place) in [(1, [0; 4]), (2, [1; 4])] {
        let topology = machine(2, &[2, 2], rails, &of_place);
        assert_eq!(spread_given(&matrix, topology.as_ref(), &[]), (0..8).collect::<Vec<_>>());
    }
    let tree = parse("tree:4:2@1:100").unwrap();
    assert_eq!(spread_given(&matrix, tree.as_ref(), &[]), (0..8).collect::<Vec<_>>());
    // All traffic stays inside the nodes.
    let topology = machine(2, &[2, 2], 2, &[0, 0, 1, 1]);
    let inside = self::matrix(8, &[(0, 2, 10), (4, 7, 10)]);
    assert_eq!(spread_given(&inside, topology.as_ref(), &[]), (0..8).collect::<Vec<_>>());
}

#[test]
fn largest_numbers_do_not_overflow() {
    let topology = machine(2, &[2, 2], 2, &[0, 0, 1, 1]);
    let most = u64::MAX;
    let matrix = matrix(8, &[(0, 4, most), (1, 5, most), (0, 1, most), (2, 3, most), (5, 0, most)]);
    let slots = spread_given(&matrix, topology.as_ref(), &[]);
    assert_eq!(slots.len(), 8);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// Compared with all permutations of nodes of six places. The given mapping is the best one without rails.
    #[test]
    fn no_node_gets_worse_and_most_are_as_good_as_can_be(
        bytes in prop::collection::vec((0u32..12, 0u32..12, 1u64..100), 1..40),
        two_levels in any::<bool>(),
        of_place in prop::collection::vec(0usize..3, 6),
        fixed in prop::option::of(0u32..12),
    ) {
        let arity: &[usize] = if two_levels { &[2, 3] } else { &[3, 2] };
        let topology = machine(2, arity, 3, &of_place);
        let matrix = matrix(12, &bytes);
        let graph = Graph::from_traffic(&matrix);
        let given = least(12, 6, &|slots| hop_bytes(&graph, topology.as_ref(), slots));
        let of = |slots: &[usize]| cost(&matrix, topology.as_ref(), slots);
        let before = of(&given);
        let fixed: Vec<u32> = fixed.into_iter().collect();
        let slots = spread_from(given.clone(), &matrix, topology.as_ref(), &fixed);
        let after = of(&slots);
        prop_assert!(after <= before, "{after} > {before}");
        prop_assert_eq!(&slots, &spread_from(given.clone(), &matrix, topology.as_ref(), &fixed));
        for (task, &slot) in slots.iter().enumerate() {
            prop_assert_eq!(slot / 6, task / 6, "a task left its node");
        }
        prop_assert!(fixed.iter().all(|&task| slots[task as usize] == given[task as usize]));
        if fixed.is_empty() {
            let least = of(&least(12, 6, &of));
            prop_assert!(after >= least);
            // Exchanges of pairs end in local optima. The worst that was seen is 15.03 % above the least.
            prop_assert!(after * 100 <= least * 130, "{after} is far above {least}, before {before}");
        }
    }

    /// Without traffic inside, the busiest rail has at most one task more than its share.
    #[test]
    fn rails_of_silent_nodes_are_balanced(loads in prop::collection::vec(0u64..1000, 32)) {
        let of_place: Vec<usize> = (0..32).map(|place| place / 16).collect();
        let topology = machine(2, &[2, 16], 2, &of_place);
        let entries: Vec<(u32, u32, u64)> =
            (0u32..).zip(&loads).map(|(task, &bytes)| (task, 32 + task, bytes)).collect();
        let matrix = matrix(64, &entries);
        let slots = spread_given(&matrix, topology.as_ref(), &[]);
        let found = rail_loads(&matrix, topology.as_ref(), &slots).unwrap();
        let (sum, most) = (loads.iter().sum::<u64>(), loads.iter().max().unwrap());
        prop_assert!(2 * found.busiest <= sum + most, "{found:?}");
    }
}
