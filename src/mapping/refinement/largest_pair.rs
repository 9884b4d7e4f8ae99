//! Lowers the largest cost of a pair by swaps, as long as that works.

use super::near::Near;
use super::refiner::{Refiner, SearchSpace};
use crate::mapping::engine::{Distance, EMPTY, Placement, cost};

/// Swaps an end of the most expensive pair with a task near one of its partners, again and again.
/// The cost of all pairs together may rise.
pub(crate) struct LargestPair;

/// A task on a place, with another task on another place; all others are where they are.
#[derive(Clone, Copy)]
struct Moved {
    task: usize,
    place: u32,
    /// [`EMPTY`] for no other task.
    other: u32,
    other_place: u32,
}

/// The largest cost of a pair of `moved.task`.
fn largest_of<D: Distance, N: Near>(
    space: &SearchSpace<'_, D, N>,
    place_of: &[u32],
    moved: Moved,
) -> i64 {
    let at = |t: usize| if t as u32 == moved.other { moved.other_place } else { place_of[t] };
    let arcs = space.graph.arcs(moved.task);
    arcs.map(|(t, w)| w * space.distance.between(moved.place, at(t))).max().unwrap_or(0)
}

impl<D: Distance, N: Near> Refiner<D, N> for LargestPair {
    fn refine(&mut self, space: &SearchSpace<'_, D, N>, placement: &mut Placement) -> i128 {
        let total = |placement: &Placement| cost(space.graph, space.distance, &placement.place_of);
        let before = total(placement);
        for _ in 0..4 * space.graph.len() {
            if space.budget.expired() {
                break;
            }
            let Some((mover, place)) = step(space, placement) else { break };
            placement.swap(mover, place);
        }
        total(placement) - before
    }
}

/// The swap that leaves its tasks the smallest largest pair, if that is below the largest of all.
fn step<D: Distance, N: Near>(
    space: &SearchSpace<'_, D, N>,
    placement: &Placement,
) -> Option<(usize, u32)> {
    let (graph, d, at) = (space.graph, space.distance, &placement.place_of);
    let cost = |u: usize| {
        largest_of(space, at, Moved { task: u, place: at[u], other: EMPTY, other_place: 0 })
    };
    let u = (0..graph.len()).max_by_key(|&u| (cost(u), std::cmp::Reverse(u)))?;
    let worst = cost(u);
    // Both ends of the most expensive pair may move near each of their partners.
    let (x, _) = graph.arcs(u).find(|&(t, w)| w * d.between(at[u], at[t]) == worst)?;
    let mut best: Option<(i64, usize, u32)> = None;
    for mover in [u, x].into_iter().filter(|&m| !space.is_pinned(m)) {
        for (partner, _) in graph.arcs(mover) {
            for &q in space.near.nearest(at[partner]) {
                let v = placement.task_at[q as usize];
                if v as usize == mover || (v != EMPTY && space.is_pinned(v as usize)) {
                    continue;
                }
                let p = at[mover];
                let moved = Moved { task: mover, place: q, other: v, other_place: p };
                let mut after = largest_of(space, at, moved);
                if v != EMPTY {
                    let (task, other) = (v as usize, mover as u32);
                    let moved = Moved { task, place: p, other, other_place: q };
                    after = after.max(largest_of(space, at, moved));
                }
                if after < worst && best.is_none_or(|b| after < b.0) {
                    best = Some((after, mover, q));
                }
            }
        }
    }
    best.map(|(_, mover, q)| (mover, q))
}
