//! The first bisection of the coarsest graph.

mod growing;
mod in_order;

pub(crate) use growing::Growing;
pub(crate) use in_order::InOrder;

use super::engine::{Bisection, Csr, Rng};

/// Makes a first bisection. [`InOrder`] is the template.
pub(crate) trait InitialBisection {
    /// Splits `graph` so that side 0 has about `target` tasks. The difference is at most the size of the
    /// largest vertex.
    fn bisect(&mut self, graph: &Csr, target: i64, rng: &mut Rng) -> Bisection;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mapping::engine::Scale;
    use crate::matrix::Graph;
    use proptest::prelude::*;

    proptest! {
        /// Sizes and cut are those of the sides, and side 0 is as large as asked for.
        #[test]
        fn sides_have_the_size_that_was_asked_for(
            raw in prop::collection::vec((0u32..20, 0u32..20, 1u64..9), 0..60),
            target in 1i64..20, seed in 0u64..20, biased in any::<bool>())
        {
            let mut graph = Csr::from_graph(&Graph::from_edges(20, &raw), Scale::new(1 << 20, 1));
            if biased {
                graph.bias = (0..20).map(|v| v % 5 - 2).collect();
            }
            let all: [Box<dyn InitialBisection>; 2] =
                [Box::new(InOrder), Box::new(Growing::default())];
            for mut initial in all {
                let b = initial.bisect(&graph, target, &mut crate::mapping::engine::seeded(seed));
                prop_assert_eq!(b.size, [target, 20 - target]);
                let counted = Bisection::new(&graph, b.side.clone());
                prop_assert_eq!((counted.size, counted.cut), (b.size, b.cut));
            }
        }
    }
}
