//! The network that a source found.

use super::Host;
use crate::base::nouns::counted;
use crate::topology::{HostIndex, Topology};
use std::sync::Arc;

/// A network whose slots are hosts, and where the nodes of the launch are in it.
#[derive(Clone)]
pub struct HostNetwork {
    /// The network. Its slots are hosts.
    pub topology: Arc<dyn Topology>,
    /// The slot of each node of the launch, by number. `None` for a node that the network does not have.
    pub host_of_node: Vec<Option<usize>>,
    /// Where it comes from, as a user knows it: `Slurm (SLURM_TOPOLOGY_ADDR)`.
    pub origin: String,
    /// What of the description is not used, and why, in a sentence; empty if all of it is.
    pub remark: String,
}

impl HostNetwork {
    /// The network whose slots have the names of hosts.
    pub fn by_name(topology: Arc<dyn Topology>, hosts: &[Host], origin: String) -> HostNetwork {
        let index = HostIndex::new(topology.as_ref());
        let slot = |host: &Host| {
            let by_position = || index.find(&host.position);
            index.find(&host.name).or_else(|| by_position().filter(|_| !host.position.is_empty()))
        };
        let host_of_node = hosts.iter().map(slot).collect();
        let remark = topology.left_out().unwrap_or_default().to_string();
        HostNetwork { topology, host_of_node, origin, remark }
    }

    /// The number of nodes that the network has.
    pub fn known(&self) -> usize {
        self.host_of_node.iter().flatten().count()
    }

    /// The network in a few words: `4 switches at 1 level above 16 nodes`.
    pub fn shape(&self) -> String {
        match self.remark.is_empty() {
            true => self.switches(),
            false => format!("{}; {}", self.switches(), self.remark),
        }
    }

    fn switches(&self) -> String {
        let (known, all) = (self.known(), self.host_of_node.len());
        let missing = match all - known {
            0 => String::new(),
            missing => format!("; it does not have {missing} of the {}", counted(all, "node")),
        };
        let hosts: Vec<usize> = self.host_of_node.iter().flatten().copied().collect();
        let Some(tree) = self.topology.as_tree() else {
            let known = counted(known, "node");
            return format!("{}, {known} of the launch in it{missing}", self.topology.name());
        };
        let counts: Vec<String> = (0..tree.levels() - 1)
            .map(|level| {
                let mut groups: Vec<u32> = hosts.iter().map(|&h| tree.groups(level)[h]).collect();
                groups.sort_unstable();
                groups.dedup();
                groups.len()
            })
            .filter(|&count| count > 1)
            .map(|count| count.to_string())
            .collect();
        match counts.len() {
            0 if known == 1 => format!("1 node below one switch{missing}"),
            0 => format!("all {known} nodes are below one switch{missing}"),
            _ => format!("{known} nodes below {} switches{missing}", counts.join(" > ")),
        }
    }

    /// Whether the nodes of the launch are not all equally far from each other, as far as they are known. Where the
    /// network does not have a node, nothing is known of its distances.
    pub fn separates(&self) -> bool {
        let hosts: Vec<usize> = self.host_of_node.iter().flatten().copied().collect();
        let Some((&first, others)) = hosts.split_first() else { return false };
        let mut distances = others.iter().map(|&other| self.topology.distance(first, other));
        let near = distances.next();
        distances.any(|distance| Some(distance) != near)
            || others.iter().enumerate().any(|(k, &a)| {
                let rest = others[k + 1..].iter();
                rest.take(64).any(|&b| Some(self.topology.distance(a, b)) != near)
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::{Tree, parse};

    fn tree() -> Arc<dyn Topology> {
        let tree = parse("tree:2:2").unwrap().as_tree().unwrap().clone();
        let names = ["a", "b", "c.site.org", "d"].map(String::from).to_vec();
        Arc::new(Tree::with_slot_names(tree, names))
    }

    #[test]
    fn nodes_are_found_by_name_or_position() {
        let hosts = [
            Host::named("d"),
            Host::named("c"),
            Host { position: "a".into(), ..Host::named("nid1") },
            Host::named("x"),
        ];
        let network = HostNetwork::by_name(tree(), &hosts, "test".into());
        assert_eq!(network.host_of_node, [Some(3), Some(2), Some(0), None]);
        assert_eq!(network.known(), 3);
        assert_eq!(network.shape(), "3 nodes below 2 switches; it does not have 1 of the 4 nodes");
    }

    #[test]
    fn nodes_below_one_switch_are_equally_far() {
        let of = |names: &[&str]| {
            let hosts: Vec<Host> = names.iter().map(|name| Host::named(name)).collect();
            HostNetwork::by_name(tree(), &hosts, String::new())
        };
        assert!(!of(&["a", "b"]).separates());
        assert_eq!(of(&["a", "b"]).shape(), "all 2 nodes are below one switch");
        assert!(of(&["a", "b", "d"]).separates());
        assert!(of(&["b", "c", "d"]).separates());
    }
}
