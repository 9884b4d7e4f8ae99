//! What every other folder may use: errors, files, the clock, hashes, random numbers, numberings,
//! permutations, compressed rows, and enumerations with names.
//!
//! Nothing here knows of matrices, topologies or MPI.

pub mod clock;
pub mod compressed_rows;
pub mod countdown;
pub mod error;
pub mod file;
pub mod file_system;
pub mod hash;
pub mod host_name;
pub mod installation;
pub(crate) mod memory;
pub(crate) mod named_enum;
pub(crate) mod nearest;
pub mod nouns;
pub mod numbering;
pub mod permutation;
pub mod quantity;
pub mod random;
pub mod raw_words;
pub mod sorting;
pub mod threads;
