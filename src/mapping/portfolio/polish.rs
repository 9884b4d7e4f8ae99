//! Local search on a candidate, with the fastest kind of distance for the topology.

use super::Effort;
use super::group_search::{self, swap_in_groups};
use crate::mapping::Budget;
use crate::mapping::engine::{Distance, Placement, Prepared, cost};
use crate::mapping::refinement::{Annealing, Near, Refiner, SearchSpace, SwapSearch, with_near};

/// Swaps, anneals from this state, and swaps again. Returns the best of the states after each step.
pub(crate) fn polish(
    prepared: &Prepared<'_, '_>,
    mut place_of: Vec<u32>,
    effort: &Effort,
    budget: &Budget,
) -> Vec<u32> {
    let (graph, pinned) = (&prepared.graph, &prepared.pinned[..]);
    with_near!(prepared, distance, near => {
        let awake = match &prepared.all {
            Some(tree) if graph.len() >= group_search::FROM => {
                swap_in_groups(prepared, tree, &mut place_of, effort.swap_evaluations, budget)
            }
            _ => None,
        };
        let placement = Placement::new(place_of, prepared.problem.places().len());
        let space = SearchSpace { graph, distance, near, pinned, budget };
        let mut annealing = Annealing {
            steps: effort.anneal_steps,
            hot: effort.hot,
            cold: effort.cold,
            rng: prepared.rng.fork(0xa11ea1),
        };
        let evaluations = effort.swap_evaluations;
        run(&space, placement, SwapSearch::from(evaluations, awake), &mut annealing, evaluations)
    })
}

fn run<D: Distance, N: Near>(
    space: &SearchSpace<'_, D, N>,
    mut placement: Placement,
    mut first: SwapSearch,
    annealing: &mut Annealing,
    evaluations: u64,
) -> Vec<u32> {
    first.refine(space, &mut placement);
    if annealing.steps == 0 {
        return placement.place_of;
    }
    let before = placement.place_of.clone();
    annealing.refine(space, &mut placement);
    SwapSearch::new(evaluations).refine(space, &mut placement);
    let cost = |place_of: &[u32]| cost(space.graph, space.distance, place_of);
    if cost(&placement.place_of) < cost(&before) { placement.place_of } else { before }
}
