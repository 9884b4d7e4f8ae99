//! The distances between the nodes of a job on a network that is no tree.
//!
//! Distances are the hops of the network, scaled so that the nearest two hosts have the distance [`NODE`]. A node
//! that the network does not have is as far from all others as the two hosts of the job that are farthest apart.
//!
//! Up to [`MOST_IN_TABLE`] nodes there is a table, of 4 bytes for each pair. For more nodes the network is asked for
//! each distance, and nothing is kept here: 16 384 nodes would need a table of 1 GiB. A graph keeps rows of hops by
//! itself, of its switches and within a bound. Both forms give the same distances.

use super::costs::NODE;
use super::{Network, Topology};
use std::sync::Arc;

/// The largest job whose distances are kept as a table (4 MiB).
const MOST_IN_TABLE: usize = 1024;

/// The nodes of a job, which are hosts of a network, and the distances between them.
pub(super) struct NodeDistances {
    network: Arc<dyn Topology>,
    /// The host of each node; `None` stands for a node that the network does not have.
    host_of_node: Vec<Option<usize>>,
    /// Hops of the nearest two hosts.
    nearest: u64,
    /// Distance of two nodes whose hops are unknown.
    far: u32,
    /// The distances of all pairs: row after row.
    table: Option<Vec<u32>>,
}

impl NodeDistances {
    /// The distances of nodes on these hosts of the network, all of which exist.
    pub(super) fn new(
        network: Arc<dyn Topology>,
        host_of_node: Vec<Option<usize>>,
    ) -> NodeDistances {
        NodeDistances::with_table_up_to(MOST_IN_TABLE, network, host_of_node)
    }

    fn with_table_up_to(
        most: usize,
        network: Arc<dyn Topology>,
        host_of_node: Vec<Option<usize>>,
    ) -> NodeDistances {
        let nodes = host_of_node.len();
        let nearest = nearest_hops(network.as_ref(), &host_of_node).max(1);
        let widest = match has_unknown_hops(&host_of_node) {
            true => widest_hops(network.as_ref(), &host_of_node),
            false => None,
        };
        let far = scaled(widest.unwrap_or(1).max(nearest), nearest);
        let mut distances = NodeDistances { network, host_of_node, nearest, far, table: None };
        if nodes <= most {
            let mut table = vec![0; nodes * nodes];
            for a in 0..nodes {
                for b in a + 1..nodes {
                    let distance = distances.on_demand(a, b);
                    (table[a * nodes + b], table[b * nodes + a]) = (distance, distance);
                }
            }
            distances.table = Some(table);
        }
        distances
    }

    /// The network of the nodes.
    pub(super) fn network(&self) -> &dyn Topology {
        self.network.as_ref()
    }

    /// The links of the network, if it knows them.
    pub(super) fn links(&self) -> Option<&dyn Network> {
        self.network.network()
    }

    /// The host of each node.
    pub(super) fn host_of_node(&self) -> &[Option<usize>] {
        &self.host_of_node
    }

    /// The distance of two different nodes.
    #[inline]
    pub(super) fn between(&self, a: usize, b: usize) -> u64 {
        u64::from(match &self.table {
            Some(table) => table[a * self.host_of_node.len() + b],
            None => self.on_demand(a, b),
        })
    }

    fn on_demand(&self, a: usize, b: usize) -> u32 {
        let (a, b) = (self.host_of_node[a], self.host_of_node[b]);
        match a.zip(b).map_or(0, |(a, b)| self.network.distance(a, b)) {
            0 => self.far,
            hops => scaled(hops, self.nearest),
        }
    }
}

fn scaled(hops: u64, nearest: u64) -> u32 {
    u32::try_from(NODE.saturating_mul(hops).div_ceil(nearest)).unwrap_or(u32::MAX)
}

/// Whether the network cannot tell the hops of some pair of nodes: it does not have one of them, or both are the
/// same host.
fn has_unknown_hops(host_of_node: &[Option<usize>]) -> bool {
    let mut hosts = host_of_node.to_vec();
    hosts.sort_unstable();
    hosts.first().is_some_and(Option::is_none) || hosts.windows(2).any(|pair| pair[0] == pair[1])
}

/// The hops between the nearest hosts of a network: those of the first host to its nearest neighbour, or less
/// if the job has nearer ones.
fn nearest_hops(network: &dyn Topology, host_of_node: &[Option<usize>]) -> u64 {
    const LOOKED_AT: usize = 4096;
    let least = network.distance_bounds().0;
    let others = (1..network.slots().min(LOOKED_AT)).map(|host| network.distance(0, host));
    let of_first = others.filter(|&hops| hops > 0).min();
    let of_job = match of_first {
        Some(hops) if hops <= least => None,
        _ => best_pair(network, host_of_node, |hops, best| hops < best, least),
    };
    of_first.into_iter().chain(of_job).min().unwrap_or(1)
}

/// The hops between the two hosts of a job that are farthest apart.
fn widest_hops(network: &dyn Topology, host_of_node: &[Option<usize>]) -> Option<u64> {
    let most = network.distance_bounds().1;
    best_pair(network, host_of_node, |hops, best| hops > best, most)
}

/// The best hops, above 0, of all pairs of nodes. No pair is better than `bound`, so that the search ends there.
fn best_pair(
    network: &dyn Topology,
    host_of_node: &[Option<usize>],
    is_better: impl Fn(u64, u64) -> bool,
    bound: u64,
) -> Option<u64> {
    let hosts: Vec<usize> = host_of_node.iter().copied().flatten().collect();
    let mut best = None;
    for (k, &a) in hosts.iter().enumerate() {
        for &b in &hosts[k + 1..] {
            let hops = network.distance(a, b);
            if hops > 0 && best.is_none_or(|best| is_better(hops, best)) {
                best = Some(hops);
            }
        }
        if best.is_some_and(|best| !is_better(bound, best)) {
            break;
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::{Grid, Islands, NetworkGraph, parse};
    use proptest::prelude::*;

    /// The distances as a launch had them before there was a form without a table.
    fn plain(network: &dyn Topology, hosts: &[Option<usize>]) -> Vec<Vec<u64>> {
        let hops =
            |a: usize, b: usize| hosts[a].zip(hosts[b]).map_or(0, |(a, b)| network.distance(a, b));
        let nodes = hosts.len();
        let pairs = || (0..nodes).flat_map(|a| (0..nodes).map(move |b| (a, b)));
        let known: Vec<u64> = pairs().map(|(a, b)| hops(a, b)).filter(|&hops| hops > 0).collect();
        let of_first = (1..network.slots()).map(|slot| network.distance(0, slot)).min();
        let nearest = known.iter().copied().chain(of_first).min().unwrap_or(1);
        let widest = known.iter().copied().max().unwrap_or(1).max(nearest);
        let distance = |a: usize, b: usize| {
            let hops = if hops(a, b) == 0 { widest } else { hops(a, b) };
            (NODE * hops).div_ceil(nearest)
        };
        (0..nodes).map(|a| (0..nodes).map(|b| distance(a, b)).collect()).collect()
    }

    fn check(network: &Arc<dyn Topology>, hosts: &[Option<usize>]) {
        let want = plain(network.as_ref(), hosts);
        for most in [0, usize::MAX] {
            let found = NodeDistances::with_table_up_to(most, network.clone(), hosts.to_vec());
            assert_eq!(found.table.is_some(), most > 0 || hosts.is_empty());
            for (a, row) in want.iter().enumerate() {
                for (b, &want) in row.iter().enumerate().filter(|&(b, _)| b != a) {
                    assert_eq!(found.between(a, b), want, "{}: {a} {b} {hosts:?}", network.name());
                }
            }
        }
    }

    #[test]
    fn large_jobs_have_no_table() {
        let network: Arc<dyn Topology> = parse("torus:16x16x16").unwrap().into();
        for (nodes, table) in [(1024, true), (1025, false)] {
            let hosts = (0..nodes).map(|node| Some(3 * node)).collect();
            let distances = NodeDistances::new(network.clone(), hosts);
            assert_eq!(distances.table.is_some(), table);
            assert_eq!(distances.between(0, 1), 300);
        }
    }

    #[test]
    fn nodes_without_a_host_are_as_far_as_the_job_is_wide() {
        let network: Arc<dyn Topology> = parse("torus:8x8").unwrap().into();
        check(&network, &[Some(0), None, Some(3), None]);
        check(&network, &[None, None]);
        check(&network, &[Some(5), Some(5), Some(7)]);
        check(&network, &[]);
    }

    fn connected_graph(slots: usize, switches: usize, extra: &[(usize, usize)]) -> NetworkGraph {
        let count = slots + switches;
        let mut links: Vec<(u32, u32, f64)> =
            (0..slots).map(|s| (s as u32, (slots + s % switches) as u32, 1.0)).collect();
        links.extend((1..switches).map(|s| ((slots + s - 1) as u32, (slots + s) as u32, 1.0)));
        links.extend(extra.iter().map(|(a, b)| ((a % count) as u32, (b % count) as u32, 1.0)));
        NetworkGraph::new(slots, count, &links, "graph".into()).unwrap()
    }

    proptest! {
        #[test]
        fn both_forms_have_the_distances_of_the_network(
            dims in prop::collection::vec(1usize..5, 1..4),
            wrap in prop::collection::vec(any::<bool>(), 3),
            numbers in (1usize..6, 1usize..4, 1usize..4),
            extra in prop::collection::vec((0usize..40, 0usize..40), 0..6),
            chosen in prop::collection::vec(prop::option::weighted(0.9, 0usize..4096), 0..12),
        ) {
            let (groups, routers, hosts) = numbers;
            let grid = || Grid::new(&dims, &wrap[..dims.len()]).unwrap();
            let dragonfly = format!("dragonfly:{groups}x{routers}x{hosts}");
            let slots = groups * routers * hosts;
            let networks: [Arc<dyn Topology>; 5] = [
                Arc::new(grid()),
                parse(&dragonfly).unwrap().into(),
                Arc::new(connected_graph(slots, slots, &extra)),
                Arc::new(connected_graph(slots, routers, &extra)),
                Arc::new(Islands::new(vec![Box::new(grid()), Box::new(grid())], "two".into())),
            ];
            for network in networks {
                let all = network.slots();
                let hosts: Vec<Option<usize>> =
                    chosen.iter().map(|host| host.map(|host| host % all)).collect();
                check(&network, &hosts);
            }
        }
    }
}
