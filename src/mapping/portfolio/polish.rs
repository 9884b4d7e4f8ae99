//! Local search on a candidate with the fastest distance there is for the topology.

use super::Effort;
use super::group_search::{self, swap_in_groups};
use crate::mapping::Budget;
use crate::mapping::engine::{Distance, Placement, Prepared, cost};
use crate::mapping::refinement::{
    Annealing, Near, anneal, swap_search, swap_search_from, with_near,
};

/// Swaps, then anneals from there, then swaps again; returns the best of the states between.
pub(crate) fn polish(
    prepared: &Prepared<'_, '_>,
    place_of: Vec<u32>,
    effort: &Effort,
    budget: &Budget,
) -> Vec<u32> {
    with_near!(prepared, d, near => run(prepared, d, near, place_of, effort, budget))
}

fn run<D: Distance, N: Near>(
    prepared: &Prepared<'_, '_>,
    d: &D,
    near: &N,
    mut place_of: Vec<u32>,
    effort: &Effort,
    budget: &Budget,
) -> Vec<u32> {
    let places = prepared.problem.places().len();
    let graph = &prepared.graph;
    let evaluations = effort.swap_evaluations;
    let awake = match &prepared.all {
        Some(tree) if graph.len() >= group_search::FROM => {
            swap_in_groups(prepared, tree, &mut place_of, evaluations, budget)
        }
        _ => None,
    };
    let awake = awake.unwrap_or_else(|| vec![true; graph.len()]);
    let mut placement = Placement::new(place_of, places);
    let pinned = &prepared.pinned;
    swap_search_from(graph, d, near, pinned, &mut placement, awake, evaluations, budget);
    if effort.anneal_steps == 0 {
        return placement.place_of;
    }
    let before = placement.place_of.clone();
    let mut rng = prepared.rng.fork(0xa11ea1);
    let schedule = Annealing { steps: effort.anneal_steps, hot: 0.2, cold: 0.02 };
    anneal(graph, d, near, &prepared.pinned, &mut placement, schedule, budget, &mut rng);
    swap_search(graph, d, near, &prepared.pinned, &mut placement, evaluations, budget);
    if cost(graph, d, &placement.place_of) < cost(graph, d, &before) {
        placement.place_of
    } else {
        before
    }
}
