//! Where the job's processes are: which share a node, and where inside it each may run
//! (its binding, looked up in the node's hwloc topology by one process per node).

use crate::comm::encoding;
use crate::comm::private::PrivateComm;
use crate::mpi::abi::Abi;
use rw::topology::{CpuSet, Machine, common_levels, costs, extend_path};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;

/// Places of all processes, by launcher rank.
#[derive(Debug, Clone, Default)]
pub struct Places {
    pub node_of_process: Vec<u32>,
    pub node_names: Vec<String>,
    pub place_of_process: Vec<Vec<u32>>,
    pub level_names: Vec<String>,
    pub level_costs: Vec<u64>,
}

/// What a leader says of its node.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Node {
    name: String,
    levels: Vec<String>,
    /// Launcher rank and path of every process of the node.
    paths: Vec<(u32, Vec<u32>)>,
}

/// What a process knows of its place without asking anybody.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spot {
    /// A number that the processes of a node have in common, and no others.
    node: u64,
    /// A number for the PUs it may run on.
    pus: u64,
    name: String,
}

/// Bytes of a spot where all are of one length: two numbers, and the longest name of a node.
pub const SPOT: usize = 16 + 64;

impl Spot {
    /// This process's own.
    pub fn mine() -> Spot {
        Spot {
            node: node_identity(),
            pus: hash_of(affinity().into_iter().flat_map(u64::to_le_bytes)),
            name: host_name(),
        }
    }

    /// As many bytes for every spot.
    pub fn to_bytes(&self) -> [u8; SPOT] {
        let mut bytes = [0; SPOT];
        bytes[..8].copy_from_slice(&self.node.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.pus.to_le_bytes());
        let name = &self.name.as_bytes()[..self.name.len().min(SPOT - 16)];
        bytes[16..16 + name.len()].copy_from_slice(name);
        bytes
    }

    /// What [`Self::to_bytes`] made of one.
    fn from_bytes(bytes: &[u8; SPOT]) -> Spot {
        let number = |at: usize| {
            bytes[at..at + 8].iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte))
        };
        let name = bytes[16..].split(|&byte| byte == 0).next().unwrap_or_default();
        Spot { node: number(0), pus: number(8), name: String::from_utf8_lossy(name).into_owned() }
    }
}

/// The spots of all processes, seen one after the other by rank.
#[derive(Debug, Default)]
pub struct Spots {
    /// Node and PUs.
    all: Vec<[u64; 2]>,
    /// Names of the nodes by first appearance.
    names: Vec<String>,
    known: HashSet<u64>,
}

impl Spots {
    /// The next process's spot.
    pub fn add(&mut self, spot: Spot) {
        self.all.push([spot.node, spot.pus]);
        if self.known.insert(spot.node) {
            self.names.push(spot.name);
        }
    }

    /// Brings everybody's spot to rank 0, whose answer is not empty; collective over `job`. `None`
    /// after an MPI error.
    pub fn gather<A: Abi>(job: &PrivateComm<A>) -> Option<Spots> {
        Some(Spots::from_bytes(&job.gather(Spot::mine().to_bytes())?))
    }

    /// From every process's [`Spot::to_bytes`].
    pub fn from_bytes(all: &[[u8; SPOT]]) -> Spots {
        let mut spots = Spots::default();
        all.iter().for_each(|bytes| spots.add(Spot::from_bytes(bytes)));
        spots
    }

    /// Who is on which node.
    pub fn nodes(&self) -> Nodes {
        Nodes::new(&self.all)
    }

    /// The places where all processes of a node may run on the same PUs.
    pub fn places(&self) -> Places {
        let named = |name: &String| Node { name: name.clone(), ..Node::default() };
        let described: Vec<Node> = self.names.iter().map(named).collect();
        assemble(&self.nodes(), &described)
    }
}

/// Finds the places, given who is on which node; collective over `job`. On rank 0 the places, elsewhere
/// `None`.
///
/// A word from the first process of each node to rank 0, for which only where processes are bound to
/// different PUs it asks the others of its node.
pub fn look_round<A: Abi>(job: &PrivateComm<A>, nodes: &Nodes) -> Option<Places> {
    let affinity = affinity();
    let own = nodes.of_process.get(job.rank).copied()?;
    let members = nodes.members(own);
    let first = *members.first()?;
    let bound = nodes.differs[own as usize];
    let mut mine = Vec::new();
    for word in &affinity {
        mine.extend_from_slice(&word.to_le_bytes());
    }
    if first != job.rank as u32 {
        if bound {
            job.send_short(first, &mine);
        }
        return None;
    }
    let node = inside(job, &members, bound, affinity);
    if job.rank != 0 {
        job.send(0, &encoding::encode(&node).unwrap_or_default());
        return None;
    }
    let mut described = vec![node];
    for &leader in nodes.first.get(1..)? {
        let bytes = job.receive(leader).unwrap_or_default();
        described.push(encoding::decode(&bytes).unwrap_or_default());
    }
    crate::sys::panic_barrier::guarded(|| Some(assemble(nodes, &described)))
}

/// True in one process of each node; collective over `job`.
pub fn leads_node<A: Abi>(job: &PrivateComm<A>) -> bool {
    let first = Spots::gather(job).map(|spots| spots.nodes().first).unwrap_or_default();
    let mut bytes = encoding::encode(&first).unwrap_or_default();
    let told = job.broadcast(&mut bytes);
    let first = encoding::decode::<Vec<u32>>(&bytes).filter(|_| told).unwrap_or_default();
    first.is_empty() || first.contains(&(job.rank as u32))
}

/// Who is on which node. Nodes are numbered by first appearance.
///
/// A node is a running kernel and the name it goes by. MPI_Comm_split_type would tell the same, in
/// blocking steps: where an MPI library spins and processes outnumber processors it takes a hundred
/// times as long as the rest of the library's work.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Nodes {
    of_process: Vec<u32>,
    /// The first process of each node.
    first: Vec<u32>,
    /// Not all processes of the node may run on the same PUs.
    differs: Vec<bool>,
}

impl Nodes {
    /// Whether the places inside nodes can only be told by [`look_round`].
    pub fn need_topology(&self) -> bool {
        self.differs.contains(&true)
    }

    /// From the node and the PUs of each process.
    fn new(all: &[[u64; 2]]) -> Nodes {
        let mut number = std::collections::HashMap::new();
        let mut nodes = Nodes::default();
        for (process, &[node, pus]) in (0u32..).zip(all) {
            let &mut (index, first_pus) = number.entry(node).or_insert_with(|| {
                nodes.first.push(process);
                nodes.differs.push(false);
                (nodes.first.len() as u32 - 1, pus)
            });
            nodes.differs[index as usize] |= pus != first_pus;
            nodes.of_process.push(index);
        }
        nodes
    }

    /// The processes of a node, ascending.
    fn members(&self, node: u32) -> Vec<u32> {
        (0u32..).zip(&self.of_process).filter(|&(_, &n)| n == node).map(|(rank, _)| rank).collect()
    }
}

/// FNV-1a, 64 bits.
fn hash_of(bytes: impl Iterator<Item = u8>) -> u64 {
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// A number that the processes of a node have in common, and no others.
pub fn node_identity() -> u64 {
    let boot = std::fs::read("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let name = host_name();
    hash_of(boot.into_iter().chain(*b"/").chain(name.bytes()))
}

/// What the first process of a node finds out about it and its `members`.
fn inside<A: Abi>(job: &PrivateComm<A>, members: &[u32], bound: bool, affinity: Vec<u64>) -> Node {
    if !bound {
        // All may run on the same PUs: nothing below the node tells them apart.
        let paths = members.iter().map(|&rank| (rank, Vec::new())).collect();
        return Node { name: host_name(), levels: Vec::new(), paths };
    }
    let words = |bytes: &[u8]| -> Vec<u64> {
        let mut words: Vec<u64> =
            bytes.chunks_exact(8).map(|w| w.try_into().map_or(0, u64::from_le_bytes)).collect();
        while words.last() == Some(&0) {
            words.pop();
        }
        words
    };
    let mut processes = vec![(job.rank as u32, affinity)];
    let mut buffer = vec![0u8; MOST_AFFINITY];
    for &rank in members.get(1..).unwrap_or_default() {
        let bytes = job.receive_short(rank, &mut buffer).unwrap_or_default();
        processes.push((rank, words(bytes)));
    }
    crate::sys::panic_barrier::guarded(|| Some(describe(&processes))).unwrap_or_default()
}

fn describe(processes: &[(u32, Vec<u64>)]) -> Node {
    let machine = machine();
    let path = |words: &Vec<u64>| machine.path_of(&CpuSet::from_words(words));
    Node {
        name: host_name(),
        levels: machine.level_names().to_vec(),
        paths: processes.iter().map(|(rank, words)| (*rank, path(words))).collect(),
    }
}

/// This node's topology: hwloc's if its library is there, else what /sys says, else one level.
fn machine() -> Machine {
    crate::sys::hwloc::export_xml()
        .and_then(|xml| Machine::from_hwloc_xml(&xml).ok())
        .or_else(|| Machine::from_sysfs(std::path::Path::new("/sys")).ok())
        .unwrap_or_else(Machine::single)
}

/// Bytes of the longest mask of PUs.
const MOST_AFFINITY: usize = 8 * 1024;

/// The PUs this process may run on, as a bit mask.
fn affinity() -> Vec<u64> {
    for words in [16usize, 128, MOST_AFFINITY / 8] {
        let mut mask = vec![0u64; words];
        // SAFETY: a buffer of this many bytes; the raw call returns how many were written.
        let written =
            unsafe { libc::syscall(libc::SYS_sched_getaffinity, 0, words * 8, mask.as_mut_ptr()) };
        if written > 0 {
            mask.truncate((written as usize).div_ceil(8));
            while mask.last() == Some(&0) {
                mask.pop();
            }
            return mask;
        }
    }
    Vec::new()
}

/// Name of this node.
pub fn host_name() -> String {
    let mut name = [0u8; 256];
    // SAFETY: a buffer of this length; the last byte stays zero.
    let code = unsafe { libc::gethostname(name.as_mut_ptr().cast(), name.len() - 1) };
    let end = name.iter().position(|&b| b == 0).unwrap_or(0);
    if code == 0 { String::from_utf8_lossy(&name[..end]).into_owned() } else { String::new() }
}

/// Gives all processes paths over the same levels; `described` is what is known of each node.
fn assemble(nodes: &Nodes, described: &[Node]) -> Places {
    let mut places = Places {
        node_of_process: nodes.of_process.clone(),
        node_names: described.iter().map(|node| node.name.clone()).collect(),
        level_names: common_levels(described.iter().map(|node| node.levels.as_slice())),
        ..Places::default()
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
    places
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
        };
        let described = [
            node("a", &["package", "core"], &[(0, &[0, 0]), (1, &[1, 2])]),
            node("b", &[], &[(2, &[]), (3, &[])]),
        ];
        let places = assemble(&nodes, &described);
        assert_eq!(places.node_of_process, [0, 0, 1, 1]);
        assert_eq!(places.node_names, ["a", "b"]);
        assert_eq!(places.level_names[0], "node");
        assert_eq!(places.level_costs.len(), places.level_names.len() + 1);
        assert_eq!(places.place_of_process.len(), 4);
        let levels = places.level_names.len() - 1;
        assert!(places.place_of_process.iter().all(|path| path.len() == levels));
    }

    fn spot(node: u64, pus: u64) -> Spot {
        Spot { node, pus, name: format!("node{node}") }
    }

    #[test]
    fn spots_tell_the_nodes_of_processes_that_are_not_bound() {
        let mut spots = Spots::default();
        for spot in [spot(7, 3), spot(5, 15), spot(7, 3), spot(5, 15)] {
            spots.add(spot);
        }
        assert!(!spots.nodes().need_topology(), "nodes may differ");
        let places = spots.places();
        assert_eq!(places.node_of_process, [0, 1, 0, 1]);
        assert_eq!(places.node_names, ["node7", "node5"]);
        assert_eq!(places.level_names, ["node"]);
        assert!(places.place_of_process.iter().all(Vec::is_empty));
    }

    #[test]
    fn spots_pass_through_bytes() {
        for name in ["", "n7", &"x".repeat(64)] {
            let spot = Spot { node: 0x0102_0304_0506_0708, pus: u64::MAX - 5, name: name.into() };
            assert_eq!(Spot::from_bytes(&spot.to_bytes()), spot);
        }
        let long = Spot { name: "y".repeat(99), ..Spot::default() };
        assert_eq!(Spot::from_bytes(&long.to_bytes()).name, "y".repeat(64));
        assert_ne!(Spot::mine(), Spot::default());
    }

    #[test]
    fn spots_of_bound_processes_need_the_topology() {
        let mut spots = Spots::default();
        spots.add(spot(7, 1));
        assert!(!spots.nodes().need_topology());
        spots.add(spot(7, 2));
        assert!(spots.nodes().need_topology());
    }
}
