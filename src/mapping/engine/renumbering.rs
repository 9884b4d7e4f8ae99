//! Renumbers large graphs so that neighbours lie close in memory.
//!
//! With arbitrary numbers every edge is a cache miss; in breadth-first order nearly none is.

use super::{Csr, Rng, ask_for, emptied, roomy};
use crate::matrix::Graph;

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

impl Csr {
    /// Renumbers the vertices in breadth-first order, component by component. Vertices without edges come last.
    /// Returns the new graph and the list `order`: vertex i of the new graph is vertex `order[i]` of the old one.
    /// The rows of the new graph are sorted by the new numbers.
    pub(crate) fn breadth_first(graph: &Graph, weight: impl Fn(u64) -> i64) -> (Csr, Vec<u32>) {
        const NONE: u32 = u32::MAX;
        /// Rows that are asked for ahead of their turn.
        const AHEAD: usize = 12;
        let n = graph.vertices();
        let mut order = Vec::with_capacity(n);
        let mut number: Vec<u32> = roomy(n);
        number.resize(n, NONE);
        let mut csr = Csr::with_room_for(graph);
        // Number of the neighbour, and index in the row of the old graph: short rows of whole numbers are sorted fast.
        let mut row: Vec<u64> = Vec::new();
        let mut next = 0;
        for start in 0..n {
            if number[start] != NONE || graph.degree(start) == 0 {
                continue;
            }
            number[start] = order.len() as u32;
            order.push(start as u32);
            while let Some(&v) = order.get(next) {
                if let Some(&later) = order.get(next + 2 * AHEAD) {
                    ask_for(&graph.offsets()[later as usize..]);
                }
                if let Some(&soon) = order.get(next + AHEAD) {
                    ask_for(graph.neighbours(soon as usize));
                    ask_for(graph.weights(soon as usize));
                }
                if let Some(&sooner) = order.get(next + AHEAD / 2) {
                    let row = graph.neighbours(sooner as usize).iter();
                    row.for_each(|&t| ask_for(&number[t as usize..]));
                }
                next += 1;
                // All neighbours of v have their number now or get it here, so the row is final.
                row.clear();
                row.extend((0..).zip(graph.neighbours(v as usize)).map(|(k, &t): (u64, _)| {
                    let id = &mut number[t as usize];
                    if *id == NONE {
                        *id = order.len() as u32;
                        order.push(t);
                    }
                    u64::from(*id) << 32 | k
                }));
                row.sort_unstable();
                let weights = graph.weights(v as usize);
                for &entry in &row {
                    csr.arcs.push((entry >> 32) as u32, weight(weights[entry as u32 as usize]));
                }
                csr.end_row();
            }
        }
        order.extend((0..n as u32).filter(|&v| number[v as usize] == NONE));
        csr.offsets.resize(n + 1, csr.arcs.len() as u32);
        (csr, order)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mapping::engine::seeded;
    use crate::matrix::synthetic::pattern;

    #[test]
    fn renumbering_keeps_the_graph() {
        let graph = pattern("rgg:300,shuffle=1").unwrap();
        let (csr, order) = Csr::breadth_first(&graph, |w| w as i64);
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
