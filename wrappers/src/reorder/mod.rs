//! Reordering inside a launch: new ranks for the processes of a communicator. The program asks for them by
//! `reorder` in a constructor of a topology, or by a function of rankweave.h ([`api`]).
//!
//! [`PrivateGroup::permutation`](group::PrivateGroup::permutation) finds the rank order. All processes of the
//! communicator report to whom they send, one of them computes the mapping, and all receive it. [`create`]
//! makes communicators with this rank order.
//!
//! Every step is taken by all processes of the communicator or by none. Whether a step is taken follows
//! from what all processes know. What only some processes can know (an argument that looks wrong, no
//! memory) is agreed on before any process acts on it. In doubt, the program's own call goes to MPI
//! unchanged.
//!
//! Limits: the edges of all processes are collected on one process (as a sparse list).

pub mod adjacency;
pub mod api;
pub mod create;
mod group;

pub use group::Group;
