//! A tree of nodes from their distances: the closest are joined, round after round.
//!
//! HierTopoMap paper (Wu et al. 2015), section 3.1.1, after Subramoni et al. 2012. In each round
//! nodes that are all mutually at the least distance are joined to new nodes. The distance of a new
//! node to the others is the mean over its members. Means are rarely equal. Therefore every distance within
//! half a hop of the least counts as least, which keeps the number of rounds near log n. Memory: 4 bytes
//! per pair of nodes.

use super::filled_problem::FilledProblem;
use crate::base::permutation::identity;
use crate::topology::Tree;

/// Largest number of nodes that are joined.
pub(super) const LIMIT: usize = 8192;

/// The tree over the given slots; its slot k stands for `slots[k]`.
pub(super) fn join(filled: &FilledProblem, slots: &[usize]) -> Option<Tree> {
    let n = slots.len();
    let mut distance = vec![0f32; n * n];
    for a in 0..n {
        for b in 0..a {
            let d = filled.between_slots(slots[a], slots[b]) as f32;
            distance[a * n + b] = d;
            distance[b * n + a] = d;
        }
    }
    let mut sizes = vec![1f32; n];
    // The node of every slot after each round.
    let mut rounds: Vec<Vec<u32>> = Vec::new();
    let mut at = identity(n);
    let mut count = n;
    while count > 1 {
        let below = (0..count).flat_map(|a| &distance[a * count..a * count + a]);
        let bound = below.copied().fold(f32::INFINITY, f32::min) + 0.5;
        let mut joined = vec![u32::MAX; count];
        let mut next = 0;
        for a in 0..count {
            if joined[a] != u32::MAX {
                continue;
            }
            joined[a] = next;
            let mut members = vec![a];
            for b in a + 1..count {
                let close = |&m: &usize| distance[m * count + b] <= bound;
                if joined[b] == u32::MAX && members.iter().all(close) {
                    joined[b] = next;
                    members.push(b);
                }
            }
            next += 1;
        }
        let fewer = next as usize;
        let mut sums = vec![0f32; fewer * fewer];
        let mut new_sizes = vec![0f32; fewer];
        for a in 0..count {
            new_sizes[joined[a] as usize] += sizes[a];
            let row = joined[a] as usize * fewer;
            for b in 0..count {
                sums[row + joined[b] as usize] += distance[a * count + b] * sizes[a] * sizes[b];
            }
        }
        for a in 0..fewer {
            for b in 0..fewer {
                sums[a * fewer + b] /= new_sizes[a] * new_sizes[b];
            }
        }
        (distance, sizes, count) = (sums, new_sizes, fewer);
        at.iter_mut().for_each(|node| *node = joined[*node as usize]);
        rounds.push(at.clone());
    }
    rounds.pop();
    let paths: Vec<Vec<u32>> =
        (0..n).map(|slot| rounds.iter().rev().map(|round| round[slot]).collect()).collect();
    let costs: Vec<u64> = (1..=rounds.len() as u64 + 1).rev().collect();
    Tree::from_paths(&paths, &costs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mapping::Problem;
    use crate::matrix::Graph;
    use crate::topology::{Topology, parse};

    fn joined(spec: &str) -> Tree {
        let topology = parse(spec).unwrap();
        let graph = Graph::from_edges(topology.slots(), &[]);
        let problem = Problem::builder(&graph, topology.as_ref()).build().unwrap();
        let slots: Vec<usize> = (0..topology.slots()).collect();
        join(&FilledProblem::new(&problem, &crate::mapping::Budget::unlimited()), &slots).unwrap()
    }

    #[test]
    fn finds_the_levels_of_a_fat_tree() {
        let tree = joined("fattree:4:3:2");
        assert_eq!(tree.arity(), Some([2, 3, 4].as_slice()));
    }

    #[test]
    fn joins_neighbours_of_a_torus() {
        let tree = joined("torus:8x8");
        assert!(tree.levels() <= 10, "{} levels", tree.levels());
        // Slots that share the innermost group are neighbours.
        let inner = tree.groups(tree.levels() - 2);
        let torus = parse("torus:8x8").unwrap();
        for a in 0..64 {
            for b in 0..a {
                assert!(inner[a] != inner[b] || torus.distance(a, b) == 1);
            }
        }
    }

    #[test]
    fn one_node_is_a_tree() {
        assert_eq!(joined("tree:1").slots(), 1);
    }
}
