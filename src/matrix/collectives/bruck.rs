//! Bruck's algorithms (Bruck, Ho, Kipnis, Upfal and Weathersby, "Efficient algorithms for
//! all-to-all communications in multiport message-passing systems", 1997): log p rounds over
//! distances 1, 2, 4 …, for any p.

use super::member::Member;
use super::{Blocks, Visit};

/// Allgather: in each round everybody sends all it has (at most what is missing) to the rank
/// `distance` before.
pub(super) fn allgather(me: Member, block: &Blocks, visit: &mut Visit) {
    // Blocks rank, rank + 1, … are held in this order; the sum grows with the distance.
    let mut held = 0u64;
    let mut counted = 0u32;
    let mut distance = 1u64;
    while distance < u64::from(me.size) {
        let blocks = distance.min(u64::from(me.size) - distance) as u32;
        if blocks < counted {
            // The last round sends a part only.
            held = (0..blocks).map(|i| block(me.ahead(i))).fold(0, u64::saturating_add);
        } else {
            for i in counted..blocks {
                held = held.saturating_add(block(me.ahead(i)));
            }
            counted = blocks;
        }
        visit(me.behind(distance as u32), held, 1);
        distance *= 2;
    }
}

/// Alltoall of equal blocks: in each round all blocks whose way has this bit go `distance` further.
pub(super) fn all_to_all(me: Member, block: u64, visit: &mut Visit) {
    let mut distance = 1u64;
    while distance < u64::from(me.size) {
        visit(me.ahead(distance as u32), block * with_bit(me.size, distance), 1);
        distance *= 2;
    }
}

/// How many of 1 … size − 1 have the bit `bit` set.
fn with_bit(size: u32, bit: u64) -> u64 {
    let size = u64::from(size);
    size / (2 * bit) * bit + (size % (2 * bit)).saturating_sub(bit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_bits_as_enumeration_does() {
        for size in 1..100u32 {
            for bit in [1u64, 2, 4, 8, 16, 32, 64] {
                let by_hand = (1..u64::from(size)).filter(|i| i & bit != 0).count() as u64;
                assert_eq!(with_bit(size, bit), by_hand, "{size} {bit}");
            }
        }
    }
}
