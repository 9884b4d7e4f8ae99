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
    // Row by row, so that the machine can fetch the places of all partners at once.
    let (mut slots, mut distances) = (Vec::new(), Vec::new());
    for (i, &slot) in slot_of_task.iter().enumerate().take(graph.vertices()) {
        let row = graph.neighbours(i);
        let above = row.partition_point(|&j| j as usize <= i);
        slots.clear();
        slots.extend(row[above..].iter().map(|&j| slot_of_task[j as usize]));
        distances.resize(slots.len(), 0);
        topology.distances(slot, &slots, &mut distances);
        for (&w, &d) in graph.weights(i)[above..].iter().zip(&distances) {
            sum += u128::from(w) * u128::from(d);
        }
    }
    sum
}
