//! Bruck's algorithms (Bruck, Ho, Kipnis, Upfal and Weathersby, "Efficient algorithms for
//! all-to-all communications in multiport message-passing systems", 1997): log p rounds over
//! distances 1, 2, 4 …, for any p.

use super::member::{Member, powers_of_two_below};
use super::{Blocks, Visit, total};

/// Allgather: in the round of a distance, every task sends the blocks that it holds to the rank that is
/// `distance` before it, but not more blocks than that rank lacks.
pub(super) fn allgather(me: Member, block: &Blocks, visit: &mut Visit) {
    for distance in powers_of_two_below(me.size) {
        // The task holds the blocks of the ranks from its own upwards, in this order.
        let blocks = distance.min(me.size - distance);
        visit(me.behind(distance), total(0..blocks, &|i| block(me.ahead(i))), 1);
    }
}

/// Alltoall of equal blocks. A block travels the distance from its sender to its receiver in powers of two: the
/// round of `distance` sends on the blocks whose whole distance contains this power of two.
pub(super) fn all_to_all(me: Member, block: u64, visit: &mut Visit) {
    for distance in powers_of_two_below(me.size) {
        visit(me.ahead(distance), block * with_bit(me.size, distance), 1);
    }
}

/// How many of the numbers 1 … size − 1 have the bit `bit` set.
fn with_bit(size: u32, bit: u32) -> u64 {
    let (size, bit) = (u64::from(size), u64::from(bit));
    size / (2 * bit) * bit + (size % (2 * bit)).saturating_sub(bit)
}
