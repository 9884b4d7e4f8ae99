//! What a mapping costs, computed independently of every algorithm.

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
