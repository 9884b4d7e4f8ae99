//! Heavy-edge clustering.
//!
//! Visits the vertices in random order; each joins the neighbour, or the neighbour's cluster, with
//! the highest rating w²/(size·size): the rating "expansion*2" of Holtgrewe, Sanders, Schulz (2010),
//! which prefers heavy edges between light vertices.

use crate::mapping::work::{Csr, Rng, visiting_order};

/// Bounds of one round of clustering.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ClusterLimits {
    /// Tasks in a cluster at most.
    pub(crate) size: u32,
    /// Vertices in a cluster at most; 2 makes a matching.
    pub(crate) members: u32,
}

/// Clusters `graph`; returns the cluster of every vertex and the number of clusters.
///
/// Vertices of different `label` are never joined (`labels` empty: all alike).
pub(crate) fn cluster(
    graph: &Csr,
    limits: ClusterLimits,
    labels: &[u8],
    rng: &mut Rng,
) -> (Vec<u32>, usize) {
    const NONE: u32 = u32::MAX;
    let n = graph.len();
    let mut order = Vec::new();
    visiting_order(n, rng, &mut order);
    // Cluster of a vertex = its leader's id; size and members are kept at the leader.
    let mut leader = vec![NONE; n];
    let mut size = graph.sizes.clone();
    let mut members = vec![1u32; n];
    for &v in &order {
        let v = v as usize;
        if leader[v] != NONE {
            continue;
        }
        let own = graph.sizes[v];
        let mut best: Option<(f64, usize)> = None;
        for (t, w) in graph.arcs(v) {
            if !labels.is_empty() && labels[t] != labels[v] {
                continue;
            }
            let l = if leader[t] == NONE { t } else { leader[t] as usize };
            if l == v || size[l].saturating_add(own) > limits.size || members[l] >= limits.members {
                continue;
            }
            let w = w as f64;
            let rating = w * w / (f64::from(graph.sizes[t]) * f64::from(size[l]));
            if best.is_none_or(|(r, _)| rating > r) {
                best = Some((rating, l));
            }
        }
        match best {
            Some((_, l)) => {
                leader[l] = l as u32;
                leader[v] = l as u32;
                size[l] += own;
                members[l] += 1;
            }
            None => leader[v] = v as u32,
        }
    }
    join_isolated(graph, limits, labels, &mut leader);
    let mut id = vec![NONE; n];
    let mut clusters = 0u32;
    let mut of = vec![0u32; n];
    for v in 0..n {
        let l = leader[v] as usize;
        if id[l] == NONE {
            id[l] = clusters;
            clusters += 1;
        }
        of[v] = id[l];
    }
    (of, clusters as usize)
}

/// Vertices without any edge never find a partner; they are packed with each other, otherwise a
/// graph of silent tasks would not shrink.
fn join_isolated(graph: &Csr, limits: ClusterLimits, labels: &[u8], leader: &mut [u32]) {
    let mut open: [Option<(u32, u32)>; 2] = [None, None];
    for v in 0..graph.len() {
        if graph.degree(v) > 0 {
            continue;
        }
        let slot = &mut open[usize::from(labels.get(v).copied().unwrap_or(0) & 1)];
        *slot = match *slot {
            Some((l, size)) if size + graph.sizes[v] <= limits.size => {
                leader[v] = l;
                Some((l, size + graph.sizes[v]))
            }
            _ => Some((v as u32, graph.sizes[v])),
        };
    }
}
