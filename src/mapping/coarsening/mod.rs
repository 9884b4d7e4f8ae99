//! Coarsening: contracts tasks that exchange much traffic, so that a graph with few vertices shows the
//! structure.

mod cluster;
mod contract;

pub(crate) use cluster::{ClusterLimits, Clusterer};
pub(crate) use contract::{Contractor, NONE, SideOfCut};
