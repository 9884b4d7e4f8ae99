//! Exchanges tasks inside nodes so that their hop-bytes fall.
//!
//! The searches over links see the links between nodes, and hardly those inside them, which are fast. They leave the tasks
//! of a node on any of its places. An exchange inside a node does not change the traffic between nodes.

use crate::mapping::{Budget, Problem};
use crate::matrix::Graph;
use crate::topology::Topology;

/// Rounds over the pairs of a node.
const ROUNDS: usize = 4;

/// A node with more tasks than this is left as it is, because all pairs of its tasks are tried.
const MOST: usize = 512;

/// What the exchanges of one node need.
struct Inside<'a> {
    graph: &'a Graph,
    topology: &'a dyn Topology,
    /// The slot of every place.
    slots: &'a [u32],
    /// For each task, a number that is equal for tasks of one node.
    node_of_task: Vec<usize>,
}

/// Exchanges tasks of the same node as long as their hop-bytes fall. Fixed tasks stay.
pub(super) fn settle(problem: &Problem<'_>, place_of: &mut [u32], budget: &Budget) {
    let slots = problem.places();
    let slot = |place: u32| slots[place as usize] as usize;
    let node_of_task: Vec<usize> =
        place_of.iter().map(|&place| problem.topology().node_of(slot(place))).collect();
    let mut by_node = vec![Vec::new(); node_of_task.iter().max().map_or(0, |&most| most + 1)];
    for (task, &node) in node_of_task.iter().enumerate() {
        if problem.fixed_place(task).is_none() {
            by_node[node].push(task);
        }
    }
    let inside =
        Inside { graph: problem.graph(), topology: problem.topology(), slots, node_of_task };
    for tasks in by_node.iter().filter(|tasks| (2..=MOST).contains(&tasks.len())) {
        if budget.expired() {
            return;
        }
        for _ in 0..ROUNDS {
            if !inside.round(tasks, place_of) {
                break;
            }
        }
    }
}

impl Inside<'_> {
    /// Tries all pairs of a node. True if tasks were exchanged.
    fn round(&self, tasks: &[usize], place_of: &mut [u32]) -> bool {
        let mut changed = false;
        for (k, &a) in tasks.iter().enumerate() {
            for &b in &tasks[k + 1..] {
                if self.change(a, b, place_of) + self.change(b, a, place_of) < 0 {
                    place_of.swap(a, b);
                    changed = true;
                }
            }
        }
        changed
    }

    /// How the hop-bytes of a task inside its node change if it goes to the place of another task, which goes to its
    /// place.
    fn change(&self, task: usize, other: usize, place_of: &[u32]) -> i128 {
        let slot = |task: usize| self.slots[place_of[task] as usize] as usize;
        let (from, to) = (slot(task), slot(other));
        let distance = |a: usize, b: usize| i128::from(self.topology.distance(a, b));
        let near = self.graph.arcs(task).filter(|&(third, _)| {
            third as usize != other && self.node_of_task[third as usize] == self.node_of_task[task]
        });
        near.map(|(third, weight)| {
            let at = slot(third as usize);
            i128::from(weight) * (distance(to, at) - distance(from, at))
        })
        .sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics;
    use crate::topology::parse;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn tasks_stay_on_their_nodes_and_hop_bytes_never_rise(
            raw in prop::collection::vec((0u32..16, 0u32..16, 1u64..100), 1..60),
            order in Just((0u32..16).collect::<Vec<_>>()).prop_shuffle())
        {
            let edges: Vec<_> = raw.into_iter().filter(|e| e.0 != e.1).collect();
            let graph = Graph::from_edges(16, &edges);
            let machine = crate::topology::from_launch(
                &(0..16).map(|k| k / 8).collect::<Vec<u32>>(),
                &(0..16).map(|k| vec![k / 4 % 2]).collect::<Vec<_>>(),
                &[100, 10, 1],
            )
            .unwrap();
            let problem = Problem::builder(&graph, &machine).fix(3, order[3] as usize).build().unwrap();
            let mut settled = order.clone();
            settle(&problem, &mut settled, &Budget::unlimited());
            let cost = |places: &[u32]| {
                metrics::hop_bytes(&graph, &machine, &problem.slots_of(places))
            };
            prop_assert!(cost(&settled) <= cost(&order));
            prop_assert_eq!(settled[3], order[3]);
            let nodes = |places: &[u32]| places.iter().map(|p| p / 8).collect::<Vec<_>>();
            prop_assert_eq!(nodes(&settled), nodes(&order));
        }
    }

    #[test]
    fn the_places_of_a_socket_are_used_together() {
        let graph = Graph::from_edges(4, &[(0, 2, 9), (1, 3, 9)]);
        let tree = parse("tree:2:2@1:10").unwrap();
        let tree = tree.as_tree().unwrap().clone().with_node_level(None);
        let problem = Problem::builder(&graph, &tree).build().unwrap();
        let mut places = vec![0, 1, 2, 3];
        settle(&problem, &mut places, &Budget::unlimited());
        assert_eq!(metrics::hop_bytes(&graph, &tree, &problem.slots_of(&places)), 18);
    }
}
