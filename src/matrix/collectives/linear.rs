//! Algorithms without a tree: everybody with one, everybody with everybody, everybody with the next.

use super::member::Member;
use super::{Blocks, Visit};

/// Everybody sends a block to everybody else. The linear, pairwise and scattered forms differ in
/// order only. Empty blocks are not sent.
pub(super) fn all_to_all(me: Member, block: &Blocks, visit: &mut Visit) {
    // In the order of the pairwise exchange.
    for distance in 1..me.size {
        let peer = me.ahead(distance);
        let bytes = block(peer);
        if bytes > 0 {
            visit(peer, bytes, 1);
        }
    }
}

/// Everybody but `root` sends `bytes` to `root`.
pub(super) fn fan_in(me: Member, root: u32, bytes: u64, visit: &mut Visit) {
    if me.rank != root {
        visit(root, bytes, 1);
    }
}

/// `root` sends everybody else a block.
pub(super) fn fan_out(me: Member, root: u32, block: &Blocks, visit: &mut Visit) {
    if me.rank == root {
        (0..me.size).filter(|&peer| peer != root).for_each(|peer| visit(peer, block(peer), 1));
    }
}

/// As [`fan_out`], without the empty blocks.
pub(super) fn fan_out_filled(me: Member, root: u32, block: &Blocks, visit: &mut Visit) {
    fan_out(me, root, block, &mut |peer, bytes, messages| {
        if bytes > 0 {
            visit(peer, bytes, messages);
        }
    });
}

/// As [`fan_in`] with leave to send: the root asks everybody with an empty message, and everybody
/// answers with two messages, the second of which is empty unless the block is cut.
pub(super) fn fan_in_synchronised(me: Member, root: u32, bytes: u64, visit: &mut Visit) {
    fan_out(me, root, &|_| 0, visit);
    if me.rank != root {
        visit(root, bytes, 2);
    }
}

/// Everybody sends `bytes` to the next rank; the last sends nothing.
pub(super) fn pass_on(me: Member, bytes: u64, visit: &mut Visit) {
    if me.rank + 1 < me.size {
        visit(me.rank + 1, bytes, 1);
    }
}

/// Dissemination: in round k everybody sends an empty message to the rank 2^k further (Hensgen,
/// Finkel and Manber, "Two algorithms for barrier synchronization", 1988).
pub(super) fn disseminate(me: Member, visit: &mut Visit) {
    let mut distance = 1u64;
    while distance < u64::from(me.size) {
        visit(me.ahead(distance as u32), 0, 1);
        distance *= 2;
    }
}
