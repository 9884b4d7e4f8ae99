//! A number of bytes, or of bytes times a distance, that can have half a byte.

use serde::{Serialize, Serializer};
use std::fmt;

/// A sum of bytes in halves. It is shown as a whole number if it is one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ByteSum {
    halves: u128,
}

impl ByteSum {
    /// `count` units, of which `per_byte` (1 or 2) make a byte.
    pub(super) fn new(count: u128, per_byte: u128) -> ByteSum {
        ByteSum { halves: count.saturating_mul(2 / per_byte.clamp(1, 2)) }
    }

    /// The whole number, if it is one.
    pub fn whole(self) -> Option<u128> {
        self.halves.is_multiple_of(2).then_some(self.halves / 2)
    }

    /// The nearest real number.
    pub fn real(self) -> f64 {
        self.halves as f64 / 2.0
    }
}

impl fmt::Display for ByteSum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.halves / 2, if self.halves.is_multiple_of(2) { "" } else { ".5" })
    }
}

impl Serialize for ByteSum {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.whole() {
            Some(whole) => serializer.serialize_u128(whole),
            None => serializer.serialize_f64(self.real()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_halves_and_whole_numbers() {
        assert_eq!(ByteSum::new(7, 1).to_string(), "7");
        assert_eq!(ByteSum::new(7, 2).to_string(), "3.5");
        assert_eq!((ByteSum::new(7, 2).real(), ByteSum::new(7, 2).whole()), (3.5, None));
        assert_eq!(ByteSum::new(8, 2), ByteSum::new(4, 1));
        assert_eq!(ByteSum::new(8, 2).whole(), Some(4));
    }
}
