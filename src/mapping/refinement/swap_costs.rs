//! What an exchange of two places would cost.
//!
//! Annealing looks at many exchanges and makes few of them. [`Summed`] adds up the edges of both tasks each time, and is
//! the template. [`AxisCosts`](super::axis_costs::AxisCosts) looks the sums up.

use crate::mapping::engine::{Csr, Distance, Placement};

/// The costs of exchanges in a placement that this changes.
pub(super) trait SwapCosts {
    /// A lower bound of [`Self::change`], which takes less time.
    fn at_least(&self, placement: &Placement, u: usize, q: u32) -> i64;

    /// How the cost of all edges changes if task `u` moves to place `q`, and the task there, if any, to the place of `u`.
    /// `at_least` is the lower bound.
    fn change(&self, at_least: i64, placement: &Placement, u: usize, q: u32) -> i64;

    /// Makes the exchange.
    fn swap(&mut self, placement: &mut Placement, u: usize, q: u32);
}

/// Adds up the edges of both tasks.
pub(super) struct Summed<'a, D> {
    pub(super) graph: &'a Csr,
    pub(super) distance: &'a D,
}

impl<D: Distance> SwapCosts for Summed<'_, D> {
    #[inline(always)]
    fn at_least(&self, placement: &Placement, u: usize, q: u32) -> i64 {
        placement.delta(self.graph, self.distance, u, q)
    }

    #[inline(always)]
    fn change(&self, at_least: i64, _: &Placement, _: usize, _: u32) -> i64 {
        at_least
    }

    #[inline(always)]
    fn swap(&mut self, placement: &mut Placement, u: usize, q: u32) {
        placement.swap(u, q);
    }
}
