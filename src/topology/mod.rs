//! Topologies: the slots of a machine and the distance between any two of them.
//!
//! A *slot* is a place for one process: a core, a NUMA domain, or a whole node when the process is
//! not bound. Distances are hops unless a topology gives costs.

pub mod costs;
mod cpuset;
mod hwloc;
mod launch;
mod machine;
mod sysfs;
mod tree;

pub use cpuset::CpuSet;
pub use launch::from_launch;
pub use machine::{Machine, UNPLACED, common_levels, extend_path};
pub use tree::Tree;

/// A machine as the mapping algorithms and metrics see it.
///
/// The template for a new topology is [`Tree`]: the slots, and the distance between two of them in
/// O(levels) without a table of all pairs.
pub trait Topology: Send + Sync {
    /// Description in the form that `--topology` takes, as far as there is one.
    fn name(&self) -> String;

    /// Number of slots; slots are numbered from 0.
    fn slots(&self) -> usize;

    /// Distance of two slots: symmetric, 0 exactly for a slot and itself.
    fn distance(&self, a: usize, b: usize) -> u64;

    /// The tree, where the topology is one.
    fn as_tree(&self) -> Option<&Tree> {
        None
    }
}
