//! The messages of a collective operation by its meaning, without an algorithm: each task that has data
//! sends it to each task that needs it.
//!
//! Reductions have no such direct meaning, because contributions are combined on their way. Reductions, and
//! operations without data, are taken for these messages:
//! * Reduce: every task sends its vector to the root.
//! * Reduce_scatter: every task sends its contribution to block i to task i.
//! * Allreduce: a Reduce_scatter followed by an Allgather, with the vector cut into equal pieces.
//!   This is symmetric in all tasks and exactly as large as the lower bound 2 (p − 1) × bytes
//!   (Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms", 2009). Messages over one task
//!   would make a mapping pull all tasks towards it, for which the operation gives no reason.
//! * Scan, Exscan: task i sends the sum so far to task i + 1.
//! * Barrier: none. It moves no data, and should not pull tasks together.
//!
//! Limits: Allreduce, Allgather and Alltoall give a row of p − 1 entries, thus a dense matrix.

use super::{Blocks, Call, InterRoot, Operation, Visit, total};

/// Bytes of piece `i` of a vector of `bytes` cut into `pieces` nearly equal pieces at any byte.
fn piece(bytes: u64, pieces: u32, i: u32) -> u64 {
    let cut = |i: u64| (u128::from(bytes) * u128::from(i) / u128::from(pieces.max(1))) as u64;
    cut(u64::from(i) + 1) - cut(u64::from(i))
}

/// See [`super::sends_blocks`]; the caller has checked the ranks.
pub(super) fn sends(call: &Call, block: &Blocks, visit: &mut Visit) {
    let &Call { operation, size, rank, root, bytes, .. } = call;
    let peers = (0..size).filter(|&peer| peer != rank);
    use Operation::*;
    match operation {
        Barrier => {}
        Bcast | Scatter | Scatterv if rank != root => {}
        Gather | Gatherv | Reduce if rank == root => {}
        Gather | Gatherv | Reduce => visit(root, bytes, 1),
        Bcast | Scatter | Allgather | Alltoall | ReduceScatterBlock => {
            peers.for_each(|peer| visit(peer, bytes, 1));
        }
        Scatterv | Alltoallv | Alltoallw => {
            peers.filter(|&peer| block(peer) > 0).for_each(|peer| visit(peer, block(peer), 1));
        }
        Allgatherv => peers.for_each(|peer| visit(peer, block(rank), 1)),
        ReduceScatter => peers.for_each(|peer| visit(peer, block(peer), 1)),
        Allreduce => {
            let own = piece(bytes, size, rank);
            peers.for_each(|peer| visit(peer, piece(bytes, size, peer) + own, 2));
        }
        Scan | Exscan if rank + 1 == size => {}
        Scan | Exscan => visit(rank + 1, bytes, 1),
    }
}

/// See [`super::sends_inter`].
pub(super) fn sends_inter(
    call: &Call,
    root: InterRoot,
    remote: u32,
    block: &Blocks,
    visit: &mut Visit,
) {
    let &Call { operation, size, rank, bytes, .. } = call;
    if remote == 0 || rank >= size {
        return;
    }
    match (operation, root) {
        (Operation::Bcast | Operation::Scatter, InterRoot::Myself) => {
            (0..remote).for_each(|peer| visit(peer, bytes, 1));
        }
        (Operation::Scatterv, InterRoot::Myself)
        | (Operation::Alltoallv | Operation::Alltoallw, _) => {
            (0..remote)
                .filter(|&peer| block(peer) > 0)
                .for_each(|peer| visit(peer, block(peer), 1));
        }
        (Operation::Gather | Operation::Gatherv | Operation::Reduce, InterRoot::Remote(root))
            if root < remote =>
        {
            visit(root, bytes, 1);
        }
        (Operation::Allgather | Operation::Allgatherv | Operation::Alltoall, _) => {
            (0..remote).for_each(|peer| visit(peer, bytes, 1));
        }
        (Operation::Allreduce, _) => {
            (0..remote).for_each(|peer| visit(peer, piece(bytes, remote, peer), 1));
        }
        (Operation::ReduceScatterBlock | Operation::ReduceScatter, _) => {
            // The vector that this group contributes is as long as all blocks of the group.
            let vector = match operation {
                Operation::ReduceScatter => total(0..size, block),
                _ => bytes.saturating_mul(u64::from(size)),
            };
            (0..remote).for_each(|peer| visit(peer, piece(vector, remote, peer), 1));
        }
        _ => {}
    }
}
