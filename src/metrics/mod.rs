//! What a mapping costs, computed independently of every algorithm.
//!
//! Algorithms keep running costs and deltas of their own; nothing of that is used here. Every sum is
//! taken afresh from the matrix, the distances and the routes, in integers as far as there are no
//! bandwidths.

mod congestion;
mod evaluation;
mod validate;

pub use evaluation::{Evaluation, evaluate};
pub use validate::check_mapping;

use crate::matrix::Graph;
use crate::topology::Topology;

/// Hop-bytes Σ w(i,j)·d(σ(i),σ(j)) over the undirected edges (UMPA paper: weighted hops, WH).
pub fn hop_bytes(graph: &Graph, topology: &dyn Topology, slot_of_task: &[usize]) -> u128 {
    let mut sum = 0u128;
    for i in 0..graph.vertices() {
        for (j, w) in graph.arcs(i) {
            if (j as usize) > i {
                let d = topology.distance(slot_of_task[i], slot_of_task[j as usize]);
                sum += u128::from(w) * u128::from(d);
            }
        }
    }
    sum
}
