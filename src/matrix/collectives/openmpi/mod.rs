//! The messages of Open MPI 4.1 and 5.0 with their default collective component, coll/tuned, and its
//! fixed decision rules; the nonblocking forms are in `nonblocking`. `benches/collectives/run`
//! finds no difference to Open MPI's own monitoring with 2 to 40 tasks of one node; the rules for
//! more tasks rest on the published switch points.
//!
//! Limits: 4.0 and older have other switch points. Components that replace coll/tuned (han on several
//! nodes with 5.0, HCOLL, UCC, shared memory) and settings of `coll_tuned_use_dynamic_rules` are not
//! modelled.

mod decision_table;
mod nonblocking;
mod switch_points;

use super::member::Member;
use super::rabenseifner::{self, Fold};
use super::scatter_allgather::{self, Collect, Scatter};
use super::trees::{self, Tree};
use super::vector::Vector;
use super::{
    Blocks, Call, Operation, Visit, bruck, has_no_data, linear, neighbor, recursive, ring, total,
};
use decision_table::{Algorithm, choose};

/// See [`super::sends_blocks`]; the caller has checked the ranks.
pub(super) fn sends(call: &Call, block: &Blocks, visit: &mut Visit) {
    if call.nonblocking {
        return nonblocking::sends(call, block, visit);
    }
    if has_no_data(call, block) {
        return;
    }
    let me = Member { rank: call.rank, size: call.size };
    let &Call { root, bytes, .. } = call;
    match call.operation {
        Operation::Barrier => barrier(me, visit),
        Operation::Bcast => bcast(me, root, call.vector(), visit),
        Operation::Reduce => reduce(me, call, visit),
        Operation::Allreduce => allreduce(me, call, visit),
        Operation::Gather => gather(me, root, bytes, visit),
        Operation::Scatter => scatter(me, root, bytes, visit),
        Operation::Allgather => allgather(me, block, visit),
        Operation::Allgatherv => allgatherv(me, block, visit),
        Operation::Alltoall => match choose(switch_points::ALLTOALL, me.size, bytes) {
            Algorithm::Bruck => bruck::all_to_all(me, bytes, visit),
            _ => linear::all_to_all(me, block, visit),
        },
        Operation::Alltoallv | Operation::Alltoallw => linear::all_to_all(me, block, visit),
        Operation::ReduceScatter => reduce_scatter(me, call, block, visit),
        Operation::ReduceScatterBlock => reduce_scatter_block(me, call, block, visit),
        Operation::Scan | Operation::Exscan => linear::pass_on(me, bytes, visit),
        Operation::Gatherv if bytes > 0 => linear::fan_in(me, root, bytes, visit),
        Operation::Gatherv => {}
        Operation::Scatterv => linear::fan_out_filled(me, root, block, visit),
    }
}

fn barrier(me: Member, visit: &mut Visit) {
    match choose(switch_points::BARRIER, me.size, 0) {
        Algorithm::RecursiveDoubling => recursive::barrier(me, visit),
        Algorithm::Bruck => linear::disseminate(me, visit),
        Algorithm::Tree => {
            Tree::IN_ORDER_BINOMIAL.up(me, 0, 0, 1, visit);
            Tree::IN_ORDER_BINOMIAL.down(me, 0, 0, visit);
        }
        _ => {
            linear::fan_in(me, 0, 0, visit);
            linear::fan_out(me, 0, &|_| 0, visit);
        }
    }
}

fn bcast(me: Member, root: u32, vector: Vector, visit: &mut Visit) {
    let tree = match choose(switch_points::BCAST, me.size, vector.bytes) {
        Algorithm::Chain | Algorithm::Pipeline => Tree::Chain,
        Algorithm::Binary => Tree::Binary,
        Algorithm::Binomial => Tree::Binomial,
        Algorithm::Knomial => Tree::KNomial(4),
        Algorithm::SplitBinary => return bcast_split_binary(me, root, vector, visit),
        Algorithm::ScatterAllgather => {
            let (scatter, collect) = (Scatter::Trimmed, Collect::Doubling);
            return scatter_allgather::broadcast(me, root, vector, scatter, collect, visit);
        }
        _ => Tree::Flat,
    };
    tree.down(me, root, vector.bytes, visit);
}

/// The first half goes down the left subtree, the second half down the right one. Then each task of one
/// subtree exchanges halves with a task of the other one. With an even number of tasks, the partner of
/// the last task is the root.
fn bcast_split_binary(me: Member, root: u32, vector: Vector, visit: &mut Visit) {
    let first = vector.count().div_ceil(2) * vector.element;
    let second = vector.bytes - first;
    let half = |v: u32| if v % 2 == 1 { first } else { second };
    let v = me.relative(root);
    Tree::Binary.children(v, me.size, &mut |child| {
        visit(me.absolute(child, root), half(if v == 0 { child } else { v }), 1);
    });
    match v {
        0 if me.size.is_multiple_of(2) => visit(me.absolute(me.size - 1, root), second, 1),
        0 => {}
        _ if v.is_multiple_of(2) => visit(me.absolute(v - 1, root), half(v), 1),
        _ if v + 1 < me.size => visit(me.absolute(v + 1, root), half(v), 1),
        _ => {}
    }
}

fn reduce(me: Member, call: &Call, visit: &mut Visit) {
    let &Call { root, bytes, .. } = call;
    let table =
        if call.commutative { switch_points::REDUCE } else { switch_points::REDUCE_ORDERED };
    let tree = match choose(table, me.size, bytes) {
        Algorithm::Chain | Algorithm::Pipeline => Tree::Chain,
        Algorithm::Binary => Tree::Binary,
        Algorithm::Binomial => Tree::IN_ORDER_BINOMIAL,
        Algorithm::InOrderBinary => {
            return trees::reduce_in_order_binary(me, root, bytes, visit);
        }
        Algorithm::Rabenseifner if !rabenseifner::too_short(me, call.vector()) => {
            return rabenseifner::reduce(me, root, Fold::Halves, call.vector(), visit);
        }
        _ => Tree::Flat,
    };
    tree.up(me, root, bytes, 1, visit);
}

fn allreduce(me: Member, call: &Call, visit: &mut Visit) {
    let (bytes, vector) = (call.bytes, call.vector());
    let table =
        if call.commutative { switch_points::ALLREDUCE } else { switch_points::ALLREDUCE_ORDERED };
    match choose(table, me.size, bytes) {
        // Segments are off by default, so both rings send the same messages.
        Algorithm::Ring | Algorithm::SegmentedRing if vector.count() >= u64::from(me.size) => {
            ring::allreduce(me, vector, visit);
        }
        Algorithm::RecursiveDoubling | Algorithm::Ring | Algorithm::SegmentedRing => {
            recursive::allreduce(me, bytes, visit);
        }
        Algorithm::Rabenseifner if !rabenseifner::too_short(me, vector) => {
            rabenseifner::allreduce(me, Fold::Halves, vector, visit);
        }
        Algorithm::Nonoverlapping => {
            reduce(me, &Call { root: 0, ..*call }, visit);
            bcast(me, 0, vector, visit);
        }
        _ => rabenseifner::allreduce_linear(me, bytes, visit),
    }
}

fn gather(me: Member, root: u32, bytes: u64, visit: &mut Visit) {
    match choose(switch_points::GATHER, me.size, bytes) {
        Algorithm::Binomial => trees::gather_binomial(me, root, bytes, visit),
        Algorithm::LinearSync => linear::fan_in_synchronised(me, root, bytes, visit),
        _ => linear::fan_in(me, root, bytes, visit),
    }
}

fn scatter(me: Member, root: u32, bytes: u64, visit: &mut Visit) {
    match choose(switch_points::SCATTER, me.size, bytes) {
        Algorithm::Binomial => trees::scatter_binomial(me, root, bytes, visit),
        _ => linear::fan_out(me, root, &|_| bytes, visit),
    }
}

fn allgather(me: Member, block: &Blocks, visit: &mut Visit) {
    match choose(switch_points::ALLGATHER, me.size, block(me.rank)) {
        Algorithm::TwoTasks => linear::all_to_all(me, &|_| block(me.rank), visit),
        Algorithm::RecursiveDoubling if me.size.is_power_of_two() => {
            recursive::allgather(me, block, visit);
        }
        Algorithm::RecursiveDoubling | Algorithm::Bruck => bruck::allgather(me, block, visit),
        Algorithm::Neighbor if me.size.is_multiple_of(2) => neighbor::allgather(me, block, visit),
        _ => ring::allgather(me, block, 0, visit),
    }
}

fn allgatherv(me: Member, block: &Blocks, visit: &mut Visit) {
    let all = total(0..me.size, block);
    match choose(switch_points::ALLGATHERV, me.size, all / u64::from(me.size)) {
        Algorithm::TwoTasks => visit(1 - me.rank.min(1), block(me.rank), 1),
        Algorithm::Bruck => bruck::allgather(me, block, visit),
        Algorithm::Neighbor if me.size.is_multiple_of(2) => neighbor::allgather(me, block, visit),
        Algorithm::Neighbor | Algorithm::Ring => ring::allgather(me, block, 0, visit),
        _ => {
            let own = block(me.rank);
            if own > 0 {
                linear::fan_in(me, 0, own, visit);
            }
            // All blocks together are one element of a datatype that Open MPI makes for this.
            bcast(me, 0, Vector { bytes: all, element: all.max(1) }, visit);
        }
    }
}

fn reduce_scatter(me: Member, call: &Call, block: &Blocks, visit: &mut Visit) {
    let all = total(0..me.size, block);
    let algorithm = if call.commutative {
        choose(switch_points::REDUCE_SCATTER, me.size, all)
    } else {
        Algorithm::Nonoverlapping
    };
    match algorithm {
        Algorithm::RecursiveHalving => recursive::reduce_scatter_halving(me, block, visit),
        Algorithm::Butterfly => recursive::reduce_scatter_butterfly(me, block, false, visit),
        Algorithm::Ring => ring::reduce_scatter(me, block, visit),
        _ => {
            reduce(me, &Call { root: 0, bytes: all, ..*call }, visit);
            linear::fan_out_filled(me, 0, block, visit);
        }
    }
}

fn reduce_scatter_block(me: Member, call: &Call, block: &Blocks, visit: &mut Visit) {
    let algorithm = if call.commutative {
        choose(switch_points::REDUCE_SCATTER_BLOCK, me.size, call.bytes)
    } else {
        Algorithm::Linear
    };
    match algorithm {
        Algorithm::RecursiveDoubling => recursive::reduce_scatter_doubling(me, block, visit),
        Algorithm::RecursiveHalving => recursive::reduce_scatter_halving(me, block, visit),
        Algorithm::Butterfly => {
            let arranged = me.size.is_power_of_two();
            recursive::reduce_scatter_butterfly(me, block, arranged, visit);
        }
        _ => {
            let all = call.bytes.saturating_mul(u64::from(me.size));
            reduce(me, &Call { root: 0, bytes: all, ..*call }, visit);
            scatter(me, 0, call.bytes, visit);
        }
    }
}
