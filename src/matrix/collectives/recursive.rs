//! Recursive doubling and halving: in round k the ranks that differ in bit k exchange messages. This
//! needs a power of two of tasks; other numbers of tasks are folded first ([`Folding`]).

use super::linear::filled;
use super::member::{Folding, Member, Part, power_of_two_within, powers_of_two_below};
use super::{Blocks, Visit, total};

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
    for bit in powers_of_two_below(folding.staying) {
        visit(folding.rank(number ^ bit), bytes, 1);
    }
}

/// Barrier by recursive doubling. Each rank beyond the largest power of two sends to one of the first
/// ranks at the beginning and waits for its answer at the end.
pub(super) fn barrier(me: Member, visit: &mut Visit) {
    let staying = power_of_two_within(me.size);
    if me.rank >= staying {
        return visit(me.rank - staying, 0, 1);
    }
    powers_of_two_below(staying).for_each(|bit| visit(me.rank ^ bit, 0, 1));
    if me.rank < me.size - staying {
        visit(me.rank + staying, 0, 1);
    }
}

/// Allgather by recursive doubling; `size` must be a power of two.
pub(super) fn allgather(me: Member, block: &Blocks, visit: &mut Visit) {
    for bit in powers_of_two_below(me.size) {
        // Every task holds the aligned range of `bit` blocks around its own.
        let first = me.rank & !(bit - 1);
        visit(me.rank ^ bit, total(first..first + bit, block), 1);
    }
}

/// Scan by recursive doubling: two ranks exchange the sums of their aligned ranges. A rank whose
/// partner does not exist skips the round.
pub(super) fn scan(me: Member, bytes: u64, visit: &mut Visit) {
    let partners = powers_of_two_below(me.size).map(|bit| me.rank ^ bit);
    partners.filter(|&partner| partner < me.size).for_each(|partner| visit(partner, bytes, 1));
}

/// Bytes of the blocks for which the tasks with a range of numbers of a folding are responsible, including the
/// blocks of the waiting ranks.
fn range_of(folding: Folding, block: &Blocks, numbers: std::ops::Range<u32>) -> u64 {
    let first_rank = |number: u32| number + number.min(folding.extra);
    total(first_rank(numbers.start)..first_rank(numbers.end), block)
}

/// Reduce-scatter by recursive halving: the farthest exchange first, with half of all blocks. Empty messages are not sent.
pub(super) fn reduce_scatter_halving(me: Member, block: &Blocks, visit: &mut Visit) {
    let mut visit = filled(visit);
    let folding = Folding::odd(me.size);
    let (number, waiting) = match folding.part(me.rank) {
        Part::Waits(partner) => return visit(partner, total(0..me.size, block), 1),
        Part::Stays(number) => (number, None),
        Part::StaysFor(number, waiting) => (number, Some(waiting)),
    };
    for bit in powers_of_two_below(folding.staying).rev() {
        let peer = number ^ bit;
        let first = peer & !(bit - 1);
        visit(folding.rank(peer), range_of(folding, block, first..first + bit), 1);
    }
    if let Some(waiting) = waiting {
        visit(waiting, block(waiting), 1);
    }
}

/// Reduce-scatter by a butterfly (Träff, "An improved algorithm for (non-commutative) reduce-scatter
/// with an application", 2005). The nearest exchange comes first, again with half of all blocks, so
/// that each task ends with the block of the rank whose number has the bits of its own reversed. A last
/// exchange brings every block to its owner. It is not needed if the blocks were `arranged` in reversed
/// order before, which is possible with equal blocks and a power of two of tasks.
pub(super) fn reduce_scatter_butterfly(
    me: Member,
    block: &Blocks,
    arranged: bool,
    visit: &mut Visit,
) {
    let folding = Folding::odd(me.size);
    let number = match folding.part(me.rank) {
        Part::Waits(partner) => return visit(partner, total(0..me.size, block), 1),
        Part::Stays(number) | Part::StaysFor(number, _) => number,
    };
    let (mut first, mut blocks) = (0, folding.staying);
    for bit in powers_of_two_below(folding.staying) {
        blocks /= 2;
        let (keep, give) =
            if number & bit == 0 { (first, first + blocks) } else { (first + blocks, first) };
        visit(folding.rank(number ^ bit), range_of(folding, block, give..give + blocks), 1);
        first = keep;
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

/// Reduce-scatter by recursive doubling: in each round every task sends the partial sums of all blocks
/// but those of its own aligned range.
pub(super) fn reduce_scatter_doubling(me: Member, block: &Blocks, visit: &mut Visit) {
    let all = total(0..me.size, block);
    let outside = |first: u32, width: u32| {
        let last = first.saturating_add(width).min(me.size);
        all - total(first.min(me.size)..last, block)
    };
    exchange_aligned(me, &outside, &|rank| rank, visit);
}

/// Bytes that depend on an aligned range of ranks, given by its first rank and its width.
pub(super) type RangeBytes<'a> = dyn Fn(u32, u32) -> u64 + 'a;

/// Recursive doubling over aligned ranges for any number of tasks. In the round of width w, every task sends
/// `bytes(own range)` to the rank that differs in this bit, if this rank exists. If the other range extends
/// beyond the last rank, some ranks of the own range have no partner in it. The ranks that received
/// `bytes(other range)` then send it to these ranks, along the bits below.
///
/// `me.rank` may be relative to a root. `absolute` turns such a rank into the rank to visit.
pub(super) fn exchange_aligned(
    me: Member,
    bytes: &RangeBytes,
    absolute: &dyn Fn(u32) -> u32,
    visit: &mut Visit,
) {
    for width in powers_of_two_below(me.size) {
        let own = me.rank & !(width - 1);
        let other = own ^ width;
        if me.rank ^ width < me.size {
            visit(absolute(me.rank ^ width), bytes(own, width), 1);
        }
        if other < me.size && me.size - other < width {
            let holders = me.size - other;
            let received = bytes(other, width);
            for bit in powers_of_two_below(width).rev() {
                let has_until = (me.rank & !(2 * bit - 1)) + holders;
                let peer = me.rank | bit;
                if peer != me.rank && me.rank < has_until && peer >= has_until {
                    visit(absolute(peer), received, 1);
                }
            }
        }
    }
}
