//! The networks of several clusters of the site file, joined for a launch on nodes of more than one of them.
//!
//! The site file does not say how the clusters are connected. Two nodes of different clusters therefore count as farther
//! from each other than any two of one. Trees with the same distances at their levels, counted from the nodes, become one
//! tree with one more level at the top. Other networks stay beside each other, without links between them
//! ([`Islands`]).

use super::{Host, HostNetwork};
use crate::topology::{Islands, Topology, Tree};
use std::sync::Arc;

/// What the new level at the top adds to the distance, as each level of a tree does.
const HOPS: u64 = 2;

/// One network of several. A node that several have is where the first of them has it.
pub(super) fn joined(mut parts: Vec<HostNetwork>, hosts: &[Host]) -> Option<HostNetwork> {
    if parts.len() < 2 {
        return parts.pop();
    }
    let mut begin = 0;
    let mut host_of_node: Vec<Option<usize>> = vec![None; hosts.len()];
    for part in &parts {
        for (at, slot) in host_of_node.iter_mut().zip(&part.host_of_node) {
            *at = at.or(slot.map(|slot| begin + slot));
        }
        begin += part.topology.slots();
    }
    let said = format!(
        "{} [[cluster]] entries are joined, and nodes of different ones count as farther apart than those of one",
        parts.len()
    );
    let remarks: Vec<String> = (parts.iter().map(|part| part.remark.clone()).chain([said]))
        .filter(|remark| !remark.is_empty())
        .collect();
    let topologies: Vec<Arc<dyn Topology>> = parts.into_iter().map(|part| part.topology).collect();
    let topology: Arc<dyn Topology> = match tree_of(&topologies) {
        Some(tree) => Arc::new(tree),
        None => Arc::new(Islands::of_shared(topologies, "clusters of the site file".into())),
    };
    Some(HostNetwork { topology, host_of_node, origin: String::new(), remark: remarks.join("; ") })
}

/// The trees below one more level; `None` if a part is no tree, or if their distances differ.
fn tree_of(parts: &[Arc<dyn Topology>]) -> Option<Tree> {
    let trees: Vec<&Tree> = parts.iter().map(|part| part.as_tree()).collect::<Option<_>>()?;
    let costs = |tree: &Tree| (0..tree.levels()).map(|level| tree.cost(level)).collect::<Vec<_>>();
    let deepest = trees.iter().max_by_key(|tree| tree.levels()).map(|tree| costs(tree))?;
    if trees.iter().any(|tree| !deepest.ends_with(&costs(tree))) {
        return None;
    }
    let mut paths: Vec<Vec<u32>> = Vec::new();
    for (number, tree) in (0..).zip(&trees) {
        let above = deepest.len() - tree.levels();
        for slot in 0..tree.slots() {
            let mut path = vec![0; above + 1];
            path[0] = number;
            path.extend((0..tree.levels() - 1).map(|level| tree.groups(level)[slot]));
            paths.push(path);
        }
    }
    let top = deepest.first()?.checked_add(HOPS)?;
    let all: Vec<u64> = [top].into_iter().chain(deepest.iter().copied()).collect();
    let names: Vec<Option<String>> = trees
        .iter()
        .flat_map(|tree| (0..tree.slots()).map(|slot| tree.slot_name(slot).map(String::from)))
        .collect();
    let mut begins = vec![0];
    trees.iter().for_each(|tree| begins.push(begins[begins.len() - 1] + tree.slots()));
    let switch_name = |level: usize, slot: usize| {
        let part = begins.partition_point(|&begin| begin <= slot) - 1;
        let level = level.checked_sub(1 + deepest.len() - trees[part].levels())?;
        trees[part].switch_name(level, slot - begins[part]).map(String::from)
    };
    let tree = Tree::from_paths(&paths, &all)?.with_switch_names(switch_name);
    Some(match names.into_iter().collect::<Option<Vec<String>>>() {
        Some(names) => tree.with_slot_names(names),
        None => tree,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::parse;

    fn part(spec: &str, names: &[&str], hosts: &[Host]) -> HostNetwork {
        let topology: Arc<dyn Topology> = match parse(spec).unwrap().as_tree() {
            Some(tree) => {
                let names = names.iter().map(|name| name.to_string()).collect();
                Arc::new(tree.clone().with_slot_names(names))
            }
            None => parse(spec).unwrap().into(),
        };
        HostNetwork::by_name(topology, hosts, "x".into())
    }

    #[test]
    fn trees_of_unlike_depth_become_one() {
        let hosts = ["a0", "a3", "b1", "b0", "c"].map(Host::named);
        let deep = part("tree:2:2", &["a0", "a1", "a2", "a3"], &hosts);
        let flat = part("tree:2", &["b0", "b1"], &hosts);
        let all = joined(vec![deep, flat], &hosts).unwrap();
        assert_eq!(all.host_of_node, [Some(0), Some(3), Some(5), Some(4), None]);
        let tree = all.topology.as_tree().unwrap();
        assert_eq!(
            [(0, 1), (0, 3), (4, 5), (0, 4)].map(|(a, b)| tree.distance(a, b)),
            [2, 4, 2, 6]
        );
        assert_eq!(tree.slot_name(4), Some("b0"));
        assert!(all.shape().contains("2 [[cluster]] entries are joined"), "{}", all.shape());
    }

    #[test]
    fn other_networks_are_islands() {
        let hosts = ["a0", "a1", "b0"].map(Host::named);
        let tree = part("tree:2@9", &["a0", "a1"], &hosts);
        let other = part("tree:2:2", &["b0", "b1", "b2", "b3"], &hosts);
        let all = joined(vec![tree, other], &hosts).unwrap();
        assert!(all.topology.as_tree().is_none());
        assert_eq!((all.topology.distance(0, 1), all.topology.distance(0, 2)), (9, 10));
        assert!(joined(Vec::new(), &hosts).is_none());
    }
}
