//! Constructors of topologies with new ranks: everything up to the call that makes the communicator.

use super::adjacency::{Adjacency, Given, Side};
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

/// What the constructor is to be called with.
#[derive(Debug)]
pub enum Step<A: Abi> {
    /// The program's own arguments.
    Plain,
    /// The same without `reorder`: the ranks are best as they are.
    Unchanged,
    /// This communicator, whose processes are in the new order, and no `reorder`; to be
    /// [released](Step::done) after the call. What the program does with it is watched.
    On(A::Comm, Box<Watch>),
}

impl<A: Abi> Step<A> {
    /// After the constructor has returned; `made` is the communicator, if this process is in it.
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

/// The communicator that a constructor has put there.
///
/// # Safety
/// `made` is where the program wants the handle, and MPI put one there if `code` is 0.
pub unsafe fn made<A: Abi>(code: libc::c_int, made: *const A::Comm) -> Option<A::Comm> {
    // SAFETY: not null, and MPI put a handle there: the call succeeded.
    (code == 0 && !made.is_null()).then(|| unsafe { *made })
}

/// For a topology that every process describes; `read` gets the number of processes.
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

/// Processes in their order, and a topology; the rank that this process got.
type Answer = ((u64, u64), i32);

/// What the latest constructors answered: MPI_Cart_map and MPI_Graph_map give the same ranks.
static ANSWERS: Mutex<VecDeque<Answer>> = Mutex::new(VecDeque::new());
const MOST_ANSWERS: usize = 64;

/// All processes of the group keep the answer to the same question, or that ranks are as they were.
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

/// For a distributed graph whose processes give their own edges; with the edges of the new vertex.
pub fn adjacent<A: Abi>(
    comm: A::Comm,
    reorder: bool,
    read: impl FnOnce(usize) -> Option<Adjacency>,
) -> (Step<A>, Option<Adjacency>) {
    let Some(group) = Group::<A>::of(comm) else { return (Step::Plain, None) };
    let mine = if reorder { guarded(|| read(group.size)) } else { None };
    let agreed = group.agree(mine.as_ref().map(|_| 3), mine.as_ref().map_or(0, Adjacency::claim));
    let (Some(claims), Some(mine)) = (agreed, mine) else { return (Step::Plain, None) };
    if claims == 3 {
        // Weighted for some and not for others, which MPI forbids.
        return (Step::Plain, None);
    }
    let Some(group) = group.make_private() else { return (Step::Plain, None) };
    let (step, moved) = place(&group, &mine, claims, "MPI_Dist_graph_create_adjacent");
    group.free();
    (step, moved)
}

/// For a distributed graph whose edges any process may give; with the edges of the new vertex,
/// unless the call has to be made as it is.
pub fn distributed<A: Abi>(
    comm: A::Comm,
    reorder: bool,
    read: impl FnOnce(usize) -> Option<Given>,
) -> (Step<A>, Option<Adjacency>) {
    let Some(group) = Group::<A>::of(comm) else { return (Step::Plain, None) };
    let given = if reorder { guarded(|| read(group.size)) } else { None };
    let agreed =
        group.agree(given.as_ref().map(|_| 4), given.as_ref().map_or(0, |g| g.form.claim()));
    let (Some(claims), Some(given)) = (agreed, given) else { return (Step::Plain, None) };
    if claims == 3 {
        return (Step::Plain, None);
    }
    let Some(group) = group.make_private() else { return (Step::Plain, None) };
    let mine = given.distributed(&group.private, claims == 1);
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
    let weights = if claims == 1 { Weights::Given } else { Weights::Unknown };
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

/// What to watch this process for, by its neighbours: see [`View`].
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

/// A communicator of the processes in this order, with the error handler of the program's; `None`
/// on all alike.
pub fn base<A: Abi>(group: &PrivateGroup<A>, order: &[u32]) -> Option<A::Comm> {
    let mine = group.private.rank as u32;
    let key = order.iter().position(|&p| p == mine).unwrap_or_default();
    let mut comm = A::comm_null();
    let mpi = pmpi::<A>();
    // SAFETY: a communicator of ours, where errors are returned; everybody is here.
    let code = unsafe { mpi.comm_split(group.private.comm, 0, key as libc::c_int, &raw mut comm) };
    let made = code == 0 && comm != A::comm_null();
    if !group.unanimous(made) {
        if made {
            crate::comm::handle::free::<A>(comm);
        }
        return None;
    }
    // SAFETY: valid communicators; what MPI_Comm_get_errhandler gives is a reference to be freed.
    unsafe {
        let mut handler = A::errors_return();
        if mpi.comm_get_errhandler(group.comm(), &raw mut handler) == 0 {
            let _ = mpi.comm_set_errhandler(comm, handler);
            let _ = mpi.errhandler_free(&raw mut handler);
        }
    }
    Some(comm)
}
