//! Expands collective calls into messages. While the program runs, calls with the same operation and
//! arguments are counted together. They are expanded when their communicator is freed, or when the job
//! ends.

use crate::mpi::abi::{Abi, Handle};
use crate::mpi::config;
use crate::mpi::pmpi::pmpi;
use crate::record::block::Block;
use crate::record::communicator::Communicator;
use crate::record::counters;
use crate::spill;
use crate::spill::calls::CollectiveKey;
use libc::c_int;
use rw::matrix::Kind;
use rw::matrix::collectives::{self, Call, InterRoot, Operation};

/// The messages of the calls that `block` counted on `communicator` and that are not expanded yet, as
/// `(task, bytes)`. Makes no MPI call.
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

/// The call that `key` describes; `None` for an operation with an unknown number.
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

/// Expands the collective calls that `block` counted on `communicator`, and removes them from the block.
pub fn fold<A: Abi>(block: &'static Block, communicator: &Communicator) {
    // Only the owning thread may write the cells of a block. The messages of other threads' calls are therefore
    // added to the caller's block.
    let Some(adder) = counters::mine_for_sums() else { return };
    // No lock is held while ranks are translated. Nobody uses a communicator that is being freed.
    let next = |after| block.collectives.lock().next(communicator.number, after);
    let Some(first) = next(None) else { return };
    spill::folding(communicator.number, || {
        for (_, key, times) in std::iter::successors(Some(first), |one| next(Some(one.0))) {
            let Some(call) = call_of(communicator, &key) else { continue };
            let mut add = |task, bytes: u64, messages: u64| {
                let (bytes, messages) =
                    (bytes.saturating_mul(times), messages.saturating_mul(times));
                adder.add(Kind::Collective, task, bytes, messages);
            };
            expand::<A>(communicator, &call, key.root as c_int, None, &mut add);
        }
        block.collectives.lock().forget(communicator.number);
    });
}

/// The messages of one call, as `(task, bytes, messages)`.
#[inline(always)]
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
#[inline(always)]
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
            InterRoot::None
        } else if root == A::ROOT {
            InterRoot::Myself
        } else if root < 0 {
            InterRoot::OwnGroup
        } else {
            InterRoot::Remote(root as u32)
        };
        collectives::sends_inter(call, root, communicator.size(), blocks, visit);
    } else {
        collectives::sends_blocks(config::model(), call, blocks, visit);
    }
}

/// Whether a reduction operation is commutative; true if MPI does not answer.
#[inline(always)]
pub fn commutes<A: Abi>(op: A::Op) -> bool {
    let mut flag = 1;
    // A null operation is an error, which the program's own call reports on its communicator. A question
    // about it here would raise the error on the world.
    if op.bits() == 0 || op == A::op_null() {
        return true;
    }
    // SAFETY: the operation is one that the program passes to MPI right now.
    let code = unsafe { pmpi::<A>().op_commutative(op, &raw mut flag) };
    code != 0 || flag != 0
}
