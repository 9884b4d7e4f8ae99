//! Local searches, which improve a placement step by step.
//!
//! A local search reads a [`SearchSpace`] and changes a placement. [`super::LargestPair`] is
//! the template for a new one; the tests below run over all of them.

use super::near::Near;
use crate::mapping::Budget;
use crate::mapping::engine::{Csr, Distance, Placement};

/// The input of a local search: the traffic, the distances, the places near each place, the vertices
/// that keep their places, and the time limit.
pub(crate) struct SearchSpace<'a, D, N> {
    pub(crate) graph: &'a Csr,
    pub(crate) distance: &'a D,
    pub(crate) near: &'a N,
    /// By vertex: whether it keeps its place. Empty if all may move.
    pub(crate) pinned: &'a [bool],
    pub(crate) budget: &'a Budget,
}

impl<D, N> SearchSpace<'_, D, N> {
    /// True if a vertex has to keep its place.
    #[inline(always)]
    pub(crate) fn is_pinned(&self, vertex: usize) -> bool {
        self.pinned.get(vertex).copied().unwrap_or(false)
    }
}

/// A local search. It is deterministic unless the time limit is reached. Pinned vertices stay.
pub(crate) trait Refiner<D: Distance, N: Near> {
    /// Changes `placement`; returns how much the cost of all edges changed by it.
    fn refine(&mut self, space: &SearchSpace<'_, D, N>, placement: &mut Placement) -> i128;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mapping::engine::{Axes, EMPTY, Scale, cost, seeded};
    use crate::mapping::refinement::{Annealing, LargestPair, ListNear, SwapSearch};
    use crate::matrix::Graph;
    use proptest::prelude::*;

    /// Places in a row, one or two for each coordinate.
    struct Row {
        places: u32,
        axes: Option<Axes>,
    }

    impl Row {
        /// Distances that are known along an axis, and others of the same size.
        fn both(places: u32) -> [Self; 2] {
            let points = (0..16).map(|p| [p / places]);
            let axes = Axes::new(&[16], |_, a, b| a.abs_diff(b), points);
            [Row { places, axes: None }, Row { places, axes }]
        }
    }

    impl Distance for Row {
        fn between(&self, a: u32, b: u32) -> i64 {
            i64::from((a / self.places).abs_diff(b / self.places))
        }

        fn axes(&self) -> Option<&Axes> {
            self.axes.as_ref()
        }
    }

    /// All refiners, and whether each of them promises not to raise the cost. Where distances are known along an axis, the
    /// annealing at a low temperature looks most costs up.
    fn all(seed: u64) -> Vec<(Box<dyn Refiner<Row, ListNear>>, bool)> {
        let anneal = |hot, cold| Annealing { steps: 4000, hot, cold, rng: seeded(seed) };
        vec![
            (Box::new(SwapSearch::new(10_000)), true),
            (Box::new(LargestPair), false),
            (Box::new(anneal(0.2, 0.02)), false),
            (Box::new(anneal(0.01, 0.001)), false),
        ]
    }

    /// How many of them come before those that anneal, which make other proposals along axes.
    const NOT_ANNEALING: usize = 2;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        /// Every vertex keeps a place of its own, pinned ones stay where they are, the change of cost is the one that is
        /// claimed, and that of a search without annealing is the same whether the distances are known along an axis or not.
        #[test]
        fn placements_stay_valid(
            raw in prop::collection::vec((0u32..12, 0u32..12, 1u64..100), 0..50),
            pinned in prop::collection::vec(any::<bool>(), 12), seed in 0u64..50,
            (places, width) in (1u32..=2, 3usize..=12), is_heavy in any::<bool>())
        {
            // Sums of the heavy weights need more than 32 bits.
            let unit = if is_heavy { 1 << 30 } else { 1 };
            let raw: Vec<_> = raw.into_iter().map(|(a, b, w)| (a, b, w * unit)).collect();
            let graph = Csr::from_graph(&Graph::from_edges(12, &raw), Scale::new(1 << 44, 100));
            let [plain, along_axis] = Row::both(places);
            let (near, budget) = (ListNear::scan(&plain, 16, width), Budget::unlimited());
            let start: Vec<u32> = (0..12).map(|v| (v * 5 + 3) % 16).collect();
            let before = cost(&graph, &plain, &start);
            let mut answers = Vec::new();
            for distance in [&plain, &along_axis] {
                let space = SearchSpace {
                    graph: &graph, distance, near: &near, pinned: &pinned, budget: &budget,
                };
                for (mut refiner, is_monotone) in all(seed) {
                    let mut placement = Placement::new(start.clone(), 16);
                    let change = refiner.refine(&space, &mut placement);
                    prop_assert_eq!(cost(&graph, distance, &placement.place_of) - before, change);
                    prop_assert!(!is_monotone || change <= 0);
                    for (v, &place) in placement.place_of.iter().enumerate() {
                        prop_assert_eq!(placement.task_at[place as usize], v as u32);
                        prop_assert!(!pinned[v] || place == start[v]);
                    }
                    let empty = placement.task_at.iter().filter(|&&v| v == EMPTY).count();
                    prop_assert_eq!(empty, 4);
                    answers.push(placement.place_of);
                }
            }
            let (plain, along_axis) = answers.split_at(answers.len() / 2);
            prop_assert_eq!(&plain[..NOT_ANNEALING], &along_axis[..NOT_ANNEALING]);
        }
    }
}
