//! Regular patterns that are no grids: which edges belong together.
//!
//! Such patterns are butterflies, hypercubes, stencils with diagonals, and combinations of them with an
//! exchange with the transpose (NAS CG: rows of recursive doubling, and a heavier exchange with the transpose).
//! Their heaviest edges do not show which tasks form a block, and coarsening along them destroys the blocks.
//! But edges of a block lie in many cycles of three and four vertices. The edges therefore get weights by their
//! number of cycles, which makes the blocks visible. The answer is one more candidate, which is refined and
//! evaluated with the true weights.

use crate::mapping::engine::Csr;

/// Regular patterns have few different degrees.
const DISTINCT_DEGREES: usize = 8;

/// The largest degree for which cycles are counted, because counting takes long for larger degrees.
const DEGREE: usize = 32;

/// True if the vertices have few different degrees, none of them large.
pub(super) fn is_regular(graph: &Csr) -> bool {
    let mut degrees: Vec<usize> = Vec::new();
    (0..graph.len()).all(|v| {
        let degree = graph.degree(v);
        if !degrees.contains(&degree) {
            degrees.push(degree);
        }
        degree <= DEGREE && degrees.len() <= DISTINCT_DEGREES
    })
}

/// The graph with every weight times 1 and the number of cycles of three and four through the edge;
/// `None` if all edges lie in about equally many.
pub(super) fn by_cycles(graph: &Csr) -> Option<Csr> {
    let mut answer = graph.clone();
    let mut beside = vec![u32::MAX; graph.len()];
    let (mut fewest, mut most) = (u32::MAX, 0);
    for v in 0..graph.len() {
        for (t, _) in graph.arcs(v) {
            beside[t] = v as u32;
        }
        for k in graph.range(v) {
            let u = graph.arcs.target(k) as usize;
            // Ways from u back to v by one vertex, and by two.
            let mut cycles = 0u32;
            for (x, _) in graph.arcs(u).filter(|&(x, _)| x != v) {
                cycles += u32::from(beside[x] == v as u32);
                let back = graph.arcs(x).filter(|&(y, _)| y != u && y != v);
                cycles += back.filter(|&(y, _)| beside[y] == v as u32).count() as u32;
            }
            fewest = fewest.min(cycles);
            most = most.max(cycles);
            // Weights leave room for sums of 2^58; a factor beyond 15 says nothing more.
            let weight = graph.arcs.weight(k) * i64::from(1 + cycles.min(15));
            answer.arcs.set_weight(k, weight);
        }
    }
    (most >= 2 * fewest + 2).then_some(answer)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mapping::engine::Scale;
    use crate::matrix::synthetic::pattern;

    #[test]
    fn the_exchange_of_cg_is_told_from_its_rows() {
        let graph = pattern("cg:256").unwrap();
        let csr = Csr::from_graph(&graph, Scale::new(graph.total_weight(), 1));
        assert!(is_regular(&csr));
        let weighted = by_cycles(&csr).unwrap();
        for v in 0..256 {
            for (t, w) in weighted.arcs(v) {
                // 16 rows of 16: four dimensions, so each edge of a row lies in three squares.
                assert_eq!(w, if v / 16 == t / 16 { 40 } else { 20 }, "{v} {t}");
                assert!(weighted.arcs(t).any(|back| back == (v, w)));
            }
        }
    }

    #[test]
    fn other_patterns_are_left_alone() {
        for (text, regular) in [("bt:256", true), ("fft:256", true), ("powerlaw:300", false)] {
            let graph = pattern(text).unwrap();
            let csr = Csr::from_graph(&graph, Scale::new(graph.total_weight(), 1));
            assert_eq!(is_regular(&csr), regular, "{text}");
            assert!(!regular || by_cycles(&csr).is_none(), "{text}");
        }
    }
}
