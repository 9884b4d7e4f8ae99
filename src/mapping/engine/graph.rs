//! The engine's own graph: compressed rows, 32-bit ids, weights scaled so that no sum overflows.

use super::arcs::{Arcs, FreeArcs};
use super::{Pool, ask_for, roomy};
use crate::matrix::Graph;
use std::borrow::Cow;

/// By how many bits weights and distances of the input are shifted for the search.
///
/// The search works on signed 64-bit numbers; inputs may be any u64. Both are shifted right far
/// enough that no sum of the search can overflow. Final costs are computed on the exact input.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scale {
    pub(crate) weight_shift: u32,
    pub(crate) distance_shift: u32,
}

impl Scale {
    /// Bits that the product of the total weight and the largest distance may use.
    const BITS: u32 = 58;
    const DISTANCE_BITS: u32 = 30;

    /// True if the search has the same numbers as the problem.
    pub(crate) fn is_exact(self) -> bool {
        self.weight_shift == 0 && self.distance_shift == 0
    }

    pub(crate) fn new(total_weight: u128, max_distance: u64) -> Self {
        let distance_shift =
            (64 - max_distance.leading_zeros()).saturating_sub(Self::DISTANCE_BITS);
        let distance_bits = (64 - max_distance.leading_zeros()).min(Self::DISTANCE_BITS);
        let weight_bits = 128 - total_weight.leading_zeros();
        let weight_shift = (weight_bits + distance_bits).saturating_sub(Self::BITS);
        Scale { weight_shift, distance_shift }
    }

    /// The same for large graphs: all sums of weights fit into 32 bits, too, which halves the memory of the weights.
    pub(crate) fn narrow(total_weight: u128, max_distance: u64) -> Self {
        let scale = Self::new(total_weight, max_distance);
        let bits = 128 - total_weight.leading_zeros();
        Scale { weight_shift: scale.weight_shift.max(bits.saturating_sub(32)), ..scale }
    }

    #[inline]
    pub(crate) fn weight(self, w: u64) -> i64 {
        ((w >> self.weight_shift.min(63)) as i64).max(1)
    }

    /// A price in units of weight times distance; at least 1 unless it is 0.
    pub(crate) fn price(self, cost: u64) -> i64 {
        let shifted = cost.checked_shr(self.weight_shift + self.distance_shift).unwrap_or(0);
        shifted.clamp(u64::from(cost > 0), 1 << 58) as i64
    }

    #[inline]
    pub(crate) fn distance(self, d: u64) -> i64 {
        (d >> self.distance_shift) as i64
    }
}

/// The bit of a vertex's new number that tells its side.
const SIDE: u32 = 1 << 31;

/// Smallest graph that is worth a second thread.
const THREAD_FROM: usize = if cfg!(test) { 100 } else { 65_536 };

/// Undirected graph, every edge at both ends, with vertex weights (tasks in the vertex).
#[derive(Debug, Clone, Default)]
pub(crate) struct Csr {
    pub(crate) offsets: Vec<u32>,
    pub(crate) arcs: Arcs,
    pub(crate) sizes: Vec<u32>,
    /// In a bisection: what a vertex costs more on side 1 than on side 0; empty for nothing.
    pub(crate) bias: Vec<i64>,
}

impl Csr {
    /// Hands the memory of the arcs to the next graphs.
    pub(crate) fn recycle(self, pool: &mut Pool) {
        pool.keep(self.arcs);
    }

    /// Vertices of size 1 and room for the arcs of `graph`; no row is finished.
    pub(super) fn with_room_for(graph: &Graph) -> Csr {
        let mut csr = Csr {
            offsets: roomy(graph.vertices() + 1),
            arcs: Arcs { list: roomy(2 * graph.edges()), high: Vec::new() },
            sizes: vec![1; graph.vertices()],
            bias: Vec::new(),
        };
        csr.offsets.push(0);
        csr
    }

    /// Copies the input graph with scaled weights; every vertex has size 1.
    pub(crate) fn from_graph(graph: &Graph, scale: Scale) -> Csr {
        let mut csr = Csr::with_room_for(graph);
        for v in 0..graph.vertices() {
            graph.arcs(v).for_each(|(t, w)| csr.arcs.push(t, scale.weight(w)));
            csr.end_row();
        }
        csr
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.sizes.len()
    }

    #[inline]
    pub(crate) fn range(&self, v: usize) -> std::ops::Range<usize> {
        self.offsets[v] as usize..self.offsets[v + 1] as usize
    }

    #[inline]
    pub(crate) fn degree(&self, v: usize) -> usize {
        (self.offsets[v + 1] - self.offsets[v]) as usize
    }

    #[inline]
    pub(crate) fn arcs(&self, v: usize) -> impl Iterator<Item = (usize, i64)> + '_ {
        self.arcs.iter(self.range(v))
    }

    /// Ends the row of a vertex: the arcs that are added next are those of the next vertex.
    #[inline]
    pub(crate) fn end_row(&mut self) {
        self.offsets.push(self.arcs.len() as u32);
    }

    /// The weight of all edges.
    pub(crate) fn total_weight(&self) -> i128 {
        self.arcs.iter(0..self.arcs.len()).map(|(_, w)| i128::from(w)).sum::<i128>() / 2
    }

    /// Number of tasks in all vertices.
    pub(crate) fn total_size(&self) -> u64 {
        self.sizes.iter().map(|&s| u64::from(s)).sum()
    }

    /// The subgraph of `members`; `local` is scratch as long as this graph, filled with `u32::MAX`
    /// and left so.
    pub(crate) fn subgraph(&self, members: &[u32], local: &mut [u32]) -> Csr {
        /// Rows that are asked for ahead of their turn.
        const AHEAD: usize = 12;
        let mut room = 0;
        for (i, &v) in members.iter().enumerate() {
            local[v as usize] = i as u32;
            room += self.degree(v as usize);
        }
        // In a dense graph, few members have few arcs among them.
        let room = room.min(members.len() * members.len().saturating_sub(1));
        let mut sub = Csr {
            offsets: Vec::with_capacity(members.len() + 1),
            arcs: Arcs { list: roomy(room), high: Vec::new() },
            sizes: Vec::with_capacity(members.len()),
            bias: Vec::new(),
        };
        sub.offsets.push(0);
        for (i, &v) in members.iter().enumerate() {
            if let Some(&later) = members.get(i + 2 * AHEAD) {
                ask_for(&self.offsets[later as usize..]);
            }
            if let Some(&soon) = members.get(i + AHEAD) {
                self.arcs.ask_for(self.offsets[soon as usize]);
            }
            for (t, w) in self.arcs(v as usize) {
                let l = local[t];
                if l != u32::MAX {
                    sub.arcs.push(l, w);
                }
            }
            sub.end_row();
            sub.sizes.push(self.sizes[v as usize]);
        }
        for &v in members {
            local[v as usize] = u32::MAX;
        }
        sub
    }

    /// The subgraphs of the vertices on side 0 and on side 1, each in ascending order, without bias. A graph that is
    /// owned goes, and one of its parts gets its memory.
    /// `number` is scratch; `pool` has the memory; of several `threads` two are used.
    pub(crate) fn split(
        graph: Cow<'_, Csr>,
        side: &[u8],
        number: &mut Vec<u32>,
        pool: &mut Pool,
        threads: usize,
    ) -> [Csr; 2] {
        let has_threads = threads > 1 && graph.len() >= THREAD_FROM;
        match graph {
            Cow::Owned(graph) if !has_threads => graph.into_parts(side, number, pool),
            graph => {
                let parts = graph.parts(side, number, pool, has_threads);
                if let Cow::Owned(graph) = graph {
                    graph.recycle(pool);
                }
                parts
            }
        }
    }

    /// Writes the number of every vertex in its part to `number`, with the bit [`SIDE`] for side 1. Returns the
    /// vertices of both parts, and the arcs that begin there.
    fn number_by(&self, side: &[u8], number: &mut Vec<u32>) -> ([u32; 2], [usize; 2]) {
        let (mut counts, mut arcs) = ([0u32; 2], [0usize; 2]);
        number.clear();
        number.extend(side.iter().zip(self.offsets.windows(2)).map(|(&s, range)| {
            let s = usize::from(s & 1);
            counts[s] += 1;
            arcs[s] += (range[1] - range[0]) as usize;
            (counts[s] - 1) | (s as u32 * SIDE)
        }));
        (counts, arcs)
    }

    /// No vertex, and room for some vertices and arcs.
    pub(crate) fn with_room(vertices: usize, arcs: Arcs) -> Csr {
        let mut csr =
            Csr { offsets: roomy(vertices + 1), arcs, sizes: roomy(vertices), bias: Vec::new() };
        csr.offsets.push(0);
        csr
    }

    /// [`Self::split`] for a graph that goes. The part of side 0 is made where the graph was: fewer pages of memory are
    /// touched.
    fn into_parts(self, side: &[u8], number: &mut Vec<u32>, pool: &mut Pool) -> [Csr; 2] {
        let (counts, room) = self.number_by(side, number);
        let Csr { mut offsets, mut arcs, mut sizes, .. } = self;
        let wide = arcs.are_wide();
        let mut part_1 = Csr::with_room(counts[1] as usize, pool.arcs(room[1], wide));
        let mut free = part_1.arcs.free();
        let (mut begin, mut kept, mut ends) = (0usize, 0usize, [0usize; 2]);
        for (v, &own) in number.iter().enumerate() {
            let (range, size) = (begin..offsets[v + 1] as usize, sizes[v]);
            begin = range.end;
            if own & SIDE == 0 {
                ends[0] = arcs.put_before(range, (number, own, SIDE), ends[0]);
                sizes[kept] = size;
                kept += 1;
                offsets[kept] = ends[0] as u32;
            } else {
                ends[1] = free.put(&arcs, range, (number, own, SIDE), ends[1]);
                part_1.offsets.push(ends[1] as u32);
                part_1.sizes.push(size);
            }
        }
        // SAFETY: `put` wrote the first `ends[1]` arcs, which is within their room: it is checked at every write.
        unsafe { part_1.arcs.take(ends[1], wide) };
        offsets.truncate(kept + 1);
        sizes.truncate(kept);
        arcs.truncate(ends[0]);
        [Csr { offsets, arcs, sizes, bias: Vec::new() }, part_1]
    }

    /// [`Self::split`] for a graph that stays.
    fn parts(
        &self,
        side: &[u8],
        number: &mut Vec<u32>,
        pool: &mut Pool,
        has_threads: bool,
    ) -> [Csr; 2] {
        let (counts, room) = self.number_by(side, number);
        let wide = self.arcs.are_wide();
        let mut parts =
            [0, 1].map(|s| Csr::with_room(counts[s] as usize, pool.arcs(room[s], wide)));
        let number = &number[..];
        let [part_0, part_1] = &mut parts;
        if has_threads {
            std::thread::scope(|scope| {
                scope.spawn(|| self.extract(number, SIDE, part_1));
                self.extract(number, 0, part_0);
            });
            return parts;
        }
        let mut open =
            parts.each_mut().map(|part| (part.arcs.free(), &mut part.offsets, &mut part.sizes));
        let mut ends = [0usize; 2];
        for (v, (&own, &size)) in number.iter().zip(&self.sizes).enumerate() {
            let s = (own >> 31) as usize;
            let (arcs, offsets, sizes) = &mut open[s];
            ends[s] = self.inner_arcs(v, own, number, arcs, ends[s]);
            offsets.push(ends[s] as u32);
            sizes.push(size);
        }
        for (part, end) in parts.iter_mut().zip(ends) {
            // SAFETY: `inner_arcs` wrote the first `end` arcs, which is within their room: it is checked at
            // every write.
            unsafe { part.arcs.take(end, wide) };
        }
        parts
    }

    /// Writes the arcs of vertex `v`, whose number is `own`, to its own side, from `end` on; the new end.
    #[inline(always)]
    fn inner_arcs(
        &self,
        v: usize,
        own: u32,
        number: &[u32],
        arcs: &mut FreeArcs<'_>,
        end: usize,
    ) -> usize {
        arcs.put(&self.arcs, self.range(v), (number, own, SIDE), end)
    }

    /// Fills the subgraph of one side, which is empty and has room for all arcs of its vertices.
    /// `number` as in [`Self::split`].
    fn extract(&self, number: &[u32], side: u32, part: &mut Csr) {
        let mut arcs = part.arcs.free();
        let mut end = 0usize;
        for (v, (&own, &size)) in number.iter().zip(&self.sizes).enumerate() {
            if own & SIDE != side {
                continue;
            }
            end = self.inner_arcs(v, own, number, &mut arcs, end);
            part.offsets.push(end as u32);
            part.sizes.push(size);
        }
        // SAFETY: `inner_arcs` wrote the first `end` arcs, which is within their room: it is checked at every
        // write.
        unsafe { part.arcs.take(end, self.arcs.are_wide()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scale_keeps_small_numbers_and_tames_huge_ones() {
        let small = Scale::new(1 << 20, 1000);
        assert_eq!((small.weight(5), small.distance(7)), (5, 7));
        let huge = Scale::new(u128::from(u64::MAX) * 1000, u64::MAX);
        let sum = i128::from(huge.weight(u64::MAX)) * 1000 * i128::from(huge.distance(u64::MAX));
        assert!(sum < 1 << 60, "{sum}");
        assert_eq!(huge.weight(1), 1);
        assert_eq!(Scale::narrow(u128::from(u32::MAX), 1000).weight(7), 7);
        assert!(Scale::narrow(1 << 50, 1000).weight(1 << 50) < 1 << 32);
    }

    #[test]
    fn splitting_makes_the_subgraphs_of_both_sides() {
        let graph = crate::matrix::synthetic::pattern("rgg:200,shuffle=1").unwrap();
        let csr = Csr::from_graph(&graph, Scale::new(graph.total_weight(), 1));
        let side: Vec<u8> = (0..200).map(|v| u8::from(v % 3 == 0)).collect();
        // The weights of every third vertex's arcs need more than 32 bits.
        let mut wide = csr.clone();
        for v in (0..200).step_by(3) {
            csr.range(v).for_each(|k| wide.arcs.set_weight(k, v as i64 + (1 << 40)));
        }
        for graph in [csr, wide] {
            let by = |graph, threads| {
                Csr::split(graph, &side, &mut Vec::new(), &mut Pool::default(), threads)
            };
            let (lent, given) = (|| Cow::Borrowed(&graph), || Cow::Owned(graph.clone()));
            let mut local = vec![u32::MAX; 200];
            for parts in [by(lent(), 1), by(lent(), 2), by(given(), 1), by(given(), 2)] {
                for (s, part) in parts.iter().enumerate() {
                    let members: Vec<u32> =
                        (0..200).filter(|&v| usize::from(side[v as usize]) == s).collect();
                    let expected = graph.subgraph(&members, &mut local);
                    let arcs = |csr: &Csr, v| csr.arcs(v).collect::<Vec<_>>();
                    assert_eq!((&part.offsets, &part.sizes), (&expected.offsets, &expected.sizes));
                    assert!((0..part.len()).all(|v| arcs(part, v) == arcs(&expected, v)));
                }
            }
        }
    }

    #[test]
    fn subgraph_keeps_inner_edges_only() {
        let graph = Graph::from_edges(4, &[(0, 1, 1), (1, 2, 2), (2, 3, 3)]);
        let csr = Csr::from_graph(&graph, Scale::new(6, 1));
        let mut local = vec![u32::MAX; 4];
        let sub = csr.subgraph(&[2, 1], &mut local);
        assert_eq!(sub.arcs(0).collect::<Vec<_>>(), [(1, 2)]);
        assert_eq!(sub.arcs(1).collect::<Vec<_>>(), [(0, 2)]);
        assert!(local.iter().all(|&l| l == u32::MAX));
    }
}
