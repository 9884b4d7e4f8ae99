//! What the parts of the mapping engine share: the problem in the engine's own terms, graphs,
//! queues, distances, placements.

mod arcs;
mod axes;
mod bisection;
mod chosen_places;
mod distance;
mod gain_queue;
mod graph;
mod heaviest_pairs;
mod maximum_tree;
mod memory_pool;
mod placement;
mod prepared;
mod random;
mod renumbering;
mod symmetry;
mod tree_places;

pub(crate) use crate::base::memory::{ask_for, emptied, refill, roomy};
pub(crate) use axes::{Axes, Columns};
pub(crate) use bisection::Bisection;
pub(crate) use chosen_places::closest_in_tree;
pub(crate) use distance::{Distance, Lookup, TreeDistance, lookup, with_distance};
pub(crate) use gain_queue::GainHeap;
pub(crate) use graph::{Csr, Scale};
pub(crate) use heaviest_pairs::{heaviest, is_dense};
pub(crate) use maximum_tree::Maxima;
pub(crate) use memory_pool::Pool;
pub(crate) use placement::{EMPTY, Placement, cost};
pub(crate) use prepared::{Prepared, honour_fixed};
pub(crate) use random::{Rng, seeded, shuffled};
pub(crate) use renumbering::visiting_order;
pub(crate) use symmetry::{align_grid, places_on_tree};
pub(crate) use tree_places::TreePlaces;
