//! Collective calls in which every block has the same size. They are counted per (communicator,
//! operation, root, bytes) and expanded into messages by [`expansion`](super::expansion) when the
//! communicator is freed or the job ends.
//!
//! A call with arguments that the thread used before costs a few comparisons and no lookup of the datatype's
//! size ([`Ways`](crate::record::ways::Ways)). All other calls go to a separate function by a tail call, so
//! that the common path saves no registers.

use crate::comm::world;
use crate::mpi::abi::{Abi, Handle};
use crate::record::block::Block;
use crate::record::collective::Out;
use crate::record::communicator::Communicator;
use crate::record::communicators;
use crate::record::counters;
use crate::record::datatypes;
use crate::record::expansion::{commutes, expand, sends};
use crate::record::persistent::{PersistentSends, PlannedSend};
use crate::record::thread;
use crate::record::ways::Arguments;
use crate::spill::calls::CollectiveKey;
use crate::sys::panic_barrier::guarded;
use libc::{c_int, c_void};
use rw::matrix::Kind;
use rw::matrix::collectives::{Call, Operation};
use rw::store::spill::layout::{self, Entry};
use std::sync::atomic::{AtomicU64, Ordering};

/// A collective in which every block has `count` elements.
pub struct Uniform<A: Abi> {
    comm: A::Comm,
    operation: Operation,
    root: c_int,
    count: i64,
    datatype: A::Datatype,
    op: Option<A::Op>,
}

impl<A: Abi> Uniform<A> {
    /// Counts the call if the tables of this thread still have a call with the same arguments. Returns the
    /// communicator to use. Otherwise returns `None` and counts nothing.
    #[inline(always)]
    pub fn again(&self, nonblocking: bool) -> Option<A::Comm> {
        let what = packed(self.operation, nonblocking, self.root);
        let op = self.op.map_or(0, Handle::bits);
        counted_again::<A>(self.comm, what, self.count, self.datatype, op)
    }

    /// The arguments of the call, as the key of the first table of [`Ways`](crate::record::ways::Ways).
    fn arguments(&self, communicator: u64, nonblocking: bool) -> Arguments {
        let what = packed(self.operation, nonblocking, self.root);
        let op = self.op.map_or(0, Handle::bits);
        arguments(communicator, what, self.count, self.datatype.bits(), op)
    }

    /// Counts a call that [`again`](Self::again) could not count. Returns the communicator to use.
    pub fn first(&self, nonblocking: bool) -> A::Comm {
        self.record(Out::Now(nonblocking))
    }

    /// Counts the call now. Returns the communicator to use. For the wrappers of Fortran: they share one function,
    /// because there are hundreds of them for each MPI library. Its arguments fit into registers.
    #[inline(always)]
    pub fn now(&self, nonblocking: bool) -> A::Comm {
        let what = packed(self.operation, nonblocking, self.root);
        let op = self.op.map_or(0, Handle::bits);
        counted::<A>(self.comm, what, self.count, self.datatype, op)
    }

    /// Plans the call of a persistent request. Returns the communicator to use.
    pub fn later(&self, plan: &mut PersistentSends) -> A::Comm {
        self.record(Out::Later(plan))
    }

    #[inline(never)]
    fn record(&self, out: Out) -> A::Comm {
        // A root of MPI_PROC_NULL occurs on an intercommunicator: the caller takes no part, and its other
        // arguments are not significant.
        if self.root != A::PROC_NULL {
            guarded(|| self.count(out));
        }
        world::effective::<A>(self.comm)
    }

    fn count(&self, out: Out) -> Option<()> {
        let (element, by_handle) = match self.count {
            ..=0 => (0, true),
            _ => datatypes::size_in_collective::<A>(thread::current(), self.datatype),
        };
        let bytes = (self.count.max(0) as u64).wrapping_mul(element);
        communicators::with::<A, ()>(self.comm, |thread, communicator| {
            let call = Call {
                operation: self.operation,
                size: communicator.local_size,
                rank: communicator.rank,
                root: self.root as u32,
                bytes,
                element: u32::try_from(element).unwrap_or(0),
                commutative: self.op.is_none_or(commutes::<A>),
                nonblocking: !matches!(out, Out::Now(false)),
            };
            let Out::Later(plan) = out else {
                let block = counters::mine()?;
                let key = key_of(communicator, &call);
                let calls = match block.ways().get(&key) {
                    Some(calls) => calls,
                    None => match counter::<A>(block, communicator, key, &call) {
                        Some(calls) => calls,
                        None => {
                            expanded::<A>(communicator, &call, block);
                            return Some(());
                        }
                    },
                };
                calls.store(calls.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
                if by_handle {
                    let arguments = self.arguments(communicator.number, call.nonblocking);
                    block.ways().remember(&arguments, calls);
                    let ways = std::ptr::from_ref(block.ways()).cast_mut();
                    thread.ways.store(ways, Ordering::Relaxed);
                }
                return Some(());
            };
            expand::<A>(communicator, &call, self.root, None, &mut |task, bytes, messages| {
                plan.push(PlannedSend { kind: Kind::Collective, task, bytes, messages });
            });
            Some(())
        })
    }
}

#[inline(always)]
fn packed(operation: Operation, nonblocking: bool, root: c_int) -> u64 {
    operation as u64 | u64::from(nonblocking) << 8 | u64::from(root as u32) << 16
}

#[inline(always)]
fn arguments(communicator: u64, what: u64, count: i64, datatype: u64, op: u64) -> Arguments {
    [communicator, what, count as u64, datatype, op, thread::FREED.load(Ordering::Acquire)]
}

/// See [`Uniform::again`]. `what` is from [`packed`], and `op` 0 without an operation.
#[inline(always)]
fn counted_again<A: Abi>(
    comm: A::Comm,
    what: u64,
    count: i64,
    datatype: A::Datatype,
    op: u64,
) -> Option<A::Comm> {
    let thread = thread::current();
    // SAFETY: the ways of this thread's block, which lives as long as the process.
    let ways = unsafe { thread.ways.load(Ordering::Relaxed).as_ref() }?;
    let node = communicators::known(thread, comm.bits())?;
    let number = node.value.number.load(Ordering::Relaxed);
    let calls = ways.again(&arguments(number, what, count, datatype.bits(), op))?;
    calls.store(calls.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    Some(A::Comm::from_bits(node.value.effective.load(Ordering::Relaxed)))
}

/// See [`Uniform::now`].
#[inline(never)]
fn counted<A: Abi>(
    comm: A::Comm,
    what: u64,
    count: i64,
    datatype: A::Datatype,
    op: u64,
) -> A::Comm {
    match counted_again::<A>(comm, what, count, datatype, op) {
        Some(comm) => comm,
        None => counted_first::<A>(comm, what, count, datatype, op),
    }
}

#[cold]
#[inline(never)]
fn counted_first<A: Abi>(
    comm: A::Comm,
    what: u64,
    count: i64,
    datatype: A::Datatype,
    op: u64,
) -> A::Comm {
    let Some(&operation) = Operation::ALL.get(what as usize & 0xFF) else { return comm };
    let op = (op != 0).then(|| A::Op::from_bits(op));
    let root = (what >> 16) as u32 as c_int;
    Uniform::<A> { comm, operation, root, count, datatype, op }.first(what >> 8 & 1 != 0)
}

/// The key under which calls are counted together.
fn key_of(communicator: &Communicator, call: &Call) -> CollectiveKey {
    CollectiveKey {
        communicator: communicator.number,
        operation: call.operation as u32,
        root: call.root,
        bytes: call.bytes,
        element: call.element,
        commutative: call.commutative,
        nonblocking: call.nonblocking,
    }
}

/// The counter of calls with this key. `None` if there are too many keys to keep another one.
#[cold]
#[inline(never)]
fn counter<A: Abi>(
    block: &'static Block,
    communicator: &Communicator,
    key: CollectiveKey,
    call: &Call,
) -> Option<&'static AtomicU64> {
    let known = block.collectives.lock().get(&key);
    let calls = match known {
        Some(calls) => calls,
        None => {
            // The spill file has to name the receivers, in case the process ends early.
            communicator.reveal::<A>(|visit| {
                sends::<A>(communicator, call, call.root as c_int, None, &mut |r, _, _| visit(r));
            });
            let entry = spilled::<A>(communicator, &key);
            block.collectives.lock().get_or_add(key, &entry)?
        }
    };
    block.ways().put(&key, calls);
    Some(calls)
}

/// Counts the messages of a call at once.
#[cold]
fn expanded<A: Abi>(communicator: &Communicator, call: &Call, block: &Block) {
    expand::<A>(communicator, call, call.root as c_int, None, &mut |task, bytes, messages| {
        block.add(Kind::Collective, task, bytes, messages);
    });
}

/// The entry of the spill file for calls with this key.
fn spilled<A: Abi>(communicator: &Communicator, key: &CollectiveKey) -> Entry {
    let commutative = if key.commutative { layout::COMMUTATIVE } else { 0 };
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
        flags: commutative | if key.nonblocking { layout::NONBLOCKING } else { 0 },
    }
}

#[inline(always)]
pub fn barrier<A: Abi>(comm: A::Comm) -> Uniform<A> {
    Uniform {
        comm,
        operation: Operation::Barrier,
        root: 0,
        count: 0,
        datatype: A::Datatype::from_bits(0),
        op: None,
    }
}

#[inline(always)]
pub fn bcast<A: Abi>(comm: A::Comm, root: c_int, count: i64, datatype: A::Datatype) -> Uniform<A> {
    Uniform { comm, operation: Operation::Bcast, root, count, datatype, op: None }
}

#[inline(always)]
pub fn reduce<A: Abi>(
    comm: A::Comm,
    root: c_int,
    count: i64,
    datatype: A::Datatype,
    op: A::Op,
) -> Uniform<A> {
    Uniform { comm, operation: Operation::Reduce, root, count, datatype, op: Some(op) }
}

#[inline(always)]
pub fn allreduce<A: Abi>(
    comm: A::Comm,
    count: i64,
    datatype: A::Datatype,
    op: A::Op,
) -> Uniform<A> {
    Uniform { comm, operation: Operation::Allreduce, root: 0, count, datatype, op: Some(op) }
}

#[inline(always)]
pub fn scan<A: Abi>(comm: A::Comm, count: i64, datatype: A::Datatype) -> Uniform<A> {
    Uniform { comm, operation: Operation::Scan, root: 0, count, datatype, op: None }
}

#[inline(always)]
pub fn exscan<A: Abi>(comm: A::Comm, count: i64, datatype: A::Datatype) -> Uniform<A> {
    Uniform { comm, operation: Operation::Exscan, root: 0, count, datatype, op: None }
}

#[inline(always)]
pub fn reduce_scatter_block<A: Abi>(
    comm: A::Comm,
    count: i64,
    datatype: A::Datatype,
    op: A::Op,
) -> Uniform<A> {
    Uniform {
        comm,
        operation: Operation::ReduceScatterBlock,
        root: 0,
        count,
        datatype,
        op: Some(op),
    }
}

/// The send arguments of a root are not significant if it passes MPI_IN_PLACE. Its block is as large as those
/// that it receives.
// The parameters are arguments of the MPI call.
#[allow(clippy::too_many_arguments)]
#[inline(always)]
pub fn gather<A: Abi>(
    comm: A::Comm,
    root: c_int,
    sendbuf: *const c_void,
    sendcount: i64,
    sendtype: A::Datatype,
    recvcount: i64,
    recvtype: A::Datatype,
) -> Uniform<A> {
    let (count, datatype) = if sendbuf as usize == A::IN_PLACE || root == A::ROOT {
        (recvcount, recvtype)
    } else {
        (sendcount, sendtype)
    };
    Uniform { comm, operation: Operation::Gather, root, count, datatype, op: None }
}

/// Receive arguments are significant everywhere but at a root that passes MPI_IN_PLACE.
// The parameters are arguments of the MPI call.
#[allow(clippy::too_many_arguments)]
#[inline(always)]
pub fn scatter<A: Abi>(
    comm: A::Comm,
    root: c_int,
    sendcount: i64,
    sendtype: A::Datatype,
    recvbuf: *const c_void,
    recvcount: i64,
    recvtype: A::Datatype,
) -> Uniform<A> {
    let (count, datatype) = if recvbuf as usize == A::IN_PLACE || root == A::ROOT {
        (sendcount, sendtype)
    } else {
        (recvcount, recvtype)
    };
    Uniform { comm, operation: Operation::Scatter, root, count, datatype, op: None }
}

#[inline(always)]
pub fn allgather<A: Abi>(
    comm: A::Comm,
    sendbuf: *const c_void,
    sendcount: i64,
    sendtype: A::Datatype,
    recvcount: i64,
    recvtype: A::Datatype,
) -> Uniform<A> {
    let in_place = sendbuf as usize == A::IN_PLACE;
    let (count, datatype) = if in_place { (recvcount, recvtype) } else { (sendcount, sendtype) };
    Uniform { comm, operation: Operation::Allgather, root: 0, count, datatype, op: None }
}

#[inline(always)]
pub fn alltoall<A: Abi>(
    comm: A::Comm,
    sendbuf: *const c_void,
    sendcount: i64,
    sendtype: A::Datatype,
    recvcount: i64,
    recvtype: A::Datatype,
) -> Uniform<A> {
    let in_place = sendbuf as usize == A::IN_PLACE;
    let (count, datatype) = if in_place { (recvcount, recvtype) } else { (sendcount, sendtype) };
    Uniform { comm, operation: Operation::Alltoall, root: 0, count, datatype, op: None }
}
