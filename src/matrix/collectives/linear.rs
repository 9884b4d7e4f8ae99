//! Algorithms without a tree: messages between one task and all others, between all pairs of tasks, and from
//! each task to the next.

use super::member::{Member, powers_of_two_below};
use super::{Blocks, Visit};

/// Every task sends a block to every other task, also if it is empty. The linear, pairwise and scattered forms of this
/// differ only in the order of the messages.
pub(super) fn all_to_all_even_empty(me: Member, block: &Blocks, visit: &mut Visit) {
    // In the order of the pairwise exchange.
    for distance in 1..me.size {
        let peer = me.ahead(distance);
        visit(peer, block(peer), 1);
    }
}

/// As [`all_to_all_even_empty`], without the empty blocks.
pub(super) fn all_to_all(me: Member, block: &Blocks, visit: &mut Visit) {
    all_to_all_even_empty(me, block, &mut filled(visit));
}

/// Leaves empty messages out.
pub(super) fn filled(visit: &mut Visit) -> impl FnMut(u32, u64, u64) {
    move |peer, bytes, messages| {
        if bytes > 0 {
            visit(peer, bytes, messages);
        }
    }
}

/// Every task but `root` sends `bytes` to `root`.
pub(super) fn fan_in(me: Member, root: u32, bytes: u64, visit: &mut Visit) {
    if me.rank != root {
        visit(root, bytes, 1);
    }
}

/// `root` sends a block to every other task.
pub(super) fn fan_out(me: Member, root: u32, block: &Blocks, visit: &mut Visit) {
    if me.rank == root {
        (0..me.size).filter(|&peer| peer != root).for_each(|peer| visit(peer, block(peer), 1));
    }
}

/// As [`fan_out`], without the empty blocks.
pub(super) fn fan_out_filled(me: Member, root: u32, block: &Blocks, visit: &mut Visit) {
    fan_out(me, root, block, &mut filled(visit));
}

/// As [`fan_in`], but a task waits for an empty message of the root before it sends. It then sends two
/// messages, of which the second is empty unless the block is cut.
pub(super) fn fan_in_synchronised(me: Member, root: u32, bytes: u64, visit: &mut Visit) {
    fan_out(me, root, &|_| 0, visit);
    if me.rank != root {
        visit(root, bytes, 2);
    }
}

/// Every task sends `bytes` to the next rank. The last rank sends nothing.
pub(super) fn pass_on(me: Member, bytes: u64, visit: &mut Visit) {
    if me.rank + 1 < me.size {
        visit(me.rank + 1, bytes, 1);
    }
}

/// Dissemination: in round k every task sends an empty message to the rank 2^k further (Hensgen,
/// Finkel and Manber, "Two algorithms for barrier synchronization", 1988).
pub(super) fn disseminate(me: Member, visit: &mut Visit) {
    powers_of_two_below(me.size).for_each(|distance| visit(me.ahead(distance), 0, 1));
}
