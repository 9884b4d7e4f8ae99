//! Where the processes of the job are: which of them share a node, and where inside the node each may run. The
//! second is the binding of a process, which one process per node looks up in the hwloc topology of the node.
//!
//! A process knows its own [`Location`]. From the [`Locations`] of all processes follows which processes share
//! a node ([`Nodes`]). Together with the paths inside the nodes they give the [`Placement`]. The messages
//! between the processes are in [`locate`](super::locate).

use crate::sys::node;
use rw::base::numbering::by_first_appearance;
use rw::sources::Host;
use rw::store::{Devices, NO_DEVICE, Placement};
use rw::topology::{Attachment, CpuSet, Device, common_levels, costs, extend_path};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;

/// What the first process of a node found out about the node.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Node {
    name: String,
    /// Where the scheduler says that it is in the network; its physical position. Empty if not known.
    address: String,
    position: String,
    /// Names of the levels inside it.
    levels: Vec<String>,
    /// Launcher rank and path of every process of the node.
    paths: Vec<(u32, Vec<u32>)>,
    /// Names of its rails.
    rails: Vec<String>,
    /// Names of its GPUs.
    gpus: Vec<String>,
    /// Rail and GPU of each process, in the order of `paths`; empty if the node has neither.
    attached: Vec<[u32; 2]>,
}

impl Node {
    /// This node if all of its `processes` may run on the same PUs. They then have no different places inside
    /// the node.
    pub fn undivided(processes: &[u32]) -> Node {
        let paths = processes.iter().map(|&rank| (rank, Vec::new())).collect();
        Node { paths, ..Node::here() }
    }

    /// This node without its processes.
    fn here() -> Node {
        let Location { name, address, position, .. } = Location::mine();
        Node { name, address, position, ..Node::default() }
    }

    /// This node, given launcher rank and affinity mask of each of its processes.
    pub fn divided(processes: &[(u32, Vec<u64>)]) -> Node {
        let machine = node::machine();
        let places: Vec<CpuSet> =
            processes.iter().map(|(_, words)| CpuSet::from_words(words)).collect();
        let path =
            |((rank, _), place): (&(u32, Vec<u64>), &CpuSet)| (*rank, machine.path_of(place));
        let names = |devices: Vec<&Device>| devices.iter().map(|d| d.name.clone()).collect();
        let attached = match machine.devices() {
            [] => Vec::new(),
            _ => machine.attachments(&places).into_iter().map(numbers).collect(),
        };
        Node {
            levels: machine.level_names().to_vec(),
            paths: processes.iter().zip(&places).map(path).collect(),
            rails: names(machine.rails()),
            gpus: names(machine.gpus()),
            attached,
            ..Node::here()
        }
    }
}

/// Rail and GPU as they are in messages and records.
fn numbers(attachment: Attachment) -> [u32; 2] {
    [attachment.rail, attachment.gpu].map(|device| device.map_or(NO_DEVICE, |index| index as u32))
}

/// What a process knows of its place without asking other processes.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Location {
    /// A number that is the same for all processes of a node, and differs between nodes.
    node: u64,
    /// A hash of the PUs that the process may run on.
    pus: u64,
    name: String,
    /// Where the scheduler says that the node is in the network; empty if it says nothing.
    address: String,
    /// The physical position of the node; empty if the system does not give one.
    position: String,
}

/// Bytes of the longest name of a node (a Linux host name has at most 64), of the longest address in the network,
/// and of the longest physical position. Longer ones are cut, and do not name a switch then.
const TEXTS: [usize; 3] = [64, 128, 24];

/// Bytes of an encoded location, which has the same length in all processes: two numbers and three texts.
pub const LOCATION_BYTES: usize = 16 + TEXTS[0] + TEXTS[1] + TEXTS[2];

impl Location {
    /// This process's own.
    pub fn mine() -> Location {
        let Host { name, address, position } = Host::here(node::host_name());
        Location {
            node: node::identity(),
            pus: node::hash_of(node::affinity().into_iter().flat_map(u64::to_le_bytes)),
            name,
            address: fitting(address, TEXTS[1]),
            position: fitting(position, TEXTS[2]),
        }
    }

    /// Encodes the location. All encoded locations have the same length.
    pub fn to_bytes(&self) -> [u8; LOCATION_BYTES] {
        let mut bytes = [0; LOCATION_BYTES];
        bytes[..8].copy_from_slice(&self.node.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.pus.to_le_bytes());
        let mut at = 16;
        for (text, room) in [&self.name, &self.address, &self.position].into_iter().zip(TEXTS) {
            let text = &text.as_bytes()[..text.len().min(room)];
            bytes[at..at + text.len()].copy_from_slice(text);
            at += room;
        }
        bytes
    }

    /// Decodes what [`Self::to_bytes`] made.
    fn from_bytes(bytes: &[u8; LOCATION_BYTES]) -> Location {
        let number = |at: usize| {
            bytes[at..at + 8].iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte))
        };
        let text = |index: usize| {
            let from = 16 + TEXTS[..index].iter().sum::<usize>();
            let room = &bytes[from..from + TEXTS[index]];
            let text = room.split(|&byte| byte == 0).next().unwrap_or_default();
            String::from_utf8_lossy(text).into_owned()
        };
        Location {
            node: number(0),
            pus: number(8),
            name: text(0),
            address: text(1),
            position: text(2),
        }
    }
}

/// The text, or none if it is longer than its room: a part of an address would be another address.
fn fitting(text: String, room: usize) -> String {
    if text.len() <= room { text } else { String::new() }
}

/// The locations of all processes, added one after the other by rank.
#[derive(Debug, Default)]
pub struct Locations {
    /// Node and PUs.
    all: Vec<[u64; 2]>,
    /// The nodes by first appearance, without their processes.
    described: Vec<Node>,
    known: HashSet<u64>,
}

impl Locations {
    /// Adds the location of the next process.
    pub fn add(&mut self, location: Location) {
        self.all.push([location.node, location.pus]);
        if self.known.insert(location.node) {
            let Location { name, address, position, .. } = location;
            self.described.push(Node { name, address, position, ..Node::default() });
        }
    }

    /// From every process's [`Location::to_bytes`].
    pub fn from_bytes(all: &[[u8; LOCATION_BYTES]]) -> Locations {
        let mut locations = Locations::default();
        all.iter().for_each(|bytes| locations.add(Location::from_bytes(bytes)));
        locations
    }

    /// Which processes are on which node.
    pub fn nodes(&self) -> Nodes {
        Nodes::new(&self.all)
    }

    /// The places, for a job in which all processes of each node may run on the same PUs.
    pub fn places(&self) -> Placement {
        assemble(&self.nodes(), &self.described)
    }
}

/// Which processes are on which node. Nodes are numbered by first appearance.
///
/// A node is identified by its running kernel and its host name. MPI_Comm_split_type would give the same result
/// in blocking steps. If an MPI library spins and processes outnumber processors, that takes a hundred times as
/// long as the rest of the library's work.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Nodes {
    of_process: Vec<u32>,
    /// The first process of each node.
    first: Vec<u32>,
    /// For each node: not all of its processes may run on the same PUs.
    differs: Vec<bool>,
}

impl Nodes {
    /// Whether the processes of some node are bound to different PUs. The places inside nodes are then looked up.
    pub fn need_topology(&self) -> bool {
        self.differs.contains(&true)
    }

    /// From the node and the PUs of each process.
    fn new(all: &[[u64; 2]]) -> Nodes {
        let (of_process, nodes) = by_first_appearance(all.iter().map(|&[node, _]| node));
        let mut first = vec![u32::MAX; nodes.len()];
        let mut differs = vec![false; nodes.len()];
        for (process, (&node, &[_, pus])) in (0u32..).zip(of_process.iter().zip(all)) {
            let node = node as usize;
            first[node] = first[node].min(process);
            differs[node] |= pus != all[first[node] as usize][1];
        }
        Nodes { of_process, first, differs }
    }

    /// The first process of each node.
    pub fn first(&self) -> &[u32] {
        &self.first
    }

    /// The processes of the node that `process` runs on, ascending, and whether they may run on
    /// different PUs.
    pub fn around(&self, process: usize) -> Option<(Vec<u32>, bool)> {
        let node = *self.of_process.get(process)?;
        Some((self.members(node), *self.differs.get(node as usize)?))
    }

    /// The processes of a node, ascending.
    fn members(&self, node: u32) -> Vec<u32> {
        (0u32..).zip(&self.of_process).filter(|&(_, &n)| n == node).map(|(rank, _)| rank).collect()
    }
}

/// Gives all processes paths with the same levels. `described` is what is known of each node.
pub fn assemble(nodes: &Nodes, described: &[Node]) -> Placement {
    let mut places = Placement {
        node_of_process: nodes.of_process.clone(),
        node_names: described.iter().map(|node| node.name.clone()).collect(),
        node_addresses: described.iter().map(|node| node.address.clone()).collect(),
        node_positions: described.iter().map(|node| node.position.clone()).collect(),
        level_names: common_levels(described.iter().map(|node| node.levels.as_slice())),
        ..Placement::default()
    };
    let unplaced = extend_path(&[], &[], &places.level_names);
    places.place_of_process = vec![unplaced; nodes.of_process.len()];
    for node in described {
        for (rank, path) in &node.paths {
            if let Some(place) = places.place_of_process.get_mut(*rank as usize) {
                *place = extend_path(path, &node.levels, &places.level_names);
            }
        }
    }
    places.level_names.insert(0, "node".into());
    places.level_costs = costs::of_levels(&places.level_names);
    places.devices = devices(nodes, described);
    places
}

/// The devices of all nodes and processes. Lists stay empty if no node has such devices.
fn devices(nodes: &Nodes, described: &[Node]) -> Devices {
    let of_kind = |kind: usize, names: fn(&Node) -> &Vec<String>| {
        if described.iter().all(|node| names(node).is_empty()) {
            return (Vec::new(), Vec::new());
        }
        let mut of_process = vec![NO_DEVICE; nodes.of_process.len()];
        for node in described {
            for ((rank, _), attached) in node.paths.iter().zip(&node.attached) {
                if let Some(device) = of_process.get_mut(*rank as usize) {
                    *device = attached[kind];
                }
            }
        }
        (described.iter().map(|node| names(node).clone()).collect(), of_process)
    };
    let (rails_of_node, rail_of_process) = of_kind(0, |node| &node.rails);
    let (gpus_of_node, gpu_of_process) = of_kind(1, |node| &node.gpus);
    Devices { rails_of_node, gpus_of_node, rail_of_process, gpu_of_process }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_numbered_by_first_appearance() {
        let nodes = Nodes::new(&[[9, 1], [4, 1], [9, 1], [4, 2], [7, 3]]);
        assert_eq!(nodes.of_process, [0, 1, 0, 1, 2]);
        assert_eq!(nodes.first, [0, 1, 4]);
        assert_eq!(nodes.differs, [false, true, false]);
        assert_eq!(nodes.members(1), [1, 3]);
    }

    #[test]
    fn places_of_bound_and_unbound_nodes() {
        let nodes = Nodes::new(&[[9, 1], [9, 2], [4, 1], [4, 1]]);
        let node = |name: &str, levels: &[&str], paths: &[(u32, &[u32])]| Node {
            name: name.into(),
            levels: levels.iter().map(|&level| level.into()).collect(),
            paths: paths.iter().map(|(rank, path)| (*rank, path.to_vec())).collect(),
            address: format!("root.{name}"),
            ..Node::default()
        };
        let described = [
            node("a", &["package", "core"], &[(0, &[0, 0]), (1, &[1, 2])]),
            node("b", &[], &[(2, &[]), (3, &[])]),
        ];
        let places = assemble(&nodes, &described);
        assert_eq!(places.node_of_process, [0, 0, 1, 1]);
        assert_eq!(places.node_names, ["a", "b"]);
        assert_eq!(places.node_addresses, ["root.a", "root.b"]);
        assert_eq!(places.level_names[0], "node");
        assert_eq!(places.level_costs.len(), places.level_names.len() + 1);
        assert_eq!(places.place_of_process.len(), 4);
        let levels = places.level_names.len() - 1;
        assert!(places.place_of_process.iter().all(|path| path.len() == levels));
    }

    #[test]
    fn processes_have_the_devices_of_their_node() {
        let nodes = Nodes::new(&[[9, 1], [4, 1], [9, 2], [4, 2]]);
        let names = |names: &[&str]| names.iter().map(|&name| name.into()).collect::<Vec<String>>();
        let node = |ranks: [u32; 2], rails: &[&str], attached: &[[u32; 2]]| Node {
            paths: ranks.map(|rank| (rank, Vec::new())).to_vec(),
            rails: names(rails),
            attached: attached.to_vec(),
            ..Node::default()
        };
        let described = [
            node([0, 2], &["hsn0", "hsn1"], &[[1, NO_DEVICE], [0, NO_DEVICE]]),
            node([1, 3], &[], &[]),
        ];
        let devices = assemble(&nodes, &described).devices;
        assert_eq!(devices.rail_of_process, [1, NO_DEVICE, 0, NO_DEVICE]);
        assert_eq!(devices.rails_of_node, [names(&["hsn0", "hsn1"]), names(&[])]);
        assert!(devices.gpus_of_node.is_empty() && devices.gpu_of_process.is_empty());
        assert_eq!(
            assemble(&nodes, &[Node::default(), Node::default()]).devices,
            Devices::default()
        );
    }

    fn location(node: u64, pus: u64) -> Location {
        Location { node, pus, name: format!("node{node}"), ..Location::default() }
    }

    #[test]
    fn locations_tell_the_nodes_of_processes_that_are_not_bound() {
        let mut locations = Locations::default();
        for location in [location(7, 3), location(5, 15), location(7, 3), location(5, 15)] {
            locations.add(location);
        }
        assert!(!locations.nodes().need_topology(), "nodes may differ");
        let places = locations.places();
        assert_eq!(places.node_of_process, [0, 1, 0, 1]);
        assert_eq!(places.node_names, ["node7", "node5"]);
        assert_eq!(places.level_names, ["node"]);
        assert!(places.place_of_process.iter().all(Vec::is_empty));
    }

    #[test]
    fn locations_pass_through_bytes() {
        for name in ["", "n7", &"x".repeat(64)] {
            let location = Location {
                node: 0x0102_0304_0506_0708,
                pus: u64::MAX - 5,
                name: name.into(),
                address: format!("root.s1.{name}"),
                position: "x1000c0s0b0n0".into(),
            };
            assert_eq!(Location::from_bytes(&location.to_bytes()), location);
        }
        let long = Location { name: "y".repeat(99), ..Location::default() };
        assert_eq!(Location::from_bytes(&long.to_bytes()).name, "y".repeat(64));
        assert_ne!(Location::mine(), Location::default());
        assert_eq!(
            (fitting("abc".into(), 3), fitting("abcd".into(), 3)),
            ("abc".into(), String::new())
        );
    }

    #[test]
    fn locations_of_bound_processes_need_the_topology() {
        let mut locations = Locations::default();
        locations.add(location(7, 1));
        assert!(!locations.nodes().need_topology());
        locations.add(location(7, 2));
        assert!(locations.nodes().need_topology());
    }
}
