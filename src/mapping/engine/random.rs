//! Small deterministic random numbers (SplitMix64; Steele, Lea, Flood 2014).
//!
//! Own code because every rank and every launch must draw the same numbers for the same seed.

/// Generator; the same seed gives the same sequence for ever.
#[derive(Debug, Clone)]
pub(crate) struct Rng(u64);

impl Rng {
    pub(crate) fn new(seed: u64) -> Self {
        Rng(seed ^ 0x5851_f42d_4c95_7f2d)
    }

    #[inline]
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound` (0 if `bound` is 0), by multiplication instead of division.
    #[inline]
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        ((self.next() >> 32).wrapping_mul(bound as u64) >> 32) as usize
    }

    /// A shuffled copy of `0..n` in `out`.
    pub(crate) fn permutation(&mut self, n: usize, out: &mut Vec<u32>) {
        out.clear();
        out.extend(0..n as u32);
        for i in (1..n).rev() {
            out.swap(i, self.below(i + 1));
        }
    }

    /// An independent generator for a part of the work, by the part's number.
    pub(crate) fn fork(&self, part: u64) -> Rng {
        let mut child = Rng(self.0 ^ part.wrapping_mul(0xd6e8_feb8_6659_fd93).rotate_left(17));
        child.next();
        child
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stays_in_range_and_repeats() {
        let (mut a, mut b) = (Rng::new(7), Rng::new(7));
        for bound in 1..200 {
            let x = a.below(bound);
            assert!(x < bound);
            assert_eq!(x, b.below(bound));
        }
        let mut p = Vec::new();
        a.permutation(50, &mut p);
        p.sort_unstable();
        assert!(p.iter().enumerate().all(|(i, &x)| i == x as usize));
    }
}
