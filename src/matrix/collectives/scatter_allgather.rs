//! Broadcast of a long vector as a scatter along the binomial tree and an allgather (van de Geijn;
//! Thakur, Rabenseifner and Gropp, "Optimization of collective communication operations in MPICH",
//! 2005).

use super::Visit;
use super::member::Member;
use super::recursive::exchange_aligned;
use super::trees::{Tree, in_order_subtree};
use super::vector::Vector;

/// How all tasks get all pieces after the scatter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Collect {
    /// Recursive doubling over aligned ranges.
    Doubling,
    /// Around the ring.
    Ring,
}

/// A vector of `bytes` in pieces of `piece` bytes by relative rank; the last ones may be empty.
#[derive(Debug, Clone, Copy)]
struct Pieces {
    bytes: u64,
    piece: u64,
}

impl Pieces {
    fn range(self, first: u32, ranks: u32) -> u64 {
        let cut = |rank: u64| (rank.saturating_mul(self.piece)).min(self.bytes);
        cut(u64::from(first) + u64::from(ranks)) - cut(u64::from(first))
    }
}

/// How the vector is scattered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scatter {
    /// Every child gets the pieces of its subtree.
    Trimmed,
    /// The farthest child gets everything from its piece to the end of the vector, the other children
    /// the pieces of their subtrees (MPICH's nonblocking form).
    FirstGetsRest,
}

/// Broadcast of a vector, cut between its elements.
pub(super) fn broadcast(
    me: Member,
    root: u32,
    vector: Vector,
    scatter: Scatter,
    collect: Collect,
    visit: &mut Visit,
) {
    let piece = vector.count().div_ceil(u64::from(me.size)) * vector.element;
    let pieces = Pieces { bytes: vector.bytes, piece };
    let relative = me.relative(root);
    let mut farthest = relative;
    Tree::IN_ORDER_BINOMIAL
        .children(relative, me.size, &mut |child| farthest = farthest.max(child));
    Tree::IN_ORDER_BINOMIAL.children(relative, me.size, &mut |child| {
        let theirs = if scatter == Scatter::FirstGetsRest && child == farthest {
            pieces.range(child, me.size - child)
        } else {
            pieces.range(child, in_order_subtree(child, me.size))
        };
        if theirs > 0 {
            visit(me.absolute(child, root), theirs, 1);
        }
    });
    match collect {
        Collect::Doubling => exchange_aligned(
            Member { rank: relative, size: me.size },
            &|first, width| pieces.range(first, width),
            &|v| me.absolute(v, root),
            visit,
        ),
        Collect::Ring => {
            let next = if relative + 1 == me.size { 0 } else { relative + 1 };
            visit(me.ahead(1), vector.bytes - pieces.range(next, 1), u64::from(me.size - 1));
        }
    }
}
