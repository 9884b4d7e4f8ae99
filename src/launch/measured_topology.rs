//! The tree of a launch whose switches were measured: switches, nodes, and the places inside nodes.

use crate::base::clock::since_1970;
use crate::base::error::Result;
use crate::store::{MeasuredNetwork, Placement, Store};
use crate::topology::{self, Tree, costs};

/// What a store says about the network between the nodes of a placement.
pub(super) fn network_of(store: &Store, placement: &Placement) -> Option<MeasuredNetwork> {
    let now = since_1970().as_secs();
    store.measured_network(&placement.node_names, now).ok().flatten()
}

/// The tree with one slot per process. The levels of switches are above the nodes.
///
/// Errors: lists that do not fit together.
pub(super) fn tree(placement: &Placement, network: &MeasuredNetwork) -> Result<Tree> {
    let levels = network.level_names.len();
    let path = |(process, &node): (usize, &u32)| {
        let mut path = network.group_of_host.get(node as usize).cloned().unwrap_or(vec![0; levels]);
        path.push(node);
        path.extend(placement.place_of_process.get(process).into_iter().flatten());
        path
    };
    let paths: Vec<Vec<u32>> = placement.node_of_process.iter().enumerate().map(path).collect();
    let outer: Vec<u32> = paths.iter().map(|path| path[0]).collect();
    let inner: Vec<Vec<u32>> = paths.iter().map(|path| path[1..].to_vec()).collect();
    let costs = [costs_of(network), placement.level_costs.clone()].concat();
    topology::from_launch(&outer, &inner, &costs)
}

/// The distance across each level of switches: with each level it grows by that of two nodes, or as much as the
/// bandwidth for each node shrinks, whichever is more.
fn costs_of(network: &MeasuredNetwork) -> Vec<u64> {
    let levels = network.level_names.len();
    let mut costs: Vec<u64> = Vec::with_capacity(levels);
    for level in (0..levels).rev() {
        let mut sizes = std::collections::HashMap::<u32, usize>::new();
        network.group_of_host.iter().for_each(|path| *sizes.entry(path[level]).or_default() += 1);
        let mut sizes: Vec<usize> = sizes.into_values().collect();
        sizes.sort_unstable();
        let size = sizes.get(sizes.len() / 2).copied().unwrap_or(1) as f64;
        let taper = match (network.bandwidths.get(level), network.bandwidths.last()) {
            (Some(uplink), Some(host)) => (size * host / uplink).clamp(1.0, 100.0),
            _ => 1.0,
        };
        let below = costs.last().copied().unwrap_or(costs::NODE);
        costs.push((below + costs::NODE).max((taper * costs::NODE as f64) as u64));
    }
    costs.reverse();
    costs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::Topology;

    #[test]
    fn distances_grow_with_the_taper() {
        let network = MeasuredNetwork {
            level_names: vec!["level2".into(), "leaf".into()],
            group_of_host: vec![vec![0, 0], vec![0, 0], vec![0, 1], vec![1, 2]],
            bandwidths: vec![10.0, 4.0, 8.0],
            ..MeasuredNetwork::default()
        };
        let placement = Placement {
            level_costs: vec![100, 1],
            level_names: vec!["node".into()],
            ..Placement::of_nodes(vec![0, 1, 2, 3, 0], Vec::new())
        };
        let tree = tree(&placement, &network).unwrap();
        assert_eq!(tree.distance(0, 4), 1);
        assert_eq!(tree.distance(0, 1), 100);
        assert_eq!(tree.distance(0, 2), 200);
        assert_eq!(tree.distance(0, 3), 300);
    }
}
