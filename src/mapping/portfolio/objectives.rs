//! Objectives other than hop-bytes: the same candidates, other judges, and a search of their own.
//!
//! Hop-bytes answers are good starts for all of them. The largest pair cost is then lowered pair by
//! pair, the most loaded link by a search over all links near the maximum.

use super::Effort;
use crate::mapping::engine::{Csr, Placement, Prepared, with_distance};
use crate::mapping::evaluation::both_ways;
use crate::mapping::refinement::{
    LargestPair, LinkSearch, Links, ListNear, Nearness, NoRefinement, Refiner, SearchSpace,
    TreeNear, near_of,
};
use crate::mapping::{Budget, Objective};

/// Lowers the load of the most loaded link; `None` without links. By task.
pub(super) fn lower_links(
    prepared: &Prepared<'_, '_>,
    place_of: Vec<u32>,
    budget: &Budget,
) -> Option<Vec<u32>> {
    let problem = prepared.problem;
    let network = problem.topology().network()?;
    let both;
    let matrix = match problem.traffic() {
        Some(matrix) => matrix,
        None => {
            both = both_ways(problem.graph());
            &both
        }
    };
    let by_volume = problem.objective() != Objective::Mmc;
    let links = Links::new(matrix, network, problem.places(), by_volume);
    let n = problem.tasks();
    let pinned: Vec<bool> = (0..n).map(|task| problem.fixed_place(task).is_some()).collect();
    let steps = Effort::new(problem.preset(), n, prepared.tree.is_some()).congestion_steps;
    let mut rng = prepared.rng.fork(0xc0);
    let search = LinkSearch { links: &links, pinned: &pinned, steps, budget };
    Some(match near_of(prepared) {
        Nearness::Tree(near) => search.lower(&near, place_of, &mut rng),
        Nearness::List(near) => search.lower(&near, place_of, &mut rng),
    })
}

/// Lowers the largest cost of a pair by swaps, as long as that works.
pub(super) fn lower_largest(
    prepared: &Prepared<'_, '_>,
    place_of: Vec<u32>,
    budget: &Budget,
) -> Vec<u32> {
    let places = prepared.problem.places();
    let mut placement = Placement::new(place_of, places.len());
    let graph = one_way(prepared);
    let (graph, pinned) = (&graph, &prepared.pinned[..]);
    with_distance!(&prepared.lookup, distance => match &prepared.all {
        Some(tree) => {
            let near = &TreeNear::new(tree);
            let space = SearchSpace { graph, distance, near, pinned, budget };
            LargestPair.refine(&space, &mut placement)
        }
        None => {
            // The lists of near places are too dear on larger machines: the start stays.
            let scanned = if places.len() <= 4096 { places.len() } else { 0 };
            let near = &ListNear::scan(distance, scanned, 32);
            let space = SearchSpace { graph, distance, near, pinned, budget };
            match scanned {
                0 => NoRefinement.refine(&space, &mut placement),
                _ => LargestPair.refine(&space, &mut placement),
            }
        }
    });
    placement.place_of
}

/// The graph with the heavier direction of every edge as its weight, where the traffic tells.
fn one_way(prepared: &Prepared<'_, '_>) -> Csr {
    let mut graph = prepared.graph.clone();
    if let Some(traffic) = prepared.problem.traffic() {
        for v in 0..graph.len() {
            for k in graph.range(v) {
                let (a, b) = (prepared.task(v), prepared.task(graph.targets[k] as usize));
                let bytes = traffic.get(a, b).bytes.max(traffic.get(b, a).bytes);
                graph.weights[k] = prepared.scale.weight(bytes);
            }
        }
    }
    graph
}
