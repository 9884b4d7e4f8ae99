//! The messages of Open MPI's nonblocking and persistent collectives (coll/libnbc), which have rules
//! of their own.

use crate::matrix::collectives::member::Member;
use crate::matrix::collectives::rabenseifner::{self, Fold};
use crate::matrix::collectives::trees::{self, Tree};
use crate::matrix::collectives::{Blocks, Call, Operation, Visit, linear, ring, total};

/// Allreduce from this many bytes on uses halving or the ring.
const ALLREDUCE_LONG: u64 = 65536;
/// Reduce from this many bytes on is a chain, where halving is not possible.
const REDUCE_LONG: u64 = 65536;
/// Bytes of a segment of the chain of a Reduce.
const CHAIN_SEGMENT: u64 = 8192;
/// Up to this many tasks, broadcasts are linear and reductions may be chains.
const FEW: u32 = 4;

/// See [`crate::matrix::collectives::sends_blocks`]; the caller has checked the ranks.
pub(super) fn sends(call: &Call, block: &Blocks, visit: &mut Visit) {
    let me = Member { rank: call.rank, size: call.size };
    let &Call { root, bytes, .. } = call;
    match call.operation {
        // These return without a message if there are no data. The others send empty messages.
        Operation::Bcast
        | Operation::Reduce
        | Operation::Allreduce
        | Operation::ReduceScatterBlock
        | Operation::Scan
            if bytes == 0 => {}
        Operation::ReduceScatter if total(0..me.size, block) == 0 => {}
        Operation::Barrier => linear::disseminate(me, visit),
        Operation::Bcast if me.size <= FEW => linear::fan_out(me, root, &|_| bytes, visit),
        Operation::Bcast => {
            let flow = |me: Member, visit: &mut Visit| Tree::Binomial.down(me, 0, bytes, visit);
            swapped(&flow, me, root, visit);
        }
        Operation::Reduce => reduce(me, call, visit),
        Operation::Allreduce => allreduce(me, call, visit),
        Operation::Gather | Operation::Gatherv => linear::fan_in(me, root, bytes, visit),
        Operation::Scatter => linear::fan_out(me, root, &|_| bytes, visit),
        Operation::Scatterv => linear::fan_out(me, root, block, visit),
        Operation::Allgather | Operation::Allgatherv => {
            let own = block(me.rank);
            linear::all_to_all_even_empty(me, &|_| own, visit);
        }
        Operation::Alltoall => linear::all_to_all_even_empty(me, block, visit),
        Operation::Alltoallv | Operation::Alltoallw => linear::all_to_all(me, block, visit),
        Operation::ReduceScatter | Operation::ReduceScatterBlock => {
            let all = total(0..me.size, block);
            Tree::IN_ORDER_BINOMIAL.up(me, 0, all, 1, visit);
            linear::fan_out(me, 0, block, visit);
        }
        Operation::Scan | Operation::Exscan => linear::pass_on(me, bytes, visit),
    }
}

/// The messages of an algorithm from or to rank 0, with the root and rank 0 exchanged. Other algorithms count
/// ranks from the root instead.
fn swapped(flow: &dyn Fn(Member, &mut Visit), me: Member, root: u32, visit: &mut Visit) {
    let swap = |rank: u32| match rank {
        0 => root,
        rank if rank == root => 0,
        rank => rank,
    };
    let virtual_me = Member { rank: swap(me.rank), size: me.size };
    flow(virtual_me, &mut |peer, bytes, messages| {
        visit(swap(peer), bytes, messages);
    });
}

fn reduce(me: Member, call: &Call, visit: &mut Visit) {
    let &Call { root, bytes, .. } = call;
    let vector = call.vector();
    if call.commutative && me.size > 2 && vector.count() >= u64::from(me.size) {
        rabenseifner::reduce(me, root, Fold::Halves, vector, visit);
    } else if me.size > FEW || bytes < REDUCE_LONG || !call.commutative {
        let top = if call.commutative { root } else { 0 };
        let flow =
            |me: Member, visit: &mut Visit| Tree::IN_ORDER_BINOMIAL.up(me, 0, bytes, 1, visit);
        swapped(&flow, me, top, visit);
        if me.rank == top && top != root {
            visit(root, bytes, 1);
        }
    } else {
        let messages = trees::segments(bytes, CHAIN_SEGMENT);
        let flow = |me: Member, visit: &mut Visit| Tree::Chain.up(me, 0, bytes, messages, visit);
        swapped(&flow, me, root, visit);
    }
}

fn allreduce(me: Member, call: &Call, visit: &mut Visit) {
    let (bytes, vector) = (call.bytes, call.vector());
    if me.size < FEW || bytes < ALLREDUCE_LONG || !call.commutative {
        Tree::IN_ORDER_BINOMIAL.up(me, 0, bytes, 1, visit);
        Tree::Binomial.down(me, 0, bytes, visit);
    } else if rabenseifner::too_short(me, vector) {
        ring::allreduce(me, vector, visit);
    } else {
        rabenseifner::allreduce(me, Fold::Halves, vector, visit);
    }
}
