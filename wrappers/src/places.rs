//! Where the job's processes are: which share a node, and where inside it each may run
//! (its binding, looked up in the node's hwloc topology by one process per node).

use crate::abi::Abi;
use crate::gather::Private;
use rw::topology::{CpuSet, Machine, common_levels, costs, extend_path};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// Places of all processes, by launcher rank.
#[derive(Debug, Clone, Default)]
pub struct Places {
    pub node_of_process: Vec<u32>,
    pub node_names: Vec<String>,
    pub place_of_process: Vec<Vec<u32>>,
    pub level_names: Vec<String>,
    pub level_costs: Vec<u64>,
}

/// What one process says of itself.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Report {
    /// Launcher rank of the first process of its node.
    leader: u32,
    /// Set by the leader only.
    node: Option<Node>,
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
    name: String,
    /// The PUs it may run on, as words of a bit mask.
    pus: Vec<u64>,
}

impl Spot {
    /// This process's own.
    pub fn mine() -> Spot {
        Spot { node: node_identity(), name: host_name(), pus: affinity() }
    }
}

/// The spots of all processes, seen one after the other by rank.
#[derive(Debug, Default)]
pub struct Spots {
    leaders: HashMap<u64, (u32, Vec<u64>)>,
    reports: Vec<Report>,
    /// Processes of one node differ in where they may run.
    bound: bool,
}

impl Spots {
    /// The next process's spot.
    pub fn add(&mut self, spot: Spot) {
        let rank = self.reports.len() as u32;
        let (leader, pus) = self.leaders.entry(spot.node).or_insert((rank, Vec::new()));
        let first = *leader == rank;
        if first {
            pus.clone_from(&spot.pus);
        }
        self.bound |= *pus != spot.pus;
        let node = first.then(|| Node { name: spot.name, ..Node::default() });
        self.reports.push(Report { leader: *leader, node });
    }

    /// Whether the places inside nodes can only be told by [`discover`].
    pub fn need_topology(&self) -> bool {
        self.bound
    }

    /// The places where all processes of a node may run on the same PUs.
    pub fn places(&self) -> Places {
        assemble(&self.reports)
    }
}

/// Finds the places; collective over `job`. On rank 0 the places, elsewhere `None`.
pub fn discover<A: Abi>(job: &Private<A>) -> Option<Places> {
    let report = look_round(job);
    let mine = crate::gather::encode(&report).unwrap_or_default();
    let mut reports = Vec::with_capacity(if job.rank == 0 { job.size } else { 0 });
    let whole = job.collect(&mine, |rank, bytes| {
        reports.push(
            crate::gather::decode::<Report>(bytes)
                .unwrap_or(Report { leader: rank as u32, node: None }),
        );
    });
    if !whole || job.rank != 0 || reports.len() != job.size {
        return None;
    }
    crate::record::guarded(|| Some(assemble(&reports)))
}

/// True in one process of each node; collective over `job`.
pub fn leads_node<A: Abi>(job: &Private<A>) -> bool {
    node_of(job).is_none_or(|node| node.first() == Some(&(job.rank as u32)))
}

/// Launcher ranks of the processes of this node; collective over `job`. `None` after an MPI error.
///
/// A node is a running kernel and the name it goes by. MPI_Comm_split_type would tell the same, in
/// blocking steps: where an MPI library spins and processes outnumber processors it takes a hundred
/// times as long as the rest of the library's work.
fn node_of<A: Abi>(job: &Private<A>) -> Option<Vec<u32>> {
    let mine = node_identity();
    let all = job.everybodys(mine)?;
    Some((0u32..).zip(&all).filter(|&(_, &node)| node == mine).map(|(rank, _)| rank).collect())
}

/// A number that the processes of a node have in common, and no others.
pub fn node_identity() -> u64 {
    let boot = std::fs::read("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let name = host_name();
    // FNV-1a, 64 bits.
    boot.iter().chain(b"/").chain(name.as_bytes()).fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// Joins the processes of this node; its leader finds everybody's place.
fn look_round<A: Abi>(job: &Private<A>) -> Report {
    let alone = Report { leader: job.rank as u32, node: None };
    let Some(node) = node_of(job) else { return alone };
    let Some(&leader) = node.first() else { return alone };
    let mut mine = Vec::new();
    for word in affinity() {
        mine.extend_from_slice(&word.to_le_bytes());
    }
    if leader != job.rank as u32 {
        job.give(leader, &mine);
        return Report { leader, node: None };
    }
    let words = |bytes: &[u8]| -> Vec<u64> {
        let mut words: Vec<u64> =
            bytes.chunks_exact(8).map(|w| w.try_into().map_or(0, u64::from_le_bytes)).collect();
        while words.last() == Some(&0) {
            words.pop();
        }
        words
    };
    let mut processes = vec![(leader, words(&mine))];
    let mut buffer = vec![0u8; MOST_AFFINITY];
    for &rank in &node[1..] {
        let bytes = job.take(rank, &mut buffer).unwrap_or_default();
        processes.push((rank, words(bytes)));
    }
    let node = crate::record::guarded(|| Some(describe(&processes))).unwrap_or_default();
    Report { leader, node: Some(node) }
}

fn describe(processes: &[(u32, Vec<u64>)]) -> Node {
    let same = processes.windows(2).all(|w| w[0].1 == w[1].1);
    let (levels, paths) = if same {
        // All may run on the same PUs: nothing below the node tells them apart.
        (Vec::new(), processes.iter().map(|(rank, _)| (*rank, Vec::new())).collect())
    } else {
        let machine = machine();
        let path = |words: &Vec<u64>| machine.path_of(&CpuSet::from_words(words));
        (
            machine.level_names().to_vec(),
            processes.iter().map(|(rank, words)| (*rank, path(words))).collect(),
        )
    };
    Node { name: host_name(), levels, paths }
}

/// This node's topology: hwloc's if its library is there, else what /sys says, else one level.
fn machine() -> Machine {
    crate::hwloc::export_xml()
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

/// Numbers the nodes by first appearance and gives all processes paths over the same levels.
fn assemble(reports: &[Report]) -> Places {
    let mut node_of_leader = std::collections::BTreeMap::new();
    let mut places = Places::default();
    for report in reports {
        let next = node_of_leader.len() as u32;
        places.node_of_process.push(*node_of_leader.entry(report.leader).or_insert(next));
    }
    places.node_names = vec![String::new(); node_of_leader.len()];
    let nodes: Vec<(u32, &Node)> =
        reports.iter().filter_map(|r| Some((r.leader, r.node.as_ref()?))).collect();
    places.level_names = common_levels(nodes.iter().map(|(_, n)| n.levels.as_slice()));
    let unplaced = extend_path(&[], &[], &places.level_names);
    places.place_of_process = vec![unplaced; reports.len()];
    for (leader, node) in nodes {
        if let Some(&index) = node_of_leader.get(&leader) {
            places.node_names[index as usize] = node.name.clone();
        }
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

    fn spot(node: u64, pus: u64) -> Spot {
        Spot { node, name: format!("node{node}"), pus: vec![pus] }
    }

    #[test]
    fn spots_tell_the_nodes_of_processes_that_are_not_bound() {
        let mut spots = Spots::default();
        for spot in [spot(7, 3), spot(5, 15), spot(7, 3), spot(5, 15)] {
            spots.add(spot);
        }
        assert!(!spots.need_topology(), "nodes may differ");
        let places = spots.places();
        assert_eq!(places.node_of_process, [0, 1, 0, 1]);
        assert_eq!(places.node_names, ["node7", "node5"]);
        assert_eq!(places.level_names, ["node"]);
        assert!(places.place_of_process.iter().all(Vec::is_empty));
    }

    #[test]
    fn spots_of_bound_processes_need_the_topology() {
        let mut spots = Spots::default();
        spots.add(spot(7, 1));
        assert!(!spots.need_topology());
        spots.add(spot(7, 2));
        assert!(spots.need_topology());
    }
}
