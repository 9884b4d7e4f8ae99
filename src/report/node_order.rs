//! The processes of a launch node by node, and the traffic of the nodes.

use crate::base::permutation::{identity, inverse};
use crate::matrix::SparseMatrix;
use crate::store::Launch;

/// The order in which pictures show the processes: node by node.
pub struct NodeOrder {
    /// The position of each process in that order.
    pub position_of_process: Vec<u32>,
    /// The position at which each node begins, with the name of the node; empty if the nodes are not known.
    pub groups: Vec<(usize, String)>,
}

/// Arranges `tasks` processes node by node. The processes of a node are in the launcher's order.
pub fn by_node(launch: &Launch, tasks: usize) -> NodeOrder {
    let mut order = identity(tasks);
    let placement = &launch.placement;
    if placement.node_of_process.len() != tasks {
        return NodeOrder { position_of_process: order, groups: Vec::new() };
    }
    let node = |process: u32| placement.node_of_process[process as usize];
    order.sort_by_key(|&process| (node(process), process));
    let mut groups: Vec<(usize, String)> = Vec::new();
    let mut position = 0;
    for processes in order.chunk_by(|&a, &b| node(a) == node(b)) {
        let name = placement.node_names.get(node(processes[0]) as usize);
        groups.push((position, name.cloned().unwrap_or_default()));
        position += processes.len();
    }
    NodeOrder { position_of_process: inverse(&order), groups }
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
        let mut add = |node: usize, sum: fn(&mut NodeTraffic) -> &mut u64| {
            if let Some(sum) = nodes.get_mut(node).map(sum) {
                *sum = sum.saturating_add(traffic.bytes);
            }
        };
        if from == to {
            add(from, |node| &mut node.inside);
        } else {
            add(from, |node| &mut node.sent);
            add(to, |node| &mut node.received);
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
