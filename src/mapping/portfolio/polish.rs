//! Local search on a candidate with the fastest distance there is for the topology.

use super::in_groups::{self, swap_in_groups};
use super::{Effort, Prepared};
use crate::mapping::Budget;
use crate::mapping::refinement::{
    Annealing, ListNear, Near, Placement, TreeNear, anneal, cost, swap_search, swap_search_from,
};
use crate::mapping::work::{Distance, Lookup, with_distance};

/// Places near a place that local search tries.
const WIDTH: usize = 8;

/// Up to this many places, the nearest are found by looking at all pairs.
const SCAN_LIMIT: usize = 2048;

/// Runs `$body` with `$d` bound to the distance of a problem and `$near` to which places are near.
macro_rules! with_near {
    ($prepared:expr, $d:ident, $near:ident => $body:expr) => {
        match ($crate::mapping::portfolio::near_of($prepared), &$prepared.lookup) {
            ($crate::mapping::portfolio::Nearness::Tree($near), lookup) => {
                let $near = &$near;
                $crate::mapping::work::with_distance!(lookup, $d => $body)
            }
            ($crate::mapping::portfolio::Nearness::List($near), lookup) => {
                let $near = &$near;
                $crate::mapping::work::with_distance!(lookup, $d => $body)
            }
        }
    };
}
pub(crate) use with_near;

/// Swaps, then anneals from there, then swaps again; returns the best of the states between.
pub(crate) fn polish(
    prepared: &Prepared<'_, '_>,
    place_of: Vec<u32>,
    effort: &Effort,
    budget: &Budget,
) -> Vec<u32> {
    with_near!(prepared, d, near => run(prepared, d, near, place_of, effort, budget))
}

/// The ways to know which places are near.
pub(crate) enum Nearness {
    Tree(TreeNear),
    List(ListNear),
}

/// The best way for a topology.
pub(crate) fn near_of(prepared: &Prepared<'_, '_>) -> Nearness {
    let places = prepared.problem.places();
    if let (Lookup::Tree(_), Some(tree)) = (&prepared.lookup, &prepared.all) {
        return Nearness::Tree(TreeNear::new(tree));
    }
    Nearness::List(if places.len() <= SCAN_LIMIT {
        with_distance!(&prepared.lookup, d => ListNear::scan(d, places.len(), WIDTH))
    } else if let Some(network) = prepared.problem.topology().network() {
        ListNear::search(network, places, WIDTH)
    } else {
        with_distance!(&prepared.lookup, d => ListNear::sample(d, places.len(), WIDTH, 256))
    })
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
        Some(tree) if graph.len() >= in_groups::FROM => {
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
