//! Where the processes of a launch ran: which share a node, and where inside it each may run.

use super::Devices;
use crate::topology::{Rail, Rails, costs};
use serde::{Deserialize, Serialize};

/// The places of all processes, by launcher rank. Records and spill files hold its fields in this order, but for the
/// devices: a record has these at its end, and spill files do not have them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Placement {
    /// Node of each process, numbered from 0 in the order of first appearance; empty when not known.
    pub node_of_process: Vec<u32>,
    /// Name of each node.
    pub node_names: Vec<String>,
    /// Path of each process in the machine below its node (package, NUMA domain, core); all of one
    /// length, empty when not known.
    pub place_of_process: Vec<Vec<u32>>,
    /// For each level, the distance of two processes that first differ there, node level first. The last number
    /// is the distance of two processes that do not differ.
    pub level_costs: Vec<u64>,
    /// Name of each level (`node`, `package`, …), node level first.
    pub level_names: Vec<String>,
    /// Where the scheduler says that each node is in the network; not kept in files.
    #[serde(skip)]
    pub node_addresses: Vec<String>,
    /// The physical position of each node, where the system gives one; not kept in files.
    #[serde(skip)]
    pub node_positions: Vec<String>,
    /// The GPUs and rails of the nodes, and those of each process.
    #[serde(skip)]
    pub devices: Devices,
}

impl Placement {
    /// A placement that says which processes share a node, and nothing more.
    pub fn of_nodes(node_of_process: Vec<u32>, node_names: Vec<String>) -> Placement {
        Placement { node_of_process, node_names, ..Placement::default() }
    }

    /// The rails of the nodes, with process k on slot k; `None` if none is known.
    pub fn rails(&self) -> Option<Rails> {
        let devices = &self.devices;
        let mut first = Vec::new();
        let mut rails = Vec::new();
        for ((node, node_name), names) in (0..).zip(&self.node_names).zip(&devices.rails_of_node) {
            first.push(rails.len());
            let rail =
                |name: &String| Rail { node, node_name: node_name.clone(), name: name.clone() };
            rails.extend(names.iter().map(rail));
        }
        let nodes = self.node_of_process.iter().enumerate();
        let of_process = nodes
            .map(|(process, &node)| Some(first.get(node as usize)? + devices.rail_of(process)?));
        let of_process: Vec<Option<usize>> = of_process.collect();
        (!rails.is_empty()).then_some(())?;
        let price = self.level_costs.first().copied().unwrap_or(costs::NODE);
        Rails::new(rails, of_process, price).ok()
    }

    /// What contradicts itself or does not fit the number of tasks, if anything.
    pub fn inconsistency(&self, tasks: usize) -> Option<String> {
        let fits = |length: usize| length == 0 || length == tasks;
        if !fits(self.node_of_process.len()) || !fits(self.place_of_process.len()) {
            return Some(format!("a list in it does not have {tasks} entries, one for each task"));
        }
        let nodes = self.node_names.len();
        if let Some(node) = self.node_of_process.iter().find(|&&n| n as usize >= nodes) {
            return Some(format!("a process is on node {node}, which does not exist"));
        }
        let depth = self.place_of_process.first().map_or(0, Vec::len);
        if self.place_of_process.iter().any(|place| place.len() != depth) {
            return Some("the places of its processes have different numbers of levels".into());
        }
        self.devices.inconsistency(&self.node_of_process, nodes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_have_the_rails_of_their_nodes() {
        let mut placement = Placement::of_nodes(vec![1, 0, 1], vec!["a".into(), "b".into()]);
        assert_eq!(placement.rails(), None);
        let names = |names: &[&str]| names.iter().map(|name| name.to_string()).collect::<Vec<_>>();
        placement.devices.rails_of_node = vec![names(&["x"]), names(&["x", "y"])];
        assert!(!placement.rails().unwrap().have_choice(), "no rail of a process is known");
        placement.devices.rail_of_process = vec![1, crate::store::NO_DEVICE, 0];
        let rails = placement.rails().unwrap();
        assert_eq!([0, 1, 2].map(|process| rails.of(process)), [Some(2), None, Some(1)]);
        assert_eq!((rails.all()[2].node_name.as_str(), rails.all()[2].name.as_str()), ("b", "y"));
        assert!(rails.have_choice());
    }

    #[test]
    fn a_placement_of_nodes_fits_its_number_of_tasks_only() {
        let placement = Placement::of_nodes(vec![0, 0, 1], vec!["a".into(), "b".into()]);
        assert_eq!(placement.inconsistency(3), None);
        assert!(placement.inconsistency(4).is_some());
        assert_eq!(Placement::default().inconsistency(4), None, "nothing is known");
        let unnamed = Placement::of_nodes(vec![0, 1], vec!["a".into()]);
        assert_eq!(
            unnamed.inconsistency(2).unwrap(),
            "a process is on node 1, which does not exist"
        );
    }
}
