//! The processes of a launch node by node, and the traffic of the nodes.

use crate::matrix::SparseMatrix;
use crate::store::Launch;

/// The order in which pictures show the processes: node by node.
pub struct NodeOrder {
    /// Position of each process in that order.
    pub position_of_process: Vec<u32>,
    /// Where each node begins, with its name; empty when nodes are unknown.
    pub groups: Vec<(usize, String)>,
}

/// Arranges `tasks` processes node by node, those of a node in the launcher's order.
pub fn by_node(launch: &Launch, tasks: usize) -> NodeOrder {
    let identity: Vec<u32> = (0..tasks as u32).collect();
    if launch.placement.node_of_process.len() != tasks {
        return NodeOrder { position_of_process: identity, groups: Vec::new() };
    }
    let node = |process: u32| launch.placement.node_of_process[process as usize];
    let mut order = identity;
    order.sort_by_key(|&process| (node(process), process));
    let mut position_of_process = vec![0u32; tasks];
    let mut groups: Vec<(usize, String)> = Vec::new();
    let mut previous = None;
    for (position, &process) in order.iter().enumerate() {
        position_of_process[process as usize] = position as u32;
        if previous != Some(node(process)) {
            let name = launch
                .placement
                .node_names
                .get(node(process) as usize)
                .cloned()
                .unwrap_or_default();
            groups.push((position, name));
            previous = Some(node(process));
        }
    }
    NodeOrder { position_of_process, groups }
}

/// Traffic of one node.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct NodeTraffic {
    /// Tasks on it.
    pub tasks: usize,
    /// Bytes between its own tasks.
    pub inside: u64,
    /// Bytes to other nodes.
    pub sent: u64,
    /// Bytes from other nodes.
    pub received: u64,
}

/// The traffic of every node; `process_of` says where a task runs.
pub fn node_traffic(
    matrix: &SparseMatrix,
    launch: &Launch,
    process_of: impl Fn(usize) -> usize,
) -> Vec<NodeTraffic> {
    let mut nodes = vec![NodeTraffic::default(); launch.placement.node_names.len()];
    let node_of = |task: usize| {
        launch.placement.node_of_process.get(process_of(task)).map(|&node| node as usize)
    };
    for task in 0..matrix.tasks() {
        if let Some(node) = node_of(task).and_then(|n| nodes.get_mut(n)) {
            node.tasks += 1;
        }
    }
    for (i, j, traffic) in matrix.entries() {
        let (Some(from), Some(to)) = (node_of(i as usize), node_of(j as usize)) else { continue };
        let add = |sum: &mut u64| *sum = sum.saturating_add(traffic.bytes);
        if from == to {
            if let Some(node) = nodes.get_mut(from) {
                add(&mut node.inside);
            }
        } else {
            if let Some(node) = nodes.get_mut(from) {
                add(&mut node.sent);
            }
            if let Some(node) = nodes.get_mut(to) {
                add(&mut node.received);
            }
        }
    }
    nodes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::Traffic;
    use crate::store::Placement;

    #[test]
    fn round_robin_nodes_are_put_together() {
        let launch = Launch {
            placement: Placement::of_nodes(vec![0, 1, 0, 1], vec!["a".into(), "b".into()]),
            process_of_task: vec![0, 2, 1, 3],
            ..Launch::default()
        };
        let order = by_node(&launch, 4);
        assert_eq!(order.position_of_process, [0, 2, 1, 3]);
        assert_eq!(order.groups, [(0, "a".to_string()), (2, "b".into())]);
        assert!(by_node(&launch, 5).groups.is_empty());

        let cell = |bytes| Traffic { bytes, messages: 1 };
        let matrix = SparseMatrix::from_entries(4, &[(0, 1, cell(5)), (2, 0, cell(3))]);
        let given = node_traffic(&matrix, &launch, |t| t);
        assert_eq!((given[0].inside, given[0].sent, given[1].received), (3, 5, 5));
        let used = node_traffic(&matrix, &launch, |t| launch.process_of(t));
        assert_eq!((used[0].inside, used[1].sent, used[0].received), (5, 3, 3));
        assert_eq!(used.iter().map(|n| n.tasks).sum::<usize>(), 4);
    }
}
