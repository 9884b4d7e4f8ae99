//! Signatures: numbers that stand for a matrix, a machine or options where these are only compared.
//!
//! Words are folded into one state by 64 × 64 → 128-bit multiplications whose halves are joined (the mixing
//! step of wyhash and its relatives). This is so fast that the signature of a matrix takes less time than
//! reading the matrix. Signatures give no protection: somebody can construct two inputs with the same
//! signature. The only effect would be a rank order that belongs to another matrix.

use crate::matrix::{CommMatrix, Kind};

/// Odd constants without pattern: the fractional parts of the square roots of 2, 3, 5 and 7.
const SALT: [u64; 4] =
    [0x6a09_e667_f3bc_c909, 0xbb67_ae85_84ca_a73b, 0x3c6e_f372_fe94_f82b, 0xa54f_f53a_5f1d_36f1];

/// A signature while it grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Signature(u64);

impl Default for Signature {
    fn default() -> Self {
        Signature(SALT[0])
    }
}

/// Both halves of the product.
#[inline(always)]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

impl Signature {
    /// The signature of no data.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a number.
    #[must_use]
    pub fn word(self, word: u64) -> Self {
        Signature(fold(self.0 ^ word ^ SALT[1], SALT[2].wrapping_add(self.0.rotate_left(29))))
    }

    /// Adds a list of numbers, closed by its length.
    #[must_use]
    pub fn words(self, words: impl IntoIterator<Item = u64>) -> Self {
        let mut count = 0u64;
        let all = words.into_iter().fold(self, |signature, word| {
            count += 1;
            signature.word(word)
        });
        all.word(count)
    }

    /// Adds bytes, closed by their length.
    #[must_use]
    pub fn bytes(self, bytes: &[u8]) -> Self {
        let words = bytes.chunks(8).map(|chunk| {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            u64::from_le_bytes(word)
        });
        self.words(words).word(bytes.len() as u64)
    }

    /// Adds the bytes that every task sent to every other; a mapping depends on nothing else in a
    /// matrix. Rows go into four states in turn, so one multiplication need not wait for the
    /// one before.
    #[must_use]
    pub fn matrix(self, matrix: &CommMatrix) -> Self {
        let mut all = self.word(matrix.tasks() as u64);
        for kind in Kind::ALL {
            let layer = matrix.layer(kind);
            let mut lanes = SALT;
            for task in 0..layer.tasks() {
                let lane = &mut lanes[task % 4];
                for (to, traffic) in layer.row(task) {
                    *lane = fold(*lane ^ traffic.bytes ^ SALT[1], SALT[2] ^ (u64::from(to) << 20));
                }
                *lane = fold(*lane ^ task as u64, SALT[3]);
            }
            all = all.words(lanes);
        }
        all
    }

    /// The number.
    pub fn value(self) -> u64 {
        fold(self.0 ^ SALT[3], SALT[1])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::{SparseMatrix, Traffic};
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn of(entries: &[(u32, u32, u64)]) -> u64 {
        let entries: Vec<_> =
            entries.iter().map(|&(i, j, bytes)| (i, j, Traffic { bytes, messages: 1 })).collect();
        let matrix = CommMatrix::from_point_to_point(SparseMatrix::from_entries(9, &entries));
        Signature::new().matrix(&matrix).value()
    }

    #[test]
    fn small_differences_count() {
        let base = [(0, 1, 100), (1, 2, 100), (5, 8, 7)];
        let others = [
            of(&base),
            of(&[(0, 1, 101), (1, 2, 100), (5, 8, 7)]),
            of(&[(0, 1, 100), (1, 2, 100), (5, 7, 7)]),
            of(&[(0, 1, 100), (1, 2, 100), (4, 8, 7)]),
            of(&[(1, 0, 100), (1, 2, 100), (5, 8, 7)]),
            of(&[(0, 1, 100), (1, 2, 100)]),
            of(&[]),
        ];
        let different: BTreeSet<u64> = others.into_iter().collect();
        assert_eq!(different.len(), others.len());
        let mut more = base.to_vec();
        // The number of messages is no part of it, nor the kind of the layer's order of input.
        more.reverse();
        assert_eq!(of(&more), of(&base));
    }

    #[test]
    fn lists_are_closed() {
        let new = Signature::new;
        assert_ne!(new().words([1, 2]).words([3]).value(), new().words([1]).words([2, 3]).value());
        assert_ne!(new().bytes(b"ab").value(), new().bytes(b"ab\0").value());
        assert_ne!(new().bytes(b"").value(), new().value());
    }

    /// Kept orders are found by these numbers. The values were worked out by a separate program.
    #[test]
    fn signatures_stay_the_same() {
        let new = Signature::new;
        assert_eq!(new().value(), 0x961e_ff78_a2e0_7aff);
        assert_eq!(new().words([1, 2, 3]).value(), 0x56a9_a9ef_9a0e_bc91);
        assert_eq!(new().bytes(b"tree:2:16:32").value(), 0xd076_e222_5b7c_ca73);
    }

    proptest! {
        #[test]
        fn one_changed_word_changes_it(words in prop::collection::vec(any::<u64>(), 1..20),
                                       at in any::<prop::sample::Index>(), bit in 0u32..64) {
            let mut other = words.clone();
            let at = at.index(words.len());
            other[at] ^= 1 << bit;
            let value = |w: &[u64]| Signature::new().words(w.iter().copied()).value();
            prop_assert_ne!(value(&words), value(&other));
        }
    }
}
