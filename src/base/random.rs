//! The one generator of random numbers: SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom
//! number generators", 2014).
//!
//! Every rank and every launch must draw the same numbers for the same seed, because kept orders are
//! compared with new ones. Crates for random numbers do not promise that for future versions.

/// A generator. The same state gives the same sequence for ever.
#[derive(Debug, Clone)]
pub struct SplitMix64(u64);

impl SplitMix64 {
    /// A generator in this state.
    pub fn new(state: u64) -> Self {
        SplitMix64(state)
    }

    /// The next number.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number from 0 up to 1, without 1.
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A number below `bound` (0 if `bound` is 0), from all 64 bits of the next number.
    pub fn below_wide(&mut self, bound: usize) -> usize {
        ((u128::from(self.next_u64()) * bound as u128) >> 64) as usize
    }

    /// A number below `bound` (0 if `bound` is 0), from the upper 32 bits of the next number. The engine
    /// draws many of these, of bounds below 2³².
    #[inline]
    pub fn below(&mut self, bound: usize) -> usize {
        ((self.next_u64() >> 32).wrapping_mul(bound as u64) >> 32) as usize
    }

    /// A new generator for part number `part` of the work. Its sequence depends on the state of `self` and on
    /// `part`. The state of `self` stays as it is.
    pub fn fork(&self, part: u64) -> SplitMix64 {
        let state = self.0 ^ part.wrapping_mul(0xd6e8_feb8_6659_fd93).rotate_left(17);
        let mut child = SplitMix64(state);
        child.next_u64();
        child
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first numbers of the sequence of state 0, as other implementations give them.
    #[test]
    fn published_values() {
        let mut random = SplitMix64::new(0);
        assert_eq!(random.next_u64(), 0xe220_a839_7b1d_cdaf);
        assert_eq!(random.next_u64(), 0x6e78_9e6a_a1b9_65f4);
        assert_eq!(random.next_u64(), 0x06c4_5d18_8009_454f);
    }

    #[test]
    fn bounds_hold() {
        let mut random = SplitMix64::new(1);
        assert_eq!((random.below(0), random.below_wide(0)), (0, 0));
        for bound in 1..200 {
            assert!(random.below(bound) < bound);
            assert!(random.below_wide(bound) < bound);
            assert!((0.0..1.0).contains(&random.unit()));
        }
    }
}
