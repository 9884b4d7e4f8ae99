//! How the traffic that leaves the nodes is spread over their rails.

use crate::matrix::SparseMatrix;
use crate::store::{Launch, NO_DEVICE};
use serde::Serialize;

/// The traffic of one rail.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RailSummary {
    /// Name of its node.
    pub node: String,
    /// Name of the adapter.
    pub rail: String,
    /// Number of tasks whose traffic it takes.
    pub tasks: usize,
    /// Bytes that these tasks send to other nodes.
    pub sent: u64,
    /// Bytes that they receive from other nodes.
    pub received: u64,
}

/// The rails of all nodes of a launch, node by node; empty if they are not known. Traffic between nodes is charged
/// to the rails of the two processes.
pub(super) fn of_launch(launch: &Launch, matrix: &SparseMatrix) -> Vec<RailSummary> {
    let placement = &launch.placement;
    let devices = &placement.devices;
    let mut first = Vec::new();
    let mut rails = Vec::new();
    for (node, names) in placement.node_names.iter().zip(&devices.rails_of_node) {
        first.push(rails.len());
        let rail = |rail: &String| RailSummary {
            node: node.clone(),
            rail: rail.clone(),
            tasks: 0,
            sent: 0,
            received: 0,
        };
        rails.extend(names.iter().map(rail));
    }
    let at = |task: usize| {
        let rail = devices.rail_of(launch.process_of(task))?;
        Some(first.get(launch.node_of(task)?)? + rail)
    };
    let of_task: Vec<Option<usize>> = (0..matrix.tasks()).map(at).collect();
    for rail in of_task.iter().flatten() {
        rails[*rail].tasks += 1;
    }
    for (from, to, traffic) in matrix.entries() {
        let [from, to] = [from as usize, to as usize];
        if launch.node_of(from) == launch.node_of(to) {
            continue;
        }
        if let Some(rail) = of_task[from] {
            rails[rail].sent = rails[rail].sent.saturating_add(traffic.bytes);
        }
        if let Some(rail) = of_task[to] {
            rails[rail].received = rails[rail].received.saturating_add(traffic.bytes);
        }
    }
    rails
}

/// Name of the GPU of each task, as far as known; empty if no task has one.
pub(super) fn gpus_of_tasks(launch: &Launch, tasks: usize) -> Vec<Option<String>> {
    let devices = &launch.placement.devices;
    if devices.gpu_of_process.iter().all(|&gpu| gpu == NO_DEVICE) {
        return Vec::new();
    }
    let name = |task: usize| {
        let names = devices.gpus_of_node.get(launch.node_of(task)?)?;
        names.get(devices.gpu_of(launch.process_of(task))?).cloned()
    };
    (0..tasks).map(name).collect()
}
