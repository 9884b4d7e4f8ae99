//! The messages of MPICH 4 with its default selection (`maint/tuning/coll/mpir/generic.json`, the
//! control variables of `mpivars`). Verified by `benches/collectives/run --mpi mpich` against what
//! MPICH 4.0 hands to UCX.
//!
//! Limits: with several processes per node, MPICH sends small broadcasts, reductions and barriers first inside
//! the nodes (through shared memory) and then between one process of each node. These messages depend on the
//! places of the processes, which a mapping changes. The model is that of a communicator with one process per
//! node, whose messages do not depend on places. A reduction with an operation of the program's own is treated
//! like a predefined operation if it commutes.

use super::member::Member;
use super::rabenseifner::{self, Fold};
use super::scatter_allgather::{self, Collect, Scatter};
use super::trees::{self, Tree};
use super::vector::Vector;
use super::{Blocks, Call, Operation, Visit, bruck, has_no_data, linear, recursive, ring, total};

/// Broadcasts up to this many bytes take the binomial tree.
const BCAST_SHORT: u64 = 12288;
/// Longer broadcasts go around the ring.
const BCAST_LONG: u64 = 524_288;
/// Broadcasts among fewer tasks take the binomial tree.
const BCAST_TASKS: u32 = 8;
/// Reductions up to this many bytes take the binomial tree.
const REDUCE_SHORT: u64 = 2048;
/// Allreduce up to this many bytes takes recursive doubling.
const ALLREDUCE_SHORT: u64 = 8;
/// The limit of the nonblocking Allreduce for recursive doubling.
const IALLREDUCE_SHORT: u64 = 2048;
/// Allgather of a power of two takes the ring from this many bytes in total on.
const ALLGATHER_LONG: u64 = 524_288;
/// Other allgathers take the ring from this many bytes in total on.
const ALLGATHER_SHORT: u64 = 81920;
/// Segment of the ring of MPI_Allgatherv.
const ALLGATHERV_SEGMENT: u64 = 32768;
/// Alltoall of blocks up to this many bytes takes Bruck's algorithm.
const ALLTOALL_SHORT: u64 = 256;
/// The limit of the nonblocking Alltoall for Bruck's algorithm.
const IALLTOALL_SHORT: u64 = 2048;
/// Alltoall among up to this many tasks never takes Bruck's algorithm. This was measured. The published rule
/// says "fewer than".
const ALLTOALL_TASKS: u32 = 8;
/// Reduce_scatter from this many bytes in total on is pairwise.
const REDUCE_SCATTER_LONG: u64 = 524_288;

/// See [`super::sends_blocks`]; the caller has checked the ranks.
pub(super) fn sends(call: &Call, block: &Blocks, visit: &mut Visit) {
    let me = Member { rank: call.rank, size: call.size };
    let &Call { root, bytes, .. } = call;
    // The nonblocking forms of these send empty messages.
    let sends_empty = matches!(call.operation, Operation::Bcast | Operation::Allreduce);
    if has_no_data(call, block) && !(call.nonblocking && sends_empty) {
        return;
    }
    let short_alltoall = if call.nonblocking { IALLTOALL_SHORT } else { ALLTOALL_SHORT };
    match call.operation {
        Operation::Barrier => linear::disseminate(me, visit),
        Operation::Bcast => bcast(me, root, bytes, call.nonblocking, visit),
        Operation::Reduce => reduce(me, call, visit),
        Operation::Allreduce => allreduce(me, call, visit),
        Operation::Gather => trees::gather_binomial(me, root, bytes, visit),
        Operation::Scatter => trees::scatter_binomial(me, root, bytes, visit),
        Operation::Gatherv if bytes > 0 => linear::fan_in(me, root, bytes, visit),
        Operation::Gatherv => {}
        Operation::Scatterv => linear::fan_out_filled(me, root, block, visit),
        Operation::Allgather => allgather(me, block, 0, visit),
        Operation::Allgatherv => {
            // The nonblocking form does not cut below the smallest block.
            let least = (0..me.size).map(block).min().filter(|_| call.nonblocking);
            let segment = ALLGATHERV_SEGMENT.max(least.unwrap_or(0));
            allgather(me, block, segment, visit);
        }
        Operation::Alltoall if me.size > ALLTOALL_TASKS && bytes <= short_alltoall => {
            bruck::all_to_all(me, bytes, visit);
        }
        Operation::Alltoall | Operation::Alltoallv | Operation::Alltoallw => {
            linear::all_to_all(me, block, visit);
        }
        Operation::ReduceScatter | Operation::ReduceScatterBlock => {
            reduce_scatter(me, call, block, visit);
        }
        Operation::Scan | Operation::Exscan => recursive::scan(me, bytes, visit),
    }
}

fn bcast(me: Member, root: u32, bytes: u64, nonblocking: bool, visit: &mut Visit) {
    if bytes <= BCAST_SHORT || me.size < BCAST_TASKS {
        return Tree::IN_ORDER_BINOMIAL.down(me, root, bytes, visit);
    }
    let collect = if bytes <= BCAST_LONG && me.size.is_power_of_two() {
        Collect::Doubling
    } else {
        Collect::Ring
    };
    let scatter = if nonblocking { Scatter::FirstGetsRest } else { Scatter::Trimmed };
    scatter_allgather::broadcast(me, root, Vector { bytes, element: 1 }, scatter, collect, visit);
}

fn reduce(me: Member, call: &Call, visit: &mut Visit) {
    let &Call { root, bytes, .. } = call;
    if bytes > REDUCE_SHORT && call.commutative && !rabenseifner::too_short(me, call.vector()) {
        return rabenseifner::reduce(me, root, Fold::WholeToEven, call.vector(), visit);
    }
    // For an operation that does not commute, rank 0 is the root of the tree. It then sends the result to the
    // root of the call.
    let top = if call.commutative { root } else { 0 };
    Tree::IN_ORDER_BINOMIAL.up(me, top, bytes, 1, visit);
    if me.rank == top && top != root {
        visit(root, bytes, 1);
    }
}

fn allreduce(me: Member, call: &Call, visit: &mut Visit) {
    let (bytes, vector) = (call.bytes, call.vector());
    let short = if call.nonblocking { IALLREDUCE_SHORT } else { ALLREDUCE_SHORT };
    if bytes <= short || !call.commutative || rabenseifner::too_short(me, vector) {
        return recursive::allreduce(me, bytes, visit);
    }
    rabenseifner::allreduce(me, Fold::WholeToOdd, vector, visit);
}

fn allgather(me: Member, block: &Blocks, segment: u64, visit: &mut Visit) {
    let all = total(0..me.size, block);
    if me.size.is_power_of_two() && all < ALLGATHER_LONG {
        recursive::allgather(me, block, visit);
    } else if all < ALLGATHER_SHORT {
        bruck::allgather(me, block, visit);
    } else {
        ring::allgather(me, block, segment, visit);
    }
}

fn reduce_scatter(me: Member, call: &Call, block: &Blocks, visit: &mut Visit) {
    let all = total(0..me.size, block);
    if !call.commutative {
        let equal = (1..me.size).all(|i| block(i) == block(0));
        if equal && me.size.is_power_of_two() {
            recursive::reduce_scatter_butterfly(me, block, true, visit);
        } else {
            recursive::reduce_scatter_doubling(me, block, visit);
        }
    } else if all < REDUCE_SCATTER_LONG {
        recursive::reduce_scatter_halving(me, block, visit);
    } else {
        linear::all_to_all(me, block, visit);
    }
}
