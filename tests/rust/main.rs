//! The integration tests of the command and of the repository, as one program: it is linked once.
//!
//! * `cli`: the command as a user runs it (commands, mapping, check, doctor, help and documents).
//! * `collective_models`: the models of the collectives, compared with traffic that was measured.
//! * `decisions`: the index of docs/decisions is complete.
//! * `fuzz_seeds`: every input in fuzz/seeds with its fuzz target.
//! * `gather_machine`: what scripts/gather-machine packs can be read, and has no private names in it.
//! * `hostile`: every reader with damaged and misleading files.
//! * `machines`: the machines in tests/machines, compared with what is expected and with hwloc.
//! * `presets`: stronger presets are never worse, on random problems of all kinds.
//! * `rails`: the rails of nodes, from the description of a machine to the record of a launch.
//! * `links`: the links of all Markdown files, and the list of chapters of the book.
//! * `layers`: the order of the folders in the sources, and the size of the files.
//!
//! `cargo test --test integration` runs all of them. A name after it selects the tests whose path contains this
//! name, for example `cli::doctor`. The tests on real MPI libraries are in `tests/mpi`.

// A test that cannot go on ends with a message.
#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic)]

mod cli;
mod collective_models;
mod decisions;
mod fabrics;
mod fuzz_seeds;
mod gather_machine;
mod hostile;
mod layers;
mod links;
mod machines;
mod presets;
mod rails;
mod support;
