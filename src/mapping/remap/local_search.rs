//! The mapping that stays as close as possible to the previous one, and a local search with a price for
//! moves.

use super::{NONE, OldPlaces};
use crate::mapping::Budget;
use crate::mapping::engine::{Distance, Placement, Prepared};
use crate::mapping::refinement::{Near, Surroundings, ask_ahead, with_near};
use std::collections::VecDeque;

/// Every task on its previous slot where that is possible, the others where they are nearest to their
/// partners; by task.
pub(super) fn stay<D: Distance>(prepared: &Prepared<'_, '_>, old: &OldPlaces, d: &D) -> Vec<u32> {
    let (tasks, places) = (old.first_place.len(), old.slot_place.len());
    let mut place_of = vec![NONE; tasks];
    let mut taken = vec![false; places];
    let problem = prepared.problem;
    for (task, place) in place_of.iter_mut().enumerate() {
        if let Some(fixed) = problem.fixed_place(task) {
            *place = fixed as u32;
            taken[fixed] = true;
        }
    }
    for (place_of, &first) in place_of.iter_mut().zip(&old.first_place) {
        if first == NONE || *place_of != NONE {
            continue;
        }
        let of_slot = (first as usize..places).take_while(|&p| old.slot_place[p] == first);
        if let Some(place) = of_slot.into_iter().find(|&p| !taken[p]) {
            *place_of = place as u32;
            taken[place] = true;
        }
    }
    let mut now = prepared.by_vertex(place_of);
    let graph = &prepared.graph;
    let mut free: Vec<u32> = (0..places as u32).filter(|&p| !taken[p as usize]).collect();
    let mut homeless: Vec<u32> = (0..tasks as u32).filter(|&v| now[v as usize] == NONE).collect();
    let placed_traffic = |now: &[u32], v: u32| -> i64 {
        graph.arcs(v as usize).filter(|&(t, _)| now[t] != NONE).map(|(_, w)| w).sum()
    };
    while !homeless.is_empty() {
        let next = (0..homeless.len())
            .max_by_key(|&k| (placed_traffic(&now, homeless[k]), std::cmp::Reverse(homeless[k])));
        let v = homeless.swap_remove(next.unwrap_or(0)) as usize;
        // A bounded number of free places is tried when there are very many.
        let step = (free.len() * (homeless.len() + 1)).div_ceil(50_000_000).max(1);
        let cost = |p: u32| -> i64 {
            graph
                .arcs(v)
                .filter(|&(t, _)| now[t] != NONE)
                .map(|(t, w)| w * d.between(p, now[t]))
                .sum()
        };
        let best = (0..free.len()).step_by(step).min_by_key(|&k| (cost(free[k]), free[k]));
        now[v] = free.swap_remove(best.unwrap_or(0));
    }
    prepared.by_task(now)
}

/// Swaps and moves tasks as long as that saves more than it costs; on average at most a thousand tries for
/// each task. Mappings are by task.
pub(super) fn settle(
    prepared: &Prepared<'_, '_>,
    old: &OldPlaces,
    place_of: Vec<u32>,
    price: i64,
    budget: &Budget,
) -> Vec<u32> {
    let start = prepared.by_vertex(place_of);
    with_near!(prepared, d, near => {
        let mut placement = Placement::new(start, old.slot_place.len());
        PricedSearch { prepared, old, price, budget, awake: None }.run(d, near, &mut placement);
        prepared.by_task(placement.place_of)
    })
}

/// A local search in which leaving a slot has a price.
pub(super) struct PricedSearch<'a, 'p, 'q> {
    pub(super) prepared: &'a Prepared<'p, 'q>,
    pub(super) old: &'a OldPlaces,
    pub(super) price: i64,
    pub(super) budget: &'a Budget,
    /// By vertex: whether it is looked at from the start, or only once its surroundings change. `None` stands for all
    /// vertices from the start.
    pub(super) awake: Option<Vec<bool>>,
}

impl PricedSearch<'_, '_, '_> {
    /// Improves a placement by vertex. Returns the change of its cost with the prices, in the search's own numbers.
    pub(super) fn run<D: Distance, N: Near>(
        &self,
        d: &D,
        near: &N,
        placement: &mut Placement,
    ) -> i128 {
        let PricedSearch { prepared, old, price, budget, ref awake } = *self;
        let graph = &prepared.graph;
        let n = graph.len();
        let pinned = |v: usize| prepared.pinned.get(v).copied().unwrap_or(false);
        let mut queued = awake.clone().unwrap_or_else(|| vec![true; n]);
        let mut queue: VecDeque<u32> = (0..n as u32).filter(|&v| queued[v as usize]).collect();
        let mut tries = 1000 * n as u64;
        let (mut visits, mut change) = (0u32, 0);
        let mut tried: Vec<*const u32> = Vec::new();
        let mut surroundings = Surroundings::default();
        while let Some(u) = queue.pop_front() {
            ask_ahead(&queue, graph, d, near, placement);
            let u = u as usize;
            queued[u] = false;
            visits = visits.wrapping_add(1);
            if pinned(u) {
                continue;
            }
            if tries == 0 || (visits.is_multiple_of(256) && budget.expired()) {
                break;
            }
            let p = placement.place_of[u];
            let task = prepared.task(u);
            let mut best = (0i128, p);
            let home = old.first_place[task];
            let own_slot = (home != NONE).then_some(home);
            let own = near.nearest(p);
            tried.clear();
            surroundings.look(graph, d, placement, u);
            let around = surroundings.partners.iter().map(|&(at, _)| near.nearest(at));
            for seats in around.chain(own_slot.as_ref().map(std::slice::from_ref)) {
                // These places are around the task itself, or were tried before.
                if near.alike()
                    && (seats.as_ptr() == own.as_ptr() || tried.contains(&seats.as_ptr()))
                {
                    continue;
                }
                tried.push(seats.as_ptr());
                for &q in seats {
                    let v = placement.task_at[q as usize];
                    if q == p || (v != NONE && pinned(v as usize)) {
                        continue;
                    }
                    tries = tries.saturating_sub(1);
                    let moves = old.left(task, q) - old.left(task, p);
                    let half = i128::from(surroundings.change(d, q))
                        + i128::from(price) * i128::from(moves);
                    // If two tasks gain by a swap, at least one gains by its own move.
                    if half > 0 {
                        if near.alike() && Some(q) != own_slot {
                            break;
                        }
                        continue;
                    }
                    let mut delta = i128::from(placement.delta(graph, d, u, q))
                        + i128::from(price) * i128::from(moves);
                    if v != NONE {
                        let other = prepared.task(v as usize);
                        let moves = old.left(other, p) - old.left(other, q);
                        delta += i128::from(price) * i128::from(moves);
                    }
                    if delta < best.0 {
                        best = (delta, q);
                    }
                }
            }
            if best.0 < 0 {
                change += best.0;
                let other = placement.task_at[best.1 as usize];
                placement.swap(u, best.1);
                for x in [u as u32, other].into_iter().filter(|&x| x != NONE) {
                    let x = x as usize;
                    for t in graph.arcs(x).map(|(t, _)| t).chain([x]) {
                        if !std::mem::replace(&mut queued[t], true) {
                            queue.push_back(t as u32);
                        }
                    }
                }
            }
        }
        change
    }
}
