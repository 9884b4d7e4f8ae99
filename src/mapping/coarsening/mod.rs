//! Coarsening: contract tasks that talk much, so that the structure shows on few vertices.

mod cluster;
mod contract;

pub(crate) use cluster::{ClusterLimits, Clusterer};
pub(crate) use contract::{Contractor, NONE, SideOfCut};
