//! Refiners of bisections.

use super::fm_limits::FmLimits;
use crate::mapping::engine::{Bisection, Csr};

/// Moves single vertices from side to side. [`Unrefined`] is the template for a new one.
pub(crate) trait BisectionRefiner {
    /// Improves `b` in place and brings its sizes and its cut up to date with its sides; the result is
    /// never worse in (imbalance beyond what is allowed, cut).
    ///
    /// `near_cut(v)` may be false for a vertex that is surely not at the cut. Such a vertex is only
    /// looked at when a neighbour moves.
    fn refine(
        &mut self,
        graph: &Csr,
        b: &mut Bisection,
        limits: FmLimits,
        near_cut: impl Fn(usize) -> bool,
    );
}

/// Moves nothing.
pub(crate) struct Unrefined;

impl BisectionRefiner for Unrefined {
    fn refine(
        &mut self,
        graph: &Csr,
        b: &mut Bisection,
        _limits: FmLimits,
        _near_cut: impl Fn(usize) -> bool,
    ) {
        *b = Bisection::new(graph, std::mem::take(&mut b.side));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mapping::engine::Scale;
    use crate::mapping::refinement::fm::Fm;
    use crate::mapping::refinement::fm_small::{FmSmall, MOST};
    use crate::matrix::Graph;
    use proptest::prelude::*;

    /// Refines a copy; checks the claims that hold for every refiner.
    fn refined(
        refiner: &mut impl BisectionRefiner,
        graph: &Csr,
        b: &Bisection,
        limits: FmLimits,
    ) -> Bisection {
        let mut after = b.clone();
        refiner.refine(graph, &mut after, limits, |_| true);
        let counted = Bisection::new(graph, after.side.clone());
        assert_eq!((counted.size, counted.cut), (after.size, after.cut));
        assert!((limits.excess(&after), after.cut) <= (limits.excess(b), b.cut));
        after
    }

    proptest! {
        #[test]
        fn bisections_never_get_worse_and_cut_what_they_claim(
            raw in prop::collection::vec((0u32..24, 0u32..24, 1u64..9), 0..90),
            sides in prop::collection::vec(0u8..2, 24), target in 1i64..24, slack in 1i64..4,
            silent in prop_oneof![Just(0usize), Just(MOST)])
        {
            // Both for few vertices and, with silent ones on side 1, for many.
            let n = 24 + silent;
            let graph = Csr::from_graph(&Graph::from_edges(n, &raw), Scale::new(1 << 20, 1));
            let b = Bisection::new(&graph, [sides, vec![1; silent]].concat());
            let tries_all = target % 2 == 0;
            let limits =
                FmLimits { target, allowed: 0, slack, patience: 50, passes: 8, tries_all };
            let unrefined = refined(&mut Unrefined, &graph, &b, limits);
            prop_assert_eq!(&unrefined.side, &b.side);
            prop_assert_eq!(refined(&mut Fm::default(), &graph, &b, limits).size[0], target);
            if n <= MOST {
                let small = refined(&mut FmSmall::default(), &graph, &b, limits);
                prop_assert_eq!(small.size[0], target);
            }
        }
    }
}
