//! The constructors of topologies (MPI_Cart_create and others) with new ranks: all steps before the call of the
//! MPI library that makes the communicator.

use super::adjacency::{Adjacency, Form, Given, Side};
use super::group::{Group, PrivateGroup};
use crate::job::rank_mixing::Watch;
use crate::mpi::abi::Abi;
use crate::mpi::pmpi::pmpi;
use crate::sys::panic_barrier::guarded;
use parking_lot::Mutex;
use rw::decide::mixed_ranks::View;
use rw::launch::DeclaredTopology;
use rw::launch::constructor::Weights;
use std::collections::VecDeque;

/// How the constructor of the MPI library is called: with which communicator, and with which `reorder`
/// argument.
#[derive(Debug)]
pub enum Step<A: Abi> {
    /// With the program's own arguments.
    Plain,
    /// With the program's communicator and without `reorder`: no better rank order was found.
    Unchanged,
    /// With this communicator, whose processes are in the new order, and without `reorder`. The communicator is
    /// [released](Step::done) after the call. The [`Watch`] then looks whether the program mixes ranks.
    On(A::Comm, Box<Watch>),
}

impl<A: Abi> Step<A> {
    /// To be called after the constructor has returned. `made` is the new communicator, or `None` if this
    /// process is not in it.
    pub fn done(self, made: Option<A::Comm>) {
        if let Step::On(base, watch) = self {
            crate::comm::handle::free::<A>(base);
            if let Some(made) = made.filter(|&made| made != A::comm_null()) {
                guarded(|| {
                    watch.begin::<A>(made);
                    Some(())
                });
            }
        }
    }
}

/// The communicator that a constructor has written to `made`. `None` if the call failed.
///
/// # Safety
/// `made` is where the program wants the handle, and MPI put one there if `code` is 0.
pub unsafe fn made<A: Abi>(code: libc::c_int, made: *const A::Comm) -> Option<A::Comm> {
    // SAFETY: not null, and MPI put a handle there: the call succeeded.
    (code == 0 && !made.is_null()).then(|| unsafe { *made })
}

/// Prepares a constructor that gets the whole topology from every process (MPI_Cart_create, MPI_Graph_create).
/// `read` gets the number of processes and reads the topology from the program's arguments.
pub fn shaped<A: Abi>(
    comm: A::Comm,
    reorder: bool,
    what: &'static str,
    read: impl FnOnce(usize) -> Option<DeclaredTopology>,
) -> Step<A> {
    let Some(group) = Group::<A>::of(comm) else { return Step::Plain };
    let shape = if reorder { guarded(|| read(group.size)) } else { None };
    let agreed = group.agree(shape.as_ref().map(DeclaredTopology::hash), 0);
    let (Some(_), Some(shape)) = (agreed, shape) else { return Step::Plain };
    let processes = group.hash();
    let Some(group) = group.make_private() else { return Step::Plain };
    let edges = shape.edges(group.private.rank);
    let order = group.permutation(&edges, Weights::Unknown, shape.vertices(), shape.grid(), what);
    let mut rank = None;
    let step = match order {
        None => Step::Unchanged,
        Some(order) => match base(&group, &order) {
            None => Step::Unchanged,
            Some(base) => {
                let mine = group.private.rank as u32;
                rank = order.iter().position(|&p| p == mine);
                let ends = |vertex| -> Vec<u32> {
                    shape.edges(vertex).into_iter().map(|edge| edge.0).collect()
                };
                let to = rank.map(ends).unwrap_or_default();
                let mistaken = ends(group.private.rank);
                let watch = watch(&group, what, &order, [&to, &[], &mistaken]);
                Step::On(base, watch)
            }
        },
    };
    remember(
        (processes, shape.hash()),
        rank.map(|r| if r < shape.vertices() { r as i32 } else { A::UNDEFINED }),
    );
    group.free();
    step
}

/// A question and its answer. The question is a hash of the processes in their order, and a hash of the
/// topology. The answer is the rank that this process got.
type Answer = ((u64, u64), i32);

/// The ranks that the latest constructors gave. MPI_Cart_map and MPI_Graph_map give the same ranks.
static ANSWERS: Mutex<VecDeque<Answer>> = Mutex::new(VecDeque::new());
const MOST_ANSWERS: usize = 64;

/// Keeps the new rank as the answer to this question; without a new rank, forgets the earlier answer.
/// All processes of the group do the same.
fn remember(question: (u64, u64), rank: Option<i32>) {
    let mut answers = ANSWERS.lock();
    answers.retain(|answer| answer.0 != question);
    if let Some(rank) = rank {
        answers.truncate(MOST_ANSWERS - 1);
        answers.push_front((question, rank));
    }
}

/// The rank that the latest constructor of such a topology gave this process, if there was one and
/// its order is not that of the communicator. Local.
pub fn remembered<A: Abi>(
    comm: A::Comm,
    read: impl FnOnce(usize) -> Option<DeclaredTopology>,
) -> Option<i32> {
    if ANSWERS.lock().is_empty() {
        return None;
    }
    let group = Group::<A>::of(comm)?;
    let question = (group.hash(), read(group.size)?.hash());
    ANSWERS.lock().iter().find(|answer| answer.0 == question).map(|answer| answer.1)
}

/// The claims of a graph that some processes call weighted and others call unweighted.
const CONTRADICTION: u64 = Form::WEIGHTED | Form::UNWEIGHTED;

/// Reads the edges that this process gives to a constructor of a distributed graph, and agrees on the call with the
/// other processes. `kind` identifies the constructor. Also returns the claims of all processes about the weights,
/// joined by a bitwise or ([`Form::claim`]). `None` if the call has to be made with the program's own arguments.
/// Collective.
fn agreed<A: Abi, T>(
    comm: A::Comm,
    kind: u64,
    reorder: bool,
    read: impl FnOnce(usize) -> Option<T>,
    claim: impl FnOnce(&T) -> u64,
) -> Option<(PrivateGroup<A>, T, u64)> {
    let group = Group::<A>::of(comm)?;
    let mine = if reorder { guarded(|| read(group.size)) } else { None };
    let claims = group.agree(mine.as_ref().map(|_| kind), mine.as_ref().map_or(0, claim));
    let (claims, mine) = claims.zip(mine)?;
    // MPI forbids that a graph is weighted for some processes and unweighted for others.
    let group = if claims == CONTRADICTION { None } else { group.make_private() };
    Some((group?, mine, claims))
}

/// Prepares MPI_Dist_graph_create_adjacent, where every process gives the edges of its own vertex.
/// Also returns the edges of the vertex that this process gets, if the ranks change.
pub fn adjacent<A: Abi>(
    comm: A::Comm,
    reorder: bool,
    read: impl FnOnce(usize) -> Option<Adjacency>,
) -> (Step<A>, Option<Adjacency>) {
    let Some((group, mine, claims)) = agreed(comm, 3, reorder, read, Adjacency::claim) else {
        return (Step::Plain, None);
    };
    let (step, moved) = place(&group, &mine, claims, "MPI_Dist_graph_create_adjacent");
    group.free();
    (step, moved)
}

/// Prepares MPI_Dist_graph_create, where any process may give any edge. Also returns the edges of the
/// vertex that this process gets, unless the call has to be made with the program's own arguments.
pub fn distributed<A: Abi>(
    comm: A::Comm,
    reorder: bool,
    read: impl FnOnce(usize) -> Option<Given>,
) -> (Step<A>, Option<Adjacency>) {
    let Some((group, given, claims)) = agreed(comm, 4, reorder, read, Given::claim) else {
        return (Step::Plain, None);
    };
    let mine = given.distributed(&group.private, claims == Form::WEIGHTED);
    let answer = match mine {
        _ if !group.unanimous(mine.is_some()) => (Step::Plain, None),
        None => (Step::Plain, None),
        Some(mine) => match place(&group, &mine, claims, "MPI_Dist_graph_create") {
            (Step::Unchanged, _) => (Step::Unchanged, Some(mine)),
            other => other,
        },
    };
    group.free();
    answer
}

fn place<A: Abi>(
    group: &PrivateGroup<A>,
    mine: &Adjacency,
    claims: u64,
    what: &'static str,
) -> (Step<A>, Option<Adjacency>) {
    let weights = if claims == Form::WEIGHTED { Weights::Given } else { Weights::Unknown };
    let edges = mine.destinations.edges();
    let Some(order) = group.permutation(&edges, weights, group.size, None, what) else {
        return (Step::Unchanged, None);
    };
    let moved = mine.moved(&group.private, &order);
    if !group.unanimous(moved.is_some()) {
        return (Step::Unchanged, None);
    }
    let Some(base) = base(group, &order) else { return (Step::Unchanged, None) };
    let ends = |side: &Side| -> Vec<u32> { side.ranks.iter().map(|&r| r as u32).collect() };
    let (to, from) =
        moved.as_ref().map_or_else(Default::default, |m| (ends(&m.destinations), ends(&m.sources)));
    let mistaken = ends(&mine.destinations);
    let watch = watch(group, what, &order, [&to, &from, &mistaken]);
    (Step::On(base, watch), moved)
}

/// The watch for one process: its neighbours in the topology, with the new ranks and with the old ones. See
/// [`View`].
fn watch<A: Abi>(
    group: &PrivateGroup<A>,
    what: &'static str,
    order: &[u32],
    [to, from, mistaken]: [&[u32]; 3],
) -> Box<Watch> {
    let rank = group.private.rank as u32;
    let view = View { tasks: group.tasks(), order, rank, to, from, mistaken };
    Box::new(Watch::new(group.hash(), what, view))
}

/// Makes a communicator of the processes in this order, with the error handler of the program's
/// communicator. If it fails on one process, the answer is `None` on all processes.
pub fn base<A: Abi>(group: &PrivateGroup<A>, order: &[u32]) -> Option<A::Comm> {
    let mine = group.private.rank as u32;
    let key = order.iter().position(|&p| p == mine).unwrap_or_default();
    let mut comm = A::comm_null();
    let mpi = pmpi::<A>();
    // SAFETY: a communicator of ours, where errors are returned; all its processes make this call.
    let code = unsafe { mpi.comm_split(group.private.comm, 0, key as libc::c_int, &raw mut comm) };
    let made = code == 0 && comm != A::comm_null();
    if !group.unanimous(made) {
        if made {
            crate::comm::handle::free::<A>(comm);
        }
        return None;
    }
    // SAFETY: both are valid communicators: the program's, and the one made above.
    unsafe { crate::comm::handle::copy_error_handler::<A>(group.comm(), comm) };
    Some(comm)
}
