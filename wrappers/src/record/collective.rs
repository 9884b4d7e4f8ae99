//! Collective calls as messages: what `uniform` counted is expanded when the communicator is freed or
//! the job ends; calls with counts per peer (v and w forms) are expanded at once.

use crate::comm::world;
use crate::mpi::abi::{Abi, Handle};
use crate::mpi::pmpi::pmpi;
use crate::record::communicators::{self, Communicator};
use crate::record::counters::{self, Block};
use crate::record::datatypes;
use crate::record::persistent::{Plan, Step};
use crate::record::thread;
use crate::record::{Counts, Types};
use crate::spill::calls::CollectiveKey;
use crate::sys::panic_barrier::guarded;
use libc::{c_int, c_void};
use rw::matrix::Kind;
use rw::matrix::collectives::{self, Call, InterRoot, Model, Operation};

/// Where a recorded call goes.
pub enum Out<'p> {
    /// Counted now; true for a nonblocking call.
    Now(bool),
    /// Planned: counted at every start of a persistent request.
    Later(&'p mut Plan),
}

/// What `block` counted on `communicator` and was not folded in yet, as `(task, bytes)`. Calls no MPI.
pub fn pending<A: Abi>(
    block: &'static Block,
    communicator: &Communicator,
    visit: &mut dyn FnMut(u32, u64),
) {
    let counted = block.collectives.lock().of(communicator.number);
    for (key, times) in counted {
        let Some(call) = call_of(communicator, &key) else { continue };
        sends::<A>(communicator, &call, key.root as c_int, None, &mut |rank, bytes, _| {
            visit(communicator.known_task(rank), bytes.saturating_mul(times));
        });
    }
}

/// The call that a way of calling stands for.
fn call_of(communicator: &Communicator, key: &CollectiveKey) -> Option<Call> {
    Some(Call {
        operation: *Operation::ALL.get(key.operation as usize)?,
        size: communicator.local_size,
        rank: communicator.rank,
        root: key.root,
        bytes: key.bytes,
        element: key.element,
        commutative: key.commutative,
        nonblocking: key.nonblocking,
    })
}

/// Expands what `block` counted on `communicator` and forgets it.
pub fn fold<A: Abi>(block: &'static Block, communicator: &Communicator) {
    block.forget_current_collective();
    // Another thread's cells are its own to write: what it counted is added to the caller's.
    let Some(adder) = counters::mine_for_sums() else { return };
    let counted = block.collectives.lock().of(communicator.number);
    if counted.is_empty() {
        return;
    }
    crate::spill::folding(communicator.number);
    for (key, times) in counted {
        let Some(call) = call_of(communicator, &key) else { continue };
        expand::<A>(communicator, &call, key.root as c_int, None, &mut |task, bytes, messages| {
            adder.add(
                Kind::Collective,
                task,
                bytes.saturating_mul(times),
                messages.saturating_mul(times),
            );
        });
    }
    block.collectives.lock().forget(communicator.number);
    crate::spill::folding(0);
}

/// The messages of one call, as `(task, bytes, messages)`.
pub fn expand<A: Abi>(
    communicator: &Communicator,
    call: &Call,
    root: c_int,
    blocks: Option<&collectives::Blocks>,
    visit: &mut dyn FnMut(u32, u64, u64),
) {
    sends::<A>(communicator, call, root, blocks, &mut |rank, bytes, messages| {
        visit(communicator.task::<A>(rank), bytes, messages);
    });
}

/// The messages of one call, as `(rank, bytes, messages)`.
pub fn sends<A: Abi>(
    communicator: &Communicator,
    call: &Call,
    root: c_int,
    blocks: Option<&collectives::Blocks>,
    visit: &mut dyn FnMut(u32, u64, u64),
) {
    let own = call.bytes;
    let equal = move |_| own;
    let blocks = blocks.unwrap_or(&equal);
    if communicator.inter {
        let root = if !call.operation.is_rooted() {
            InterRoot::Nobody
        } else if root == A::ROOT {
            InterRoot::Myself
        } else if root < 0 {
            InterRoot::OwnGroup
        } else {
            InterRoot::Remote(root as u32)
        };
        collectives::sends_inter(call, root, communicator.size(), blocks, visit);
    } else {
        collectives::sends_blocks(model::<A>(), call, blocks, visit);
    }
}

fn model<A: Abi>() -> Model {
    crate::mpi::config::model()
}

pub fn commutes<A: Abi>(op: A::Op) -> bool {
    let mut flag = 1;
    // The call that follows reports it; asked here, MPI would raise the error on the world instead.
    if op.bits() == 0 || op == A::op_null() {
        return true;
    }
    // SAFETY: the operation is one that the program passes to MPI right now.
    let code = unsafe { pmpi::<A>().op_commutative(op, &raw mut flag) };
    code != 0 || flag != 0
}

/// A collective with a size per peer: expanded at once.
fn with_blocks<A: Abi>(
    out: Out,
    comm: A::Comm,
    operation: Operation,
    root: c_int,
    own: impl FnOnce(&Communicator) -> u64,
    block: &dyn Fn(u32) -> u64,
    element: u64,
    op: Option<A::Op>,
) -> A::Comm {
    guarded(|| {
        let (_, communicator) = communicators::enter::<A>(comm)?;
        let call = Call {
            operation,
            size: communicator.local_size,
            rank: communicator.rank,
            root: root as u32,
            bytes: own(communicator),
            element: u32::try_from(element).unwrap_or(0),
            commutative: op.is_none_or(commutes::<A>),
            nonblocking: !matches!(out, Out::Now(false)),
        };
        let counters = counters::mine()?;
        expand::<A>(
            communicator,
            &call,
            root,
            Some(block),
            &mut |task, bytes, messages| match &out {
                Out::Now(_) => counters.add(Kind::Collective, task, bytes, messages),
                Out::Later(_) => {}
            },
        );
        if let Out::Later(plan) = out {
            expand::<A>(communicator, &call, root, Some(block), &mut |task, bytes, messages| {
                plan.steps.push(Step { kind: Kind::Collective, task, bytes, messages });
            });
        }
        Some(())
    });
    world::effective::<A>(comm)
}

/// Bytes of `count` elements; the type of none is not looked at.
fn bytes<A: Abi>(count: i64, datatype: A::Datatype) -> u64 {
    if count > 0 { (count as u64).wrapping_mul(element::<A>(datatype)) } else { 0 }
}

fn element<A: Abi>(datatype: A::Datatype) -> u64 {
    datatypes::size::<A>(thread::current(), datatype)
}

fn is_root<A: Abi>(communicator: &Communicator, root: c_int) -> bool {
    if communicator.inter { root == A::ROOT } else { root >= 0 && communicator.rank == root as u32 }
}

pub unsafe fn gatherv<A: Abi>(
    out: Out,
    comm: A::Comm,
    root: c_int,
    sendcount: i64,
    sendtype: A::Datatype,
) -> A::Comm {
    let own = move |c: &Communicator| {
        // The root keeps its own block; its send arguments may mean nothing.
        if is_root::<A>(c, root) || root == A::PROC_NULL {
            0
        } else {
            bytes::<A>(sendcount, sendtype)
        }
    };
    with_blocks::<A>(out, comm, Operation::Gatherv, root, own, &|_| 0, 1, None)
}

pub unsafe fn scatterv<A: Abi, C: Counts>(
    out: Out,
    comm: A::Comm,
    root: c_int,
    sendcounts: C,
    sendtype: A::Datatype,
) -> A::Comm {
    let mut rooted = false;
    guarded(|| {
        rooted = is_root::<A>(communicators::enter::<A>(comm)?.1, root);
        Some(())
    });
    if !rooted {
        // Only the root sends, and only its counts are significant.
        return world::effective::<A>(comm);
    }
    let size = element::<A>(sendtype);
    // SAFETY: at the root there is a count for every rank.
    let block = |i| (unsafe { sendcounts.at(i) }.max(0) as u64).wrapping_mul(size);
    with_blocks::<A>(out, comm, Operation::Scatterv, root, |_| 0, &block, size, None)
}

pub unsafe fn allgatherv<A: Abi, C: Counts>(
    out: Out,
    comm: A::Comm,
    sendbuf: *const c_void,
    sendcount: i64,
    sendtype: A::Datatype,
    recvcounts: C,
    recvtype: A::Datatype,
) -> A::Comm {
    let size = element::<A>(recvtype);
    // SAFETY: there is a count for every rank that sends to the caller.
    let block = |i| (unsafe { recvcounts.at(i) }.max(0) as u64).wrapping_mul(size);
    let own = |c: &Communicator| {
        if sendbuf as usize == A::IN_PLACE && !c.inter {
            block(c.rank)
        } else {
            bytes::<A>(sendcount, sendtype)
        }
    };
    with_blocks::<A>(out, comm, Operation::Allgatherv, 0, own, &block, size, None)
}

pub unsafe fn reduce_scatter<A: Abi, C: Counts>(
    out: Out,
    comm: A::Comm,
    recvcounts: C,
    datatype: A::Datatype,
    op: A::Op,
) -> A::Comm {
    let size = element::<A>(datatype);
    // SAFETY: there is a count for every rank of the caller's group.
    let block = |i| (unsafe { recvcounts.at(i) }.max(0) as u64).wrapping_mul(size);
    let own = |c: &Communicator| block(c.rank);
    with_blocks::<A>(out, comm, Operation::ReduceScatter, 0, own, &block, size, Some(op))
}

pub unsafe fn alltoallv<A: Abi, C: Counts>(
    out: Out,
    comm: A::Comm,
    sendbuf: *const c_void,
    sendcounts: C,
    sendtype: A::Datatype,
    recvcounts: C,
    recvtype: A::Datatype,
) -> A::Comm {
    let in_place = sendbuf as usize == A::IN_PLACE;
    let (counts, size) = if in_place {
        (recvcounts, element::<A>(recvtype))
    } else {
        (sendcounts, element::<A>(sendtype))
    };
    // SAFETY: there is a count for every peer.
    let block = |i| (unsafe { counts.at(i) }.max(0) as u64).wrapping_mul(size);
    with_blocks::<A>(out, comm, Operation::Alltoallv, 0, |_| 0, &block, size, None)
}

pub unsafe fn alltoallw<A: Abi, C: Counts, T: Types<A>>(
    out: Out,
    comm: A::Comm,
    sendbuf: *const c_void,
    sendcounts: C,
    sendtypes: T,
    recvcounts: C,
    recvtypes: T,
) -> A::Comm {
    let in_place = sendbuf as usize == A::IN_PLACE;
    let (counts, types) = if in_place { (recvcounts, recvtypes) } else { (sendcounts, sendtypes) };
    // SAFETY: there is a count and a type for every peer.
    let block = |i: u32| unsafe {
        let count = counts.at(i);
        bytes::<A>(count, types.at(i))
    };
    with_blocks::<A>(out, comm, Operation::Alltoallw, 0, |_| 0, &block, 1, None)
}
