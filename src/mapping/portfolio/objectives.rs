//! The local searches for objectives other than hop-bytes.
//!
//! They start from the answer for hop-bytes, which is good for all objectives. One search lowers the
//! largest cost of a pair, pair by pair. The other lowers the load of all links near the maximum.

use super::{Effort, Metric};
use crate::mapping::engine::{Csr, Placement, Prepared, with_distance};
use crate::mapping::evaluation::directed;
use crate::mapping::refinement::{
    LargestPair, LinkSearch, Links, ListNear, Nearness, Refiner, SearchSpace, TimeSearch, TreeNear,
    near_of,
};
use crate::mapping::{Budget, Objective, Preset};
use crate::matrix::SparseMatrix;
use crate::topology::Network;
use std::borrow::Cow;

/// What a search over links works on.
struct OfLinks<'a> {
    network: &'a dyn Network,
    matrix: Cow<'a, SparseMatrix>,
    /// By task: it keeps its place.
    pinned: Vec<bool>,
    effort: Effort,
}

impl<'a> OfLinks<'a> {
    /// `None` if the topology has no links.
    fn new(prepared: &Prepared<'a, '_>, preset: Preset) -> Option<OfLinks<'a>> {
        let problem = prepared.problem;
        let n = problem.tasks();
        Some(OfLinks {
            network: problem.topology().network()?,
            matrix: directed(problem.graph(), problem.traffic()),
            pinned: (0..n).map(|task| problem.fixed_place(task).is_some()).collect(),
            effort: Effort::new(preset, n, Metric::of(prepared)),
        })
    }
}

/// Lowers the load of the most loaded link. Takes and returns the place of each task. `None` if the topology has no
/// links.
pub(super) fn lower_links(
    prepared: &Prepared<'_, '_>,
    preset: Preset,
    place_of: Vec<u32>,
    budget: &Budget,
) -> Option<Vec<u32>> {
    let OfLinks { network, matrix, pinned, effort } = OfLinks::new(prepared, preset)?;
    let steps = effort.congestion_steps;
    let by_volume = prepared.problem.objective() != Objective::Mmc;
    let links = Links::new(&matrix, network, prepared.problem.places(), by_volume);
    let mut rng = prepared.rng.fork(0xc0);
    let search = LinkSearch { links: &links, pinned: &pinned, steps, budget };
    Some(match near_of(prepared) {
        Nearness::Tree(near) => search.lower(&near, place_of, &mut rng),
        Nearness::List(near) => search.lower(&near, place_of, &mut rng),
    })
}

/// Lowers the times of the links under the routing of the network. Takes the place of each task, and returns several
/// answers; none if the topology has no links.
pub(super) fn lower_times(
    prepared: &Prepared<'_, '_>,
    preset: Preset,
    place_of: Vec<u32>,
    budget: &Budget,
) -> Vec<Vec<u32>> {
    let Some(OfLinks { network, matrix, pinned, effort }) = OfLinks::new(prepared, preset) else {
        return Vec::new();
    };
    let steps = effort.time_steps;
    let mut rng = prepared.rng.fork(0x7e);
    let topology = prepared.problem.topology();
    let search = TimeSearch::new(&matrix, topology, network, prepared.problem.places(), &pinned);
    match near_of(prepared) {
        Nearness::Tree(near) => search.lower(&near, place_of, steps, budget, &mut rng),
        Nearness::List(near) => search.lower(&near, place_of, steps, budget, &mut rng),
    }
}

/// Lowers the largest cost of a pair by swaps, as long as that works. Mappings are by vertex.
pub(super) fn lower_largest(
    prepared: &Prepared<'_, '_>,
    place_of: Vec<u32>,
    budget: &Budget,
) -> Vec<u32> {
    let places = prepared.problem.places().len();
    // On larger machines the lists of near places take too long to make. The start is the answer then.
    if prepared.all.is_none() && places > 4096 {
        return place_of;
    }
    let mut placement = Placement::new(place_of, places);
    let (graph, pinned) = (&one_way(prepared), &prepared.pinned[..]);
    with_distance!(&prepared.lookup, distance => match &prepared.all {
        Some(tree) => {
            let near = &TreeNear::new(tree);
            let space = SearchSpace { graph, distance, near, pinned, budget };
            LargestPair.refine(&space, &mut placement)
        }
        None => {
            let near = &ListNear::scan(distance, places, 32);
            let space = SearchSpace { graph, distance, near, pinned, budget };
            LargestPair.refine(&space, &mut placement)
        }
    });
    placement.place_of
}

/// The graph with the heavier direction of every edge as its weight, where the traffic is known.
fn one_way(prepared: &Prepared<'_, '_>) -> Csr {
    let mut graph = prepared.graph.clone();
    if let Some(traffic) = prepared.problem.traffic() {
        for v in 0..graph.len() {
            for k in graph.range(v) {
                let (a, b) = (prepared.task(v), prepared.task(graph.arcs.target(k) as usize));
                let bytes = traffic.get(a, b).bytes.max(traffic.get(b, a).bytes);
                graph.arcs.set_weight(k, prepared.scale.weight(bytes));
            }
        }
    }
    graph
}
