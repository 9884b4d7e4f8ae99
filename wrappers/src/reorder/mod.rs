//! Reordering inside a launch: a new numbering for the processes of a communicator, when the program
//! asks for one (`reorder` in the constructors of topologies).
//!
//! [`PrivateGroup::permutation`](group::PrivateGroup::permutation) is the core: all processes of a
//! communicator say whom they talk to, one of them maps, and all get the answer. [`create`] makes
//! communicators by it.
//!
//! Every step is taken by all processes of the communicator or by none: whether there is anything to
//! do follows from what all of them know, and what only some can know (an argument that looks wrong,
//! no memory) is agreed on before anybody acts by it. On any doubt the program's own call goes to
//! MPI as it is.
//!
//! Limits: the edges of all processes are put together on one of them (as a sparse list).

pub mod adjacency;
pub mod api;
pub mod create;
mod group;

pub use group::Group;
