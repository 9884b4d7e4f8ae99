//! The step before mapping: one group of tasks for each node, exactly as large as the node (UMPA
//! paper, III-A; HierTopoMap paper, 3.1). Groups are mapped to nodes, and then tasks to the places
//! inside.

use super::filled_problem::{FilledProblem, partition};
use crate::base::permutation::identity;
use crate::mapping::Outcome;
use crate::mapping::engine::{Csr, Scale, TreePlaces};
use crate::mapping::multisection::multisect;

/// Groups of tasks and the nodes for them; both have the same number and the same sizes.
pub(super) struct Quotient {
    /// The groups' affinity; a vertex's size is the number of its tasks.
    pub(super) graph: Csr,
    /// A slot of each node, for distances.
    pub(super) slots: Vec<usize>,
    /// Number of places of each node. Group g has as many tasks as node g has places.
    pub(super) capacity: Vec<usize>,
    places: Vec<Vec<u32>>,
    tasks: Vec<Vec<u32>>,
}

impl Quotient {
    /// Groups the tasks. Where every node has one place there is nothing to group.
    pub(super) fn new(filled: &FilledProblem) -> Quotient {
        let places = filled.problem.by_node(0..filled.len() as u32);
        let slot = |places: &Vec<u32>| filled.problem.places()[places[0] as usize] as usize;
        let slots = places.iter().map(slot).collect();
        let capacity: Vec<usize> = places.iter().map(Vec::len).collect();
        let all = identity(filled.len());
        let tasks = if capacity.iter().all(|&c| c == 1) {
            all.iter().map(|&t| vec![t]).collect()
        } else {
            let (mut bisector, mut rng) = (filled.bisector(), filled.rng.fork(1));
            partition(&filled.graph, &all, &capacity, &mut bisector, &mut rng)
        };
        let graph = quotient(&filled.graph, &tasks);
        Quotient { graph, slots, capacity, places, tasks }
    }

    /// For algorithms that assume nodes of equal size: as [`Quotient::new`] if the nodes are so, else
    /// with every place as a node of its own.
    pub(super) fn equal(filled: &FilledProblem) -> Quotient {
        let nodes = Quotient::new(filled);
        if nodes.capacity.windows(2).all(|w| w[0] == w[1]) {
            return nodes;
        }
        let single: Vec<Vec<u32>> = (0..filled.len() as u32).map(|k| vec![k]).collect();
        Quotient {
            graph: quotient(&filled.graph, &single),
            slots: filled.problem.places().iter().map(|&s| s as usize).collect(),
            capacity: vec![1; filled.len()],
            places: single.clone(),
            tasks: single,
        }
    }

    /// The groups' affinity with all groups of size 1, for a bisection into equal numbers of groups.
    pub(super) fn unit_graph(&self) -> Csr {
        let mut graph = self.graph.clone();
        graph.sizes.fill(1);
        graph
    }

    /// Number of nodes, and of groups.
    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    /// The answer, from the node of every group. Inside a node, tasks are placed by recursive tree
    /// mapping (HierTopoMap paper, 3.2) if the topology is a tree, else in order.
    pub(super) fn outcome(&self, filled: &FilledProblem, node_of_group: &[u32]) -> Outcome {
        let mut place_of = vec![0u32; filled.len()];
        let mut bisector = filled.bisector();
        let mut local = vec![u32::MAX; filled.len()];
        for (group, &node) in node_of_group.iter().enumerate() {
            let (tasks, places) = (&self.tasks[group], &self.places[node as usize]);
            let slots: Vec<u32> =
                places.iter().map(|&p| filled.problem.places()[p as usize]).collect();
            let tree = filled.problem.topology().as_tree().filter(|_| places.len() > 2);
            // Only the order of costs matters to the splitting, not their size.
            let tree = tree.and_then(|tree| TreePlaces::new(tree, &slots, Scale::new(1, 1)));
            let Some(tree) = tree else {
                for (&task, &place) in tasks.iter().zip(places) {
                    place_of[task as usize] = place;
                }
                continue;
            };
            let sub = filled.graph.subgraph(tasks, &mut local);
            let rng = filled.rng.fork(2 + group as u64);
            let answer = multisect(&sub, &tree, &mut bisector, &rng);
            for (&task, &k) in tasks.iter().zip(&answer) {
                place_of[task as usize] = places[tree.order[k as usize] as usize];
            }
        }
        filled.outcome(place_of)
    }
}

/// The affinity of groups of vertices; a group's size is the number of its vertices.
pub(super) fn quotient(graph: &Csr, groups: &[Vec<u32>]) -> Csr {
    let mut group_of = vec![0u32; graph.len()];
    for (group, members) in groups.iter().enumerate() {
        for &v in members {
            group_of[v as usize] = group as u32;
        }
    }
    let mut quotient = Csr { offsets: vec![0], ..Csr::default() };
    let mut sum = vec![0i64; groups.len()];
    let mut touched: Vec<u32> = Vec::new();
    for (group, members) in groups.iter().enumerate() {
        for &v in members {
            for (other, weight) in graph.arcs(v as usize) {
                let to = group_of[other];
                if to as usize != group {
                    if sum[to as usize] == 0 {
                        touched.push(to);
                    }
                    sum[to as usize] += weight;
                }
            }
        }
        touched.sort_unstable();
        for to in touched.drain(..) {
            quotient.arcs.push(to, std::mem::take(&mut sum[to as usize]));
        }
        quotient.end_row();
        quotient.sizes.push(members.len() as u32);
    }
    quotient
}

/// Total weight of the arcs of a vertex.
pub(super) fn volume(graph: &Csr, v: usize) -> i64 {
    graph.arcs(v).map(|(_, w)| w).sum()
}
