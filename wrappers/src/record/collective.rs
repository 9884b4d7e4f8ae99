//! Collective calls: recorded as a count per (communicator, operation, root, bytes), expanded into
//! messages when the communicator is freed or the job ends. Calls with counts per peer (v and w
//! forms) are expanded at once.

use crate::abi::{Abi, Handle};
use crate::comms::{self, Communicator};
use crate::counters::{self, Block};
use crate::datatypes;
use crate::pmpi::pmpi;
use crate::record::later::{Plan, Step};
use crate::record::{Counts, Types, guarded};
use crate::spill_calls::CollectiveKey;
use crate::thread::{self, Thread};
use crate::world;
use libc::{c_int, c_void};
use rw::matrix::Kind;
use rw::matrix::collectives::{self, Call, InterRoot, Model, Operation};
use rw::store::spill::layout::{self, Entry};
use std::sync::atomic::{AtomicU64, Ordering};

/// Where a recorded call goes.
pub enum Out<'p> {
    /// Counted now; true for a nonblocking call.
    Now(bool),
    /// Planned: counted at every start of a persistent request.
    Later(&'p mut Plan),
}

/// A collective in which every block has `count` elements. Called again just as before it costs a few
/// comparisons, without a look at the datatype's size: a thread forgets the call when one of its
/// handles goes.
#[inline(always)]
fn uniform<A: Abi>(
    out: Out,
    comm: A::Comm,
    operation: Operation,
    root: c_int,
    count: i64,
    datatype: A::Datatype,
    op: Option<A::Op>,
) -> A::Comm {
    let handles = (datatype.bits(), op.map_or(0, Handle::bits));
    if let Out::Now(nonblocking) = out {
        let thread = thread::current();
        let calls = thread.collective_calls.load(Ordering::Relaxed);
        let what = packed(operation, nonblocking, root);
        if !calls.is_null()
            && thread.comm.load(Ordering::Relaxed) == comm.bits()
            && thread.collective.load(Ordering::Relaxed) == what
            && thread.collective_count.load(Ordering::Relaxed) == count as u64
            && thread.collective_type.load(Ordering::Relaxed) == handles.0
            && thread.collective_op.load(Ordering::Relaxed) == handles.1
        {
            // SAFETY: cleared before the counter goes away; only this thread adds to it.
            let calls = unsafe { &*calls };
            calls.store(calls.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
            return A::Comm::from_bits(thread.effective.load(Ordering::Relaxed));
        }
    }
    other_than_before::<A>(out, comm, operation, root, count, datatype, op)
}

#[cold]
#[inline(never)]
fn other_than_before<A: Abi>(
    out: Out,
    comm: A::Comm,
    operation: Operation,
    root: c_int,
    count: i64,
    datatype: A::Datatype,
    op: Option<A::Op>,
) -> A::Comm {
    // On an intercommunicator: the caller only looks on, its other arguments mean nothing.
    if root != A::PROC_NULL {
        guarded(|| slow::<A>(out, comm, operation, root, count, datatype, op));
    }
    world::effective::<A>(comm)
}

fn packed(operation: Operation, nonblocking: bool, root: c_int) -> u64 {
    operation as u64 | u64::from(nonblocking) << 8 | u64::from(root as u32) << 16
}

fn slow<A: Abi>(
    out: Out,
    comm: A::Comm,
    operation: Operation,
    root: c_int,
    count: i64,
    datatype: A::Datatype,
    op: Option<A::Op>,
) -> Option<()> {
    let element = if count > 0 { datatypes::size::<A>(thread::current(), datatype) } else { 0 };
    let bytes = (count.max(0) as u64).wrapping_mul(element);
    let (thread, communicator) = comms::enter::<A>(comm)?;
    let commutative = op.is_none_or(commutes::<A>);
    let call = Call {
        operation,
        size: communicator.local_size,
        rank: communicator.rank,
        root: root as u32,
        bytes,
        element: u32::try_from(element).unwrap_or(0),
        commutative,
        nonblocking: !matches!(out, Out::Now(false)),
    };
    match out {
        Out::Later(plan) => {
            expand::<A>(communicator, &call, root, None, &mut |task, bytes, messages| {
                plan.steps.push(Step { kind: Kind::Collective, task, bytes, messages });
            });
        }
        Out::Now(nonblocking) => {
            let block = counters::mine()?;
            let key = CollectiveKey {
                communicator: communicator.number,
                operation: operation as u32,
                root: root as u32,
                bytes,
                element: call.element,
                commutative,
                nonblocking,
            };
            let now = Now {
                what: packed(operation, nonblocking, root),
                count,
                datatype: datatype.bits(),
                op: op.map_or(0, Handle::bits),
            };
            if !remember::<A>(thread, block, communicator, key, &call, now) {
                expand::<A>(communicator, &call, root, None, &mut |task, bytes, messages| {
                    block.add(Kind::Collective, task, bytes, messages);
                });
            }
        }
    }
    Some(())
}

/// A call as its arguments say it.
struct Now {
    what: u64,
    count: i64,
    datatype: u64,
    op: u64,
}

/// Adds one call to its counter and makes it the one at hand; `false` if there are too many ways of
/// calling to keep another one.
fn remember<A: Abi>(
    thread: &Thread,
    block: &'static Block,
    communicator: &Communicator,
    key: CollectiveKey,
    call: &Call,
    now: Now,
) -> bool {
    let known = block.collectives.lock().get(&key);
    let calls = match known {
        Some(calls) => calls,
        None => {
            // Should the process not come to its end, the file has to say who is sent to.
            communicator.reveal::<A>(|visit| {
                sends::<A>(communicator, call, call.root as c_int, None, &mut |r, _, _| visit(r));
            });
            let entry = spilled::<A>(communicator, &key);
            match block.collectives.lock().get_or_add(key, &entry) {
                Some(calls) => calls,
                None => return false,
            }
        }
    };
    calls.store(calls.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    let address = std::ptr::from_ref::<AtomicU64>(calls).cast_mut();
    thread.collective.store(now.what, Ordering::Relaxed);
    thread.collective_count.store(now.count as u64, Ordering::Relaxed);
    thread.collective_type.store(now.datatype, Ordering::Relaxed);
    thread.collective_op.store(now.op, Ordering::Relaxed);
    thread.collective_calls.store(address, Ordering::Relaxed);
    true
}

/// What stands for a way of calling in the spill file.
fn spilled<A: Abi>(communicator: &Communicator, key: &CollectiveKey) -> Entry {
    let flags = [(key.commutative, layout::COMMUTATIVE), (key.nonblocking, layout::NONBLOCKING)];
    Entry {
        communicator: communicator.number,
        bytes: key.bytes,
        operation: key.operation,
        root: match key.root as c_int {
            root if !communicator.inter || root >= 0 => root as u32,
            root if root == A::ROOT => layout::ROOT_MYSELF,
            _ => layout::ROOT_OWN_GROUP,
        },
        element: key.element,
        flags: flags.iter().filter(|f| f.0).fold(0, |all, f| all | f.1),
    }
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
fn expand<A: Abi>(
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
fn sends<A: Abi>(
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
    crate::config::model()
}

fn commutes<A: Abi>(op: A::Op) -> bool {
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
        let (_, communicator) = comms::enter::<A>(comm)?;
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

pub unsafe fn barrier<A: Abi>(out: Out, comm: A::Comm) -> A::Comm {
    uniform::<A>(out, comm, Operation::Barrier, 0, 0, A::Datatype::from_bits(0), None)
}

pub unsafe fn bcast<A: Abi>(
    out: Out,
    comm: A::Comm,
    root: c_int,
    count: i64,
    datatype: A::Datatype,
) -> A::Comm {
    uniform::<A>(out, comm, Operation::Bcast, root, count, datatype, None)
}

pub unsafe fn reduce<A: Abi>(
    out: Out,
    comm: A::Comm,
    root: c_int,
    count: i64,
    datatype: A::Datatype,
    op: A::Op,
) -> A::Comm {
    uniform::<A>(out, comm, Operation::Reduce, root, count, datatype, Some(op))
}

pub unsafe fn allreduce<A: Abi>(
    out: Out,
    comm: A::Comm,
    count: i64,
    datatype: A::Datatype,
    op: A::Op,
) -> A::Comm {
    uniform::<A>(out, comm, Operation::Allreduce, 0, count, datatype, Some(op))
}

pub unsafe fn scan<A: Abi>(out: Out, comm: A::Comm, count: i64, datatype: A::Datatype) -> A::Comm {
    uniform::<A>(out, comm, Operation::Scan, 0, count, datatype, None)
}

pub unsafe fn exscan<A: Abi>(
    out: Out,
    comm: A::Comm,
    count: i64,
    datatype: A::Datatype,
) -> A::Comm {
    uniform::<A>(out, comm, Operation::Exscan, 0, count, datatype, None)
}

pub unsafe fn reduce_scatter_block<A: Abi>(
    out: Out,
    comm: A::Comm,
    count: i64,
    datatype: A::Datatype,
    op: A::Op,
) -> A::Comm {
    uniform::<A>(out, comm, Operation::ReduceScatterBlock, 0, count, datatype, Some(op))
}

/// The root's own send arguments are not significant when it passes MPI_IN_PLACE; its block is as
/// large as those it receives.
pub unsafe fn gather<A: Abi>(
    out: Out,
    comm: A::Comm,
    root: c_int,
    sendbuf: *const c_void,
    sendcount: i64,
    sendtype: A::Datatype,
    recvcount: i64,
    recvtype: A::Datatype,
) -> A::Comm {
    let (count, datatype) = if sendbuf as usize == A::IN_PLACE || root == A::ROOT {
        (recvcount, recvtype)
    } else {
        (sendcount, sendtype)
    };
    uniform::<A>(out, comm, Operation::Gather, root, count, datatype, None)
}

/// Receive arguments are significant everywhere but at a root that passes MPI_IN_PLACE.
pub unsafe fn scatter<A: Abi>(
    out: Out,
    comm: A::Comm,
    root: c_int,
    sendcount: i64,
    sendtype: A::Datatype,
    recvbuf: *const c_void,
    recvcount: i64,
    recvtype: A::Datatype,
) -> A::Comm {
    let (count, datatype) = if recvbuf as usize == A::IN_PLACE || root == A::ROOT {
        (sendcount, sendtype)
    } else {
        (recvcount, recvtype)
    };
    uniform::<A>(out, comm, Operation::Scatter, root, count, datatype, None)
}

pub unsafe fn allgather<A: Abi>(
    out: Out,
    comm: A::Comm,
    sendbuf: *const c_void,
    sendcount: i64,
    sendtype: A::Datatype,
    recvcount: i64,
    recvtype: A::Datatype,
) -> A::Comm {
    let in_place = sendbuf as usize == A::IN_PLACE;
    let (count, datatype) = if in_place { (recvcount, recvtype) } else { (sendcount, sendtype) };
    uniform::<A>(out, comm, Operation::Allgather, 0, count, datatype, None)
}

pub unsafe fn alltoall<A: Abi>(
    out: Out,
    comm: A::Comm,
    sendbuf: *const c_void,
    sendcount: i64,
    sendtype: A::Datatype,
    recvcount: i64,
    recvtype: A::Datatype,
) -> A::Comm {
    let in_place = sendbuf as usize == A::IN_PLACE;
    let (count, datatype) = if in_place { (recvcount, recvtype) } else { (sendcount, sendtype) };
    uniform::<A>(out, comm, Operation::Alltoall, 0, count, datatype, None)
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
        rooted = is_root::<A>(comms::enter::<A>(comm)?.1, root);
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
