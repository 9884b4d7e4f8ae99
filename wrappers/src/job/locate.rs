//! The handshake in which rank 0 learns where the processes are, and all processes get the answer that rank 0
//! computes from it.
//!
//! All processes of a communicator take the steps together, and only the steps that are needed. Rank 0 answers
//! at once if all processes of each node may run on the same PUs. If their bindings differ, the processes of
//! each node first find their places inside the node. The start of a job, its end and the constructors of
//! topologies use this handshake.

use crate::comm::encoding;
use crate::comm::private::PrivateComm;
use crate::job::places::{Location, Locations, Node, Nodes, assemble};
use crate::mpi::abi::Abi;
use crate::sys::node;
use crate::sys::panic_barrier::guarded;
use rw::store::Placement;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// What all processes do next. Rank 0 decides it.
#[derive(Debug, Serialize, Deserialize)]
pub enum Step<T> {
    /// Every process sends its location to rank 0.
    Gather,
    /// The processes of each node find out where inside it they are.
    LookInside(Nodes),
    /// Nothing: this is the answer of rank 0.
    Answer(T),
}

impl<T> Step<T> {
    /// The first step on rank 0 when it has the locations of all processes: its answer, or [`Step::LookInside`]
    /// if the places inside nodes are needed for the answer.
    pub fn of(locations: &Locations, answer: impl FnOnce(Option<Placement>) -> T) -> Step<T> {
        let nodes = locations.nodes();
        if nodes.need_topology() {
            return Step::LookInside(nodes);
        }
        Step::Answer(answer(guarded(|| Some(locations.places()))))
    }
}

/// Takes the steps from `step`, which all processes of `comm` know, to the answer of rank 0, and returns the
/// answer. Rank 0 gives the function `answer`, which computes the answer from the places. The function gets `None` if
/// the places could not be found. Returns `None` after an MPI error, or if rank 0 gave no function. Collective.
pub fn locate<A: Abi, T: Serialize + DeserializeOwned>(
    comm: &PrivateComm<A>,
    mut step: Step<T>,
    mut answer: Option<impl FnMut(Option<Placement>) -> T>,
) -> Option<T> {
    loop {
        let next = match step {
            Step::Answer(answer) => return Some(answer),
            Step::Gather => {
                let locations = gather(comm);
                answer.as_mut().and_then(|answer| {
                    guarded(|| match &locations {
                        Some(locations) => Some(Step::of(locations, answer)),
                        None => Some(Step::Answer(answer(None))),
                    })
                })
            }
            Step::LookInside(nodes) => {
                let places = look_inside(comm, &nodes);
                answer.as_mut().and_then(|a| guarded(|| Some(Step::Answer(a(places)))))
            }
        };
        step = comm.broadcast_value(next.as_ref())?;
    }
}

/// Gathers the locations of all processes on rank 0. Collective. The other ranks get an empty list, and
/// `None` means an MPI error.
fn gather<A: Abi>(comm: &PrivateComm<A>) -> Option<Locations> {
    Some(Locations::from_bytes(&comm.gather(Location::mine().to_bytes())?))
}

/// Finds the places, given which processes are on which node. Collective. Rank 0 gets the places, and
/// the other ranks get `None`.
///
/// The first process of each node sends one message to rank 0. If the processes of a node are bound to
/// different PUs, its first process asks the others of the node before.
fn look_inside<A: Abi>(comm: &PrivateComm<A>, nodes: &Nodes) -> Option<Placement> {
    let (processes, differ) = nodes.around(comm.rank)?;
    let affinity = node::affinity();
    let first = *processes.first()?;
    if first != comm.rank as u32 {
        if differ {
            let bytes: Vec<u8> = affinity.into_iter().flat_map(u64::to_le_bytes).collect();
            comm.send_short(first, &bytes);
        }
        return None;
    }
    let node =
        if differ { divided(comm, &processes, affinity) } else { Node::undivided(&processes) };
    if comm.rank != 0 {
        comm.send(0, &encoding::encode(&node).unwrap_or_default());
        return None;
    }
    let mut described = vec![node];
    for &leader in nodes.first().get(1..)? {
        let bytes = comm.receive(leader).unwrap_or_default();
        described.push(encoding::decode(&bytes).unwrap_or_default());
    }
    guarded(|| Some(assemble(nodes, &described)))
}

/// What the first process of a node finds out about the node and its `processes`. `affinity` is its own.
fn divided<A: Abi>(comm: &PrivateComm<A>, processes: &[u32], affinity: Vec<u64>) -> Node {
    let words = |bytes: &[u8]| -> Vec<u64> {
        let (words, _) = bytes.as_chunks();
        let mut words: Vec<u64> = words.iter().map(|&word| u64::from_le_bytes(word)).collect();
        while words.last() == Some(&0) {
            words.pop();
        }
        words
    };
    let mut known = vec![(comm.rank as u32, affinity)];
    let mut buffer = vec![0u8; node::MOST_AFFINITY];
    for &rank in processes.get(1..).unwrap_or_default() {
        let bytes = comm.receive_short(rank, &mut buffer).unwrap_or_default();
        known.push((rank, words(bytes)));
    }
    guarded(|| Some(Node::divided(&known))).unwrap_or_default()
}

/// True in one process of each node; collective over `comm`.
pub fn leads_node<A: Abi>(comm: &PrivateComm<A>) -> bool {
    let first = gather(comm).map(|locations| locations.nodes().first().to_vec());
    let first = comm.broadcast_value(first.as_ref()).unwrap_or_default();
    first.is_empty() || first.contains(&(comm.rank as u32))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::places::LOCATION_BYTES;

    /// Processes of one node that may run on these PUs.
    fn on_one_node(pus: &[u8]) -> Locations {
        let location = |&pus: &u8| {
            let mut bytes = [0; LOCATION_BYTES];
            (bytes[0], bytes[8]) = (7, pus);
            bytes
        };
        Locations::from_bytes(&pus.iter().map(location).collect::<Vec<_>>())
    }

    #[test]
    fn rank_0_answers_at_once_where_bindings_do_not_differ() {
        let answered = |places: Option<Placement>| places.map(|places| places.node_of_process);
        match Step::of(&on_one_node(&[3, 3, 3]), answered) {
            Step::Answer(nodes) => assert_eq!(nodes, Some(vec![0, 0, 0])),
            other => panic!("{other:?}"),
        }
        let never =
            |_: Option<Placement>| -> () { panic!("the places inside the node are not known") };
        assert!(matches!(Step::of(&on_one_node(&[3, 4]), never), Step::LookInside(_)));
    }
}
