//! Contraction: one vertex per cluster, parallel edges added up, inner edges dropped.

use crate::mapping::work::{Csr, Pool, refill, roomy};

/// Contraction and its buffers, kept between runs.
#[derive(Debug, Default)]
pub(crate) struct Contractor {
    start: Vec<u32>,
    members: Vec<u32>,
    /// The row at hand: neighbours and weights; the first is the cluster itself.
    row: Vec<(u32, i64)>,
    /// Where a cluster was last put, counted over all rows; positions before the row at hand are no
    /// longer valid, so that nothing needs to be cleared from row to row.
    seen: Vec<u32>,
}

impl Contractor {
    /// Contracts `graph` by `cluster_of` (ids below `clusters`, every id in use).
    pub(crate) fn contract(
        &mut self,
        graph: &Csr,
        cluster_of: &[u32],
        clusters: usize,
        pool: &mut Pool,
    ) -> Csr {
        self.group(cluster_of, clusters);
        refill(&mut self.seen, clusters, 0);
        let seen = &mut self.seen[..];
        let row = &mut self.row;
        let room = graph.targets.len() / 2;
        let mut coarse = Csr {
            offsets: roomy(clusters + 1),
            targets: pool.ids(room),
            weights: pool.weights(room),
            sizes: roomy(clusters),
            bias: Vec::new(),
        };
        coarse.offsets.push(0);
        // Every row takes one position more than it has neighbours, for the cluster itself.
        let mut begin = 1u32;
        for c in 0..clusters {
            let members = &self.members[self.start[c] as usize..self.start[c + 1] as usize];
            let most = 1 + members.iter().map(|&v| graph.degree(v as usize)).sum::<usize>();
            if row.len() <= most {
                row.resize(2 * most, (0, 0));
            }
            let row = &mut row[..];
            if begin > u32::MAX / 2 {
                seen.fill(0);
                begin = 1;
            }
            seen[c] = begin;
            row[0] = (c as u32, 0);
            let mut length = 1u32;
            let mut size = 0;
            for &v in members {
                size += graph.sizes[v as usize];
                for (t, w) in graph.arcs(v as usize) {
                    let d = cluster_of[t];
                    let put = &mut seen[d as usize];
                    // Whether two edges meet is as good as random: no branch on it.
                    let at = put.wrapping_sub(begin).min(length);
                    *put = begin + at;
                    let cell = &mut row[at as usize];
                    let known = at < length;
                    *cell = (d, (cell.1 & -i64::from(known)) + w);
                    length += u32::from(!known);
                }
            }
            let row = &row[1..length as usize];
            coarse.targets.extend(row.iter().map(|&(d, _)| d));
            coarse.weights.extend(row.iter().map(|&(_, w)| w));
            coarse.sizes.push(size);
            coarse.offsets.push(coarse.targets.len() as u32);
            begin += length;
        }
        coarse.add_bias(graph, cluster_of);
        coarse
    }

    /// Sorts the vertices by cluster.
    fn group(&mut self, cluster_of: &[u32], clusters: usize) {
        let start = &mut self.start;
        refill(start, clusters + 1, 0);
        // Counted to ends; filling from behind leaves every start where it belongs.
        cluster_of.iter().for_each(|&c| start[c as usize] += 1);
        let mut sum = 0;
        for s in start.iter_mut() {
            sum += *s;
            *s = sum;
        }
        refill(&mut self.members, cluster_of.len(), 0);
        for (v, &c) in cluster_of.iter().enumerate().rev() {
            start[c as usize] -= 1;
            self.members[start[c as usize] as usize] = v as u32;
        }
    }
}

impl Csr {
    fn add_bias(&mut self, graph: &Csr, cluster_of: &[u32]) {
        if graph.bias.is_empty() {
            return;
        }
        self.bias.resize(self.len(), 0);
        for (&c, &bias) in cluster_of.iter().zip(&graph.bias) {
            self.bias[c as usize] += bias;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mapping::coarsening::{ClusterLimits, Clusterer};
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
            let mut clusterer = Clusterer::default();
            let mut contractor = Contractor::default();
            let mut pool = Pool::default();
            // Twice, with what the first run leaves in the buffers.
            for seed in 0..2 {
            let (of, clusters) = clusterer.cluster(&graph, limits, &[], &mut Rng::new(seed));
            let coarse = contractor.contract(&graph, &of, clusters, &mut pool);
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
}
