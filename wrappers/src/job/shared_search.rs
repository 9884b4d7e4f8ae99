//! A search shared by several processes. The first process of each of a few nodes searches for the best node of
//! every task, with a seed of its own. Then the first process of every node places the tasks of that node
//! inside it.
//!
//! Rank 0 sends out the work and collects the answers. All others wait for the permutation. The answer with the
//! lowest cost is used, and of equal answers the first in the order of the searchers. So the result does not
//! depend on which process is faster. A process that has no answer (no memory, an internal error, out of time)
//! sends this instead, and its answer is left out.
//!
//! Each process searches in a [worker thread](crate::sys::worker_thread), so the search takes at most the
//! time limit and a short extra time ([`patience`]).

use crate::comm::encoding;
use crate::comm::private::PrivateComm;
use crate::mpi::abi::Abi;
use crate::sys::injection::{Trouble, trouble};
use crate::sys::memory;
use crate::sys::worker_thread::{self, Failure};
use rw::decide::{Network, NodeAssignment, Part};
use rw::topology::Topology;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;

/// The ranks that take part in the shared search, and what each of them does.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// Ranks that search for nodes, rank 0 first.
    searchers: Vec<u32>,
    /// Ranks that place the tasks of a node, by node.
    placers: Vec<u32>,
    /// Seed of the first searcher. Searcher `i` has this seed plus `i`.
    seed: u64,
    /// Time limit of the whole search, in milliseconds.
    limit: u64,
}

/// The permutation that was found.
#[derive(Debug)]
pub struct SearchAnswer {
    pub process_of_task: Vec<u32>,
    /// At least one process reached the time limit.
    pub cut: bool,
    /// Searches and placements without an answer.
    pub failed: usize,
}

/// Bytes that a search needs for each edge and for each task, approximately; see `benches/inmap`.
const BYTES_PER_EDGE: u64 = 300;
const BYTES_PER_TASK: u64 = 600;

/// Memory that mapping a graph may take.
pub fn memory_for(tasks: usize, edges: usize) -> u64 {
    BYTES_PER_TASK
        .saturating_mul(tasks as u64)
        .saturating_add(BYTES_PER_EDGE.saturating_mul(edges as u64))
        .saturating_add(16 << 20)
}

/// How long to wait for work with a time `limit`. The work looks at the clock only now and then.
pub fn patience(limit: Duration) -> Duration {
    limit + (limit / 2).clamp(Duration::from_secs(1), Duration::from_secs(5))
}

/// Does `work` in a worker thread within `limit`. If RANKWEAVE_INJECT asks for a failure in this process, it
/// happens here.
pub fn careful<T: Send + 'static>(
    rank: usize,
    limit: Duration,
    work: impl FnOnce() -> Option<T> + Send + 'static,
) -> Result<T, Failure> {
    worker_thread::run(patience(limit), move || {
        match trouble(rank) {
            #[allow(clippy::panic)]
            Some(Trouble::Panic) => panic!("asked for by RANKWEAVE_INJECT"),
            Some(Trouble::Death) => return None,
            Some(Trouble::Stall) => std::thread::sleep(patience(limit) + Duration::from_secs(1)),
            Some(Trouble::Memory) | None => {}
        }
        work()
    })
}

/// Whether this process has the memory for a graph.
pub fn has_room(rank: usize, tasks: usize, edges: usize) -> bool {
    trouble(rank) != Some(Trouble::Memory) && memory::has_room(memory_for(tasks, edges))
}

impl Call {
    /// A call in which the first processes of up to `searchers` nodes search. `limit` is the time limit of the
    /// whole search.
    pub fn new(network: &Network, searchers: usize, seed: u64, limit: Duration) -> Call {
        let mut placers = vec![u32::MAX; network.nodes()];
        for (process, &node) in (0u32..).zip(network.node_of_process()) {
            if let Some(placer) = placers.get_mut(node as usize)
                && *placer == u32::MAX
            {
                *placer = process;
            }
        }
        // The searchers are spread over the machine, because neighbouring nodes may be slow for the same
        // reason.
        let count = searchers.clamp(1, placers.len().max(1));
        let searchers = (0..count).map(|k| placers[k * placers.len() / count]).collect();
        Call { searchers, placers, seed, limit: limit.as_millis() as u64 }
    }

    /// The part of the time limit for the search for nodes.
    fn for_nodes(&self) -> Duration {
        Duration::from_millis(self.limit * 6 / 10)
    }

    /// The part of the time limit for placing tasks inside nodes.
    fn inside(&self) -> Duration {
        Duration::from_millis(self.limit * 3 / 10)
    }

    fn search(
        &self,
        rank: usize,
        k: usize,
        network: Arc<Network>,
    ) -> Result<NodeAssignment, Failure> {
        let graph = network.graph();
        if !has_room(rank, graph.vertices(), graph.edges()) {
            return Err(Failure::NoAnswer);
        }
        let (seed, limit) = (self.seed.wrapping_add(k as u64), self.for_nodes());
        careful(rank, limit, move || network.search(seed, limit).ok())
    }

    fn place(&self, rank: usize, part: Part) -> Option<Vec<(u32, u32)>> {
        let limit = self.inside();
        careful(rank, limit, move || part.place(limit).ok()).ok()
    }
}

/// What every process except rank 0 does.
pub fn help<A: Abi>(job: &PrivateComm<A>, call: &Call) {
    let rank = job.rank as u32;
    if let Some(k) = call.searchers.iter().position(|&searcher| searcher == rank) {
        let network = job.receive(0).and_then(|bytes| {
            let network =
                crate::sys::panic_barrier::guarded(|| encoding::decode::<Network>(&bytes))?;
            network.is_valid().then(|| Arc::new(network))
        });
        let found = network.and_then(|network| call.search(job.rank, k, network).ok());
        job.send(0, &encoding::encode(&found).unwrap_or_default());
    }
    if call.placers.contains(&rank) {
        let part = job.receive(0).and_then(|bytes| encoding::decode::<Part>(&bytes));
        let placed = part.and_then(|part| call.place(job.rank, part));
        job.send(0, &encoding::encode(&placed).unwrap_or_default());
    }
}

/// Sends an empty part to the processes that wait for one, because there is nothing to place. Receives their
/// answers.
fn dismiss_placers<A: Abi>(job: &PrivateComm<A>, call: &Call) {
    for &placer in call.placers.iter().filter(|&&placer| placer != 0) {
        job.send(placer, &[]);
        job.receive(placer);
    }
}

/// Whether two lists of (task, process) have the same tasks and the same processes, paired in any way. An
/// answer without this property is not used: a node may only place its own tasks on its own processes.
fn same_members(a: &[(u32, u32)], b: &[(u32, u32)]) -> bool {
    let sorted = |pairs: &[(u32, u32)]| {
        let (mut tasks, mut processes): (Vec<u32>, Vec<u32>) = pairs.iter().copied().unzip();
        tasks.sort_unstable();
        processes.sort_unstable();
        (tasks, processes)
    };
    sorted(a) == sorted(b)
}

/// What rank 0 does.
pub fn lead<A: Abi>(
    job: &PrivateComm<A>,
    call: &Call,
    network: Arc<Network>,
    topology: &dyn Topology,
    slots: &[usize],
) -> Result<SearchAnswer, Failure> {
    let bytes = encoding::encode(&*network).unwrap_or_default();
    for &searcher in call.searchers.iter().filter(|&&searcher| searcher != 0) {
        job.send(searcher, &bytes);
    }
    drop(bytes);
    let mut failed = 0;
    let mut first = Failure::NoAnswer;
    let mut best: Option<NodeAssignment> = None;
    let mut cut = false;
    for (k, &searcher) in call.searchers.iter().enumerate() {
        let found = if searcher == 0 {
            call.search(job.rank, k, network.clone())
        } else {
            let bytes = job.receive(searcher);
            let found = bytes
                .and_then(|bytes| encoding::decode::<Option<NodeAssignment>>(&bytes))
                .flatten();
            found.ok_or(Failure::NoAnswer)
        };
        match found {
            Ok(found) if network.accepts(&found) => {
                cut |= found.cut;
                if best.as_ref().is_none_or(|best| found.cost < best.cost) {
                    best = Some(found);
                }
            }
            Ok(_) => failed += 1,
            Err(failure) => {
                failed += 1;
                // The error of rank 0 says more than that of another process, of which only the missing answer
                // is known.
                if searcher == 0 {
                    first = failure;
                }
            }
        }
    }
    let Some(best) = best else {
        dismiss_placers(job, call);
        return Err(first);
    };
    let mut own = None;
    let mut given = Vec::with_capacity(call.placers.len());
    let mut parts = network.parts(&best, topology, slots, call.seed);
    for &placer in &call.placers {
        // The placers wait for a message. If a part cannot be made, the placer gets an empty message.
        let part = crate::sys::panic_barrier::guarded(|| parts.next());
        given.push(part.as_ref().map(Part::given).unwrap_or_default());
        if placer == 0 {
            own = part;
        } else {
            let bytes = part.and_then(|part| encoding::encode(&part)).unwrap_or_default();
            job.send(placer, &bytes);
        }
    }
    drop(parts);
    let mut own = own.map(|part| call.place(job.rank, part));
    for (given, &placer) in given.iter_mut().zip(&call.placers) {
        let placed = if placer == 0 {
            own.take().flatten()
        } else {
            let bytes = job.receive(placer);
            bytes.and_then(|bytes| encoding::decode::<Option<Vec<(u32, u32)>>>(&bytes)).flatten()
        };
        match placed.filter(|placed| same_members(placed, given)) {
            Some(placed) => *given = placed,
            None => failed += 1,
        }
    }
    let process_of_task =
        network.joined(given.iter().map(Vec::as_slice)).ok_or(Failure::NoAnswer)?;
    Ok(SearchAnswer { process_of_task, cut, failed })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rw::mapping::Preset;
    use rw::matrix::Graph;
    use rw::topology::parse;

    #[test]
    fn the_first_process_of_each_node_helps() {
        let tree = parse("tree:2:4").unwrap();
        let slots: Vec<usize> = (0..8).map(|k| (k % 4) * 2 + k / 4).collect();
        let nodes: Vec<u32> = slots.iter().map(|&s| (s / 2) as u32).collect();
        let graph = Graph::from_edges(8, &[(0, 1, 5), (2, 6, 5)]);
        let network =
            Network::new(graph, tree.as_ref(), &slots, &nodes, &[0], Preset::Default).unwrap();
        let call = |n| Call::new(&network, n, 1, Duration::from_secs(1));
        assert_eq!(call(9).placers, [0, 1, 2, 3]);
        assert_eq!(call(9).searchers, [0, 1, 2, 3]);
        assert_eq!(call(2).searchers, [0, 2]);
        assert_eq!(call(0).searchers, [0]);
    }

    #[test]
    fn troubles_are_survived() {
        assert!(has_room(0, 1000, 10_000));
        assert!(!has_room(0, 1 << 60, 1));
        assert_eq!(careful(0, Duration::from_secs(9), || Some(3)), Ok(3));
    }
}
