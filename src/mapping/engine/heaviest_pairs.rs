//! The heaviest pairs of a dense matrix.
//!
//! Where nearly all tasks talk to each other, the light pairs do not improve a partition (TopoMatch paper,
//! 4.3.2 and 5.1: the mappings are as good with half of the entries), and a matrix of 10 000 tasks has 10^8
//! entries. Costs are always those of the whole matrix.

use super::{Csr, Scale};
use crate::matrix::Graph;

/// Pairs that are kept for each task, about.
const KEPT: usize = 48;

/// True if there are so many pairs that leaving out light ones pays.
pub(crate) fn is_dense(graph: &Graph) -> bool {
    graph.edges() / 4 > KEPT * graph.vertices().max(1)
}

/// The graph with about [`KEPT`] of the heaviest edges of every vertex. An edge stays if it is heavy
/// enough for one of its ends.
pub(crate) fn heaviest(graph: &Graph, scale: Scale) -> Csr {
    let n = graph.vertices();
    let least: Vec<u64> = (0..n).map(|v| threshold(graph.weights(v))).collect();
    let mut csr = Csr { offsets: vec![0], sizes: vec![1; n], ..Csr::default() };
    for v in 0..n {
        for (t, w) in graph.arcs(v) {
            let bound = least[v].min(least[t as usize]);
            // Of pairs with the same weight a part is kept, the same part at both ends.
            if w > bound || (w == bound && chosen(v as u32, t, graph.degree(v))) {
                csr.arcs.push(t, scale.weight(w));
            }
        }
        csr.end_row();
    }
    csr
}

/// About the weight of the [`KEPT`]th heaviest, from a sample of the row.
fn threshold(weights: &[u64]) -> u64 {
    const SAMPLE: usize = 1024;
    let step = weights.len().div_ceil(SAMPLE).max(1);
    let mut sample: Vec<u64> = weights.iter().copied().step_by(step).collect();
    let rank = KEPT * sample.len() / weights.len().max(1);
    if sample.len() <= rank {
        return 0;
    }
    let (_, &mut at, _) = sample.select_nth_unstable_by(rank, |a, b| b.cmp(a));
    at
}

/// A fixed random choice of [`KEPT`] of `degree` pairs.
fn chosen(a: u32, b: u32, degree: usize) -> bool {
    let mixed = (u64::from(a.min(b)) << 32 | u64::from(a.max(b)))
        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
        .rotate_left(29)
        .wrapping_mul(0xd6e8_feb8_6659_fd93);
    (mixed >> 32) as usize % degree.max(1) < KEPT
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_heavy_pairs_at_both_ends() {
        let edges: Vec<(u32, u32, u64)> = (0..600u32)
            .flat_map(|a| {
                (0..a).map(move |b| (a, b, 1 + u64::from((a * 7919 + b * 104_729) % 1000)))
            })
            .collect();
        let graph = Graph::from_edges(600, &edges);
        assert!(is_dense(&graph));
        let csr = heaviest(&graph, Scale::new(graph.total_weight(), 1));
        for v in 0..600 {
            assert!((20..200).contains(&csr.degree(v)), "{}", csr.degree(v));
            for (t, w) in csr.arcs(v) {
                assert!(w > 700);
                assert!(csr.arcs(t).any(|back| back == (v, w)));
            }
        }
        let alike: Vec<(u32, u32, u64)> =
            (0..600u32).flat_map(|a| (0..a).map(move |b| (a, b, 5))).collect();
        let csr = heaviest(&Graph::from_edges(600, &alike), Scale::new(1 << 30, 1));
        assert!((0..600).all(|v| (10..120).contains(&csr.degree(v))));
        assert!(!is_dense(&Graph::from_edges(3, &[(0, 1, 1)])));
    }
}
