//! Simulated annealing of pair swaps (Kirkpatrick, Gelatt, Vecchi 1983) from a good start.
//!
//! A proposal takes a random task and a random partner of it, and moves the task to a random place near
//! the partner. A task on that place moves to the other's place. Thus every proposal can bring a pair
//! together.
//!
//! On grids, once few proposals are taken, [`axis_annealing`](super::axis_annealing) judges all places near a partner
//! together.

use super::axis_annealing::AxisAnnealing;
use super::near::Near;
use super::refiner::{Refiner, SearchSpace};
use crate::mapping::Budget;
use crate::mapping::engine::{Csr, Distance, EMPTY, Placement, Rng};
use std::sync::LazyLock;

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

/// Proposals at one temperature.
pub(super) const BLOCK: u64 = 1024;

/// Entries of [`DRAWS`].
const ENTRIES: usize = 4096;

/// −ln(u) for evenly spaced u. The crate's own logarithm and power are used here: the system's differ
/// between machines by a last bit, and the same seed has to give the same mapping everywhere.
static DRAWS: LazyLock<Box<[f64; ENTRIES]>> = LazyLock::new(|| {
    Box::new(std::array::from_fn(|k| -libm::log((k as f64 + 0.5) / ENTRIES as f64)))
});

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
        if let Some((axes, lists)) = axes.filter(|_| !run.has_ended())
            && let Some(mut tables) = AxisAnnealing::new(space.graph, axes, placement)
        {
            run.cool(0.0, |proposals, heat, rng| {
                tables.block(proposals, lists, placement, heat, rng)
            });
        }
        run.cool(0.0, |proposals, heat, rng| proposals.block(space, placement, heat, rng));
        self.rng = run.rng;
        run.change
    }
}

/// The exchanges that a run may propose.
pub(super) struct Proposals<'a> {
    pub(super) graph: &'a Csr,
    pinned: &'a [bool],
    /// The tasks that may move, and that have partners.
    movable: Vec<u32>,
}

/// What became of the proposals of a block.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Taken {
    /// How many were taken, without those between places of the same slot, which change nothing.
    pub(super) count: u64,
    /// The change of the cost of all edges.
    pub(super) change: i64,
}

impl Proposals<'_> {
    /// A task that may move, and the number of an arc to a partner.
    #[inline(always)]
    pub(super) fn pair(&self, rng: &mut Rng) -> (usize, usize) {
        let u = self.movable[rng.below(self.movable.len())] as usize;
        let arcs = self.graph.range(u);
        (u, arcs.start + rng.below(arcs.len()))
    }

    /// Whether task `u` may move to place `q`.
    #[inline(always)]
    pub(super) fn may_move(&self, placement: &Placement, u: usize, q: u32) -> bool {
        let v = placement.task_at[q as usize];
        let is_pinned = |v: u32| self.pinned.get(v as usize).copied().unwrap_or(false);
        q != placement.place_of[u] && (v == EMPTY || !is_pinned(v))
    }

    /// A task that may move to a place.
    #[inline(always)]
    fn propose(
        &self,
        placement: &Placement,
        near: &impl Near,
        rng: &mut Rng,
    ) -> Option<(usize, u32)> {
        let (u, arc) = self.pair(rng);
        let partner = self.graph.arcs.target(arc);
        let q = near.pick(placement.place_of[partner as usize], rng);
        self.may_move(placement, u, q).then_some((u, q))
    }

    /// The mean uphill step, which sets the scale of temperatures. `None` if there is none.
    fn mean_uphill<D: Distance, N: Near>(
        &self,
        space: &SearchSpace<'_, D, N>,
        placement: &Placement,
        rng: &mut Rng,
    ) -> Option<f64> {
        let (mut uphill, mut count) = (0f64, 0u32);
        for _ in 0..512 {
            if let Some((u, q)) = self.propose(placement, space.near, rng) {
                let delta = placement.delta(space.graph, space.distance, u, q);
                if delta > 0 {
                    uphill += delta as f64;
                    count += 1;
                }
            }
        }
        (count > 0).then(|| uphill / f64::from(count))
    }

    /// A block of proposals, each judged by adding up the edges of both tasks.
    fn block<D: Distance, N: Near>(
        &self,
        space: &SearchSpace<'_, D, N>,
        placement: &mut Placement,
        temperature: f64,
        rng: &mut Rng,
    ) -> Taken {
        let draws = &**DRAWS;
        let mut taken = Taken::default();
        for _ in 0..BLOCK {
            let Some((u, q)) = self.propose(placement, space.near, rng) else { continue };
            let delta = placement.delta(space.graph, space.distance, u, q);
            let mut draw = || temperature * draws[rng.next_u64() as usize % ENTRIES];
            if delta <= 0 || (delta as f64) < draw() {
                let is_move = delta != 0 || space.distance.between(placement.place_of[u], q) > 0;
                placement.swap(u, q);
                taken.count += u64::from(is_move);
                taken.change += delta;
            }
        }
        taken
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
        let graph = space.graph;
        let can_move = |&t: &u32| !space.is_pinned(t as usize) && graph.degree(t as usize) > 0;
        let movable: Vec<u32> = (0..graph.len() as u32).filter(can_move).collect();
        let blocks = (schedule.steps / BLOCK).max(1);
        (!movable.is_empty()).then(|| Run {
            proposals: Proposals { graph, pinned: space.pinned, movable },
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
}
