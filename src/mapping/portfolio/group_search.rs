//! Local search inside the groups of a tree, group by group.
//!
//! A task that stays in its group keeps its distance to everything outside, so the groups are
//! problems of their own: they can be searched by several threads with the same result, and each
//! fits into the cache. What crosses groups is left to a search over all.

use crate::mapping::Budget;
use crate::mapping::engine::{EMPTY, Placement, Prepared, TreeDistance, TreePlaces};
use crate::mapping::refinement::{Refiner, SearchSpace, SwapSearch, TreeNear};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Problems from this size on are searched in groups.
pub(super) const FROM: usize = 65_536;

/// At least so many groups.
const GROUPS: usize = 8;

/// Searches all groups of the first level that has enough of them; `place_of` by vertex. Returns
/// which vertices have edges that leave their group: those that a search over all has to look at.
pub(super) fn swap_in_groups(
    prepared: &Prepared<'_, '_>,
    all: &TreePlaces,
    place_of: &mut [u32],
    evaluations: u64,
    budget: &Budget,
) -> Option<Vec<bool>> {
    let places = all.order.len();
    let ends = (0..all.shifts.len())
        .map(|level| groups(all, level))
        .find(|ends| ends.len() >= GROUPS)
        .filter(|ends| ends.len() * 64 <= places)?;
    let placement = Placement::new(place_of.to_vec(), places);
    let graph = &prepared.graph;
    let starts: Vec<usize> = std::iter::once(0).chain(ends.iter().copied()).collect();
    let next = AtomicUsize::new(0);
    let answers: Mutex<Vec<(Vec<u32>, Vec<u32>)>> = Mutex::new(Vec::new());
    let work = || {
        let mut local = vec![u32::MAX; graph.len()];
        loop {
            let g = next.fetch_add(1, Ordering::Relaxed);
            let (Some(&lo), Some(&hi)) = (starts.get(g), starts.get(g + 1)) else { return };
            let inner = TreePlaces {
                order: (0..(hi - lo) as u32).collect(),
                codes: all.codes[lo..hi].to_vec(),
                distance_of: all.distance_of,
                shifts: all.shifts.clone(),
            };
            let (mut members, mut at) = (Vec::new(), Vec::new());
            for (k, &place) in all.order[lo..hi].iter().enumerate() {
                let task = placement.task_at[place as usize];
                if task != EMPTY {
                    members.push(task);
                    at.push(k as u32);
                }
            }
            let sub = graph.subgraph(&members, &mut local);
            let pinned: Vec<bool> = match prepared.pinned.is_empty() {
                true => Vec::new(),
                false => members.iter().map(|&t| prepared.pinned[t as usize]).collect(),
            };
            let mut inside = Placement::new(at, hi - lo);
            let space = SearchSpace {
                graph: &sub,
                distance: &TreeDistance::new(&inner),
                near: &TreeNear::new(&inner),
                pinned: &pinned,
                budget,
            };
            let share = evaluations * members.len() as u64 / graph.len().max(1) as u64;
            SwapSearch::new(share).refine(&space, &mut inside);
            let at = inside.place_of.iter().map(|&k| all.order[lo + k as usize]).collect();
            if let Ok(mut answers) = answers.lock() {
                answers.push((members, at));
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..budget.threads().min(starts.len()) {
            scope.spawn(work);
        }
        work();
    });
    for (members, at) in answers.into_inner().unwrap_or_default() {
        for (task, place) in members.into_iter().zip(at) {
            place_of[task as usize] = place;
        }
    }
    let mut group_of = vec![0u32; places];
    for (g, range) in starts.windows(2).enumerate() {
        all.order[range[0]..range[1]].iter().for_each(|&p| group_of[p as usize] = g as u32);
    }
    let group = |v: usize| group_of[place_of[v] as usize];
    Some((0..graph.len()).map(|v| graph.arcs(v).any(|(t, _)| group(t) != group(v))).collect())
}

/// Ends of all groups of a level.
fn groups(all: &TreePlaces, level: usize) -> Vec<usize> {
    all.children(0, all.order.len(), level)
}
