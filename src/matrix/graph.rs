//! The undirected affinity graph that mapping algorithms work on.
//!
//! The weight of an edge {i, j} is bytes(i→j) + bytes(j→i). Distances are symmetric, so hop-bytes follow
//! from this graph, with half as many look-ups as from the directed matrix.

use super::SparseMatrix;
use crate::base::compressed_rows;
use crate::base::memory::roomy;
use serde::{Deserialize, Serialize};

/// Undirected weighted graph in compressed rows: every edge is stored at both ends, no self loops.
///
/// Invariants: neighbours of a vertex ascend strictly; weights are positive and equal at both ends.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Graph {
    offsets: Vec<usize>,
    neighbours: Vec<u32>,
    weights: Vec<u64>,
}

impl Graph {
    /// The affinity graph of a matrix: the bytes of both directions are added up, and traffic of a task
    /// with itself is left out.
    ///
    /// A pair that exchanges only empty messages has no edge: it moves no bytes. If the matrix counts halves of
    /// bytes, half a byte that remains of a pair is rounded up.
    pub fn from_traffic(matrix: &SparseMatrix) -> Self {
        let mut graph = Graph {
            offsets: roomy(matrix.tasks() + 1),
            neighbours: roomy(matrix.pairs()),
            weights: roomy(matrix.pairs()),
        };
        graph.offsets.push(0);
        match matrix.is_symmetric() {
            true => graph.take_rows(matrix, |_| std::iter::empty(), 2),
            false => {
                let back = Reversed::new(matrix);
                graph.take_rows(matrix, |i| back.row(i), 1);
            }
        }
        if matrix.counts_halves() {
            graph.weights.iter_mut().for_each(|weight| *weight = weight.div_ceil(2));
        }
        graph
    }

    /// Appends a row for each task: what it sends, each number of bytes `factor` times, and what it receives, both
    /// in ascending order.
    fn take_rows<R: Iterator<Item = (u32, u64)>>(
        &mut self,
        matrix: &SparseMatrix,
        received: impl Fn(usize) -> R,
        factor: u64,
    ) {
        for i in 0..matrix.tasks() {
            let mut received = received(i).peekable();
            let mut put = |j: u32, bytes: u64| {
                if bytes > 0 && j as usize != i {
                    self.neighbours.push(j);
                    self.weights.push(bytes);
                }
            };
            for (j, traffic) in matrix.row(i) {
                while let Some((other, bytes)) = received.next_if(|&(other, _)| other < j) {
                    put(other, bytes);
                }
                let back = received.next_if(|&(other, _)| other == j).map_or(0, |(_, bytes)| bytes);
                put(j, traffic.bytes.saturating_mul(factor).saturating_add(back));
            }
            received.for_each(|(other, bytes)| put(other, bytes));
            self.offsets.push(self.neighbours.len());
        }
    }

    /// Builds from undirected edges in any order. The weights of an edge that is given several times, in
    /// either direction, are added up. Self loops, zero weights and vertices out of range are left out;
    /// weights saturate at `u64::MAX`.
    pub fn from_edges(vertices: usize, edges: &[(u32, u32, u64)]) -> Self {
        let keep = |&&(i, j, w): &&(u32, u32, u64)| {
            i != j && w > 0 && (i as usize) < vertices && (j as usize) < vertices
        };
        let ends = edges.iter().filter(keep).flat_map(|&(i, j, _)| [i as usize, j as usize]);
        let offsets = compressed_rows::offsets(vertices, ends);
        let mut cursor = offsets.clone();
        let mut arcs: Vec<(u32, u64)> = roomy(offsets[vertices]);
        arcs.resize(offsets[vertices], (0, 0));
        for &(i, j, w) in edges.iter().filter(keep) {
            arcs[cursor[i as usize]] = (j, w);
            cursor[i as usize] += 1;
            arcs[cursor[j as usize]] = (i, w);
            cursor[j as usize] += 1;
        }
        let mut graph = Graph {
            offsets: roomy(vertices + 1),
            neighbours: roomy(arcs.len()),
            weights: roomy(arcs.len()),
        };
        graph.offsets.push(0);
        for v in 0..vertices {
            let row = &mut arcs[offsets[v]..offsets[v + 1]];
            row.sort_unstable_by_key(|&(j, _)| j);
            for parts in row.chunk_by(|a, b| a.0 == b.0) {
                graph.neighbours.push(parts[0].0);
                graph.weights.push(parts.iter().fold(0, |sum, part| part.1.saturating_add(sum)));
            }
            graph.offsets.push(graph.neighbours.len());
        }
        graph
    }

    /// The graph of some of the vertices. Vertex `k` of the result is vertex `vertices[k]` of this graph.
    /// `index` has one number for each vertex of this graph. All of them are `u32::MAX` before and after the
    /// call. So the time for a small part does not depend on the size of this graph.
    pub fn induced(&self, vertices: &[u32], index: &mut [u32]) -> Graph {
        for (k, &v) in (0u32..).zip(vertices) {
            index[v as usize] = k;
        }
        let mut part = Graph { offsets: vec![0], ..Graph::default() };
        let mut row: Vec<(u32, u64)> = Vec::new();
        for &v in vertices {
            row.clear();
            row.extend(self.arcs(v as usize).filter_map(|(u, weight)| {
                let k = index[u as usize];
                (k != u32::MAX).then_some((k, weight))
            }));
            row.sort_unstable_by_key(|&(k, _)| k);
            part.neighbours.extend(row.iter().map(|arc| arc.0));
            part.weights.extend(row.iter().map(|arc| arc.1));
            part.offsets.push(part.neighbours.len());
        }
        for &v in vertices {
            index[v as usize] = u32::MAX;
        }
        part
    }

    /// Checks the invariants, without the equality of weights at both ends; used after a graph was
    /// received from another process.
    pub fn is_valid(&self) -> bool {
        compressed_rows::are_valid(&self.offsets, &self.neighbours)
            && self.neighbours.len() == self.weights.len()
            && self.weights.iter().all(|&w| w > 0)
    }

    /// Number of vertices (tasks).
    pub fn vertices(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// Number of undirected edges.
    pub fn edges(&self) -> usize {
        self.neighbours.len() / 2
    }

    /// The index at which the row of each vertex begins, for neighbours and weights alike.
    pub(crate) fn offsets(&self) -> &[usize] {
        &self.offsets
    }

    /// Number of neighbours of `v`.
    pub fn degree(&self, v: usize) -> usize {
        self.offsets[v + 1] - self.offsets[v]
    }

    /// Neighbours of `v`, ascending.
    pub fn neighbours(&self, v: usize) -> &[u32] {
        &self.neighbours[self.offsets[v]..self.offsets[v + 1]]
    }

    /// Weights of the edges of `v`, in the order of [`Graph::neighbours`].
    pub fn weights(&self, v: usize) -> &[u64] {
        &self.weights[self.offsets[v]..self.offsets[v + 1]]
    }

    /// `(neighbour, weight)` of `v`.
    pub fn arcs(&self, v: usize) -> impl Iterator<Item = (u32, u64)> + '_ {
        self.neighbours(v).iter().copied().zip(self.weights(v).iter().copied())
    }

    /// Every edge once, as `(v, w, weight)` with v < w, in ascending order.
    pub fn each_edge(&self) -> impl Iterator<Item = (u32, u32, u64)> + '_ {
        let row = |v: u32| self.arcs(v as usize).map(move |(t, weight)| (v, t, weight));
        (0..self.vertices() as u32).flat_map(row).filter(|&(v, t, _)| v < t)
    }

    /// Weight of the edge {i, j}, 0 if there is none.
    pub fn weight_between(&self, i: usize, j: usize) -> u64 {
        match self.neighbours(i).binary_search(&(j as u32)) {
            Ok(k) => self.weights(i)[k],
            Err(_) => 0,
        }
    }

    /// Sum of all edge weights, each edge once.
    pub fn total_weight(&self) -> u128 {
        self.weights.iter().map(|&w| u128::from(w)).sum::<u128>() / 2
    }
}

/// The bytes of a matrix by receiver.
struct Reversed {
    offsets: Vec<usize>,
    /// Senders, ascending for each receiver.
    senders: Vec<u32>,
    bytes: Vec<u64>,
}

impl Reversed {
    fn new(matrix: &SparseMatrix) -> Reversed {
        let receivers = matrix.entries().map(|(_, j, _)| j as usize);
        let offsets = compressed_rows::offsets(matrix.tasks(), receivers);
        let mut next = offsets.clone();
        let mut senders = vec![0; matrix.pairs()];
        let mut bytes = vec![0; matrix.pairs()];
        for (i, j, traffic) in matrix.entries() {
            let at = &mut next[j as usize];
            (senders[*at], bytes[*at]) = (i, traffic.bytes);
            *at += 1;
        }
        Reversed { offsets, senders, bytes }
    }

    fn row(&self, i: usize) -> impl Iterator<Item = (u32, u64)> + '_ {
        let range = self.offsets[i]..self.offsets[i + 1];
        self.senders[range.clone()].iter().copied().zip(self.bytes[range].iter().copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn merges_parts_and_directions() {
        let g = Graph::from_edges(3, &[(0, 1, 2), (1, 0, 3), (1, 1, 9), (2, 1, 0), (0, 1, 1)]);
        assert_eq!(g.edges(), 1);
        assert_eq!(g.weight_between(1, 0), 6);
        assert_eq!(g.total_weight(), 6);
        assert_eq!(g.degree(2), 0);
        assert!(g.each_edge().eq([(0, 1, 6)]));
    }

    #[test]
    fn parts_keep_the_edges_between_their_vertices() {
        let g = Graph::from_edges(5, &[(0, 1, 2), (1, 2, 3), (2, 4, 5), (0, 4, 7)]);
        let mut index = vec![u32::MAX; 5];
        let part = g.induced(&[4, 1, 0], &mut index);
        assert_eq!(part, Graph::from_edges(3, &[(1, 2, 2), (0, 2, 7)]));
        assert!(part.is_valid() && index.iter().all(|&k| k == u32::MAX));
        assert_eq!(g.induced(&[], &mut index).vertices(), 0);
    }

    proptest! {
        #[test]
        fn traffic_becomes_the_graph_of_its_entries(
            raw in prop::collection::vec((0u32..7, 0u32..7, 0u64..5, 0u64..2), 0..40), mirrored in any::<bool>()) {
            let entries: Vec<_> = raw
                .iter()
                .flat_map(|&(i, j, bytes, messages)| {
                    let traffic = crate::matrix::Traffic { bytes, messages };
                    [(i, j, traffic), (j, i, traffic)].into_iter().take(1 + usize::from(mirrored))
                })
                .collect();
            let matrix = SparseMatrix::from_entries(7, &entries);
            let edges: Vec<_> = matrix.entries().map(|(i, j, t)| (i, j, t.bytes)).collect();
            prop_assert_eq!(Graph::from_traffic(&matrix), Graph::from_edges(7, &edges));
        }

        #[test]
        fn is_symmetric(raw in prop::collection::vec((0u32..8, 0u32..8, 0u64..9), 0..50)) {
            let g = Graph::from_edges(8, &raw);
            for i in 0..8 {
                prop_assert!(g.neighbours(i).windows(2).all(|w| w[0] < w[1]));
                for (j, w) in g.arcs(i) {
                    prop_assert!(w > 0 && j as usize != i);
                    prop_assert_eq!(g.weight_between(j as usize, i), w);
                }
            }
            let sum: u64 = raw.iter().filter(|e| e.0 != e.1).map(|e| e.2).sum();
            prop_assert_eq!(g.total_weight(), u128::from(sum));
        }
    }
}
