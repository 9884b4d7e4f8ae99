//! Algorithms around a ring: everybody receives from the rank before and sends to the next.

use super::member::Member;
use super::trees::segments;
use super::{Blocks, Visit};

/// A vector of elements cut into one piece per task; the first pieces get one element more.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pieces {
    count: u64,
    element: u64,
    pieces: u64,
}

impl Pieces {
    /// `bytes` of elements of `element` bytes in `pieces` pieces.
    pub fn new(bytes: u64, element: u64, pieces: u32) -> Self {
        Pieces { count: bytes / element, element, pieces: u64::from(pieces) }
    }

    /// Bytes of piece `i`.
    pub fn bytes(self, i: u32) -> u64 {
        let more = u64::from(u64::from(i) < self.count % self.pieces);
        (self.count / self.pieces + more) * self.element
    }
}

fn total(size: u32, block: &Blocks) -> u64 {
    (0..size).map(block).fold(0, u64::saturating_add)
}

/// Allgather: every block travels once around; the one of the next rank ends before it.
pub(super) fn allgather(me: Member, block: &Blocks, visit: &mut Visit) {
    let next = me.ahead(1);
    visit(next, total(me.size, block) - block(next), u64::from(me.size - 1));
}

/// As [`allgather`] with every block cut into messages of at most `segment` bytes; 0 means uncut.
pub(super) fn allgather_segmented(me: Member, block: &Blocks, segment: u64, visit: &mut Visit) {
    let next = me.ahead(1);
    let travelling = (0..me.size).filter(|&i| i != next);
    let messages = travelling.map(|i| segments(block(i), segment)).fold(0, u64::saturating_add);
    visit(next, total(me.size, block) - block(next), messages);
}

/// Reduce-scatter: the partial sum of a block starts behind its owner and ends at it.
pub(super) fn reduce_scatter(me: Member, block: &Blocks, visit: &mut Visit) {
    visit(me.ahead(1), total(me.size, block) - block(me.rank), u64::from(me.size - 1));
}

/// Allreduce: reduce-scatter of pieces, of which this task ends with the one after its own, then
/// allgather (Patarasuk and Yuan 2009).
pub(super) fn allreduce(me: Member, pieces: Pieces, visit: &mut Visit) {
    let all = total(me.size, &|i| pieces.bytes(i));
    let steps = u64::from(me.size - 1);
    visit(me.ahead(1), all - pieces.bytes(me.ahead(1)), steps);
    visit(me.ahead(1), all - pieces.bytes(me.ahead(2)), steps);
}
