//! Contraction: one vertex per cluster, parallel edges added up, inner edges dropped.

use crate::mapping::engine::{Csr, Pool, refill};
use std::ops::Range;

/// No cluster.
pub(crate) const NONE: u32 = u32::MAX;

/// One side of a bisected graph, by the clusters of the whole.
#[derive(Clone, Copy)]
pub(crate) struct SideOfCut<'a> {
    /// The contraction of the whole graph.
    pub(crate) whole: &'a Csr,
    /// By side: the number that every cluster of the whole has there; [`NONE`] if it has no vertex there.
    pub(crate) number: &'a [Vec<u32>; 2],
    /// Which side.
    pub(crate) side: usize,
    /// The part of the graph on this side.
    pub(crate) graph: &'a Csr,
    /// The cluster of every vertex of the part.
    pub(crate) cluster_of: &'a [u32],
    /// The number that every cluster of the part has in the whole.
    pub(crate) from: &'a [u32],
}

/// Smallest number of arcs for which a second thread is worth its start.
const THREAD_FROM: usize = 1 << 18;

/// Contraction and its buffers, kept between runs.
#[derive(Debug, Default)]
pub(crate) struct Contractor {
    groups: Groups,
    rows: Rows,
}

/// The vertices, sorted by cluster.
#[derive(Debug, Default)]
struct Groups {
    /// Where the vertices of each cluster begin.
    start: Vec<u32>,
    members: Vec<u32>,
}

/// Makes the rows of contracted graphs.
#[derive(Debug, Default)]
struct Rows {
    /// The row that is being made: neighbours and weights. The first entry is the cluster itself.
    row: Vec<(u32, i64)>,
    /// The position at which a cluster was last written, counted over all rows. Positions before the present
    /// row are not valid any more, so nothing has to be cleared between rows.
    seen: Vec<u32>,
    /// The position of the first entry of the next row. Every row takes one position more than it has neighbours, for
    /// the cluster itself.
    begin: u32,
}

impl Contractor {
    /// Contracts `graph` by `cluster_of` (ids below `clusters`, every id in use). Of several `threads` two are used; the
    /// answer does not depend on it.
    pub(crate) fn contract(
        &mut self,
        graph: &Csr,
        cluster_of: &[u32],
        clusters: usize,
        pool: &mut Pool,
        threads: usize,
    ) -> Csr {
        self.begin(cluster_of, clusters, |_| true);
        let parts = if threads > 1 && graph.arcs.len() >= THREAD_FROM { 2 } else { 1 };
        // Most contractions leave less than half of the arcs.
        let room = graph.arcs.len() / 2 / parts;
        let mut empty = |clusters| Csr::with_room(clusters, pool.arcs(room, graph.arcs.are_wide()));
        let mut coarse = empty(clusters);
        let (rows, groups) = (&mut self.rows, &self.groups);
        let make = |rows: &mut Rows, clusters: Range<usize>, coarse: &mut Csr| {
            clusters.for_each(|c| rows.make(graph, cluster_of, (c, groups.of(c)), coarse));
        };
        if parts == 2 {
            let middle = clusters / 2;
            let mut second = empty(clusters - middle);
            std::thread::scope(|scope| {
                scope.spawn(|| make(&mut Rows::new(clusters), middle..clusters, &mut second));
                make(rows, 0..middle, &mut coarse);
            });
            coarse.append(&second);
            second.recycle(pool);
        } else {
            make(rows, 0..clusters, &mut coarse);
        }
        coarse.add_bias(graph, cluster_of);
        coarse
    }

    /// The contraction of one side of a bisected graph, as [`Self::contract`] makes it but with rows in
    /// another order. Rows of clusters that are not near the cut are copied from the contraction of the
    /// whole. `None` if so many clusters are near the cut that contracting anew is as good.
    pub(crate) fn inherit(&mut self, side: &SideOfCut<'_>, pool: &mut Pool) -> Option<Csr> {
        let SideOfCut { whole, number, side: s, graph, cluster_of, from } = *side;
        let clusters = from.len();
        // A cluster with vertices on both sides, and those beside it.
        let mut anew = vec![false; clusters];
        // No cluster has more neighbours in the part than in the whole. One arc more may be written for a moment.
        let mut room = 1;
        for (c, &parent) in from.iter().enumerate() {
            room += whole.degree(parent as usize);
            if number[1 - s][parent as usize] != NONE {
                anew[c] = true;
                for (d, _) in whole.arcs(parent as usize) {
                    if let Some(near) = anew.get_mut(number[s][d] as usize) {
                        *near = true;
                    }
                }
            }
        }
        let count = anew.iter().filter(|&&near| near).count();
        if count * 3 > clusters {
            return None;
        }
        self.begin(cluster_of, clusters, |c| anew[c as usize]);
        let mut coarse = Csr::with_room(clusters, pool.arcs(room, whole.arcs.are_wide()));
        let (rows, groups) = (&mut self.rows, &self.groups);
        for (c, &parent) in from.iter().enumerate() {
            if anew[c] {
                rows.make(graph, cluster_of, (c, groups.of(c)), &mut coarse);
            } else {
                let range = whole.range(parent as usize);
                coarse.arcs.extend_renumbered(&whole.arcs, range, &number[s]);
                coarse.sizes.push(whole.sizes[parent as usize]);
                coarse.end_row();
            }
        }
        Some(coarse)
    }

    /// Groups the vertices of the clusters that are `wanted`, and prepares for their rows.
    fn begin(&mut self, cluster_of: &[u32], clusters: usize, wanted: impl Fn(u32) -> bool) {
        self.groups.sort(cluster_of, clusters, wanted);
        self.rows.forget(clusters);
    }
}

impl Groups {
    /// The vertices of a cluster.
    #[inline]
    fn of(&self, c: usize) -> &[u32] {
        &self.members[self.start[c] as usize..self.start[c + 1] as usize]
    }

    /// Sorts the vertices of the clusters that are `wanted` by cluster.
    #[inline]
    fn sort(&mut self, cluster_of: &[u32], clusters: usize, wanted: impl Fn(u32) -> bool) {
        let (start, members) = (&mut self.start, &mut self.members);
        refill(start, clusters + 1, 0);
        // Counted to ends; filling from behind leaves every start where it belongs.
        cluster_of.iter().filter(|&&c| wanted(c)).for_each(|&c| start[c as usize] += 1);
        let mut sum = 0;
        for s in start.iter_mut() {
            sum += *s;
            *s = sum;
        }
        refill(members, sum as usize, 0);
        for (v, &c) in cluster_of.iter().enumerate().rev().filter(|&(_, &c)| wanted(c)) {
            start[c as usize] -= 1;
            members[start[c as usize] as usize] = v as u32;
        }
    }
}

impl Rows {
    fn new(clusters: usize) -> Self {
        let mut rows = Rows::default();
        rows.forget(clusters);
        rows
    }

    /// Prepares for rows of another graph.
    fn forget(&mut self, clusters: usize) {
        refill(&mut self.seen, clusters, 0);
        self.begin = 1;
    }

    /// Appends the row of cluster `c` with these `members`.
    #[inline(always)]
    fn make(
        &mut self,
        graph: &Csr,
        cluster_of: &[u32],
        (c, members): (usize, &[u32]),
        coarse: &mut Csr,
    ) {
        let (seen, row, begin) = (&mut self.seen[..], &mut self.row, &mut self.begin);
        let most = 1 + members.iter().map(|&v| graph.degree(v as usize)).sum::<usize>();
        if row.len() <= most {
            row.resize(2 * most, (0, 0));
        }
        let row = &mut row[..];
        if *begin > u32::MAX / 2 {
            seen.fill(0);
            *begin = 1;
        }
        seen[c] = *begin;
        row[0] = (c as u32, 0);
        let mut length = 1u32;
        let mut size = 0;
        for &v in members {
            size += graph.sizes[v as usize];
            for (t, w) in graph.arcs(v as usize) {
                let d = cluster_of[t];
                let put = &mut seen[d as usize];
                // Whether two edges lead to the same cluster is nearly random, so a branch on it would be
                // slow.
                let at = put.wrapping_sub(*begin).min(length);
                *put = *begin + at;
                let cell = &mut row[at as usize];
                let known = at < length;
                *cell = (d, (cell.1 & -i64::from(known)) + w);
                length += u32::from(!known);
            }
        }
        coarse.arcs.extend(&row[1..length as usize]);
        coarse.sizes.push(size);
        coarse.end_row();
        *begin += length;
    }
}

impl Csr {
    /// Appends the vertices of another graph. The targets of its arcs stay as they are.
    fn append(&mut self, other: &Csr) {
        let before = self.arcs.len() as u32;
        self.arcs.append(&other.arcs);
        self.offsets.extend(other.offsets.iter().skip(1).map(|end| before + end));
        self.sizes.extend_from_slice(&other.sizes);
    }

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
    use crate::mapping::engine::{Scale, seeded};
    use crate::matrix::Graph;
    use proptest::prelude::*;
    use std::borrow::Cow;

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
            let (of, clusters) = clusterer.cluster(&graph, limits, &[], &mut seeded(seed));
            let coarse = contractor.contract(&graph, &of, clusters, &mut pool, 1);
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

    #[test]
    fn two_threads_contract_to_the_same_graph() {
        let graph = crate::matrix::synthetic::pattern("rgg:60000,shuffle=1").unwrap();
        let (graph, _) = Csr::breadth_first(&graph, |w| w as i64, 1);
        assert!(graph.arcs.len() >= THREAD_FROM);
        let (mut contractor, mut pool) = (Contractor::default(), Pool::default());
        let limits = ClusterLimits { size: 6, members: 6 };
        let (of, clusters) = Clusterer::default().cluster(&graph, limits, &[], &mut seeded(1));
        let [alone, shared] =
            [1, 2].map(|threads| contractor.contract(&graph, &of, clusters, &mut pool, threads));
        assert_eq!(
            (&alone.offsets, &alone.arcs, &alone.sizes),
            (&shared.offsets, &shared.arcs, &shared.sizes)
        );
    }

    /// Taken over from the whole or made anew: the same graph.
    #[test]
    fn an_inherited_contraction_equals_a_new_one() {
        let graph = crate::matrix::synthetic::pattern("rgg:6000,shuffle=1").unwrap();
        let (graph, _) = Csr::breadth_first(&graph, |w| w as i64, 1);
        let (mut contractor, mut pool) = (Contractor::default(), Pool::default());
        let limits = ClusterLimits { size: 4, members: 4 };
        let (of, clusters) = Clusterer::default().cluster(&graph, limits, &[], &mut seeded(1));
        let whole = contractor.contract(&graph, &of, clusters, &mut pool, 1);
        let side: Vec<u8> = (0..6000).map(|v| (v % 2) as u8).collect();
        for (side, far) in [(side, false), ((0..6000).map(|v| u8::from(v < 2999)).collect(), true)]
        {
            let parts = Csr::split(Cow::Borrowed(&graph), &side, &mut Vec::new(), &mut pool, 1);
            for (s, part) in parts.iter().enumerate() {
                let mut number = [(); 2].map(|()| vec![NONE; clusters]);
                let (mut part_of, mut from) = (Vec::new(), [Vec::new(), Vec::new()]);
                for (&c, &at) in of.iter().zip(&side) {
                    let at = usize::from(at);
                    let id = &mut number[at][c as usize];
                    if *id == NONE {
                        *id = from[at].len() as u32;
                        from[at].push(c);
                    }
                    if at == s {
                        part_of.push(*id);
                    }
                }
                let count = from[s].len();
                let expected = contractor.contract(part, &part_of, count, &mut pool, 1);
                let side = SideOfCut {
                    whole: &whole,
                    number: &number,
                    side: s,
                    graph: part,
                    cluster_of: &part_of,
                    from: &from[s],
                };
                let found = contractor.inherit(&side, &mut pool);
                assert_eq!(found.is_some(), far);
                if let Some(found) = found {
                    assert_eq!(found.sizes, expected.sizes);
                    for c in 0..count {
                        let row = |g: &Csr| {
                            let mut row: Vec<(usize, i64)> = g.arcs(c).collect();
                            row.sort_unstable();
                            row
                        };
                        assert_eq!(row(&found), row(&expected));
                    }
                }
            }
        }
    }
}
