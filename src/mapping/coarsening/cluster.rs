//! Heavy-edge clustering.
//!
//! Visits the vertices in random order; each joins the neighbour, or the neighbour's cluster, with
//! the highest rating w²/(size·size): the rating "expansion*2" of Holtgrewe, Sanders, Schulz (2010),
//! which prefers heavy edges between light vertices.

use crate::mapping::engine::{Csr, Rng, emptied, refill, roomy, visiting_order};

/// Bounds of one round of clustering.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ClusterLimits {
    /// Tasks in a cluster at most.
    pub(crate) size: u32,
    /// Vertices in a cluster at most; 2 makes a matching.
    pub(crate) members: u32,
}

/// Clustering and its buffers, kept between runs.
#[derive(Debug, Default)]
pub(crate) struct Clusterer {
    order: Vec<u32>,
    /// The cluster of a vertex by its leader; a vertex on its own leads itself.
    leader: Vec<u32>,
    /// Size and members of the cluster that a vertex leads.
    load: Vec<(u32, u32)>,
    /// The vertex has had its turn, or has been joined.
    settled: Vec<bool>,
}

const NONE: u32 = u32::MAX;

impl Clusterer {
    /// Clusters `graph`; returns the cluster of every vertex and the number of clusters.
    ///
    /// Vertices of different `label` are never joined (if `labels` is empty, all labels are equal).
    pub(crate) fn cluster(
        &mut self,
        graph: &Csr,
        limits: ClusterLimits,
        labels: &[u8],
        rng: &mut Rng,
    ) -> (Vec<u32>, usize) {
        let n = graph.len();
        visiting_order(n, rng, &mut self.order);
        emptied(&mut self.leader, n).extend(0..n as u32);
        emptied(&mut self.load, n).extend(graph.sizes.iter().map(|&size| (size, 1)));
        refill(&mut self.settled, n, false);
        match labels.is_empty() {
            true => self.join(graph, limits, |_, _| true),
            false => self.join(graph, limits, |v, t| labels[v] == labels[t]),
        }
        join_isolated(graph, limits, labels, &mut self.leader);
        // The order is no longer needed. In its memory, each leader notes the number of its cluster.
        let ids = &mut self.order;
        refill(ids, n, NONE);
        let mut clusters = 0u32;
        let mut of = roomy(n);
        for &l in &self.leader {
            let id = &mut ids[l as usize];
            if *id == NONE {
                *id = clusters;
                clusters += 1;
            }
            of.push(*id);
        }
        (of, clusters as usize)
    }

    /// Every vertex that is on its own joins the best cluster beside it.
    #[inline(always)]
    fn join(&mut self, graph: &Csr, limits: ClusterLimits, alike: impl Fn(usize, usize) -> bool) {
        /// Rows that are asked for ahead of their turn.
        const AHEAD: usize = 12;
        let (leader, load) = (&mut self.leader[..], &mut self.load[..]);
        for (k, &v) in self.order.iter().enumerate() {
            let v = v as usize;
            if let Some(&soon) = self.order.get(k + AHEAD) {
                graph.arcs.ask_for(graph.offsets[soon as usize]);
            }
            if std::mem::replace(&mut self.settled[v], true) {
                continue;
            }
            let own = graph.sizes[v];
            // The best rating as a fraction: no division, and no branch that depends on weights.
            let (mut best, mut above, mut below) = (v, 0.0, 1.0);
            for (t, w) in graph.arcs(v) {
                let l = leader[t] as usize;
                let (size, members) = load[l];
                let fits = (l != v)
                    & (size.saturating_add(own) <= limits.size)
                    & (members < limits.members)
                    & alike(v, t);
                let w = w as f64;
                let (num, den) = (w * w, f64::from(graph.sizes[t]) * f64::from(size));
                let better = fits & (num * below > above * den);
                (best, above, below) = if better { (l, num, den) } else { (best, above, below) };
            }
            if best != v {
                leader[v] = best as u32;
                load[best].0 += own;
                load[best].1 += 1;
                self.settled[best] = true;
            }
        }
    }
}

/// Packs vertices without edges into clusters with each other, because they never find a partner. Otherwise a
/// graph of tasks without traffic would not shrink.
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
