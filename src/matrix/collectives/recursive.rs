//! Recursive doubling and halving: in round k the ranks that differ in bit k exchange, which needs
//! a power of two; other numbers are folded first.

use super::member::{Folding, Member, Part, power_of_two_within};
use super::{Blocks, Visit};

/// Allreduce by recursive doubling of the whole vector.
pub(super) fn allreduce(me: Member, bytes: u64, visit: &mut Visit) {
    let folding = Folding::odd(me.size);
    let number = match folding.part(me.rank) {
        Part::Waits(partner) => return visit(partner, bytes, 1),
        Part::Stays(number) => number,
        Part::StaysFor(number, waiting) => {
            visit(waiting, bytes, 1);
            number
        }
    };
    let mut bit = 1;
    while bit < folding.staying {
        visit(folding.rank(number ^ bit), bytes, 1);
        bit *= 2;
    }
}

/// Barrier by recursive doubling, where the ranks beyond the power of two wait for the first ones.
pub(super) fn barrier(me: Member, visit: &mut Visit) {
    let staying = power_of_two_within(me.size);
    if me.rank >= staying {
        return visit(me.rank - staying, 0, 1);
    }
    let mut bit = 1;
    while bit < staying {
        visit(me.rank ^ bit, 0, 1);
        bit *= 2;
    }
    if me.rank < me.size - staying {
        visit(me.rank + staying, 0, 1);
    }
}

/// Allgather by recursive doubling; `size` must be a power of two.
pub(super) fn allgather(me: Member, block: &Blocks, visit: &mut Visit) {
    let mut bit = 1;
    while bit < me.size {
        // Everybody holds the aligned range of `bit` blocks around its own.
        let first = me.rank & !(bit - 1);
        let held = (first..first + bit).map(block).fold(0, u64::saturating_add);
        visit(me.rank ^ bit, held, 1);
        bit *= 2;
    }
}

/// Scan by recursive doubling: partners exchange the sums of their aligned ranges; a rank without
/// partner skips the round.
pub(super) fn scan(me: Member, bytes: u64, visit: &mut Visit) {
    let mut bit = 1;
    while bit < me.size {
        if me.rank ^ bit < me.size {
            visit(me.rank ^ bit, bytes, 1);
        }
        bit *= 2;
    }
}

/// Bytes of the blocks that number `i` of a folding is responsible for, its partner's included.
fn folded(folding: Folding, block: &Blocks, i: u32) -> u64 {
    if i < folding.extra {
        block(2 * i).saturating_add(block(2 * i + 1))
    } else {
        block(i + folding.extra)
    }
}

fn range_of(folding: Folding, block: &Blocks, range: std::ops::Range<u32>) -> u64 {
    range.map(|i| folded(folding, block, i)).fold(0, u64::saturating_add)
}

/// Reduce-scatter by recursive halving: the farthest exchange first, with half of all blocks.
pub(super) fn reduce_scatter_halving(me: Member, block: &Blocks, visit: &mut Visit) {
    let folding = Folding::odd(me.size);
    let (number, waiting) = match folding.part(me.rank) {
        Part::Waits(partner) => {
            let all = (0..me.size).map(block).fold(0, u64::saturating_add);
            return visit(partner, all, 1);
        }
        Part::Stays(number) => (number, None),
        Part::StaysFor(number, waiting) => (number, Some(waiting)),
    };
    let mut bit = folding.staying / 2;
    while bit > 0 {
        let peer = number ^ bit;
        let first = peer & !(bit - 1);
        visit(folding.rank(peer), range_of(folding, block, first..first + bit), 1);
        bit /= 2;
    }
    if let Some(waiting) = waiting {
        visit(waiting, block(waiting), 1);
    }
}

/// Reduce-scatter by a butterfly: the nearest exchange first, again with half of all blocks, so
/// that everybody ends with the block of the rank whose number has its bits reversed (Träff, "An
/// improved algorithm for (non-commutative) reduce-scatter with an application", 2005). A last
/// exchange brings every block to its owner; it is not needed if the blocks were `arranged` in
/// reversed order before, which is possible with equal blocks and a power of two.
pub(super) fn reduce_scatter_butterfly(
    me: Member,
    block: &Blocks,
    arranged: bool,
    visit: &mut Visit,
) {
    let folding = Folding::odd(me.size);
    let number = match folding.part(me.rank) {
        Part::Waits(partner) => {
            let all = (0..me.size).map(block).fold(0, u64::saturating_add);
            return visit(partner, all, 1);
        }
        Part::Stays(number) | Part::StaysFor(number, _) => number,
    };
    let (mut first, mut blocks, mut bit) = (0, folding.staying, 1);
    while bit < folding.staying {
        blocks /= 2;
        let (keep, give) =
            if number & bit == 0 { (first, first + blocks) } else { (first + blocks, first) };
        visit(folding.rank(number ^ bit), range_of(folding, block, give..give + blocks), 1);
        first = keep;
        bit *= 2;
    }
    if arranged {
        return;
    }
    let owner = folding.rank(first);
    if owner != me.rank {
        visit(owner, block(owner), 1);
    }
    if first < folding.extra {
        visit(owner - 1, block(owner - 1), 1);
    }
}

/// Reduce-scatter by recursive doubling: in each round everybody sends the partial sums of all
/// blocks but those of its own aligned range.
pub(super) fn reduce_scatter_doubling(me: Member, block: &Blocks, visit: &mut Visit) {
    let all = (0..me.size).map(block).fold(0, u64::saturating_add);
    let within = |first: u32, width: u32| {
        let last = first.saturating_add(width).min(me.size);
        (first.min(me.size)..last).map(block).fold(0, u64::saturating_add)
    };
    exchange_aligned(
        me,
        &|first, width| all - within(first, width),
        &|theirs, width| all - within(theirs, width),
        &|v| v,
        visit,
    );
}

/// Bytes that depend on an aligned range of ranks, given by its first rank and its width.
pub(super) type RangeBytes<'a> = dyn Fn(u32, u32) -> u64 + 'a;

/// Recursive doubling over aligned ranges for any number of tasks: in the round of width w
/// everybody sends `sent(own range)` to the rank that differs in that bit, if there is one. Where
/// the other range is cut by the end of the communicator, those who received `received(other range)`
/// hand it to the rest of their own range along the bits below.
///
/// `me.rank` may be relative; `absolute` gives the rank to visit.
pub(super) fn exchange_aligned(
    me: Member,
    sent: &RangeBytes,
    received: &RangeBytes,
    absolute: &dyn Fn(u32) -> u32,
    visit: &mut Visit,
) {
    let mut width = 1;
    while width < me.size {
        let own = me.rank & !(width - 1);
        let other = own ^ width;
        if me.rank ^ width < me.size {
            visit(absolute(me.rank ^ width), sent(own, width), 1);
        }
        if other < me.size && me.size - other < width {
            let holders = me.size - other;
            let bytes = received(other, width);
            let mut bit = width / 2;
            while bit > 0 {
                let has_until = (me.rank & !(2 * bit - 1)) + holders;
                let peer = me.rank | bit;
                if peer != me.rank && me.rank < has_until && peer >= has_until {
                    visit(absolute(peer), bytes, 1);
                }
                bit /= 2;
            }
        }
        width = match width.checked_mul(2) {
            Some(width) => width,
            None => break,
        };
    }
}
