//! How the traffic that leaves the nodes is spread over their rails.

use crate::matrix::SparseMatrix;
use crate::metrics::RailLoads;
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
    /// [`RailSummary::sent`] as it would have been in the launcher's order.
    pub sent_given_order: u64,
    /// [`RailSummary::received`] as it would have been in the launcher's order.
    pub received_given_order: u64,
}

/// How even the rails are used.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct RailBalance {
    /// Bytes of the busiest rail, in the direction with more traffic.
    pub busiest: u64,
    /// [`RailLoads::imbalance`]: 1 if the rails of each node are used evenly.
    pub imbalance: f64,
    /// [`RailBalance::busiest`] as it would have been in the launcher's order.
    pub busiest_given_order: u64,
    /// [`RailBalance::imbalance`] as it would have been in the launcher's order.
    pub imbalance_given_order: f64,
}

/// The rails of all nodes of a launch, node by node, and how even they are used; nothing if they are not known.
/// Traffic between nodes is charged to the rails of the two processes.
pub(super) fn of_launch(
    launch: &Launch,
    matrix: &SparseMatrix,
) -> (Vec<RailSummary>, Option<RailBalance>) {
    let Some(rails) = launch.placement.rails() else { return (Vec::new(), None) };
    let nodes = &launch.placement.node_of_process;
    let node_of = |process: usize| nodes.get(process).map_or(0, |&node| node as usize);
    let loads =
        |process_of_task: Vec<usize>| RailLoads::new(matrix, &rails, &node_of, &process_of_task);
    let used = loads((0..matrix.tasks()).map(|task| launch.process_of(task)).collect());
    let given = loads((0..matrix.tasks()).collect());
    let balance = RailBalance {
        busiest: used.busiest,
        imbalance: used.imbalance,
        busiest_given_order: given.busiest,
        imbalance_given_order: given.imbalance,
    };
    let summary = used.loads.into_iter().zip(given.loads).map(|(used, given)| RailSummary {
        node: used.node,
        rail: used.rail,
        tasks: used.tasks,
        sent: used.sent,
        received: used.received,
        sent_given_order: given.sent,
        received_given_order: given.received,
    });
    (summary.collect(), Some(balance))
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
