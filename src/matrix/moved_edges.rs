//! Graphs with some edges moved: regular patterns with a few irregular edges, and traffic that changed.

use super::Graph;
use crate::base::random::SplitMix64;

/// Where the other end of an edge moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MovedTo {
    /// To any task.
    Anywhere,
    /// To a neighbour of the old end, as in a mesh that is refined.
    Neighbour,
}

/// The graph with a share of its edges moved: one end of each stays, and the weight too. `share` is between 0 and 1. The
/// same seed moves the same edges. An edge that moves onto another one adds its weight to it.
pub fn with_moved_edges(graph: &Graph, share: f64, to: MovedTo, seed: u64) -> Graph {
    let mut random = SplitMix64::new(16 + seed);
    let n = graph.vertices();
    let mut edges: Vec<(u32, u32, u64)> = Vec::with_capacity(graph.edges());
    for v in 0..n {
        for (u, weight) in graph.arcs(v).filter(|&(u, _)| u as usize > v) {
            if random.unit() >= share {
                edges.push((v as u32, u, weight));
                continue;
            }
            let end = match to {
                MovedTo::Anywhere => ((v + 1 + random.below(n - 1)) % n) as u32,
                MovedTo::Neighbour => {
                    // At its own other end the edge would be lost.
                    let around = graph.neighbours(u as usize).iter().copied();
                    let around: Vec<u32> = around.filter(|&w| w as usize != v).collect();
                    around.get(random.below(around.len().max(1))).copied().unwrap_or(u)
                }
            };
            edges.push((v as u32, end, weight));
        }
    }
    Graph::from_edges(n, &edges)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::synthetic::pattern;

    #[test]
    fn a_share_of_the_edges_moves_and_no_weight_is_lost() {
        let graph = pattern("stencil:40x40").unwrap();
        for to in [MovedTo::Anywhere, MovedTo::Neighbour] {
            assert_eq!(with_moved_edges(&graph, 0.0, to, 1), graph);
            let moved = with_moved_edges(&graph, 0.1, to, 1);
            assert_eq!(moved.total_weight(), graph.total_weight());
            let all = (0..1600).flat_map(|v| moved.neighbours(v).iter().map(move |&t| (v, t)));
            let new = all.filter(|&(v, t)| !graph.neighbours(v).contains(&t)).count() / 2;
            let share = new as f64 / graph.edges() as f64;
            assert!((0.07..0.13).contains(&share), "{to:?}: {share}");
            assert_eq!(with_moved_edges(&graph, 0.1, to, 1), moved);
            assert_ne!(with_moved_edges(&graph, 0.1, to, 2), moved);
        }
    }

    #[test]
    fn small_graphs_keep_their_vertices() {
        for to in [MovedTo::Anywhere, MovedTo::Neighbour] {
            assert_eq!(with_moved_edges(&Graph::from_edges(1, &[]), 1.0, to, 1).vertices(), 1);
            let pair = Graph::from_edges(2, &[(0, 1, 5)]);
            assert_eq!(with_moved_edges(&pair, 1.0, to, 1), pair);
        }
    }
}
