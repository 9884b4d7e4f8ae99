//! A graph in two parts.

use super::Csr;

/// Two sides of a graph.
#[derive(Debug, Clone, Default)]
pub(crate) struct Bisection {
    /// 0 or 1 for every vertex.
    pub(crate) side: Vec<u8>,
    /// Tasks on each side.
    pub(crate) size: [i64; 2],
    /// Weight of the edges between the sides, and the bias of side 1.
    pub(crate) cut: i64,
}

impl Bisection {
    /// Counts sizes and cut of given sides.
    pub(crate) fn new(graph: &Csr, side: Vec<u8>) -> Self {
        let mut answer = Bisection { side, size: [0; 2], cut: 0 };
        for v in 0..graph.len() {
            let s = answer.side[v];
            answer.size[usize::from(s)] += i64::from(graph.sizes[v]);
            answer.cut +=
                graph.arcs(v).filter(|&(t, _)| answer.side[t] != s).map(|(_, w)| w).sum::<i64>();
        }
        answer.cut /= 2;
        for (&side, &bias) in answer.side.iter().zip(&graph.bias) {
            answer.cut += i64::from(side) * bias;
        }
        answer
    }
}
