//! Simulated annealing of pair swaps (Kirkpatrick, Gelatt, Vecchi 1983) from a good start.
//!
//! A proposal takes a random task and a random partner of it, and moves the task to a random place near
//! the partner. A task on that place moves to the other's place. Thus every proposal can bring a pair
//! together.
//!
//! On grids, once few proposals are taken, [`axis_annealing`] judges all places near a partner
//! together.

use super::axis_annealing;
use super::axis_costs::{Amount, AxisCosts};
use super::near::{ListNear, Near};
use super::proposals::{BLOCK, Proposals, Taken};
use super::refiner::{Refiner, SearchSpace};
use crate::mapping::Budget;
use crate::mapping::engine::{Distance, Placement, Rng};

/// One annealing run. The final state may be worse than the first.
#[derive(Debug, Clone)]
pub(crate) struct Annealing {
    /// Proposals in all.
    pub(crate) steps: u64,
    /// First temperature, in units of the mean uphill step.
    pub(crate) hot: f64,
    /// Last temperature, in the same units.
    pub(crate) cold: f64,
    /// Draws the proposals.
    pub(crate) rng: Rng,
}

/// The part of the proposals, times the mean number of coordinates of an axis, below which tables of costs are faster.
const FEW: f64 = 3.0;

impl<D: Distance, N: Near> Refiner<D, N> for Annealing {
    fn refine(&mut self, space: &SearchSpace<'_, D, N>, placement: &mut Placement) -> i128 {
        let Some(mut run) = Run::new(space, self) else { return 0 };
        let unit = run.proposals.mean_uphill(space, placement, &mut run.rng);
        let Some(unit) = unit else { return 0 };
        run.temperature = unit * self.hot;
        let axes = space.distance.axes().zip(space.near.lists());
        // Tables are slow to change, so they pay once few proposals are taken.
        let few =
            axes.map_or(0.0, |(axes, _)| FEW * axes.list().len() as f64 / axes.width() as f64);
        run.cool(few, |proposals, heat, rng| proposals.block(space, placement, heat, rng));
        if let Some((axes, lists)) = axes.filter(|_| !run.has_ended()) {
            if let Some(costs) = AxisCosts::<i32>::new(space.graph, axes, placement, 31) {
                run.cool_by_tables(costs, lists, placement);
            } else if let Some(costs) = AxisCosts::<i64>::new(space.graph, axes, placement, 62) {
                run.cool_by_tables(costs, lists, placement);
            }
        }
        run.cool(0.0, |proposals, heat, rng| proposals.block(space, placement, heat, rng));
        self.rng = run.rng;
        run.change
    }
}

/// A run that has come to some temperature.
struct Run<'a> {
    proposals: Proposals<'a>,
    budget: &'a Budget,
    block: u64,
    blocks: u64,
    temperature: f64,
    /// The factor between the temperatures of two blocks.
    cooling: f64,
    rng: Rng,
    change: i128,
}

impl<'a> Run<'a> {
    /// `None` if no task may move.
    fn new<D, N>(space: &SearchSpace<'a, D, N>, schedule: &Annealing) -> Option<Self> {
        let proposals = Proposals::new(space)?;
        let blocks = (schedule.steps / BLOCK).max(1);
        Some(Run {
            proposals,
            budget: space.budget,
            block: 0,
            blocks,
            temperature: 0.0,
            cooling: libm::pow(schedule.cold / schedule.hot, 1.0 / blocks as f64),
            rng: schedule.rng.clone(),
            change: 0,
        })
    }

    fn has_ended(&self) -> bool {
        self.block == self.blocks
    }

    /// Cools to the end, or until a smaller part than `least` of the proposals of a block is taken. `make` makes the
    /// proposals of a block at a temperature.
    fn cool(&mut self, least: f64, mut make: impl FnMut(&Proposals<'a>, f64, &mut Rng) -> Taken) {
        let enough = (least * BLOCK as f64) as u64;
        while self.block < self.blocks {
            if self.budget.expired() {
                self.block = self.blocks;
                return;
            }
            if self.block.is_multiple_of(16) {
                self.budget.report("annealing", self.block, self.blocks);
            }
            // What changes often is in a local copy: behind `self` the compiler has to assume that each swap may change it.
            let mut rng = self.rng.clone();
            let taken = make(&self.proposals, self.temperature, &mut rng);
            self.rng = rng;
            self.change += i128::from(taken.change);
            self.block += 1;
            self.temperature *= self.cooling;
            if taken.count < enough {
                return;
            }
        }
    }

    /// Cools to the end, with tables of what exchanges would cost.
    fn cool_by_tables<A: Amount>(
        &mut self,
        mut costs: AxisCosts<'_, A>,
        near: &ListNear,
        placement: &mut Placement,
    ) {
        self.cool(0.0, |proposals, heat, rng| {
            axis_annealing::block(&mut costs, proposals, near, placement, heat, rng)
        });
    }
}
