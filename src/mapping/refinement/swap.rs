//! Greedy pair swaps on the true objective.
//!
//! For every task, tries the places near its partners (the communication neighbourhood N_C of
//! Schulz and Träff, SEA 2017; also the candidates of GSearch), with cost deltas in O(degree), and
//! takes the best swap. A queue of tasks whose surroundings changed keeps later rounds short.

use super::near::Near;
use super::refiner::{Refiner, SearchSpace};
use super::requests::ask_ahead;
use super::surroundings::Surroundings;
use crate::mapping::engine::{Csr, Distance, EMPTY, Placement};
use std::collections::VecDeque;

/// Swaps until no candidate improves the cost, or until the number of evaluations is used up.
pub(crate) struct SwapSearch {
    /// Changes of cost that may be computed.
    evaluations: u64,
    /// By vertex: whether it is looked at from the start, or only once its surroundings change. `None`
    /// stands for all vertices from the start.
    awake: Option<Vec<bool>>,
}

impl SwapSearch {
    /// Looks at all vertices.
    pub(crate) fn new(evaluations: u64) -> Self {
        SwapSearch { evaluations, awake: None }
    }

    /// Looks at the vertices that are `awake`, and at others once their surroundings change.
    pub(crate) fn from(evaluations: u64, awake: Option<Vec<bool>>) -> Self {
        SwapSearch { evaluations, awake }
    }
}

impl<D: Distance, N: Near> Refiner<D, N> for SwapSearch {
    fn refine(&mut self, space: &SearchSpace<'_, D, N>, placement: &mut Placement) -> i128 {
        let awake = self.awake.take().unwrap_or_else(|| vec![true; space.graph.len()]);
        let (graph, d) = (space.graph, space.distance);
        search(graph, d, space, placement, awake, self.evaluations)
    }
}

/// Graph and distance are parameters of their own: behind `space` the compiler has to assume that each
/// swap may change them, and reads their addresses again.
fn search<D: Distance, N: Near>(
    graph: &Csr,
    d: &D,
    space: &SearchSpace<'_, D, N>,
    placement: &mut Placement,
    awake: Vec<bool>,
    mut evaluations: u64,
) -> i128 {
    let (near, pinned, budget) = (space.near, space.pinned, space.budget);
    let is_pinned = |t: usize| pinned.get(t).copied().unwrap_or(false);
    let mut change = 0i128;
    let mut queue: VecDeque<u32> = (0..graph.len() as u32).filter(|&t| awake[t as usize]).collect();
    let mut queued = awake;
    let mut since_check = 0u32;
    let mut tried: Vec<*const u32> = Vec::new();
    let mut surroundings = Surroundings::default();
    while let Some(u) = queue.pop_front() {
        ask_ahead(&queue, graph, d, near, placement);
        let u = u as usize;
        queued[u] = false;
        if is_pinned(u) {
            continue;
        }
        since_check += 1;
        if since_check >= 256 {
            since_check = 0;
            if budget.expired() {
                break;
            }
        }
        let p = placement.place_of[u];
        let mut best = (0i64, p);
        let own = near.nearest(p);
        tried.clear();
        surroundings.look(graph, d, placement, u);
        for &(at, _) in &surroundings.partners {
            let seats = near.nearest(at);
            // This group of the lowest level is the task's own, or was tried before.
            if seats.as_ptr() == own.as_ptr() || tried.contains(&seats.as_ptr()) {
                continue;
            }
            tried.push(seats.as_ptr());
            for &q in seats {
                if q == p || q == at {
                    continue;
                }
                let v = placement.task_at[q as usize];
                if v != EMPTY && is_pinned(v as usize) {
                    continue;
                }
                evaluations = evaluations.saturating_sub(1);
                // If two tasks gain by a swap, at least one gains by its own move. The search finds
                // the swap from that task.
                if surroundings.change(d, q) > 0 {
                    if near.alike() {
                        break;
                    }
                    continue;
                }
                let delta = placement.delta(graph, d, u, q);
                if delta < best.0 {
                    best = (delta, q);
                }
            }
        }
        if best.0 < 0 {
            change += i128::from(best.0);
            let other = placement.task_at[best.1 as usize];
            placement.swap(u, best.1);
            let mut wake = |t: usize| {
                if !queued[t] {
                    queued[t] = true;
                    queue.push_back(t as u32);
                }
            };
            wake(u);
            graph.arcs(u).for_each(|(t, _)| wake(t));
            if other != EMPTY {
                wake(other as usize);
                graph.arcs(other as usize).for_each(|(t, _)| wake(t));
            }
        }
        if evaluations == 0 {
            break;
        }
    }
    change
}
