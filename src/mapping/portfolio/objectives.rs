//! Objectives other than hop-bytes: the same candidates, other judges, and a search of their own.
//!
//! Hop-bytes answers are good starts for all of them. The largest pair cost is then lowered pair by
//! pair, the most loaded link by a search over all links near the maximum.

use super::Effort;
use crate::mapping::engine::{Csr, Distance, Placement, Prepared, with_distance};
use crate::mapping::evaluation::both_ways;
use crate::mapping::refinement::{
    Links, ListNear, Near, Nearness, TreeNear, lower_congestion, near_of,
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
    Some(match near_of(prepared) {
        Nearness::Tree(near) => {
            lower_congestion(&links, &near, &pinned, place_of, steps, budget, &mut rng)
        }
        Nearness::List(near) => {
            lower_congestion(&links, &near, &pinned, place_of, steps, budget, &mut rng)
        }
    })
}

/// Lowers the largest cost of a pair by swaps, as long as that works.
pub(super) fn lower_largest(prepared: &Prepared<'_, '_>, place_of: Vec<u32>) -> Vec<u32> {
    let places = prepared.problem.places();
    let mut placement = Placement::new(place_of, places.len());
    let graph = one_way(prepared);
    with_distance!(&prepared.lookup, d => {
        if let Some(tree) = &prepared.all {
            descend(prepared, &graph, d, &TreeNear::new(tree), &mut placement);
        } else if places.len() <= 4096 {
            descend(prepared, &graph, d, &ListNear::scan(d, places.len(), 32), &mut placement);
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

/// The largest cost of the edges of `u` if `u` sat at `p`, the task `v` at `q`.
fn largest_at<D: Distance>(
    graph: &Csr,
    d: &D,
    at: &[u32],
    u: usize,
    p: u32,
    v: u32,
    q: u32,
) -> i64 {
    graph
        .arcs(u)
        .map(|(t, w)| w * d.between(p, if t as u32 == v { q } else { at[t] }))
        .max()
        .unwrap_or(0)
}

fn descend<D: Distance, N: Near>(
    prepared: &Prepared<'_, '_>,
    graph: &Csr,
    d: &D,
    near: &N,
    placement: &mut Placement,
) {
    let pinned = |t: usize| prepared.pinned.get(t).copied().unwrap_or(false);
    for _ in 0..4 * graph.len() {
        let at = &placement.place_of;
        let cost = |u: usize| largest_at(graph, d, at, u, at[u], u32::MAX, 0);
        let Some(u) = (0..graph.len()).max_by_key(|&u| (cost(u), std::cmp::Reverse(u))) else {
            return;
        };
        let worst = cost(u);
        // Both ends of the worst edge may move near each of their partners.
        let Some((x, _)) = graph.arcs(u).find(|&(t, w)| w * d.between(at[u], at[t]) == worst)
        else {
            return;
        };
        let mut best: Option<(i64, usize, u32)> = None;
        for mover in [u, x].into_iter().filter(|&m| !pinned(m)) {
            for (partner, _) in graph.arcs(mover) {
                for &q in near.nearest(at[partner]) {
                    let v = placement.task_at[q as usize];
                    if v as usize == mover || (v != u32::MAX && pinned(v as usize)) {
                        continue;
                    }
                    let p = at[mover];
                    let mut after = largest_at(graph, d, at, mover, q, v, p);
                    if v != u32::MAX {
                        let other = largest_at(graph, d, at, v as usize, p, mover as u32, q);
                        after = after.max(other);
                    }
                    if after < worst && best.is_none_or(|b| after < b.0) {
                        best = Some((after, mover, q));
                    }
                }
            }
        }
        let Some((_, mover, q)) = best else { return };
        placement.swap(mover, q);
    }
}
