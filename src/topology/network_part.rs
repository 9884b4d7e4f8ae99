//! The part of a network that some of its hosts need: small enough to be kept, and equal to the whole for these hosts.
//!
//! The description of a fabric has all hosts of a cluster, and a launch uses a few of them. A part has the distances
//! between these hosts, the links that shortest paths between them can take, and what the distances of a launch
//! depend on besides: the mean number of hosts below the switches of a tree, and one host that is nearest to the
//! first one.
//!
//! | network | part |
//! |---|---|
//! | tree, and any network with the distances of a tree | the path of each host |
//! | grid or torus | its size, and the point of each host |
//! | any graph | the links on shortest paths between the hosts |
//! | no links known | the distances of the hosts, of up to [`MOST_DISTANCES`] |
//!
//! Limits: other networks (a dragonfly that is given by its numbers) have no part. With many hosts in a large graph,
//! all links between switches are kept.

use super::{DistanceMatrix, Grid, NetworkGraph, Topology, Tree};
use crate::base::numbering::by_first_appearance;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::sync::Arc;

/// Hosts whose distances are kept as a table.
const MOST_DISTANCES: usize = 256;
/// Coordinates of the largest grid that is made again from a part.
const MOST_COORDINATES: usize = 1 << 22;
/// Steps that a search for the links on shortest paths takes at most.
const MOST_STEPS: usize = 1 << 27;
/// Slots that are looked at for the one that is nearest to the first host.
const NEAREST_OF: usize = 4096;
/// Levels of a tree, dimensions of a grid, and characters of a label.
const MOST_LEVELS: usize = 64;
const LONGEST_LABEL: usize = 4096;

/// The part of a network with some hosts. Host `k` is the k-th of the slots of [`NetworkPart::of`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum NetworkPart {
    /// A tree of switches.
    Tree {
        /// The name of the network.
        label: String,
        /// The group of each host in each level, from the root down, without the hosts' own level.
        paths: Vec<Vec<u32>>,
        /// The distance of two hosts that first differ in each level, the hosts' own level last.
        costs: Vec<u64>,
        /// The bandwidth of the links above the groups of each level, the hosts' own level last.
        bandwidths: Vec<f64>,
        /// The mean number of hosts below the groups of each level, in the whole tree.
        below: Vec<f64>,
    },
    /// A grid or torus.
    Grid {
        /// The name of the network.
        label: String,
        /// Points in each dimension.
        dims: Vec<u32>,
        /// Whether each dimension wraps around.
        wrap: Vec<bool>,
        /// Bandwidth of the links of each dimension.
        bandwidths: Vec<f64>,
        /// The point of each host.
        points: Vec<u32>,
    },
    /// Any network.
    Graph {
        /// The name of the network.
        label: String,
        /// Messages may pass through hosts.
        slots_forward: bool,
        /// Hosts; there may be one more slot behind them.
        hosts: u32,
        /// Slots, and vertices with the switches.
        sizes: (u32, u32),
        /// Links with their bandwidth.
        links: Vec<(u32, u32, f64)>,
    },
    /// Distances only.
    Distances {
        /// The name of the network.
        label: String,
        /// Hosts; there may be one more slot behind them.
        hosts: u32,
        /// The distances from each slot to each other.
        rows: Vec<Vec<u32>>,
    },
}

impl NetworkPart {
    /// The part of `whole` with these slots, which differ from each other. `None` if a network of this kind has no
    /// part, or if there is no slot.
    pub fn of(whole: &dyn Topology, slots: &[usize]) -> Option<NetworkPart> {
        let label: String = whole.name().chars().take(LONGEST_LABEL).collect();
        if slots.is_empty() || slots.iter().any(|&slot| slot >= whole.slots()) {
            return None;
        }
        if let Some(tree) = whole.as_tree() {
            return Some(of_tree(tree, slots, label));
        }
        if let Some(grid) = whole.as_grid() {
            return of_grid(grid, slots.to_vec(), label);
        }
        if let Some((grid, points)) = whole.as_part_of_grid() {
            return of_grid(grid, slots.iter().map(|&slot| points[slot]).collect(), label);
        }
        let hosts = slots.len() as u32;
        let slots: Vec<usize> = slots.iter().copied().chain(nearest(whole, slots)).collect();
        if let Some(graph) = whole.as_graph() {
            let (vertices, links) = links_of(graph, &slots);
            let sizes = (slots.len() as u32, vertices as u32);
            let slots_forward = graph.slots_forward();
            return Some(NetworkPart::Graph { label, slots_forward, hosts, sizes, links });
        }
        if whole.network().is_some() || slots.len() > MOST_DISTANCES {
            return None;
        }
        let row = |&a: &usize| -> Option<Vec<u32>> {
            slots.iter().map(|&b| u32::try_from(whole.distance(a, b)).ok()).collect()
        };
        let rows: Option<Vec<Vec<u32>>> = slots.iter().map(row).collect();
        Some(NetworkPart::Distances { label, hosts, rows: rows? })
    }

    /// The network, and the slot of each host in it. `None` if the part contradicts itself.
    pub fn build(&self) -> Option<(Arc<dyn Topology>, Vec<usize>)> {
        match self {
            NetworkPart::Tree { label, paths, costs, bandwidths, below } => {
                let fits = costs.len() <= MOST_LEVELS && below.len() == costs.len();
                let tree = Tree::from_paths(paths, costs).filter(|_| fits && !paths.is_empty())?;
                let tree = tree.with_bandwidths(bandwidths)?.with_mean_below(below)?;
                let slots = (0..paths.len()).collect();
                Some((Arc::new(tree.with_label(label.clone())), slots))
            }
            NetworkPart::Grid { label, dims, wrap, bandwidths, points } => {
                let dims: Vec<usize> = dims.iter().map(|&d| d as usize).collect();
                let all = super::slots_of(&dims).filter(|_| dims.len() <= MOST_LEVELS)?;
                if all.checked_mul(dims.len())? > MOST_COORDINATES || points.is_empty() {
                    return None;
                }
                let grid = Grid::new(&dims, wrap)?.with_bandwidths(bandwidths)?;
                let points: Vec<usize> = points.iter().map(|&point| point as usize).collect();
                let fits = points.iter().all(|&point| point < all);
                let grid: Arc<dyn Topology> = Arc::new(grid.with_label(label.clone()));
                fits.then_some((grid, points))
            }
            NetworkPart::Graph { label, slots_forward, hosts, sizes, links } => {
                let (slots, vertices) = (sizes.0 as usize, sizes.1 as usize);
                let hosts = *hosts as usize;
                // All vertices are connected, so that the memory is in proportion to the links.
                if hosts == 0 || hosts > slots || vertices > links.len() + 1 {
                    return None;
                }
                let label = label.clone();
                let graph = NetworkGraph::linked(slots, vertices, links, label, *slots_forward);
                Some((Arc::new(graph.ok()?), (0..hosts).collect()))
            }
            NetworkPart::Distances { label, hosts, rows } => {
                let hosts = *hosts as usize;
                let fits = hosts > 0 && hosts <= rows.len() && rows.len() <= MOST_DISTANCES;
                let matrix = DistanceMatrix::new(rows).ok().filter(|_| fits)?;
                Some((Arc::new(matrix.with_label(label.clone())), (0..hosts).collect()))
            }
        }
    }
}

fn of_tree(tree: &Tree, slots: &[usize], label: String) -> NetworkPart {
    let levels = tree.levels();
    let rows: Vec<Vec<u32>> = (0..levels - 1)
        .map(|level| by_first_appearance(slots.iter().map(|&s| tree.groups(level)[s])).0)
        .collect();
    NetworkPart::Tree {
        label,
        paths: (0..slots.len()).map(|k| rows.iter().map(|row| row[k]).collect()).collect(),
        costs: (0..levels).map(|level| tree.cost(level)).collect(),
        bandwidths: tree.bandwidths().to_vec(),
        below: (0..levels).map(|level| tree.mean_below(level)).collect(),
    }
}

fn of_grid(grid: &Grid, points: Vec<usize>, label: String) -> Option<NetworkPart> {
    let size = grid.slots().checked_mul(grid.dims().len())?;
    (size <= MOST_COORDINATES).then(|| NetworkPart::Grid {
        label,
        dims: grid.dims().iter().map(|&d| d as u32).collect(),
        wrap: grid.wrap().to_vec(),
        bandwidths: grid.bandwidths().to_vec(),
        points: points.into_iter().map(|point| point as u32).collect(),
    })
}

/// A slot that is nearer to the first of `slots` than the others of them, if the network has one. The distances of a
/// launch are relative to the nearest hosts of the whole network.
fn nearest(whole: &dyn Topology, slots: &[usize]) -> Option<usize> {
    let (&first, others) = slots.split_first()?;
    let distance = |slot: usize| whole.distance(first, slot);
    let known = others.iter().map(|&slot| distance(slot)).min().unwrap_or(u64::MAX);
    let all = (0..whole.slots().min(NEAREST_OF)).filter(|&slot| slot != first);
    all.map(|slot| (distance(slot), slot)).min().filter(|&(d, _)| d < known).map(|(_, slot)| slot)
}

/// The vertices of the part, and its links. `slots` become the first vertices, in this order.
fn links_of(graph: &NetworkGraph, slots: &[usize]) -> (usize, Vec<(u32, u32, f64)>) {
    let mut kept = on_shortest_paths(graph, slots).unwrap_or_else(|| reachable(graph, slots));
    slots.iter().for_each(|&slot| kept[slot] = true);
    let mut number = vec![u32::MAX; kept.len()];
    slots.iter().zip(0u32..).for_each(|(&slot, new)| number[slot] = new);
    let mut next = slots.len() as u32;
    for (vertex, number) in number.iter_mut().enumerate() {
        if kept[vertex] && *number == u32::MAX {
            *number = next;
            next += 1;
        }
    }
    let links = graph.undirected_links().filter_map(|(a, b, bandwidth)| {
        let ends = (number[a as usize], number[b as usize]);
        (ends.0 != u32::MAX && ends.1 != u32::MAX).then_some((ends.0, ends.1, bandwidth))
    });
    (next as usize, links.collect())
}

/// The vertices on shortest paths between the slots; `None` if the search for them takes too long.
///
/// Slots with the same links have the same paths to all others: two of them stand for all.
fn on_shortest_paths(graph: &NetworkGraph, slots: &[usize]) -> Option<Vec<bool>> {
    let mut members: HashMap<u32, Vec<usize>> = HashMap::new();
    let mut ends = Vec::new();
    for &slot in slots {
        let members = members.entry(graph.anchor_of(slot)).or_default();
        if members.len() < 2 {
            members.push(slot);
            ends.push(slot);
        }
    }
    let vertices = graph.size();
    if ends.len().saturating_mul(ends.len()).saturating_mul(vertices) > MOST_STEPS {
        return None;
    }
    let rows: Vec<Vec<u32>> = ends.iter().map(|&slot| graph.hops_from(slot)).collect();
    let mut kept = vec![false; vertices];
    for (k, row) in rows.iter().enumerate() {
        for (other, end) in rows.iter().zip(&ends).skip(k + 1) {
            let shortest = row[*end];
            for (vertex, kept) in kept.iter_mut().enumerate() {
                let passes = vertex >= graph.slots() || graph.slots_forward();
                let through = row[vertex].checked_add(other[vertex]);
                *kept |= passes && through == Some(shortest);
            }
        }
    }
    Some(kept)
}

/// All vertices that messages between the slots could pass.
fn reachable(graph: &NetworkGraph, slots: &[usize]) -> Vec<bool> {
    let hops = slots.first().map_or_else(Vec::new, |&slot| graph.hops_from(slot));
    let passes = |vertex: usize| vertex >= graph.slots() || graph.slots_forward();
    hops.iter().enumerate().map(|(vertex, &h)| h != u32::MAX && passes(vertex)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::parse;
    use proptest::prelude::*;

    /// The part has the distances of the whole, and passes through bytes.
    fn check(whole: &dyn Topology, slots: &[usize]) -> NetworkPart {
        let part = NetworkPart::of(whole, slots).unwrap();
        let bytes = postcard::to_allocvec(&part).unwrap();
        assert_eq!(postcard::from_bytes::<NetworkPart>(&bytes).unwrap(), part);
        let (built, hosts) = part.build().unwrap();
        assert_eq!(hosts.len(), slots.len());
        assert_eq!(built.name(), whole.name());
        for (&a, &x) in slots.iter().zip(&hosts) {
            for (&b, &y) in slots.iter().zip(&hosts) {
                assert_eq!(built.distance(x, y), whole.distance(a, b), "{a} {b}");
            }
        }
        part
    }

    #[test]
    fn every_kind_of_network_has_its_part() {
        for (spec, slots) in [
            ("tree:4:4:4", &[0, 5, 63, 6][..]),
            ("fattree:16:8:4@2:1", &[3, 100, 17]),
            ("torus:4x4x4", &[0, 63, 21]),
            ("mesh:5@3", &[4, 0]),
            ("hypercube:4", &[15, 1, 2]),
        ] {
            let whole = parse(spec).unwrap();
            let part = check(whole.as_ref(), slots);
            assert!(postcard::to_allocvec(&part).unwrap().len() < 400, "{spec}");
        }
        assert!(NetworkPart::of(parse("dragonfly:9x4x2").unwrap().as_ref(), &[1]).is_none());
        let tree = parse("tree:2:2").unwrap();
        assert!(NetworkPart::of(tree.as_ref(), &[]).is_none());
        assert!(NetworkPart::of(tree.as_ref(), &[9]).is_none());
    }

    /// A ring of switches with two hosts each, the hosts first.
    fn ring(switches: u32) -> NetworkGraph {
        let hosts = 2 * switches;
        let mut links: Vec<(u32, u32, f64)> =
            (0..hosts).map(|host| (host, hosts + host / 2, 1.0)).collect();
        links.extend((0..switches).map(|s| (hosts + s, hosts + (s + 1) % switches, 4.0)));
        let count = (hosts + switches) as usize;
        NetworkGraph::with_forwarding(hosts as usize, count, &links, "ring".into(), false).unwrap()
    }

    #[test]
    fn a_graph_keeps_what_lies_between_the_hosts() {
        let whole = ring(100);
        let NetworkPart::Graph { hosts, sizes, links, .. } = check(&whole, &[0, 20, 41]) else {
            panic!("a ring of switches is no tree");
        };
        // 21 switches, three hosts, and the second host of the first switch, which is the nearest one.
        assert_eq!((hosts, sizes), (3, (4, 25)));
        assert_eq!(links.len(), 20 + 4);
        assert!(links.iter().any(|link| link.2 == 4.0));
    }

    #[test]
    fn tables_keep_the_rows_of_the_hosts() {
        let rows: Vec<Vec<u32>> =
            (0..9u32).map(|a| (0..9u32).map(|b| 3 * a.abs_diff(b)).collect()).collect();
        let whole = DistanceMatrix::new(&rows).unwrap();
        let NetworkPart::Distances { hosts, rows, .. } = check(&whole, &[0, 8, 4]) else {
            panic!()
        };
        assert_eq!((hosts, rows.len()), (3, 4), "slot 1 is nearer to slot 0");
    }

    #[test]
    fn damaged_parts_are_none() {
        let part = NetworkPart::of(&ring(4), &[0, 2]).unwrap();
        let NetworkPart::Graph { label, slots_forward, hosts, sizes, links } = part else {
            panic!()
        };
        let graph = |hosts, sizes| {
            let (label, links) = (label.clone(), links.clone());
            NetworkPart::Graph { label, slots_forward, hosts, sizes, links }
        };
        assert!(graph(hosts, sizes).build().is_some());
        for (hosts, sizes) in [(0, sizes), (9, sizes), (hosts, (sizes.0, 1 << 30)), (2, (2, 2))] {
            assert!(graph(hosts, sizes).build().is_none(), "{hosts} {sizes:?}");
        }
        let grid = |dims: &[u32], points: &[u32]| NetworkPart::Grid {
            label: String::new(),
            dims: dims.to_vec(),
            wrap: vec![false; dims.len()],
            bandwidths: vec![1.0; dims.len()],
            points: points.to_vec(),
        };
        assert!(grid(&[2, 2], &[3]).build().is_some());
        for (dims, points) in
            [(&[2, 2][..], &[4][..]), (&[1 << 30], &[0]), (&[], &[0]), (&[2], &[])]
        {
            assert!(grid(dims, points).build().is_none(), "{dims:?} {points:?}");
        }
    }

    proptest! {
        #[test]
        fn parts_of_any_graph_have_its_distances(
            slots in 2usize..12,
            switches in 1usize..8,
            extra in prop::collection::vec((0usize..20, 0usize..20), 0..20),
            chosen in prop::collection::btree_set(0usize..12, 1..8),
            forward: bool,
        ) {
            let count = slots + switches;
            // Every slot is on a switch, and the switches are in a row.
            let mut links: Vec<(u32, u32, f64)> =
                (0..slots).map(|s| (s as u32, (slots + s % switches) as u32, 1.0)).collect();
            links.extend((1..switches).map(|s| ((slots + s - 1) as u32, (slots + s) as u32, 2.0)));
            links.extend(extra.iter().filter(|(a, b)| a % count != b % count)
                .map(|(a, b)| ((a % count) as u32, (b % count) as u32, 1.0)));
            let whole =
                NetworkGraph::with_forwarding(slots, count, &links, "g".into(), forward).unwrap();
            let chosen: Vec<usize> = chosen.into_iter().filter(|&slot| slot < slots).collect();
            if !chosen.is_empty() {
                check(&whole, &chosen);
            }
        }
    }
}
