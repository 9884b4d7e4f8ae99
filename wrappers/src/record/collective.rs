//! Collective calls with counts per peer (v and w forms): expanded into messages at once. Those in which
//! every block has the same size are in [`uniform`](super::uniform).

use crate::comm::world;
use crate::mpi::abi::Abi;
use crate::record::block::Block;
use crate::record::communicator::Communicator;
use crate::record::communicators;
use crate::record::counters;
use crate::record::datatypes;
use crate::record::expansion::{commutes, expand};
use crate::record::persistent::{PersistentSends, PlannedSend};
use crate::record::thread;
use crate::record::{Counts, Types};
use crate::sys::panic_barrier::guarded;
use libc::{c_int, c_void};
use rw::matrix::Kind;
use rw::matrix::collectives::{Call, Operation};

/// What happens with the messages of a recorded call.
pub enum Out<'p> {
    /// They are counted now. The value is true for a nonblocking call.
    Now(bool),
    /// They are planned, and counted at every start of a persistent request.
    Later(&'p mut PersistentSends),
}

impl Out<'_> {
    /// Counts messages to a task in `block`, or plans them.
    pub fn add(&mut self, block: &Block, task: u32, bytes: u64, messages: u64) {
        match self {
            Out::Now(_) => block.add(Kind::Collective, task, bytes, messages),
            Out::Later(plan) => {
                plan.push(PlannedSend { kind: Kind::Collective, task, bytes, messages });
            }
        }
    }
}

/// A collective with a size per peer.
struct Varying<'b, A: Abi> {
    comm: A::Comm,
    operation: Operation,
    root: c_int,
    /// Bytes of the block of each peer.
    block: &'b dyn Fn(u32) -> u64,
    /// Bytes of an element.
    element: u64,
    op: Option<A::Op>,
}

impl<'b, A: Abi> Varying<'b, A> {
    /// A call without a root and a reduction operation, in elements of one byte.
    fn new(comm: A::Comm, operation: Operation, block: &'b dyn Fn(u32) -> u64) -> Self {
        Varying { comm, operation, root: 0, block, element: 1, op: None }
    }

    /// Expands the call at once. `own` gives the bytes of the caller's own block. Returns the communicator to
    /// use.
    fn record(self, mut out: Out, own: impl FnOnce(&Communicator) -> u64) -> A::Comm {
        guarded(|| {
            communicators::with::<A, ()>(self.comm, |_, communicator| {
                let call = Call {
                    operation: self.operation,
                    size: communicator.local_size,
                    rank: communicator.rank,
                    root: self.root as u32,
                    bytes: own(communicator),
                    element: u32::try_from(self.element).unwrap_or(0),
                    commutative: self.op.is_none_or(commutes::<A>),
                    nonblocking: !matches!(out, Out::Now(false)),
                };
                let (counters, blocks) = (counters::mine()?, Some(self.block));
                let mut add = |task, bytes, messages| out.add(counters, task, bytes, messages);
                expand::<A>(communicator, &call, self.root, blocks, &mut add);
                Some(())
            })
        });
        world::effective::<A>(self.comm)
    }
}

/// Bytes of `count` elements. For a count of 0, MPI is not asked for the size of the datatype, because the
/// handle may be invalid.
pub fn bytes<A: Abi>(count: i64, datatype: A::Datatype) -> u64 {
    if count > 0 { (count as u64).wrapping_mul(element::<A>(datatype)) } else { 0 }
}

/// Bytes of one element.
#[inline(always)]
pub fn element<A: Abi>(datatype: A::Datatype) -> u64 {
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
    Varying::<A> { root, ..Varying::new(comm, Operation::Gatherv, &|_| 0) }.record(out, own)
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
        communicators::with::<A, ()>(comm, |_, communicator| {
            rooted = is_root::<A>(communicator, root);
            Some(())
        })
    });
    if !rooted {
        // Only the root sends, and only its counts are significant.
        return world::effective::<A>(comm);
    }
    let size = element::<A>(sendtype);
    // SAFETY: at the root there is a count for every rank.
    let block = |i| (unsafe { sendcounts.at(i) }.max(0) as u64).wrapping_mul(size);
    Varying::<A> { root, element: size, ..Varying::new(comm, Operation::Scatterv, &block) }
        .record(out, |_| 0)
}

// The parameters are arguments of the MPI call.
#[allow(clippy::too_many_arguments)]
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
    Varying::<A> { element: size, ..Varying::new(comm, Operation::Allgatherv, &block) }
        .record(out, own)
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
    let call = Varying::<A>::new(comm, Operation::ReduceScatter, &block);
    Varying { element: size, op: Some(op), ..call }.record(out, own)
}

// The parameters are arguments of the MPI call.
#[allow(clippy::too_many_arguments)]
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
    Varying::<A> { element: size, ..Varying::new(comm, Operation::Alltoallv, &block) }
        .record(out, |_| 0)
}

// The parameters are arguments of the MPI call.
#[allow(clippy::too_many_arguments)]
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
    Varying::<A>::new(comm, Operation::Alltoallw, &block).record(out, |_| 0)
}
