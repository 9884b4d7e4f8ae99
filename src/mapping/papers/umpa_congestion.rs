//! UMPA's refinement of the maximum congestion, by volume (UMC) and by messages (UMMC).
//!
//! Deveci et al. 2015, section III-C, Algorithm 3, on top of the greedy mapping refined for hops.
//! As long as it helps, a group whose messages pass the most loaded link is swapped with one near
//! its partners (Δ = 8 trials). The first swap is taken that lowers the maximum, or leaves it and
//! lowers the average. Needs a topology with links and static routes. The affinity graph does not
//! know directions, so every edge loads its route both ways.

use super::filled_problem::FilledProblem;
use super::infeasible;
use super::network_search::NetworkSearch;
use super::placed_groups::PlacedGroups;
use super::quotient::Quotient;
use super::umpa_greedy::greedy;
use super::umpa_hops;
use crate::base::error::Result;
use crate::mapping::engine::Maxima;
use crate::mapping::{Budget, Outcome, Problem};
use crate::topology::Network;

/// UMC.
pub(in crate::mapping) fn by_bytes(problem: &Problem<'_>, budget: &Budget) -> Result<Outcome> {
    map(problem, budget, true)
}

/// UMMC.
pub(in crate::mapping) fn by_messages(problem: &Problem<'_>, budget: &Budget) -> Result<Outcome> {
    map(problem, budget, false)
}

fn map(problem: &Problem<'_>, budget: &Budget, by_volume: bool) -> Result<Outcome> {
    let Some(network) = problem.topology().network() else {
        let name = if by_volume { "umpa-mc" } else { "umpa-mmc" };
        let what = format!("{name} needs the links of the topology, which has none");
        return Err(infeasible(what, "umpa-wh").at(problem.topology().name()));
    };
    let filled = FilledProblem::new(problem, budget);
    let nodes = Quotient::new(&filled);
    let mut placed = greedy(&filled, &nodes);
    umpa_hops::refine(&mut placed);
    let mut run = Run::new(placed, network, by_volume);
    let swaps = run.refine();
    let outcome = run.placed.outcome().with("swaps", swaps);
    Ok(outcome.with("congestion of groups", run.maximum.top()))
}

struct Run<'a> {
    placed: PlacedGroups<'a>,
    network: &'a dyn Network,
    /// A link is loaded by bytes divided by its bandwidth, not by pairs of groups.
    by_volume: bool,
    load: Vec<i64>,
    /// How many routes use each link.
    routes: Vec<u32>,
    /// Load of each link divided by its bandwidth, the sum of these values, and how many links are used.
    maximum: Maxima,
    sum: f64,
    used: usize,
}

impl<'a> Run<'a> {
    fn new(placed: PlacedGroups<'a>, network: &'a dyn Network, by_volume: bool) -> Self {
        let (nodes, links) = (placed.nodes, network.links());
        let (load, routes) = (vec![0; links], vec![0; links]);
        let (maximum, sum, used) = (Maxima::new(links), 0.0, 0);
        let mut run = Run { placed, network, by_volume, load, routes, maximum, sum, used };
        for group in 0..nodes.len() {
            for (other, weight) in nodes.graph.arcs(group).filter(|&(other, _)| other > group) {
                run.change(group, other, weight, true);
            }
        }
        run
    }

    /// Adds or removes the messages of an edge.
    fn change(&mut self, a: usize, b: usize, weight: i64, add: bool) {
        let (p, q) = (self.placed.slot(a), self.placed.slot(b));
        let (network, by_volume) = (self.network, self.by_volume);
        let weight = if by_volume { weight } else { 1 };
        let (load, routes) = (&mut self.load, &mut self.routes);
        let (maximum, sum, used) = (&mut self.maximum, &mut self.sum, &mut self.used);
        for (from, to) in [(p, q), (q, p)] {
            network.route(from, to, &mut |link| {
                let width = if by_volume { network.bandwidth(link) } else { 1.0 };
                let before = load[link] as f64 / width;
                if add {
                    *used += usize::from(routes[link] == 0);
                    routes[link] += 1;
                    load[link] += weight;
                } else {
                    routes[link] -= 1;
                    load[link] -= weight;
                    *used -= usize::from(routes[link] == 0);
                }
                let after = load[link] as f64 / width;
                *sum += after - before;
                maximum.set(link, after);
            });
        }
    }

    /// Swaps the nodes of two groups and updates all loads.
    fn swap(&mut self, a: usize, b: usize) {
        let nodes = self.placed.nodes;
        for add in [false, true] {
            for (group, partner) in [(a, b), (b, a)] {
                for (other, weight) in nodes.graph.arcs(group) {
                    // The edge between the two is counted once.
                    if other != partner || group == a {
                        self.change(group, other, weight, add);
                    }
                }
            }
            if !add {
                self.placed.swap(a, b);
            }
        }
    }

    fn average(&self) -> f64 {
        self.sum / self.used.max(1) as f64
    }

    /// Groups whose messages pass a link, ascending.
    fn groups_on(&self, link: usize) -> Vec<usize> {
        let nodes = self.placed.nodes;
        let passes = |from: usize, to: usize| {
            let (from, to) = (self.placed.slot(from), self.placed.slot(to));
            let mut on = false;
            self.network.route(from, to, &mut |l| on |= l == link);
            on
        };
        let on = |&group: &usize| {
            nodes.graph.arcs(group).any(|(t, _)| passes(group, t) || passes(t, group))
        };
        (0..nodes.len()).filter(on).collect()
    }

    /// Swaps groups off the most loaded link; returns the number of swaps.
    fn refine(&mut self) -> usize {
        let mut search = NetworkSearch::new(self.placed.filled, self.placed.nodes);
        let mut swaps = 0;
        'links: while !self.placed.filled.budget.expired() && self.maximum.top() > 0.0 {
            for group in self.groups_on(self.maximum.index_of_top()) {
                let mut near = Vec::new();
                self.placed.candidates(&mut search, group, |other| {
                    near.push(other);
                    true
                });
                for other in near {
                    let (top, average) = (self.maximum.top(), self.average());
                    self.swap(group, other);
                    let least = 1e-9 * average.abs();
                    let better = self.maximum.top() < top
                        || (self.maximum.top() == top && self.average() < average - least);
                    if better {
                        swaps += 1;
                        continue 'links;
                    }
                    self.swap(group, other);
                }
            }
            break;
        }
        swaps
    }
}
