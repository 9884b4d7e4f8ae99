//! The topology of a launch on a known network: one slot for each process, the network between the nodes, and
//! the machine inside each node.
//!
//! If the network between the nodes of the job is a tree, the result is one [`Tree`] with the levels of the
//! switches, the nodes and the machine inside them. Every other network (torus, dragonfly, any graph) gives a
//! [`Cluster`]. Nodes that the network does not have are as far from all other nodes as the network is wide.

use super::costs::{self, NODE};
use super::node_distances::NodeDistances;
use super::{Charges, Network, Routed, Routing, RoutingKind, Topology, Tree, from_launch};
use crate::base::nouns::counted;
use crate::{Error, ErrorKind, Result};
use std::sync::Arc;

/// Added to the number of a node that the network does not have, so that it makes a group of its own at each
/// level of switches.
const UNKNOWN: u32 = 1 << 30;

/// Bandwidth of the links between a process and its node, relative to the fastest link of the network. Traffic
/// inside a node never limits the network.
const INSIDE: f64 = 64.0;

/// The largest factor by which the distance grows at one level of tapered switches.
const MOST_TAPER: f64 = 8.0;

/// Where the processes of a launch are.
#[derive(Debug, Clone, Copy)]
pub struct Processes<'a> {
    /// The node of each process, numbered from 0.
    pub node_of_process: &'a [u32],
    /// The path of each process inside its node; see [`from_launch`].
    pub place_of_process: &'a [Vec<u32>],
    /// The distances of the levels from the node inwards; see [`from_launch`].
    pub level_costs: &'a [u64],
}

/// The topology of processes whose nodes are hosts of `network`: node n is the slot `host_of_node[n]` of it.
/// `None` stands for a node that the network does not have.
///
/// Distances between nodes are those of the network, scaled so that the nearest two hosts have the distance
/// [`NODE`]. If a tree has bandwidths, the distance at a level also grows with the oversubscription below it.
///
/// Errors: lists that do not fit together.
pub fn on_network(
    network: &Arc<dyn Topology>,
    host_of_node: &[Option<usize>],
    processes: Processes,
) -> Result<Box<dyn Topology>> {
    let Processes { node_of_process, place_of_process, level_costs } = processes;
    let flat = from_launch(node_of_process, place_of_process, level_costs)?;
    let fits = |&node: &u32| (node as usize) < host_of_node.len();
    let exists = |host: &usize| *host < network.slots();
    if !node_of_process.iter().all(fits) || !host_of_node.iter().flatten().all(exists) {
        let what = "the nodes of the processes do not fit the network";
        return Err(Error::new(ErrorKind::Infeasible, what).at(network.name()));
    }
    match network.as_tree() {
        Some(tree) if tree.levels() > 1 => {
            let paths = tree_paths(tree, host_of_node);
            let whole = joined(&paths, &level_distances(tree), processes)?;
            Ok(with_routing(with_bandwidths(whole, tree), network.as_ref()))
        }
        Some(_) => Ok(Box::new(flat)),
        None => Ok(Box::new(Cluster::new(network.clone(), host_of_node, node_of_process, flat))),
    }
}

/// The groups of each node at the levels of switches, from the root down.
fn tree_paths(tree: &Tree, host_of_node: &[Option<usize>]) -> Vec<Vec<u32>> {
    let levels = tree.levels() - 1;
    let path = |(node, host): (usize, &Option<usize>)| match host {
        Some(host) => (0..levels).map(|level| tree.groups(level)[*host]).collect(),
        None => vec![UNKNOWN + node as u32; levels],
    };
    host_of_node.iter().enumerate().map(path).collect()
}

/// The distances of two nodes that first differ at each level of switches, and of two nodes below one switch.
fn level_distances(tree: &Tree) -> Vec<u64> {
    let levels = tree.levels();
    let nearest = tree.cost(levels - 1).max(1);
    let by_hops = |level: usize| NODE.saturating_mul(tree.cost(level)).div_ceil(nearest);
    let Some(tapers) = tapers(tree) else { return (0..levels).map(by_hops).collect() };
    let mut distance = NODE as f64;
    let mut distances = vec![NODE; levels];
    for level in (0..levels - 1).rev() {
        distance += NODE as f64 * tapers[level];
        distances[level] = by_hops(level).max(distance.round() as u64);
    }
    distances
}

/// For each level of switches, how many times the links of the hosts below a switch have the bandwidth of the
/// link above it: at least 1, at most [`MOST_TAPER`]. `None` if all links have the same bandwidth, which is what
/// a tree without bandwidths says.
fn tapers(tree: &Tree) -> Option<Vec<f64>> {
    let bandwidths = tree.bandwidths();
    let hosts = *bandwidths.last()?;
    if bandwidths.iter().all(|&bandwidth| bandwidth == hosts) {
        return None;
    }
    let taper =
        |level: usize| (tree.mean_below(level) * hosts / bandwidths[level]).clamp(1.0, MOST_TAPER);
    Some((0..tree.levels() - 1).map(taper).collect())
}

/// The tree of the switches, the nodes, and the machine inside the nodes.
fn joined(switches: &[Vec<u32>], distances: &[u64], processes: Processes) -> Result<Tree> {
    let Processes { node_of_process, place_of_process, level_costs } = processes;
    let inner = place_of_process.first().map_or(0, Vec::len);
    let path = |(process, &node): (usize, &u32)| {
        let place = place_of_process.get(process).map_or(&[][..], Vec::as_slice);
        [&switches[node as usize][..], &[node], place].concat()
    };
    let paths: Vec<Vec<u32>> = node_of_process.iter().enumerate().map(path).collect();
    let mut all = distances.to_vec();
    all.extend(level_costs.iter().skip(1));
    if level_costs.len() == inner + 1 {
        all.push(costs::SLOT);
    }
    let node_level = distances.len() - 1;
    let tree = Tree::from_paths(&paths, &all).ok_or_else(|| {
        let what = format!("the distances {all:?} do not decrease from the network to the cores");
        Error::new(ErrorKind::Infeasible, what)
    })?;
    Ok(tree.with_node_level(Some(node_level)))
}

/// The tree with the bandwidths of the network for its switches and nodes. Links inside the nodes are [`INSIDE`] times as
/// fast as the fastest of these. A tree without bandwidths stays as it is.
fn with_bandwidths(tree: Tree, network: &Tree) -> Tree {
    if tapers(network).is_none() {
        return tree;
    }
    let mut bandwidths = network.bandwidths().to_vec();
    let fastest = bandwidths.iter().copied().fold(1.0, f64::max);
    bandwidths.resize(tree.levels().max(bandwidths.len()), INSIDE * fastest);
    tree.clone().with_bandwidths(&bandwidths).unwrap_or(tree)
}

/// The tree with the routing of the network, and with what its messages cost.
fn with_routing(tree: Tree, network: &dyn Topology) -> Box<dyn Topology> {
    let Some(links) = network.network() else { return Box::new(tree) };
    let kind = RoutingKind::ALL.into_iter().find(|kind| kind.name() == links.routing().name());
    let kind = kind.filter(|kind| RoutingKind::of(&tree).contains(kind)).unwrap_or_default();
    if kind == RoutingKind::Usual && links.charges() == Charges::default() {
        return Box::new(tree);
    }
    let plain = tree.clone();
    match Routed::on(Box::new(tree), kind, links.charges(), "") {
        Ok(routed) => Box::new(routed),
        Err(_) => Box::new(plain),
    }
}

/// Processes on the hosts of a network that is not a tree.
///
/// Memory: in proportion to the processes and nodes, and at most 4 MiB for the distances of the nodes.
pub struct Cluster {
    /// The network, the hosts of the nodes in it, and the distances between them.
    nodes: NodeDistances,
    node_of_process: Vec<u32>,
    /// The machine inside the nodes. The distances between its nodes are not used.
    inside: Tree,
    /// Host and slot of each process whose host is known, sorted.
    slot_of_host: Vec<(u32, u32)>,
    /// The first vertex of the hosts and switches: the slots come first.
    first_vertex: usize,
    /// Bandwidth of the links inside nodes.
    inside_bandwidth: f64,
}

impl Cluster {
    fn new(
        network: Arc<dyn Topology>,
        host_of_node: &[Option<usize>],
        node_of_process: &[u32],
        inside: Tree,
    ) -> Cluster {
        let links = network.network().map_or(0, Network::links);
        let fastest = (0..links)
            .filter_map(|link| network.network().map(|network| network.bandwidth(link)))
            .fold(1.0, f64::max);
        let host = |node: &u32| host_of_node[*node as usize].map(|host| host as u32);
        let slots = node_of_process.iter().zip(0u32..);
        let mut slot_of_host: Vec<(u32, u32)> =
            slots.filter_map(|(node, slot)| Some((host(node)?, slot))).collect();
        slot_of_host.sort_unstable();
        Cluster {
            nodes: NodeDistances::new(network, host_of_node.to_vec()),
            slot_of_host,
            node_of_process: node_of_process.to_vec(),
            inside,
            first_vertex: node_of_process.len(),
            inside_bandwidth: INSIDE * fastest,
        }
    }

    fn host_of(&self, slot: usize) -> Option<usize> {
        self.nodes.host_of_node()[self.node_of_process[slot] as usize]
    }

    fn links_of_network(&self) -> usize {
        self.nodes.links().map_or(0, Network::links)
    }
}

impl Topology for Cluster {
    fn name(&self) -> String {
        let (nodes, network) = (self.nodes.host_of_node().len(), self.nodes.network().name());
        let (processes, nodes) = (counted(self.slots(), "process"), counted(nodes, "node"));
        format!("{processes} on {nodes} of {network}")
    }

    fn slots(&self) -> usize {
        self.node_of_process.len()
    }

    #[inline]
    fn distance(&self, a: usize, b: usize) -> u64 {
        let (from, to) = (self.node_of_process[a] as usize, self.node_of_process[b] as usize);
        if from == to {
            return self.inside.distance(a, b);
        }
        self.nodes.between(from, to)
    }

    fn network(&self) -> Option<&dyn Network> {
        let known = self.nodes.host_of_node().iter().all(Option::is_some);
        self.nodes.links().filter(|_| known).map(|_| self as &dyn Network)
    }

    fn node_of(&self, slot: usize) -> usize {
        self.node_of_process[slot] as usize
    }
}

/// Vertices are the slots, then the vertices of the network. The links of the network keep their numbers. The
/// links between slot s and its host follow them: first to the host, then from it.
impl Network for Cluster {
    fn vertices(&self) -> usize {
        self.first_vertex + self.nodes.links().map_or(0, Network::vertices)
    }

    fn links(&self) -> usize {
        self.links_of_network() + 2 * self.slots()
    }

    fn bandwidth(&self, link: usize) -> f64 {
        match self.nodes.links() {
            Some(network) if link < network.links() => network.bandwidth(link),
            _ => self.inside_bandwidth,
        }
    }

    fn neighbours(&self, vertex: usize, visit: &mut dyn FnMut(usize, usize)) {
        let own = self.links_of_network();
        if vertex < self.first_vertex {
            if let Some(host) = self.host_of(vertex) {
                visit(self.first_vertex + host, own + 2 * vertex);
            }
            return;
        }
        let of_network = vertex - self.first_vertex;
        if let Some(network) = self.nodes.links() {
            network.neighbours(of_network, &mut |other, link| {
                visit(self.first_vertex + other, link);
            });
        }
        let first = self.slot_of_host.partition_point(|&(host, _)| (host as usize) < of_network);
        let of_host = self.slot_of_host[first..].iter();
        for &(_, slot) in of_host.take_while(|&&(host, _)| host as usize == of_network) {
            visit(slot as usize, own + 2 * slot as usize + 1);
        }
    }

    fn route(&self, from: usize, to: usize, visit: &mut dyn FnMut(usize)) {
        if from == to {
            return;
        }
        let own = self.links_of_network();
        visit(own + 2 * from);
        if let (Some(network), Some(a), Some(b)) =
            (self.nodes.links(), self.host_of(from), self.host_of(to))
        {
            network.route(a, b, visit);
        }
        visit(own + 2 * to + 1);
    }

    fn routing(&self) -> Box<dyn Routing + '_> {
        Box::new(OfProcesses { nodes: self.nodes.links().map(Network::routing), cluster: self })
    }

    fn charges(&self) -> Charges {
        self.nodes.links().map_or_else(Charges::default, Network::charges)
    }
}

/// The routing of the network between the nodes, for processes.
struct OfProcesses<'a> {
    nodes: Option<Box<dyn Routing + 'a>>,
    cluster: &'a Cluster,
}

impl OfProcesses<'_> {
    /// Visits the links between both processes and their nodes. The hosts, if the network knows both.
    fn ends(
        &self,
        from: usize,
        to: usize,
        visit: &mut dyn FnMut(usize, f64),
    ) -> Option<(usize, usize)> {
        if from == to {
            return None;
        }
        let own = self.cluster.links_of_network();
        visit(own + 2 * from, 1.0);
        visit(own + 2 * to + 1, 1.0);
        self.cluster.host_of(from).zip(self.cluster.host_of(to))
    }
}

impl Routing for OfProcesses<'_> {
    fn name(&self) -> &'static str {
        self.nodes.as_ref().map_or("single", |routing| routing.name())
    }

    fn spread(&self, from: usize, to: usize, visit: &mut dyn FnMut(usize, f64)) {
        if let (Some((a, b)), Some(routing)) = (self.ends(from, to, visit), &self.nodes) {
            routing.spread(a, b, visit);
        }
    }

    fn chooses(&self) -> bool {
        self.nodes.as_ref().is_some_and(|routing| routing.chooses())
    }

    fn choose(&self, from: usize, to: usize, times: &[f64], visit: &mut dyn FnMut(usize, f64)) {
        if let (Some((a, b)), Some(routing)) = (self.ends(from, to, visit), &self.nodes) {
            routing.choose(a, b, times, visit);
        }
    }

    fn has_detours(&self) -> bool {
        self.nodes.as_ref().is_some_and(|routing| routing.has_detours())
    }

    fn detours(&self, from: usize, to: usize) -> usize {
        let hosts = self.cluster.host_of(from).zip(self.cluster.host_of(to));
        match (hosts, &self.nodes) {
            (Some((a, b)), Some(routing)) => routing.detours(a, b),
            _ => 0,
        }
    }

    fn detour(&self, from: usize, to: usize, way: usize, visit: &mut dyn FnMut(usize)) {
        if let (Some((a, b)), Some(routing)) =
            (self.ends(from, to, &mut |link, _| visit(link)), &self.nodes)
        {
            routing.detour(a, b, way, visit);
        }
    }

    fn is_hashed(&self) -> bool {
        self.nodes.as_ref().is_some_and(|routing| routing.is_hashed())
    }

    fn lanes(&self, link: usize) -> f64 {
        match &self.nodes {
            Some(routing) if link < self.cluster.links_of_network() => routing.lanes(link),
            _ => 1.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::{Subset, parse};

    fn arc(text: &str) -> Arc<dyn Topology> {
        parse(text).unwrap().into()
    }

    fn cluster(text: &str, hosts: &[Option<usize>], nodes: &[u32]) -> Box<dyn Topology> {
        let processes =
            Processes { node_of_process: nodes, place_of_process: &[], level_costs: &[100] };
        on_network(&arc(text), hosts, processes).unwrap()
    }

    #[test]
    fn switches_are_levels_above_the_nodes() {
        let hosts = [Some(0), Some(5), Some(1), Some(4)];
        let tree = cluster("tree:4:4", &hosts, &[0, 0, 1, 1, 2, 2, 3, 3]);
        let distances: Vec<u64> = [1, 2, 4, 6].map(|b| tree.distance(0, b)).to_vec();
        assert_eq!(distances, [1, 200, 100, 200]);
        assert_eq!(tree.distance(2, 6), 100);
        assert_eq!((0..8).map(|s| tree.node_of(s)).collect::<Vec<_>>(), [0, 0, 1, 1, 2, 2, 3, 3]);
    }

    #[test]
    fn places_inside_nodes_stay_below_the_nodes() {
        let places: Vec<Vec<u32>> = [0, 0, 1, 0].map(|package| vec![package]).to_vec();
        let processes = Processes {
            node_of_process: &[0, 0, 0, 1],
            place_of_process: &places,
            level_costs: &[100, 10, 1],
        };
        let tree = on_network(&arc("tree:2:2"), &[Some(0), Some(2)], processes).unwrap();
        let distances: Vec<u64> = (1..4).map(|b| tree.distance(0, b)).collect();
        assert_eq!(distances, [1, 10, 200]);
    }

    #[test]
    fn tapered_uplinks_are_far() {
        // Four hosts share one uplink of the bandwidth of a host.
        let tree = parse("tree:4:4").unwrap();
        let tree = tree.as_tree().unwrap().clone().with_bandwidths(&[1.0, 1.0]).unwrap();
        assert_eq!(level_distances(&tree), [200, 100]);
        let tree = tree.with_bandwidths(&[2.0, 1.0]).unwrap();
        assert_eq!(level_distances(&tree), [300, 100]);
    }

    #[test]
    fn trees_keep_bandwidths_routing_and_charges() {
        let hosts: Vec<Option<usize>> = (0..8).map(Some).collect();
        let nodes: Vec<u32> = (0..16).map(|process| process / 2).collect();
        let whole = cluster("fattree:4:2@2,routing=ecmp,message=7", &hosts, &nodes);
        let links = whole.network().unwrap();
        let (mut widths, mut lanes) = (Vec::new(), Vec::new());
        let routing = links.routing();
        routing.spread(0, 8, &mut |link, _| {
            widths.push(links.bandwidth(link));
            lanes.push(routing.lanes(link));
        });
        assert_eq!(widths, [128.0, 1.0, 2.0, 2.0, 1.0, 128.0]);
        assert_eq!(lanes, [1.0, 1.0, 2.0, 2.0, 1.0, 1.0]);
        assert!(routing.is_hashed() && (links.charges().message - 7.0).abs() < 1e-9);
        let taper = |topology: &dyn Topology| topology.as_tree().unwrap().taper();
        assert!((taper(whole.as_ref()) - 2.0).abs() < 1e-9);
        // Two nodes below a switch fill its uplinks, and no more.
        let few = cluster("fattree:4:2@2", &[Some(0), Some(1), Some(4), Some(5)], &[0, 0, 1, 2, 3]);
        assert!((taper(few.as_ref()) - 1.0).abs() < 1e-9);
        assert!(taper(cluster("tree:4:4", &hosts, &nodes).as_ref()) <= 1.0);
        assert!(taper(cluster("tree:16", &hosts, &nodes).as_ref()) <= 1.0);
    }

    #[test]
    fn unknown_nodes_are_far_from_all() {
        for (network, widest) in [("tree:4:4", 200), ("torus:4x4", 400)] {
            let far = if network == "tree:4:4" { Some(5) } else { Some(10) };
            let hosts = [Some(0), None, far, None];
            let topology = cluster(network, &hosts, &[0, 1, 2, 3, 1]);
            assert_eq!(topology.distance(0, 1), widest, "{network}");
            assert_eq!(topology.distance(1, 3), widest, "{network}");
            assert_eq!(topology.distance(0, 2), widest, "{network}");
            assert_eq!(topology.distance(1, 4), 1, "{network}");
        }
    }

    #[test]
    fn tori_keep_their_distances_and_links() {
        let network = arc("torus:4x4");
        let hosts: Vec<Option<usize>> = [0usize, 1, 2, 10].map(Some).to_vec();
        let nodes = [0, 0, 1, 1, 2, 2, 3, 3];
        let topology = cluster("torus:4x4", &hosts, &nodes);
        assert_eq!([2, 4, 6].map(|b| topology.distance(0, b)), [100, 200, 400]);
        assert_eq!((topology.distance(0, 1), topology.node_of(7)), (1, 3));
        let links = topology.network().unwrap();
        let mut seen = Vec::new();
        links.route(0, 6, &mut |link| seen.push(link));
        let mut between = Vec::new();
        network.network().unwrap().route(0, 10, &mut |link| between.push(link));
        assert_eq!(seen[1..seen.len() - 1], between);
        assert!(links.bandwidth(seen[0]) > links.bandwidth(seen[1]));
        let slots: Vec<usize> = (0..8).rev().collect();
        let part = Subset::new(topology.as_ref(), &slots).unwrap();
        assert_eq!(part.distance(0, 1), 1);
    }

    #[test]
    fn nodes_that_do_not_fit_are_refused() {
        let processes =
            Processes { node_of_process: &[0, 1], place_of_process: &[], level_costs: &[100] };
        for hosts in [&[Some(0)][..], &[Some(0), Some(99)]] {
            assert!(on_network(&arc("torus:4x4"), hosts, processes).is_err());
        }
    }
}
