//! `rankweave_reorder` and `rankweave_newrank`: the program asks for a new rank order of the processes of a
//! communicator.

use super::measured;
use super::{BAD_ARGUMENT, MPI_FAILED, OK, is_no_communicator};
use crate::comm::neighbours;
use crate::comm::world;
use crate::mpi::abi::{Abi, TopologyKind};
use crate::mpi::pmpi::pmpi;
use crate::reorder::adjacency::Form;
use crate::reorder::{Group, create};
use crate::sys::panic_barrier::{guarded, shielded};
use libc::c_int;
use rw::launch::constructor::Weights;

/// Writes a communicator with the processes of `comm` to `out`. Its processes are in a better order, or in the
/// same order if no better one is found. Collective over `comm`. Attributes and topologies are not carried over
/// in either case, so that a program does not come to rely on them.
///
/// # Safety
/// `out` is null or where a handle can be put; `comm` is a communicator of the program.
pub unsafe fn reorder<A: Abi>(comm: A::Comm, out: *mut A::Comm) -> c_int {
    if out.is_null() || is_no_communicator::<A>(comm) {
        return BAD_ARGUMENT;
    }
    let made = shielded(|| ordered::<A>(comm)).or_else(|| same_order::<A>(comm));
    // SAFETY: not null, and then the caller says that a handle can be put there.
    unsafe { *out = made.unwrap_or_else(A::comm_null) };
    if made.is_some() { OK } else { MPI_FAILED }
}

/// A communicator with the processes of `comm` in a better order for the traffic that they sent. `None` in all
/// processes if their order stays.
fn ordered<A: Abi>(comm: A::Comm) -> Option<A::Comm> {
    let group = Group::<A>::asked(comm)?;
    let edges = group.by_rank(measured::since_reset::<A>());
    let group = group.make_private()?;
    let order = group.permutation(&edges, Weights::Given, group.size, None, "rankweave_reorder");
    let made = order.and_then(|order| create::base(&group, &order));
    group.free();
    made
}

/// A communicator with the processes of `comm` in the same order.
fn same_order<A: Abi>(comm: A::Comm) -> Option<A::Comm> {
    let comm = world::effective::<A>(comm);
    let mpi = pmpi::<A>();
    let (mut rank, mut made) = (0, A::comm_null());
    // SAFETY: a communicator of the program, whose processes are all here. An error must not reach its
    // error handler meanwhile; what MPI_Comm_get_errhandler gives is a reference to be freed.
    let code = unsafe {
        let mut handler = A::errors_return();
        let known = mpi.comm_get_errhandler(comm, &raw mut handler) == 0;
        if known {
            let _ = mpi.comm_set_errhandler(comm, A::errors_return());
        }
        let _ = mpi.comm_rank(comm, &raw mut rank);
        let code = mpi.comm_split(comm, 0, rank, &raw mut made);
        if known {
            let _ = mpi.comm_set_errhandler(comm, handler);
            if code == 0 && made != A::comm_null() {
                let _ = mpi.comm_set_errhandler(made, handler);
            }
            let _ = mpi.errhandler_free(&raw mut handler);
        }
        code
    };
    (code == 0 && made != A::comm_null()).then_some(made)
}

/// Writes to `newrank` the rank that the caller should have according to the topology of `comm`. The weights of
/// a distributed graph are used. Edges without weights get the traffic that was recorded along them as their
/// weight. Collective over `comm`.
///
/// # Safety
/// `newrank` is null or the address of an int; `comm` is a communicator of the program.
pub unsafe fn newrank<A: Abi>(comm: A::Comm, newrank: *mut c_int) -> c_int {
    if newrank.is_null() || is_no_communicator::<A>(comm) {
        return BAD_ARGUMENT;
    }
    let (mut rank, mut status) = (0, A::UNDEFINED);
    let actual = world::effective::<A>(comm);
    // SAFETY: a communicator of the program.
    let code = unsafe {
        pmpi::<A>().comm_rank(actual, &raw mut rank)
            | pmpi::<A>().topo_test(actual, &raw mut status)
    };
    if code != 0 {
        return MPI_FAILED;
    }
    // SAFETY: not null, and then the caller says that it is the address of an int.
    unsafe { *newrank = rank };
    let Some(kind) = A::topology_kind(status) else { return BAD_ARGUMENT };
    if let Some(better) = shielded(|| mapped::<A>(comm, rank as u32, kind)) {
        // SAFETY: not null, and then the caller says that it is the address of an int.
        unsafe { *newrank = better };
    }
    OK
}

fn mapped<A: Abi>(comm: A::Comm, rank: u32, kind: TopologyKind) -> Option<c_int> {
    let group = Group::<A>::asked(comm)?;
    let declared = guarded(|| declared::<A>(group.comm, rank, kind));
    let claim_of = |weighted: bool| if weighted { Form::WEIGHTED } else { Form::UNWEIGHTED };
    let claim = declared.as_ref().map_or(0, |(_, weighted)| claim_of(*weighted));
    let agreed = group.agree(declared.as_ref().map(|_| 5), claim);
    let (Some(claims), Some((edges, _))) = (agreed, declared) else { return None };
    let weights = if claims == Form::WEIGHTED { Weights::Given } else { Weights::Unknown };
    let group = group.make_private()?;
    let order = group.permutation(&edges, weights, group.size, None, "rankweave_newrank");
    group.free();
    order?.iter().position(|&process| process == rank).map(|at| at as c_int)
}

/// The ranks to which this process sends in its topology, each with a weight, and whether the program gave the
/// weights. An edge without a weight has the weight 1.
fn declared<A: Abi>(
    comm: A::Comm,
    rank: u32,
    kind: TopologyKind,
) -> Option<(Vec<(u32, u64)>, bool)> {
    let counted = |ranks: Vec<c_int>, weights: &[c_int]| {
        let weight = |i: usize| weights.get(i).map_or(1, |&w| u64::try_from(w).unwrap_or(0));
        let edges = ranks.into_iter().enumerate();
        edges.filter_map(|(i, to)| Some((u32::try_from(to).ok()?, weight(i)))).collect()
    };
    if kind != TopologyKind::DistGraph {
        return Some((counted(neighbours::destinations::<A>(comm, rank), &[]), false));
    }
    let mpi = pmpi::<A>();
    let (mut sources, mut destinations, mut weighted) = (0, 0, 0);
    // SAFETY: a communicator with a distributed graph.
    let code = unsafe {
        mpi.dist_graph_neighbors_count(
            comm,
            &raw mut sources,
            &raw mut destinations,
            &raw mut weighted,
        )
    };
    if code != 0 || sources < 0 || destinations < 0 {
        return None;
    }
    // MPI needs a valid address even if there are no neighbours.
    let room = |count: c_int| vec![0; count.max(1) as usize];
    let (mut from, mut from_weights) = (room(sources), room(sources));
    let (mut to, mut to_weights) = (room(destinations), room(destinations));
    // SAFETY: room for all neighbours and weights.
    let code = unsafe {
        mpi.dist_graph_neighbors(
            comm,
            sources,
            from.as_mut_ptr(),
            from_weights.as_mut_ptr(),
            destinations,
            to.as_mut_ptr(),
            to_weights.as_mut_ptr(),
        )
    };
    to.truncate(destinations as usize);
    let weights = if weighted != 0 { to_weights.as_slice() } else { &[] };
    (code == 0).then(|| (counted(to, weights), weighted != 0))
}
