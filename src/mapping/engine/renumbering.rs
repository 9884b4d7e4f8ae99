//! Renumbers large graphs so that neighbours lie close in memory.
//!
//! With arbitrary numbers every edge is a cache miss; in breadth-first order nearly none is.

use super::arcs::FreeArcs;
use super::{Csr, Rng, ask_for, emptied, roomy};
use crate::matrix::Graph;
use std::ops::Range;

/// A random visiting order that stays within blocks. A walk in this order therefore passes through a large graph
/// mostly in the order of memory.
pub(crate) fn visiting_order(n: usize, rng: &mut Rng, out: &mut Vec<u32>) {
    const BLOCK: usize = 4096;
    emptied(out, n).extend(0..n as u32);
    for block in out.chunks_mut(BLOCK) {
        for i in (1..block.len()).rev() {
            block.swap(i, rng.below(i + 1));
        }
    }
}

/// Rows that are asked for ahead of their turn.
const AHEAD: usize = 12;

/// No number yet.
const NONE: u32 = u32::MAX;

/// Vertices whose rows are made together, once all their neighbours are numbered. The rows are still in the cache then.
const BLOCK: usize = if cfg!(test) { 32 } else { 512 };

/// Smallest graph whose rows are worth a second thread.
const THREAD_FROM: usize = if cfg!(test) { 100 } else { 65_536 };

impl Csr {
    /// Renumbers the vertices in breadth-first order, component by component. Vertices without edges come last.
    /// Returns the new graph and the list `order`: vertex i of the new graph is vertex `order[i]` of the old one.
    /// The rows of the new graph are sorted by the new numbers. Of several `threads` two make the rows.
    pub(crate) fn breadth_first(
        graph: &Graph,
        weight: impl Fn(u64) -> i64 + Sync,
        threads: usize,
    ) -> (Csr, Vec<u32>) {
        let n = graph.vertices();
        let mut csr = Csr::with_room_for(graph);
        let mut walk = Walk::new(graph);
        let mut row = Vec::new();
        let has_threads = threads > 1 && n >= THREAD_FROM;
        while let Some(block) = walk.block(&mut csr.offsets) {
            if !has_threads {
                walk.rows(block, &weight, &mut row, |t, w| csr.arcs.push(t, w));
            }
        }
        if has_threads && !walk.rows_by_two(&weight, &mut csr) {
            walk.rows(0..walk.done, &weight, &mut row, |t, w| csr.arcs.push(t, w));
        }
        let Walk { number, mut order, .. } = walk;
        order.extend((0..n as u32).filter(|&v| number[v as usize] == NONE));
        csr.offsets.resize(n + 1, csr.arcs.len() as u32);
        (csr, order)
    }
}

/// The numbers of a graph's vertices in breadth-first order, as far as they are known.
struct Walk<'a> {
    graph: &'a Graph,
    /// The vertices that have a number.
    order: Vec<u32>,
    /// By vertex: its number.
    number: Vec<u32>,
    /// So many vertices have only neighbours with numbers.
    done: usize,
    /// No vertex before this one begins another component.
    start: usize,
}

impl<'a> Walk<'a> {
    fn new(graph: &'a Graph) -> Self {
        let n = graph.vertices();
        let mut number = roomy(n);
        number.resize(n, NONE);
        Walk { graph, order: roomy(n), number, done: 0, start: 0 }
    }

    /// Numbers the neighbours of the next vertices. Returns the numbers of these vertices; `None` after the last one.
    /// Appends the end of each vertex's row to `ends`.
    fn block(&mut self, ends: &mut Vec<u32>) -> Option<Range<usize>> {
        let Walk { graph, order, number, .. } = self;
        let begin = self.done;
        let mut end = ends.last().copied().unwrap_or(0);
        let give = |v: u32, number: &mut u32, order: &mut Vec<u32>| {
            *number = order.len() as u32;
            order.push(v);
        };
        while self.done < begin + BLOCK {
            if self.done == order.len() {
                let is_new = |&v: &usize| number[v] == NONE && graph.degree(v) > 0;
                let Some(start) = (self.start..graph.vertices()).find(is_new) else { break };
                self.start = start;
                give(start as u32, &mut number[start], order);
            }
            if let Some(&later) = order.get(self.done + 2 * AHEAD) {
                ask_for(&graph.offsets()[later as usize..]);
            }
            if let Some(&soon) = order.get(self.done + AHEAD) {
                ask_for(graph.neighbours(soon as usize));
            }
            if let Some(&sooner) = order.get(self.done + AHEAD / 2) {
                let row = graph.neighbours(sooner as usize).iter();
                row.for_each(|&t| ask_for(&number[t as usize..]));
            }
            let row = graph.neighbours(order[self.done] as usize);
            self.done += 1;
            for &t in row {
                let id = &mut number[t as usize];
                if *id == NONE {
                    give(t, id, order);
                }
            }
            end += row.len() as u32;
            ends.push(end);
        }
        (self.done > begin).then_some(begin..self.done)
    }

    /// Puts the arcs of some vertices, whose neighbours all have numbers, row by row. `row` is scratch.
    fn rows(
        &self,
        block: Range<usize>,
        weight: impl Fn(u64) -> i64,
        row: &mut Vec<u64>,
        mut put: impl FnMut(u32, i64),
    ) {
        let block = &self.order[block];
        for (k, &v) in block.iter().enumerate() {
            if let Some(&soon) = block.get(k + AHEAD) {
                ask_for(self.graph.neighbours(soon as usize));
                ask_for(self.graph.weights(soon as usize));
            }
            // Number of the neighbour, and index in the row of the old graph: short rows of whole numbers are sorted fast.
            row.clear();
            let neighbours = self.graph.neighbours(v as usize).iter();
            row.extend(
                (0u64..)
                    .zip(neighbours)
                    .map(|(k, &t)| u64::from(self.number[t as usize]) << 32 | k),
            );
            row.sort_unstable();
            let weights = self.graph.weights(v as usize);
            for &entry in &*row {
                put((entry >> 32) as u32, weight(weights[entry as u32 as usize]));
            }
        }
    }

    /// Makes the rows of all vertices that are done, with two threads. False if there are weights of more than 32
    /// bits: then there are no arcs.
    fn rows_by_two(&self, weight: impl Fn(u64) -> i64 + Sync, csr: &mut Csr) -> bool {
        let all = csr.offsets.last().map_or(0, |&end| end as usize);
        let middle = csr.offsets.partition_point(|&end| (end as usize) < all / 2);
        let at = csr.offsets[middle] as usize;
        let make = |block: Range<usize>, mut free: FreeArcs<'_>| {
            let (mut count, mut are_narrow) = (0, true);
            self.rows(block, &weight, &mut Vec::new(), |t, w| {
                are_narrow &= free.set(count, t, w);
                count += 1;
            });
            (count, are_narrow)
        };
        let [first, second] = csr.arcs.free().split(at);
        let (first, second) = std::thread::scope(|scope| {
            let beside = scope.spawn(|| make(middle..self.done, second));
            let first = make(0..middle, first);
            let panicked = |cause| std::panic::resume_unwind(cause);
            (first, beside.join().unwrap_or_else(panicked))
        });
        let is_whole = first == (at, true) && second == (all - at, true);
        if is_whole {
            // SAFETY: `make` wrote the arcs from 0 to `at` and those from `at` to `all`, each within its part of the room.
            unsafe { csr.arcs.take(all, false) };
        }
        is_whole
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mapping::engine::seeded;
    use crate::matrix::synthetic::pattern;

    /// Rings of 100 vertices, beside vertices without edges: as many components.
    #[test]
    fn two_threads_number_as_one() {
        let mut edges: Vec<(u32, u32, u64)> = Vec::new();
        for v in (0..1000u32).filter(|v| v % 3 > 0) {
            let next = if v % 100 < 97 { v + 3 } else { v - v % 100 + v % 3 };
            edges.push((v, next, 1 + u64::from(v) % 7));
        }
        let rings = Graph::from_edges(1000, &edges);
        for graph in [pattern("rgg:3000,shuffle=1").unwrap(), rings, Graph::from_edges(200, &[])] {
            let [(one, order), (two, other)] =
                [1, 2].map(|threads| Csr::breadth_first(&graph, |w| w as i64, threads));
            assert_eq!((order, &one.offsets, &one.arcs), (other, &two.offsets, &two.arcs));
            let wide = |w| (w as i64) << 40;
            let [(one, _), (two, _)] =
                [1, 2].map(|threads| Csr::breadth_first(&graph, wide, threads));
            assert_eq!((&one.offsets, &one.arcs), (&two.offsets, &two.arcs));
        }
    }

    #[test]
    fn renumbering_keeps_the_graph() {
        let graph = pattern("rgg:300,shuffle=1").unwrap();
        let (csr, order) = Csr::breadth_first(&graph, |w| w as i64, 1);
        let mut sorted = order.clone();
        sorted.sort_unstable();
        assert!(sorted.iter().enumerate().all(|(i, &v)| i == v as usize));
        for i in 0..300 {
            assert_eq!(csr.degree(i), graph.degree(order[i] as usize));
            for (t, w) in csr.arcs(i) {
                let (a, b) = (order[i] as usize, order[t] as usize);
                assert_eq!(graph.weight_between(a, b) as i64, w);
            }
        }
        let mut visits = Vec::new();
        visiting_order(10_000, &mut seeded(1), &mut visits);
        visits.sort_unstable();
        assert!(visits.iter().enumerate().all(|(i, &v)| i == v as usize));
    }
}
