//! What annealing may propose: a random task, a random partner of it, and a random place near the partner.
//!
//! [`Proposals::block`] judges each proposal by itself, on every topology. It is the template for other ways to judge
//! them.

use super::near::Near;
use super::refiner::SearchSpace;
use crate::mapping::engine::{Csr, Distance, EMPTY, Placement, Rng};
use std::sync::LazyLock;

/// Proposals at one temperature.
pub(super) const BLOCK: u64 = 1024;

/// Entries of [`DRAWS`].
const ENTRIES: usize = 4096;

/// −ln(u) for evenly spaced u.
static DRAWS: LazyLock<Box<[f64; ENTRIES]>> =
    LazyLock::new(|| Box::new(std::array::from_fn(|k| exponential(k, ENTRIES))));

/// Number `k` of so many draws of the exponential distribution with mean 1: −ln(u) for evenly spaced u. The crate's own
/// logarithm is used: the system's differ between machines by a last bit, and the same seed has to give the same mapping
/// everywhere.
pub(super) fn exponential(k: usize, entries: usize) -> f64 {
    -libm::log((k as f64 + 0.5) / entries as f64)
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

impl<'a> Proposals<'a> {
    /// `None` if no task may move.
    pub(super) fn new<D, N>(space: &SearchSpace<'a, D, N>) -> Option<Self> {
        let graph = space.graph;
        let can_move = |&t: &u32| !space.is_pinned(t as usize) && graph.degree(t as usize) > 0;
        let movable: Vec<u32> = (0..graph.len() as u32).filter(can_move).collect();
        (!movable.is_empty()).then_some(Proposals { graph, pinned: space.pinned, movable })
    }

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
    pub(super) fn mean_uphill<D: Distance, N: Near>(
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
    pub(super) fn block<D: Distance, N: Near>(
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
