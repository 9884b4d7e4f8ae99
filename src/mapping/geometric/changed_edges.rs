//! For tests: a graph of which each edge is missing once, and moved once. No shape may fit any of these.

use crate::matrix::Graph;

/// All graphs with one edge less, and with one edge that ends elsewhere.
pub(super) fn with_one_edge_changed(graph: &Graph) -> Vec<Graph> {
    let n = graph.vertices();
    let edges: Vec<(u32, u32, u64)> = graph.each_edge().collect();
    let changed = |k: usize| {
        let mut other = edges.clone();
        let (a, b, _) = other.remove(k);
        let less = Graph::from_edges(n, &other);
        other.push((a, (b + 37) % n as u32, 1));
        [less, Graph::from_edges(n, &other)]
    };
    (0..edges.len()).flat_map(changed).collect()
}
