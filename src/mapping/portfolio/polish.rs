//! Local search on a candidate with the fastest distance there is for the topology.

use super::{Effort, Prepared};
use crate::mapping::Budget;
use crate::mapping::refinement::{
    Annealing, ListNear, Near, Placement, TreeNear, anneal, cost, swap_search,
};
use crate::mapping::work::{Distance, Lookup};

/// Swaps, then anneals from there, then swaps again; returns the best of the states between.
pub(crate) fn polish(
    prepared: &Prepared<'_, '_>,
    place_of: Vec<u32>,
    effort: &Effort,
    budget: &Budget,
) -> Vec<u32> {
    match (&prepared.lookup, &prepared.tree) {
        (Lookup::Tree(d), Some(tree)) => {
            run(prepared, d, &TreeNear::new(tree), place_of, effort, budget)
        }
        (Lookup::Tree(d), None) => {
            let near = ListNear::scan(d, prepared.problem.places().len(), 8);
            run(prepared, d, &near, place_of, effort, budget)
        }
        (Lookup::Table(d), _) => {
            let near = ListNear::scan(d, prepared.problem.places().len(), 8);
            run(prepared, d, &near, place_of, effort, budget)
        }
        (Lookup::Asked(d), _) if prepared.problem.places().len() <= 8192 => {
            let near = ListNear::scan(d, prepared.problem.places().len(), 8);
            run(prepared, d, &near, place_of, effort, budget)
        }
        (Lookup::Asked(_), _) => place_of,
    }
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
