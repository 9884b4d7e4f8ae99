//! Collective calls in which every block has the same size. They are counted per (communicator,
//! operation, root, bytes) and expanded into messages by [`expansion`](super::expansion) when the
//! communicator is freed or the job ends.
//!
//! A call that equals the one before costs a few comparisons and no lookup of the datatype's size. A
//! thread forgets its last call when one of the handles in it is freed. All other calls go to a
//! separate function by a tail call, so that the common path saves no registers.

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
use crate::record::thread::{self, Thread};
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
    /// Counts the call if it is the same as the one before in this thread; `None`, with nothing
    /// counted, if not. Returns the communicator to use.
    #[inline(always)]
    pub fn again(&self, nonblocking: bool) -> Option<A::Comm> {
        let thread = thread::current();
        let calls = thread.collective_calls.load(Ordering::Relaxed);
        let what = packed(self.operation, nonblocking, self.root);
        if calls.is_null()
            || thread.comm.load(Ordering::Relaxed) != self.comm.bits()
            || thread.collective.load(Ordering::Relaxed) != what
            || thread.collective_count.load(Ordering::Relaxed) != self.count as u64
            || thread.collective_type.load(Ordering::Relaxed) != self.datatype.bits()
            || thread.collective_op.load(Ordering::Relaxed) != self.op.map_or(0, Handle::bits)
        {
            return None;
        }
        // SAFETY: cleared before the counter goes away; only this thread adds to it.
        let calls = unsafe { &*calls };
        calls.store(calls.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        Some(A::Comm::from_bits(thread.effective.load(Ordering::Relaxed)))
    }

    /// Counts a call that is not the one before. Returns the communicator to use.
    pub fn first(&self, nonblocking: bool) -> A::Comm {
        self.record(Out::Now(nonblocking))
    }

    /// Counts the call now. Returns the communicator to use.
    #[inline(always)]
    pub fn now(&self, nonblocking: bool) -> A::Comm {
        self.again(nonblocking).unwrap_or_else(|| self.first(nonblocking))
    }

    /// Plans the call of a persistent request. Returns the communicator to use.
    pub fn later(&self, plan: &mut PersistentSends) -> A::Comm {
        self.record(Out::Later(plan))
    }

    #[cold]
    #[inline(never)]
    fn record(&self, out: Out) -> A::Comm {
        // On an intercommunicator: the caller only looks on, its other arguments mean nothing.
        if self.root != A::PROC_NULL {
            guarded(|| self.count(out));
        }
        world::effective::<A>(self.comm)
    }

    fn count(&self, out: Out) -> Option<()> {
        let Self { comm, operation, root, count, datatype, op } = *self;
        let element = if count > 0 { datatypes::size::<A>(thread::current(), datatype) } else { 0 };
        let bytes = (count.max(0) as u64).wrapping_mul(element);
        communicators::with::<A, ()>(comm, |thread, communicator| {
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
                        plan.sends.push(PlannedSend {
                            kind: Kind::Collective,
                            task,
                            bytes,
                            messages,
                        });
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
                        expand::<A>(
                            communicator,
                            &call,
                            root,
                            None,
                            &mut |task, bytes, messages| {
                                block.add(Kind::Collective, task, bytes, messages);
                            },
                        );
                    }
                }
            }
            Some(())
        })
    }
}

fn packed(operation: Operation, nonblocking: bool, root: c_int) -> u64 {
    operation as u64 | u64::from(nonblocking) << 8 | u64::from(root as u32) << 16
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
            // If the process ends early, the file has to name the receivers.
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

/// The root's own send arguments are not significant when it passes MPI_IN_PLACE; its block is as
/// large as those it receives.
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
