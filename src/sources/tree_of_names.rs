//! The tree that follows from one path of switches for each node of the launch. Its slots are the nodes.
//!
//! Each level adds two hops, as in Slurm's trees. Paths of different lengths are aligned at the root: a node that
//! hangs on a switch closer to the root gets a switch of its own at the levels below.

use super::{Host, HostNetwork};
use crate::base::numbering::by_first_appearance;
use crate::topology::Tree;
use std::sync::Arc;

/// The tree of nodes with these paths, from the root down and without the nodes themselves. A node without a path
/// is not in it. `origin` says where the paths come from.
///
/// `None` if no node has a path.
pub(super) fn tree_of_names(
    hosts: &[Host],
    paths: &[Option<Vec<String>>],
    origin: String,
) -> Option<HostNetwork> {
    let known: Vec<usize> = (0..hosts.len()).filter(|&k| paths[k].is_some()).collect();
    let depth = paths.iter().flatten().map(Vec::len).max()?;
    let mut columns: Vec<Vec<u32>> = Vec::new();
    for level in 0..depth {
        let group = |&node: &usize| {
            let switch = paths[node].as_ref().and_then(|path| path.get(level));
            switch.map_or((None, node), |switch| (Some(switch.as_str()), 0))
        };
        columns.push(by_first_appearance(known.iter().map(group)).0);
    }
    // Levels at which all nodes are below one switch separate no nodes.
    let same = columns.iter().take_while(|column| column.iter().all(|&group| group == 0)).count();
    let dropped = same.min(depth.saturating_sub(1));
    let columns = &columns[dropped..];
    let rows: Vec<Vec<u32>> =
        (0..known.len()).map(|k| columns.iter().map(|column| column[k]).collect()).collect();
    let levels = columns.len() as u64;
    let costs: Vec<u64> = (0..=levels).map(|level| 2 * (levels + 1 - level)).collect();
    let tree = Tree::from_paths(&rows, &costs)?;
    let tree = tree.with_switch_names(|level, slot| {
        paths[known[slot]].as_ref()?.get(level + dropped).cloned()
    });
    let names = known.iter().map(|&node| hosts[node].name.clone()).collect();
    let mut slots = vec![None; hosts.len()];
    known.iter().enumerate().for_each(|(slot, &node)| slots[node] = Some(slot));
    let topology = Arc::new(tree.with_slot_names(names));
    Some(HostNetwork { topology, host_of_node: slots, origin, remark: String::new() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_make_levels() {
        let hosts = ["a", "b", "c", "d", "e"].map(Host::named);
        let path = |text: &str| Some(text.split('.').map(String::from).collect::<Vec<_>>());
        let paths =
            [path("root.s1.s3"), path("root.s1.s3"), path("root.s1.s4"), path("root.s2"), None];
        let network = tree_of_names(&hosts, &paths, String::new()).unwrap();
        let tree = network.topology.clone();
        assert_eq!(network.host_of_node, [Some(0), Some(1), Some(2), Some(3), None]);
        assert_eq!([1, 2, 3].map(|b| tree.distance(0, b)), [2, 4, 6]);
        assert_eq!(tree.slot_name(2), Some("c"));
        let names = |slot| [0, 1].map(|level| tree.as_tree().unwrap().switch_name(level, slot));
        assert_eq!((names(2), names(3)), ([Some("s1"), Some("s4")], [Some("s2"), None]));
        assert!(tree_of_names(&hosts[..1], &[None], String::new()).is_none());
    }

    #[test]
    fn one_switch_is_one_level() {
        let hosts = ["a", "b"].map(Host::named);
        let paths = [Some(vec!["s".to_string()]), Some(vec!["s".to_string()])];
        let network = tree_of_names(&hosts, &paths, String::new()).unwrap();
        assert_eq!(network.topology.distance(0, 1), 2);
    }
}
