//! Models of what the threads of a process share: the tables of MPI's objects, the counters of threads, and sums
//! while counts move. The sources are those of the preloaded library, with loom's atomics and locks. loom runs the
//! threads of a model in every order, and gives each load every value that the memory model allows.
//!
//! A communicator and a window are small here, and have no MPI: what is read of them tells loom, which fails if it
//! was freed, or is freed by a thread that does not wait for the reader.

#![allow(missing_docs, dead_code)]

pub mod record;

pub mod sys {
    pub mod sync;
}
