//! Topologies: the slots of a machine and the distance between any two of them.
//!
//! A *slot* is a place for one process: a core, a NUMA domain, or a whole node when the process is
//! not bound. Distances are hops unless a topology gives costs. [`parse`] reads every topology that
//! `--topology` takes; [`Machine`] and [`from_launch`] make the one of a running job.
//!
//! | kind | type | distance |
//! |---|---|---|
//! | trees: `tree:`, `fattree:`, `hwloc:`, `slurm:`, launches | [`Tree`] | one XOR and a table |
//! | `torus:`, `mesh:`, `hypercube:` | [`Grid`] | one step per dimension |
//! | `dragonfly:` | [`Dragonfly`] | constant |
//! | `graph:`, `ib:`, `ibsim:`, `cabling:`, `simgrid:` | [`NetworkGraph`] | breadth-first rows, kept in bounded memory; a tree's where it is one |
//! | `dist:` | [`DistanceMatrix`] | the given table |
//! | processes on a network that is no tree | [`Cluster`] | that of the network between nodes, a tree's inside |
//! | several rings or tori without connection | [`Islands`] | that of the part, or one constant |
//! | some slots of another one | [`Subset`] | that of the other one |
//! | one whose nodes have rails | [`WithRails`] | that of the other one |
//! | one with a given routing | [`Routed`] | that of the other one |

mod cluster;
pub mod costs;
mod cpuset;
mod device;
mod distance_matrix;
mod dragonfly;
mod forwarded;
mod gpu_system;
mod graph_routes;
mod grid;
mod host_index;
mod hwloc;
mod hwloc_devices;
mod islands;
mod launch;
mod machine;
mod network;
mod network_graph;
mod network_part;
mod node_distances;
mod pci;
mod rails;
mod routing;
mod routings;
mod single_path;
pub(crate) mod slot_rails;
mod spec;
mod subset;
mod switch_names;
mod sys_tree;
mod sysfs;
mod sysfs_devices;
mod tree;
mod tree_network;
mod tree_shape;
mod ultrametric;
mod uplinks;
mod with_rails;
mod xml;

#[cfg(test)]
mod tests;

pub use cluster::{Cluster, Processes, on_network};
pub use cpuset::CpuSet;
pub use device::{Device, DeviceKind, Nearness};
pub use distance_matrix::DistanceMatrix;
pub use dragonfly::Dragonfly;
pub use gpu_system::{GpuSystem, GpuSystemCpu};
pub use grid::Grid;
pub use host_index::HostIndex;
pub use islands::Islands;
pub use launch::from_launch;
pub use machine::{Machine, UNPLACED, common_levels, extend_path};
pub use network::{Charges, Network, count_links};
pub use network_graph::NetworkGraph;
pub use network_part::NetworkPart;
pub use rails::Attachment;
pub use routing::Routing;
pub use routings::{Routed, RoutingKind};
pub use single_path::SinglePath;
pub use slot_rails::{Rail, Rails};
pub use spec::{
    READERS, examples, expand_hostlist, in_folder, is_description, parse, parse_for, read_fabric,
    read_fabric_of,
};
pub use subset::Subset;
pub use tree::Tree;
pub use with_rails::WithRails;

/// The product of the counts of all levels or dimensions. `None` if there are no counts, if one is 0, or
/// if the product exceeds `u32::MAX`.
fn slots_of(counts: &[usize]) -> Option<usize> {
    let slots = counts.iter().try_fold(1usize, |slots, &count| slots.checked_mul(count))?;
    (!counts.is_empty() && slots > 0 && u32::try_from(slots).is_ok()).then_some(slots)
}

/// A machine as the mapping algorithms and metrics see it.
///
/// The template for a new topology is [`Grid`]: the slots, the distance between two of them without
/// a table of all pairs, and its network. Algorithms ask for the structure they need
/// ([`Topology::as_tree`], [`Topology::as_grid`], [`Topology::network`]) and never for a type.
pub trait Topology: Send + Sync {
    /// The description in the form that `--topology` takes, or else a description in words.
    fn name(&self) -> String;

    /// Number of slots; slots are numbered from 0.
    fn slots(&self) -> usize;

    /// Distance of two slots: symmetric, 0 exactly for a slot and itself.
    fn distance(&self, a: usize, b: usize) -> u64;

    /// No two slots are nearer than the first number, or farther apart than the second. The numbers need not be
    /// reached. Searches for the nearest or the farthest slots end early by them.
    fn distance_bounds(&self) -> (u64, u64) {
        (1, u64::MAX)
    }

    /// Puts the distances from one slot to others into `out`, as many as `out` has room for.
    fn distances(&self, from: usize, to: &[usize], out: &mut [u64]) {
        for (&slot, distance) in to.iter().zip(out) {
            *distance = self.distance(from, slot);
        }
    }

    /// The tree, where the topology is one.
    fn as_tree(&self) -> Option<&Tree> {
        None
    }

    /// The grid or torus, where the topology is one.
    fn as_grid(&self) -> Option<&Grid> {
        None
    }

    /// The grid or torus of which the slots are some points, and the point of every slot. The slots that a
    /// job got of such a machine are an example.
    fn as_part_of_grid(&self) -> Option<(&Grid, &[usize])> {
        None
    }

    /// The graph of slots and switches, where the topology is given by its links.
    fn as_graph(&self) -> Option<&NetworkGraph> {
        None
    }

    /// The dragonfly, where the topology is one that is given by its numbers.
    fn as_dragonfly(&self) -> Option<&Dragonfly> {
        None
    }

    /// Links and static routes, where they are known. Without them, congestion is not computed.
    fn network(&self) -> Option<&dyn Network> {
        None
    }

    /// The node that a slot belongs to, numbered from 0; traffic between slots of one node is not
    /// network traffic. Every slot is a node of its own unless the topology says otherwise.
    fn node_of(&self, slot: usize) -> usize {
        slot
    }

    /// The name of a slot in the system (the host name), if the topology was read from a file with
    /// names.
    fn slot_name(&self, _slot: usize) -> Option<&str> {
        None
    }

    /// What of its description the topology does not have, as a sentence; `None` if it has all of it.
    fn left_out(&self) -> Option<&str> {
        None
    }

    /// Whether the names of the slots are no names of hosts, because the description has none: those of adapters.
    fn nameless(&self) -> bool {
        false
    }

    /// The rails of the nodes and of the slots, where they are known.
    fn rails(&self) -> Option<&Rails> {
        None
    }
}
