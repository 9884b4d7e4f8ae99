//! What the two searches over links share, `congestion` and `link_times`: proposals, temperature, and how much a link
//! counts by its load.
//!
//! A proposal moves a task to a place near a partner, or near the task itself, which changes the routes. A task on that
//! place moves to the other's place. Most proposals take a task whose messages pass one of the most loaded links.

use super::near::Near;
use crate::mapping::engine::{EMPTY, Placement, Rng};

/// Proposals between two looks at which pairs pass the most loaded links.
pub(super) const ROUND: u64 = 512;

/// First temperature, in mean uphill steps of the proposals.
const HOT: f64 = 0.005;

/// Weight of the load of all links together, relative to the term for the most loaded ones. Without it, hop-bytes rise
/// by half for the same maximum.
const LINEAR: f64 = 0.03;

/// How much a link counts with a load `x`, in units of about the largest load: x⁸, and a little of x for links that are
/// far below the maximum.
#[inline]
pub(super) fn penalty(x: f64) -> f64 {
    let x2 = x * x;
    let x4 = x2 * x2;
    x4 * x4 + LINEAR * x
}

/// A placement and the loads that follow from it.
pub(super) trait LinkState {
    /// The placement.
    fn placement(&self) -> &Placement;
    /// The change of the objective if task `u` and what is on place `q` change places.
    fn propose(&mut self, u: usize, q: u32) -> f64;
    /// Carries the proposal out, or forgets it.
    fn finish(&mut self, u: usize, q: u32, accept: bool);
}

/// What proposals are made from.
pub(super) struct Proposals<'a, N> {
    pub near: &'a N,
    /// By task: it keeps its place. Empty if all may move.
    pub pinned: &'a [bool],
    /// Number of pairs with traffic.
    pub pairs: usize,
}

/// The steps up that a round proposed: their sum and their number.
#[derive(Default)]
pub(super) struct Uphill(f64, u32);

impl Uphill {
    /// The temperature of the next round: it begins at the scale of the mean step up and falls to zero.
    pub(super) fn temperature(&self, round: u64, rounds: u64) -> f64 {
        let left = 1.0 - (round + 1) as f64 / rounds as f64;
        HOT * left * left * self.0 / f64::from(self.1.max(1))
    }
}

impl<N: Near> Proposals<'_, N> {
    /// One round of proposals. `hot` are the pairs on the most loaded links, `ends` gives the tasks of a pair, and
    /// `accepted` sees the state after each change.
    pub(super) fn round<S: LinkState>(
        &self,
        state: &mut S,
        (hot, temperature): (&[u32], f64),
        ends: impl Fn(usize) -> (u32, u32),
        rng: &mut Rng,
        mut accepted: impl FnMut(&S),
    ) -> Uphill {
        let is_pinned = |t: u32| self.pinned.get(t as usize).copied().unwrap_or(false);
        let mut uphill = Uphill::default();
        for _ in 0..ROUND {
            let coin = rng.next_u64();
            let pair = match coin & 3 != 0 && !hot.is_empty() {
                true => hot[rng.below(hot.len())] as usize,
                false => rng.below(self.pairs),
            };
            let (i, j) = ends(pair);
            let (u, x) = if coin & 4 == 0 { (i, j) } else { (j, i) };
            let around = if coin & 24 == 0 { u } else { x };
            let q = self.near.pick(state.placement().place_of[around as usize], rng);
            let v = state.placement().task_at[q as usize];
            if v == u || is_pinned(u) || (v != EMPTY && is_pinned(v)) {
                continue;
            }
            let delta = state.propose(u as usize, q);
            if delta > 0.0 {
                uphill.0 += delta;
                uphill.1 += 1;
            }
            let accept =
                delta <= 0.0 || (temperature > 0.0 && draw_below(delta / temperature, rng));
            state.finish(u as usize, q, accept);
            if accept {
                accepted(state);
            }
        }
        uphill
    }
}

/// True with probability e^−x. Draws no number if the probability is close to 0.
fn draw_below(x: f64, rng: &mut Rng) -> bool {
    x < 30.0 && rng.unit() < libm::exp(-x)
}
