//! What every other folder may use: errors, hashes, random numbers, numberings, permutations.
//!
//! Nothing here knows of matrices, topologies or MPI.

pub mod error;
pub mod hash;
pub mod numbering;
pub mod permutation;
pub mod random;
