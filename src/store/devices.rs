//! The GPUs and rails of the nodes of a launch, and which of them belong to its processes.
//!
//! Traffic that leaves a node is charged to the rail of its process. Devices are looked up together with the
//! places inside the nodes. Of a job whose processes are not bound, they are not known.

use serde::{Deserialize, Serialize};

/// The number in a list of rails or GPUs that means: none is known. See [`Devices`].
pub const NO_DEVICE: u32 = u32::MAX;

/// The devices of all nodes, and those of all processes by launcher rank. A list is empty if no node has such
/// devices, or nothing is known about them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Devices {
    /// Names of the rails of each node: the network adapters that take its traffic.
    pub rails_of_node: Vec<Vec<String>>,
    /// Names of the GPUs of each node.
    pub gpus_of_node: Vec<Vec<String>>,
    /// Rail of each process, numbered in the rails of its node; [`NO_DEVICE`] if not known.
    pub rail_of_process: Vec<u32>,
    /// GPU of each process, numbered in the GPUs of its node; [`NO_DEVICE`] if not known.
    pub gpu_of_process: Vec<u32>,
}

impl Devices {
    /// What contradicts itself or does not fit these nodes of the processes, if anything.
    pub fn inconsistency(&self, node_of_process: &[u32], nodes: usize) -> Option<String> {
        let kinds = [
            ("rail", &self.rails_of_node, &self.rail_of_process),
            ("GPU", &self.gpus_of_node, &self.gpu_of_process),
        ];
        kinds.into_iter().find_map(|(kind, of_node, of_process)| {
            let fits = |length: usize, all: usize| length == 0 || length == all;
            if !fits(of_node.len(), nodes) || !fits(of_process.len(), node_of_process.len()) {
                return Some(format!(
                    "a list of {kind}s has another length than that of its nodes or tasks"
                ));
            }
            let wrong = of_process.iter().zip(node_of_process).find(|&(&device, &node)| {
                let there = of_node.get(node as usize).map_or(0, Vec::len);
                device != NO_DEVICE && device as usize >= there
            });
            wrong.map(|(device, node)| format!("node {node} has no {kind} {device}"))
        })
    }

    /// Whether a node has several rails, so that it matters which one a process has.
    pub fn has_several_rails(&self) -> bool {
        self.rails_of_node.iter().any(|rails| rails.len() > 1)
    }

    /// The rail of a process, numbered in its node; `None` if not known.
    pub fn rail_of(&self, process: usize) -> Option<usize> {
        number(&self.rail_of_process, process)
    }

    /// The GPU of a process, numbered in its node; `None` if not known.
    pub fn gpu_of(&self, process: usize) -> Option<usize> {
        number(&self.gpu_of_process, process)
    }
}

fn number(of_process: &[u32], process: usize) -> Option<usize> {
    of_process.get(process).filter(|&&device| device != NO_DEVICE).map(|&device| device as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_fit_the_nodes_of_the_processes() {
        let names = |names: &[&str]| names.iter().map(|name| name.to_string()).collect::<Vec<_>>();
        let devices = Devices {
            rails_of_node: vec![names(&["mlx5_0", "mlx5_1"]), names(&["mlx5_0"])],
            gpus_of_node: Vec::new(),
            rail_of_process: vec![1, NO_DEVICE, 0],
            gpu_of_process: Vec::new(),
        };
        assert_eq!(devices.inconsistency(&[0, 0, 1], 2), None);
        assert_eq!(devices.inconsistency(&[1, 0, 1], 2).unwrap(), "node 1 has no rail 1");
        assert!(devices.inconsistency(&[0, 0, 1], 3).is_some());
        assert!(devices.inconsistency(&[0, 0], 2).is_some());
        let unknown = Devices { rail_of_process: vec![0], ..Devices::default() };
        assert!(unknown.inconsistency(&[0], 1).is_some());
        assert!(devices.has_several_rails() && !Devices::default().has_several_rails());
        assert_eq!([0, 1, 2, 3].map(|p| devices.rail_of(p)), [Some(1), None, Some(0), None]);
        assert_eq!(devices.gpu_of(0), None);
    }
}
