//! Local search on a candidate with the fastest distance there is for the topology.

use super::{Effort, Prepared};
use crate::mapping::Budget;
use crate::mapping::refinement::{
    Annealing, ListNear, Near, Placement, TreeNear, anneal, cost, swap_search,
};
use crate::mapping::work::{Distance, Lookup, with_distance};

/// Places near a place that local search tries.
const WIDTH: usize = 8;

/// Up to this many places, the nearest are found by looking at all pairs.
const SCAN_LIMIT: usize = 2048;

/// Swaps, then anneals from there, then swaps again; returns the best of the states between.
pub(crate) fn polish(
    prepared: &Prepared<'_, '_>,
    place_of: Vec<u32>,
    effort: &Effort,
    budget: &Budget,
) -> Vec<u32> {
    let places = prepared.problem.places();
    if let (Lookup::Tree(d), Some(tree)) = (&prepared.lookup, &prepared.all) {
        return run(prepared, d, &TreeNear::new(tree), place_of, effort, budget);
    }
    with_distance!(&prepared.lookup, d => {
        let near = if places.len() <= SCAN_LIMIT {
            ListNear::scan(d, places.len(), WIDTH)
        } else if let Some(network) = prepared.problem.topology().network() {
            ListNear::search(network, places, WIDTH)
        } else {
            return place_of;
        };
        run(prepared, d, &near, place_of, effort, budget)
    })
}

fn run<D: Distance, N: Near>(
    prepared: &Prepared<'_, '_>,
    d: &D,
    near: &N,
    place_of: Vec<u32>,
    effort: &Effort,
    budget: &Budget,
) -> Vec<u32> {
    let places = prepared.problem.places().len();
    let graph = &prepared.graph;
    let mut placement = Placement::new(place_of, places);
    let evaluations = effort.swap_evaluations;
    swap_search(graph, d, near, &prepared.pinned, &mut placement, evaluations, budget);
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
