//! Simulated annealing of pair swaps (Kirkpatrick, Gelatt, Vecchi 1983) from a good start.
//!
//! A proposal takes a random task and a random partner of it, and moves the task to a random place near
//! the partner. A task on that place moves to the other's place. Thus every proposal can bring a pair
//! together.

use super::axis_costs::AxisCosts;
use super::near::Near;
use super::refiner::{Refiner, SearchSpace};
use super::swap_costs::{Summed, SwapCosts};
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
const FEW: f64 = 1.5;

/// Entries of [`DRAWS`].
const ENTRIES: usize = 4096;

/// −ln(u) for evenly spaced u. The crate's own logarithm and power are used here: the system's differ
/// between machines by a last bit, and the same seed has to give the same mapping everywhere.
static DRAWS: LazyLock<Box<[f64; ENTRIES]>> = LazyLock::new(|| {
    Box::new(std::array::from_fn(|k| -libm::log((k as f64 + 0.5) / ENTRIES as f64)))
});

impl<D: Distance, N: Near> Refiner<D, N> for Annealing {
    fn refine(&mut self, space: &SearchSpace<'_, D, N>, placement: &mut Placement) -> i128 {
        let (graph, distance) = (space.graph, space.distance);
        let Some(mut run) = Run::new(space, self) else { return 0 };
        let mut summed = Summed { graph, distance };
        let Some(unit) = run.mean_uphill(&summed, placement, space.near) else { return 0 };
        run.temperature = unit * self.hot;
        // Tables are slow to change, so they pay once few proposals are taken.
        let few = distance
            .axes()
            .map_or(0.0, |axes| FEW * axes.list().len() as f64 / axes.width() as f64);
        run.cool(&mut summed, placement, space.near, few);
        if !run.has_ended() {
            if let Some(mut costs) = AxisCosts::<_, i32>::new(graph, distance, placement, 31) {
                run.cool(&mut costs, placement, space.near, 0.0);
            } else if let Some(mut costs) = AxisCosts::<_, i64>::new(graph, distance, placement, 62)
            {
                run.cool(&mut costs, placement, space.near, 0.0);
            } else {
                run.cool(&mut summed, placement, space.near, 0.0);
            }
        }
        self.rng = run.rng;
        run.change
    }
}

/// Proposals at one temperature.
const BLOCK: u64 = 1024;

/// A run that has come to some temperature.
struct Run<'a> {
    graph: &'a Csr,
    pinned: &'a [bool],
    budget: &'a Budget,
    /// The tasks that may move, and that have partners.
    movable: Vec<u32>,
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
            graph,
            pinned: space.pinned,
            budget: space.budget,
            movable,
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

    /// A task that may move to a place.
    #[inline(always)]
    fn propose(
        &self,
        placement: &Placement,
        near: &impl Near,
        rng: &mut Rng,
    ) -> Option<(usize, u32)> {
        let u = self.movable[rng.below(self.movable.len())] as usize;
        let r = self.graph.range(u);
        let x = self.graph.arcs.target(r.start + rng.below(r.len()));
        let q = near.pick(placement.place_of[x as usize], rng);
        if q == placement.place_of[u] {
            return None;
        }
        let v = placement.task_at[q as usize];
        let is_pinned = |v: u32| self.pinned.get(v as usize).copied().unwrap_or(false);
        (v == EMPTY || !is_pinned(v)).then_some((u, q))
    }

    /// The mean uphill step, which sets the scale of temperatures. `None` if there is none.
    fn mean_uphill(
        &mut self,
        costs: &impl SwapCosts,
        placement: &Placement,
        near: &impl Near,
    ) -> Option<f64> {
        let (mut uphill, mut count) = (0f64, 0u32);
        let mut rng = self.rng.clone();
        for _ in 0..512 {
            if let Some((u, q)) = self.propose(placement, near, &mut rng) {
                let delta = costs.change(costs.at_least(placement, u, q), placement, u, q);
                if delta > 0 {
                    uphill += delta as f64;
                    count += 1;
                }
            }
        }
        self.rng = rng;
        (count > 0).then(|| uphill / f64::from(count))
    }

    /// Cools to the end, or until a smaller part than `least` of the proposals of a block is taken. What changes often is
    /// in local copies: behind `self` the compiler has to assume that each swap may change it.
    fn cool(
        &mut self,
        costs: &mut impl SwapCosts,
        placement: &mut Placement,
        near: &impl Near,
        least: f64,
    ) {
        let (draws, mut rng) = (&**DRAWS, self.rng.clone());
        let mut temperature = self.temperature;
        let enough = (least * BLOCK as f64) as u64;
        while self.block < self.blocks {
            if self.budget.expired() {
                self.block = self.blocks;
                break;
            }
            if self.block.is_multiple_of(16) {
                self.budget.report("annealing", self.block, self.blocks);
            }
            let (mut change, mut taken) = (0i64, 0u64);
            for _ in 0..BLOCK {
                let Some((u, q)) = self.propose(placement, near, &mut rng) else { continue };
                let mut most = None;
                let mut accepts = |delta: i64| {
                    let draw = || temperature * draws[rng.next_u64() as usize % ENTRIES];
                    delta <= 0 || (delta as f64) < *most.get_or_insert_with(draw)
                };
                let least = costs.at_least(placement, u, q);
                if !accepts(least) {
                    continue;
                }
                let delta = costs.change(least, placement, u, q);
                if accepts(delta) {
                    costs.swap(placement, u, q);
                    change += delta;
                    taken += 1;
                }
            }
            self.change += i128::from(change);
            self.block += 1;
            temperature *= self.cooling;
            if taken < enough {
                break;
            }
        }
        self.temperature = temperature;
        self.rng = rng;
    }
}
