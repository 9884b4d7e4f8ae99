//! The one stable hash: FNV-1a with 64 bits (Fowler, Noll, Vo), from the crate `fnv`.
//!
//! Its values stand in keys of records, in names of variables and in messages between processes. They
//! must be the same on every machine and in every version, which the hashes of the standard library
//! do not promise. The hash is not for secrets. Long inputs that are only compared are hashed faster by
//! [`crate::store::Signature`].

use std::hash::Hasher;

/// The hash of bytes.
pub fn fnv1a<'a>(bytes: impl IntoIterator<Item = &'a u8>) -> u64 {
    let mut hash = Fnv1a::default();
    bytes.into_iter().for_each(|&byte| hash.bytes(&[byte]));
    hash.value()
}

/// The state of a hash whose input arrives in pieces.
#[derive(Default)]
pub struct Fnv1a(fnv::FnvHasher);

impl Fnv1a {
    /// Adds bytes. Boundaries between calls do not enter the hash: `foo` and then `bar` gives the hash of
    /// `foobar`. A caller that hashes several fields has to add separators.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.0.write(bytes);
    }

    /// The hash of all bytes so far.
    pub fn value(&self) -> u64 {
        self.0.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values that the authors of FNV publish.
    #[test]
    fn published_values() {
        assert_eq!(fnv1a(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a(b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(fnv1a(b"foobar"), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn pieces_count_as_one() {
        let mut hash = Fnv1a::default();
        hash.bytes(b"foo");
        hash.bytes(b"bar");
        assert_eq!(hash.value(), fnv1a(b"foobar"));
    }
}
