//! Contraction: one vertex per cluster, parallel edges added up, inner edges dropped.

use crate::mapping::work::Csr;

/// Contracts `graph` by `cluster_of` (ids below `clusters`, every id in use).
pub(crate) fn contract(graph: &Csr, cluster_of: &[u32], clusters: usize) -> Csr {
    const NONE: u32 = u32::MAX;
    let mut start = vec![0u32; clusters + 1];
    for &c in cluster_of {
        start[c as usize + 1] += 1;
    }
    for c in 0..clusters {
        start[c + 1] += start[c];
    }
    let mut cursor = start.clone();
    let mut members = vec![0u32; graph.len()];
    for (v, &c) in cluster_of.iter().enumerate() {
        members[cursor[c as usize] as usize] = v as u32;
        cursor[c as usize] += 1;
    }
    let mut coarse = Csr {
        offsets: Vec::with_capacity(clusters + 1),
        targets: Vec::with_capacity(graph.targets.len() / 2),
        weights: Vec::with_capacity(graph.targets.len() / 2),
        sizes: Vec::with_capacity(clusters),
        bias: Vec::new(),
    };
    coarse.offsets.push(0);
    // Where the edge to a cluster was put, valid if at or behind the start of the current row.
    let mut seen = vec![NONE; clusters];
    for c in 0..clusters {
        let row = coarse.targets.len() as u32;
        let mut size = 0;
        for &v in &members[start[c] as usize..start[c + 1] as usize] {
            size += graph.sizes[v as usize];
            for k in graph.range(v as usize) {
                let d = cluster_of[graph.targets[k] as usize];
                if d as usize == c {
                    continue;
                }
                let at = seen[d as usize];
                if at != NONE && at >= row {
                    coarse.weights[at as usize] += graph.weights[k];
                } else {
                    seen[d as usize] = coarse.targets.len() as u32;
                    coarse.targets.push(d);
                    coarse.weights.push(graph.weights[k]);
                }
            }
        }
        coarse.sizes.push(size);
        coarse.offsets.push(coarse.targets.len() as u32);
    }
    if !graph.bias.is_empty() {
        coarse.bias.resize(clusters, 0);
        for (&c, &bias) in cluster_of.iter().zip(&graph.bias) {
            coarse.bias[c as usize] += bias;
        }
    }
    coarse
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mapping::coarsening::{ClusterLimits, cluster};
    use crate::mapping::work::{Rng, Scale};
    use crate::matrix::Graph;
    use proptest::prelude::*;

    proptest! {
        /// Sizes add up, limits hold, and the weight between clusters is what was between them.
        #[test]
        fn contraction_keeps_weights(raw in prop::collection::vec((0u32..20, 0u32..20, 1u64..9), 0..80),
                                     members in 2u32..5, size in 2u32..6) {
            let graph = Csr::from_graph(&Graph::from_edges(20, &raw), Scale::new(1 << 20, 1));
            let limits = ClusterLimits { size, members };
            let (of, clusters) = cluster(&graph, limits, &[], &mut Rng::new(1));
            let coarse = contract(&graph, &of, clusters);
            prop_assert_eq!(coarse.total_size(), 20);
            prop_assert!(coarse.sizes.iter().all(|&s| s <= size));
            let mut between = vec![0i64; clusters * clusters];
            for v in 0..20 {
                for (t, w) in graph.arcs(v) {
                    if of[v] != of[t] {
                        between[of[v] as usize * clusters + of[t] as usize] += w;
                    }
                }
            }
            for c in 0..clusters {
                for (t, w) in coarse.arcs(c) {
                    prop_assert_eq!(between[c * clusters + t], w);
                    between[c * clusters + t] = 0;
                }
            }
            prop_assert!(between.iter().all(|&w| w == 0));
        }
    }
}
