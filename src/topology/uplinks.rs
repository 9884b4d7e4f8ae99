//! The bandwidths of a tree that was found in a network of cables ([`super::ultrametric`]).
//!
//! A group of the tree has the switches that are no farther from one of its slots than the top of the group is. Its uplink has
//! the bandwidth of all cables that leave these switches upwards. The groups of a level share one bandwidth in a tree, so each
//! level gets the mean: as many times less than the slots below have together as all uplinks of the level have.
//!
//! Limits: where switches belong to two groups, the network is no fat tree, and its tree gets no bandwidths.

use super::{Network, Tree};

/// No group has this vertex yet.
const NONE: u32 = u32::MAX;

/// A tree whose bandwidths are all the same does not say how wide its links are. Where they are the same and known, the
/// outermost ones are made narrower by this part.
const TO_BE_KNOWN: f64 = 1e-9;

/// `tree`, which has the distances of `network`, with the bandwidths of the cables; as it is where they do not fit a tree.
pub(super) fn with_uplinks(tree: Tree, network: &dyn Network) -> Tree {
    bandwidths(&tree, network).and_then(|all| tree.clone().with_bandwidths(&all)).unwrap_or(tree)
}

/// The bandwidth at each level, the slots' own last.
fn bandwidths(tree: &Tree, network: &dyn Network) -> Option<Vec<f64>> {
    let slots = tree.groups(0).len();
    // What leaves a vertex over the links that count.
    let leaving = |vertex: usize, counts: &dyn Fn(usize) -> bool| {
        let mut sum = 0.0;
        network.neighbours(vertex, &mut |other, link| {
            sum += if counts(other) { network.bandwidth(link) } else { 0.0 };
        });
        sum
    };
    let below: f64 = (0..slots).map(|slot| leaving(slot, &|_| true)).sum();
    let own = below / slots as f64;
    let mut all = Vec::new();
    for level in 0..tree.levels() - 1 {
        let groups = tree.groups(level);
        // A message between two slots of a group goes up half of the way.
        let up = tree.cost(level + 1);
        if !up.is_multiple_of(2) {
            return None;
        }
        let owner = owners(network, groups, up / 2)?;
        let switches = (slots..network.vertices()).filter(|&vertex| owner[vertex] != NONE);
        let uplinks: f64 =
            switches.map(|vertex| leaving(vertex, &|other| owner[other] != owner[vertex])).sum();
        let mut counts = vec![0u32; slots];
        groups.iter().for_each(|&group| counts[group as usize] += 1);
        let largest = counts.into_iter().max().unwrap_or(0);
        // The bandwidth of a group with as many slots as the largest has.
        all.push(f64::from(largest) * own * uplinks / below);
    }
    all.push(own);
    let tells_nothing = all.iter().all(|&bandwidth| bandwidth == own);
    if tells_nothing && let Some(outermost) = all.first_mut().filter(|_| tree.levels() > 1) {
        *outermost *= 1.0 - TO_BE_KNOWN;
    }
    Some(all)
}

/// The group of each vertex that is at most `up` links above a slot of it. `None` if two groups have the same switch.
fn owners(network: &dyn Network, groups: &[u32], up: u64) -> Option<Vec<u32>> {
    let slots = groups.len();
    let mut owner = vec![NONE; network.vertices()];
    owner[..slots].copy_from_slice(groups);
    let mut reached: Vec<usize> = (0..slots).collect();
    let mut is_tree = true;
    for _ in 0..up {
        let mut next = Vec::new();
        for vertex in reached {
            network.neighbours(vertex, &mut |other, _| {
                if other >= slots && owner[other] == NONE {
                    owner[other] = owner[vertex];
                    next.push(other);
                }
                is_tree &= other < slots || owner[other] == owner[vertex];
            });
        }
        reached = next;
    }
    is_tree.then_some(owner)
}

#[cfg(test)]
mod tests {
    use crate::topology::{NetworkGraph, Topology};

    /// Leaves with `hosts` hosts each, and spines with a number of cables to each leaf.
    fn fabric(leaves: u32, hosts: u32, spines: u32, cables: f64) -> NetworkGraph {
        let slots = leaves * hosts;
        let mut links = Vec::new();
        for leaf in 0..leaves {
            links.extend((0..hosts).map(|host| (leaf * hosts + host, slots + leaf, 1.0)));
            links.extend((0..spines).map(|spine| (slots + leaf, slots + leaves + spine, cables)));
        }
        let vertices = (slots + leaves + spines) as usize;
        NetworkGraph::new(slots as usize, vertices, &links, "fabric".into()).unwrap()
    }

    #[test]
    fn cables_between_switches_are_uplinks() {
        for (cables, taper) in [(2.0, 2.0), (4.0, 1.0), (0.5, 8.0)] {
            let fabric = fabric(4, 8, 2, cables);
            let tree = fabric.as_tree().unwrap();
            assert!((tree.taper() - taper).abs() < 1e-6, "{cables}: {}", tree.taper());
        }
    }

    /// Two pods of two leaves with two hosts each; one spine in each pod, and one core.
    #[test]
    fn each_level_has_its_own_bandwidth() {
        let mut links = Vec::new();
        for host in 0..8u32 {
            links.push((host, 8 + host / 2, 10.0));
        }
        for leaf in 0..4u32 {
            links.push((8 + leaf, 12 + leaf / 2, 20.0));
        }
        links.extend([(12, 14, 10.0), (13, 14, 10.0)]);
        let fabric = NetworkGraph::new(8, 15, &links, "pods".into()).unwrap();
        let tree = fabric.as_tree().unwrap();
        assert_eq!(tree.bandwidths(), [10.0, 20.0, 10.0]);
        assert_eq!(tree.taper(), 4.0);
    }
}
