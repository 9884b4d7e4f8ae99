//! The first vertices on one side, the others on the other.

use super::InitialBisection;
use crate::mapping::engine::{Bisection, Csr, Rng};

/// Puts the first vertices up to the target on side 0. Large graphs are numbered so that neighbours
/// follow each other.
pub(crate) struct InOrder;

impl InitialBisection for InOrder {
    fn bisect(&mut self, graph: &Csr, target: i64, _rng: &mut Rng) -> Bisection {
        let mut sum = 0;
        let side = |&size: &u32| {
            sum += i64::from(size);
            u8::from(sum > target)
        };
        Bisection::new(graph, graph.sizes.iter().map(side).collect())
    }
}
