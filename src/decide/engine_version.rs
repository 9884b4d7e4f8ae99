//! The version of the code that finds permutations.
//!
//! A site keeps the permutations it has searched for, and finds them again by a signature that
//! contains this version. A new version therefore discards all of them.

/// Changes exactly when the same question gets another answer. It is a part of the signature of
/// every kept permutation, so it must keep its value as long as the answers stay the same.
pub const ENGINE_VERSION: &str = "198314a62892e31f";
