//! Renumbers large graphs so that neighbours lie close in memory.
//!
//! With labels that mean nothing every edge is a cache miss; in breadth-first order nearly none is.

use super::{Csr, Rng, roomy};
use crate::matrix::Graph;

/// Vertices in breadth-first order, component by component; vertices without edges last.
pub(crate) fn breadth_first_order(graph: &Graph) -> Vec<u32> {
    let n = graph.vertices();
    let mut order = Vec::with_capacity(n);
    let mut seen = vec![false; n];
    for start in 0..n {
        if seen[start] || graph.degree(start) == 0 {
            continue;
        }
        seen[start] = true;
        let mut next = order.len();
        order.push(start as u32);
        while let Some(&v) = order.get(next) {
            next += 1;
            for &t in graph.neighbours(v as usize) {
                if !std::mem::replace(&mut seen[t as usize], true) {
                    order.push(t);
                }
            }
        }
    }
    order.extend((0..n as u32).filter(|&v| !seen[v as usize]));
    order
}

/// Random visiting order that stays within blocks, so that a large graph is still walked mostly
/// along memory.
pub(crate) fn visiting_order(n: usize, rng: &mut Rng, out: &mut Vec<u32>) {
    const BLOCK: usize = 4096;
    out.clear();
    out.extend(0..n as u32);
    for block in out.chunks_mut(BLOCK) {
        for i in (1..block.len()).rev() {
            block.swap(i, rng.below(i + 1));
        }
    }
}

impl Csr {
    /// The graph with vertex `order[i]` renumbered to i; rows stay sorted.
    pub(crate) fn reordered(graph: &Graph, order: &[u32], weight: impl Fn(u64) -> i64) -> Csr {
        let n = order.len();
        let mut number = vec![0u32; n];
        for (i, &v) in order.iter().enumerate() {
            number[v as usize] = i as u32;
        }
        let mut csr = Csr {
            offsets: roomy(n + 1),
            targets: roomy(2 * graph.edges()),
            weights: roomy(2 * graph.edges()),
            sizes: vec![1; n],
            bias: Vec::new(),
        };
        csr.offsets.push(0);
        let mut row: Vec<(u32, i64)> = Vec::new();
        for &v in order {
            row.clear();
            row.extend(graph.arcs(v as usize).map(|(t, w)| (number[t as usize], weight(w))));
            row.sort_unstable_by_key(|&(t, _)| t);
            csr.targets.extend(row.iter().map(|&(t, _)| t));
            csr.weights.extend(row.iter().map(|&(_, w)| w));
            csr.offsets.push(csr.targets.len() as u32);
        }
        csr
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::synthetic::pattern;

    #[test]
    fn renumbering_keeps_the_graph() {
        let graph = pattern("rgg:300,shuffle=1").unwrap();
        let order = breadth_first_order(&graph);
        let mut sorted = order.clone();
        sorted.sort_unstable();
        assert!(sorted.iter().enumerate().all(|(i, &v)| i == v as usize));
        let csr = Csr::reordered(&graph, &order, |w| w as i64);
        for i in 0..300 {
            assert_eq!(csr.degree(i), graph.degree(order[i] as usize));
            for (t, w) in csr.arcs(i) {
                let (a, b) = (order[i] as usize, order[t] as usize);
                assert_eq!(graph.weight_between(a, b) as i64, w);
            }
        }
        let mut visits = Vec::new();
        visiting_order(10_000, &mut Rng::new(1), &mut visits);
        visits.sort_unstable();
        assert!(visits.iter().enumerate().all(|(i, &v)| i == v as usize));
    }
}
