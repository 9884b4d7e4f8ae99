//! Neighbour exchange for an even number of tasks (Chen, Zhang, Tang and Kumar, "Performance
//! evaluation of allgather algorithms on terascale Linux cluster with fast Ethernet", 2005): p / 2
//! rounds in which every task sends to its two neighbours in turn.

use super::member::Member;
use super::{Blocks, Visit};

/// Allgather; `size` must be even.
pub(super) fn allgather(me: Member, block: &Blocks, visit: &mut Visit) {
    let size = i64::from(me.size);
    let even = me.rank.is_multiple_of(2);
    let (right, left) = (me.ahead(1), me.behind(1));
    let neighbours = if even { [right, left] } else { [left, right] };
    visit(neighbours[0], block(me.rank), 1);
    // Blocks travel in pairs, of which the first has an even rank. A task sends the pair that it received
    // from one neighbour to the other neighbour in the next round.
    let mut from = if even { [me.rank; 2] } else { [left; 2] }.map(i64::from);
    let step: [i64; 2] = if even { [2, -2] } else { [-2, 2] };
    let mut pair = from[0];
    for round in 1..me.size / 2 {
        let side = (round % 2) as usize;
        let first = pair.rem_euclid(size) as u32;
        let second = (pair + 1).rem_euclid(size) as u32;
        visit(neighbours[side], block(first).saturating_add(block(second)), 1);
        from[side] += step[side];
        pair = from[side];
    }
}
