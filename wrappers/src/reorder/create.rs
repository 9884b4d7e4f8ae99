//! Constructors of topologies with new ranks: everything up to the call that makes the communicator.

use super::adjacency::{Adjacency, Given, Side};
use super::decision::Weights;
use super::party::{Met, Party};
use super::shape::Shape;
use crate::job::rank_mixing::Watch;
use crate::mpi::abi::Abi;
use crate::mpi::pmpi::pmpi;
use crate::sys::panic_barrier::guarded;
use parking_lot::Mutex;
use rw::decide::mixed::View;
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
    read: impl FnOnce(usize) -> Option<Shape>,
) -> Step<A> {
    let Some(party) = Party::<A>::of(comm) else { return Step::Plain };
    let shape = if reorder { guarded(|| read(party.size)) } else { None };
    let agreed = party.agree(shape.as_ref().map(Shape::hash), 0);
    let (Some(_), Some(shape)) = (agreed, shape) else { return Step::Plain };
    let group = party.hash();
    let Some(met) = party.meet() else { return Step::Plain };
    let edges = shape.edges(met.private.rank);
    let order = met.permutation(&edges, Weights::Unknown, shape.vertices(), shape.grid(), what);
    let mut rank = None;
    let step = match order {
        None => Step::Unchanged,
        Some(order) => match base(&met, &order) {
            None => Step::Unchanged,
            Some(base) => {
                let mine = met.private.rank as u32;
                rank = order.iter().position(|&p| p == mine);
                let ends = |vertex| -> Vec<u32> {
                    shape.edges(vertex).into_iter().map(|edge| edge.0).collect()
                };
                let to = rank.map(ends).unwrap_or_default();
                let mistaken = ends(met.private.rank);
                let watch = watch(&met, what, &order, [&to, &[], &mistaken]);
                Step::On(base, watch)
            }
        },
    };
    remember(
        (group, shape.hash()),
        rank.map(|r| if r < shape.vertices() { r as i32 } else { A::UNDEFINED }),
    );
    met.leave();
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
pub fn remembered<A: Abi>(comm: A::Comm, read: impl FnOnce(usize) -> Option<Shape>) -> Option<i32> {
    if ANSWERS.lock().is_empty() {
        return None;
    }
    let party = Party::<A>::of(comm)?;
    let question = (party.hash(), read(party.size)?.hash());
    ANSWERS.lock().iter().find(|answer| answer.0 == question).map(|answer| answer.1)
}

/// For a distributed graph whose processes give their own edges; with the edges of the new vertex.
pub fn adjacent<A: Abi>(
    comm: A::Comm,
    reorder: bool,
    read: impl FnOnce(usize) -> Option<Adjacency>,
) -> (Step<A>, Option<Adjacency>) {
    let Some(party) = Party::<A>::of(comm) else { return (Step::Plain, None) };
    let mine = if reorder { guarded(|| read(party.size)) } else { None };
    let agreed = party.agree(mine.as_ref().map(|_| 3), mine.as_ref().map_or(0, Adjacency::claim));
    let (Some(claims), Some(mine)) = (agreed, mine) else { return (Step::Plain, None) };
    if claims == 3 {
        // Weighted for some and not for others, which MPI forbids.
        return (Step::Plain, None);
    }
    let Some(met) = party.meet() else { return (Step::Plain, None) };
    let (step, moved) = place(&met, &mine, claims, "MPI_Dist_graph_create_adjacent");
    met.leave();
    (step, moved)
}

/// For a distributed graph whose edges any process may give; with the edges of the new vertex,
/// unless the call has to be made as it is.
pub fn distributed<A: Abi>(
    comm: A::Comm,
    reorder: bool,
    read: impl FnOnce(usize) -> Option<Given>,
) -> (Step<A>, Option<Adjacency>) {
    let Some(party) = Party::<A>::of(comm) else { return (Step::Plain, None) };
    let given = if reorder { guarded(|| read(party.size)) } else { None };
    let agreed =
        party.agree(given.as_ref().map(|_| 4), given.as_ref().map_or(0, |g| g.form.claim()));
    let (Some(claims), Some(given)) = (agreed, given) else { return (Step::Plain, None) };
    if claims == 3 {
        return (Step::Plain, None);
    }
    let Some(met) = party.meet() else { return (Step::Plain, None) };
    let mine = given.distributed(&met.private, claims == 1);
    let answer = match mine {
        _ if !met.unanimous(mine.is_some()) => (Step::Plain, None),
        None => (Step::Plain, None),
        Some(mine) => match place(&met, &mine, claims, "MPI_Dist_graph_create") {
            (Step::Unchanged, _) => (Step::Unchanged, Some(mine)),
            other => other,
        },
    };
    met.leave();
    answer
}

fn place<A: Abi>(
    met: &Met<A>,
    mine: &Adjacency,
    claims: u64,
    what: &'static str,
) -> (Step<A>, Option<Adjacency>) {
    let weights = if claims == 1 { Weights::Given } else { Weights::Unknown };
    let edges = mine.destinations.edges();
    let Some(order) = met.permutation(&edges, weights, met.size, None, what) else {
        return (Step::Unchanged, None);
    };
    let moved = mine.moved(&met.private, &order);
    if !met.unanimous(moved.is_some()) {
        return (Step::Unchanged, None);
    }
    let Some(base) = base(met, &order) else { return (Step::Unchanged, None) };
    let ends = |side: &Side| -> Vec<u32> { side.ranks.iter().map(|&r| r as u32).collect() };
    let (to, from) =
        moved.as_ref().map_or_else(Default::default, |m| (ends(&m.destinations), ends(&m.sources)));
    let mistaken = ends(&mine.destinations);
    let watch = watch(met, what, &order, [&to, &from, &mistaken]);
    (Step::On(base, watch), moved)
}

/// What to watch this process for, by its neighbours: see [`View`].
fn watch<A: Abi>(
    met: &Met<A>,
    what: &'static str,
    order: &[u32],
    [to, from, mistaken]: [&[u32]; 3],
) -> Box<Watch> {
    let rank = met.private.rank as u32;
    let view = View { tasks: met.tasks(), order, rank, to, from, mistaken };
    Box::new(Watch::new(met.hash(), what, view))
}

/// A communicator of the processes in this order, with the error handler of the program's; `None`
/// on all alike.
pub fn base<A: Abi>(met: &Met<A>, order: &[u32]) -> Option<A::Comm> {
    let mine = met.private.rank as u32;
    let key = order.iter().position(|&p| p == mine).unwrap_or_default();
    let mut comm = A::comm_null();
    let mpi = pmpi::<A>();
    // SAFETY: a communicator of ours, where errors are returned; everybody is here.
    let code = unsafe { mpi.comm_split(met.private.comm, 0, key as libc::c_int, &raw mut comm) };
    let made = code == 0 && comm != A::comm_null();
    if !met.unanimous(made) {
        if made {
            crate::comm::handle::free::<A>(comm);
        }
        return None;
    }
    // SAFETY: valid communicators; what MPI_Comm_get_errhandler gives is a reference to be freed.
    unsafe {
        let mut handler = A::errors_return();
        if mpi.comm_get_errhandler(met.comm(), &raw mut handler) == 0 {
            let _ = mpi.comm_set_errhandler(comm, handler);
            let _ = mpi.errhandler_free(&raw mut handler);
        }
    }
    Some(comm)
}
