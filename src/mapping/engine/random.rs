//! Random numbers of the engine, which are the same for the same seed for ever.

use crate::base::random::SplitMix64;

/// The generator.
pub(crate) type Rng = SplitMix64;

/// A generator for a problem's seed.
pub(crate) fn seeded(seed: u64) -> Rng {
    SplitMix64::new(seed ^ 0x5851_f42d_4c95_7f2d)
}

/// A shuffled copy of `0..n` in `out`.
pub(crate) fn shuffled(rng: &mut Rng, n: usize, out: &mut Vec<u32>) {
    out.clear();
    out.extend(0..n as u32);
    for i in (1..n).rev() {
        out.swap(i, rng.below(i + 1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::permutation::is_permutation;

    #[test]
    fn the_same_seed_gives_the_same_numbers_for_ever() {
        let mut rng = seeded(7);
        assert_eq!([rng.next_u64(), rng.next_u64()], [0xfae33298a8399d50, 0x61c943293fff298c]);
        let mut order = Vec::new();
        shuffled(&mut rng, 50, &mut order);
        assert!(is_permutation(&order));
    }
}
