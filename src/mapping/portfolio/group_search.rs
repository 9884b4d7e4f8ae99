//! Local search inside the groups of a tree, group by group.
//!
//! A task that stays in its group keeps its distance to all tasks outside, so each group is a problem of
//! its own. Several threads can search the groups with the same result, and each group fits into the
//! cache. A search over all groups follows, for swaps between groups.

use crate::mapping::Budget;
use crate::mapping::engine::{EMPTY, Placement, Prepared, TreeDistance, TreePlaces};
use crate::mapping::refinement::{Refiner, SearchSpace, SwapSearch, TreeNear};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Problems from this size on are searched in groups.
pub(super) const FROM: usize = 65_536;

/// The least number of groups that is searched group by group.
const GROUPS: usize = 8;

/// Searches all groups of the first level that has enough of them; `place_of` is by vertex. Returns
/// which vertices have edges that leave their group: a search over all groups has to look at these.
pub(super) fn swap_in_groups(
    prepared: &Prepared<'_, '_>,
    all: &TreePlaces,
    place_of: &mut [u32],
    evaluations: u64,
    budget: &Budget,
) -> Option<Vec<bool>> {
    let places = all.order.len();
    let groups = (0..all.shifts.len())
        .map(|level| all.groups(0..places, level))
        .find(|groups| groups.len() >= GROUPS)
        .filter(|groups| groups.len() * 64 <= places)?;
    let placement = Placement::new(place_of.to_vec(), places);
    let graph = &prepared.graph;
    let next = AtomicUsize::new(0);
    let answers: Mutex<Vec<(Vec<u32>, Vec<u32>)>> = Mutex::new(Vec::new());
    let work = || {
        let mut local = vec![u32::MAX; graph.len()];
        loop {
            let group = groups.get(next.fetch_add(1, Ordering::Relaxed));
            let Some(group) = group.cloned() else { return };
            let inner = all.with_codes(all.codes[group.clone()].to_vec());
            let places = &all.order[group];
            let vertices =
                places.iter().map(|&place| placement.task_at[place as usize]).zip(0u32..);
            let (members, at): (Vec<u32>, Vec<u32>) = vertices.filter(|&(v, _)| v != EMPTY).unzip();
            let sub = graph.subgraph(&members, &mut local);
            let is_pinned = |&v: &u32| prepared.pinned.get(v as usize).copied().unwrap_or(false);
            let pinned: Vec<bool> = members.iter().map(is_pinned).collect();
            let mut inside = Placement::new(at, places.len());
            let space = SearchSpace {
                graph: &sub,
                distance: &TreeDistance::new(&inner),
                near: &TreeNear::new(&inner),
                pinned: &pinned,
                budget,
            };
            let share = evaluations * members.len() as u64 / graph.len().max(1) as u64;
            SwapSearch::new(share).refine(&space, &mut inside);
            let at = inside.place_of.iter().map(|&k| places[k as usize]).collect();
            if let Ok(mut answers) = answers.lock() {
                answers.push((members, at));
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..budget.threads().min(groups.len()) {
            scope.spawn(work);
        }
        work();
    });
    for (members, at) in answers.into_inner().unwrap_or_default() {
        members.into_iter().zip(at).for_each(|(v, place)| place_of[v as usize] = place);
    }
    let mut group_of = vec![0u32; places];
    for (g, range) in groups.into_iter().enumerate() {
        all.order[range].iter().for_each(|&p| group_of[p as usize] = g as u32);
    }
    let group = |v: usize| group_of[place_of[v] as usize];
    Some((0..graph.len()).map(|v| graph.arcs(v).any(|(t, _)| group(t) != group(v))).collect())
}
