//! Finds out whether the hop distances of a network are the distances of a tree, as in every fat tree, and
//! makes this tree.
//!
//! Distances are those of a tree if the relation "not farther than v" is an equivalence for every distance v
//! that occurs. Algorithms for trees can then be used for a network that was given as a list of cables.

use super::{Topology, Tree};
use crate::base::numbering::by_first_appearance;

/// Networks with more groups of slots than this are not examined, because the test looks at all pairs of
/// groups.
const LIMIT: usize = 2048;

/// A network with more different distances than this is not taken for a tree.
const LEVELS: usize = 16;

/// The tree with the distances of `topology`. Slots with the same `group[slot]` are on one switch, so that they
/// have the same distances to all other slots. `None` if there is no such tree, or if the network has more than
/// [`LIMIT`] groups.
pub(super) fn tree_of(topology: &dyn Topology, group: &[u32]) -> Option<Tree> {
    let (index, groups) = by_first_appearance(group.iter().copied());
    let mut first = vec![usize::MAX; groups.len()];
    for (slot, &index) in index.iter().enumerate() {
        first[index as usize] = slot.min(first[index as usize]);
    }
    if first.len() > LIMIT || !may_be_tree(topology, &first) {
        return None;
    }
    let n = first.len();
    let mut distances = Vec::with_capacity(n * n);
    for &a in &first {
        distances.extend(first.iter().map(|&b| topology.distance(a, b)));
    }
    let mut values: Vec<u64> = distances.clone();
    // All slots of one group have the same distance to each other: two of them give it.
    let first_of = |slot: usize| first[index[slot] as usize];
    let shared = (0..group.len()).find(|&slot| first_of(slot) != slot);
    let within = shared.map(|slot| topology.distance(first_of(slot), slot));
    values.extend(within);
    values.sort_unstable();
    values.dedup();
    values.retain(|&v| v > 0);
    // The slots of a group are the nearest ones in the tree, which they are not if other slots are linked directly.
    if within.is_some_and(|within| values.first().is_some_and(|&least| least < within)) {
        return None;
    }
    if values.is_empty() || values.len() > LEVELS {
        return None;
    }
    let mut levels: Vec<Vec<u32>> = Vec::new();
    for &v in values.iter().rev().skip(1) {
        let mut class = vec![u32::MAX; n];
        for a in 0..n {
            if class[a] == u32::MAX {
                for b in a..n {
                    if distances[a * n + b] <= v {
                        class[b] = a as u32;
                    }
                }
            }
        }
        let equivalence = (0..n * n).all(|k| (distances[k] <= v) == (class[k / n] == class[k % n]));
        if !equivalence {
            return None;
        }
        levels.push(class);
    }
    let paths: Vec<Vec<u32>> =
        index.iter().map(|&g| levels.iter().map(|class| class[g as usize]).collect()).collect();
    values.reverse();
    let inner = levels.len();
    Some(Tree::from_paths(&paths, &values)?.with_node_level(Some(inner)))
}

/// A quick test of a sample: in a tree, the two largest of the three distances between three slots are
/// equal. Tori, for example, fail it.
fn may_be_tree(topology: &dyn Topology, first: &[usize]) -> bool {
    let step = (first.len() / 24).max(1);
    let sample: Vec<usize> = first.iter().copied().step_by(step).collect();
    let Some((&a, others)) = sample.split_first() else { return false };
    others.iter().all(|&b| {
        others.iter().filter(|&&c| c != b).all(|&c| {
            let mut sides =
                [topology.distance(a, b), topology.distance(a, c), topology.distance(b, c)];
            sides.sort_unstable();
            sides[1] == sides[2]
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::{NetworkGraph, parse};

    /// The links of a topology as a network graph, in which the tree has to be found again.
    fn as_graph(spec: &str) -> NetworkGraph {
        let topology = parse(spec).unwrap();
        let network = topology.network().unwrap();
        let mut links = Vec::new();
        for v in 0..network.vertices() {
            network.neighbours(v, &mut |other, _| {
                if other > v {
                    links.push((v as u32, other as u32, 1.0));
                }
            });
        }
        NetworkGraph::new(topology.slots(), network.vertices(), &links, spec.into()).unwrap()
    }

    #[test]
    fn fat_trees_are_trees() {
        for spec in ["fattree:4:3:2", "fattree:3:3", "fattree:8", "tree:2:2:2:2"] {
            let (graph, original) = (as_graph(spec), parse(spec).unwrap());
            let tree = graph.as_tree().unwrap_or_else(|| panic!("{spec}"));
            for a in 0..graph.slots() {
                for b in 0..graph.slots() {
                    let want = original.distance(a, b);
                    assert_eq!((tree.distance(a, b), graph.distance(a, b)), (want, want));
                }
            }
        }
    }

    #[test]
    fn a_spine_of_several_switches_is_a_tree() {
        // Two leaves with two slots each, both on two spines.
        let links: Vec<(u32, u32, f64)> =
            [(0, 4), (1, 4), (2, 5), (3, 5), (4, 6), (5, 6), (4, 7), (5, 7)]
                .map(|(a, b)| (a, b, 1.0))
                .to_vec();
        let net = NetworkGraph::new(4, 8, &links, String::new()).unwrap();
        assert_eq!(net.as_tree().unwrap().arity(), Some([2, 2].as_slice()));
    }

    #[test]
    fn tori_and_dragonflies_are_not() {
        for spec in ["torus:4x4", "mesh:5", "hypercube:3", "dragonfly:5x2x2"] {
            assert!(as_graph(spec).as_tree().is_none(), "{spec}");
        }
    }
}
