//! Algorithms around a ring: every task receives from the rank before it and sends to the next one.

use super::member::Member;
use super::trees::segments;
use super::vector::Vector;
use super::{Blocks, Visit, total};

/// A vector of elements cut into one piece per task; the first pieces get one element more.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pieces {
    count: u64,
    element: u64,
    pieces: u64,
}

impl Pieces {
    /// A vector in `pieces` pieces.
    pub fn new(vector: Vector, pieces: u32) -> Self {
        Pieces { count: vector.count(), element: vector.element, pieces: u64::from(pieces) }
    }

    /// Bytes of piece `i`.
    pub fn bytes(self, i: u32) -> u64 {
        let more = u64::from(u64::from(i) < self.count % self.pieces);
        (self.count / self.pieces + more) * self.element
    }
}

/// Allgather: every block travels once around the ring. A task therefore sends all blocks to the next rank,
/// except for that rank's own block. Blocks are cut into messages of at most `segment` bytes; 0 means that they
/// are not cut.
pub(super) fn allgather(me: Member, block: &Blocks, segment: u64, visit: &mut Visit) {
    let next = me.ahead(1);
    let travelling = (0..me.size).filter(|&i| i != next);
    let messages = travelling.map(|i| segments(block(i), segment)).fold(0, u64::saturating_add);
    visit(next, total(0..me.size, block) - block(next), messages);
}

/// Reduce-scatter: the partial sum of a block starts at the rank after its owner and ends at its owner.
pub(super) fn reduce_scatter(me: Member, block: &Blocks, visit: &mut Visit) {
    visit(me.ahead(1), total(0..me.size, block) - block(me.rank), u64::from(me.size - 1));
}

/// Allreduce: a reduce-scatter of pieces, after which each task has the piece of the next rank, and
/// then an allgather (Patarasuk and Yuan 2009).
pub(super) fn allreduce(me: Member, vector: Vector, visit: &mut Visit) {
    let pieces = Pieces::new(vector, me.size);
    let all = total(0..me.size, &|i| pieces.bytes(i));
    let steps = u64::from(me.size - 1);
    visit(me.ahead(1), all - pieces.bytes(me.ahead(1)), steps);
    visit(me.ahead(1), all - pieces.bytes(me.ahead(2)), steps);
}
