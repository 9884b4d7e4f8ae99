//! Flat data structures that the engine's parts share: graph, queue, distances, random numbers.

mod csr;
mod distance;
mod heap;
mod locality;
mod maxima;
mod pages;
mod pool;
mod rng;
mod thin;
mod tree_places;

pub(crate) use csr::{Csr, Scale};
pub(crate) use distance::{Distance, Lookup, TreeDistance, lookup, with_distance};
pub(crate) use heap::GainHeap;
pub(crate) use locality::visiting_order;
pub(crate) use maxima::Maxima;
pub(crate) use pages::{emptied, refill, roomy};
pub(crate) use pool::Pool;
pub(crate) use rng::Rng;
pub(crate) use thin::{heaviest, is_dense};
pub(crate) use tree_places::TreePlaces;
