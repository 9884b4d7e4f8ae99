//! UMPA's refinement of the maximum congestion, by volume (UMC) and by messages (UMMC).
//!
//! Deveci et al. 2015, section III-C, Algorithm 3, on top of the greedy mapping refined for hops.
//! As long as it helps, a group whose messages pass the most loaded link is swapped with one near
//! its partners (Δ = 8 trials), taking the first swap that lowers the maximum, or leaves it and
//! lowers the average. Needs a topology with links and static routes. The affinity graph does not
//! know directions, so every edge loads its route both ways.

use super::filled_problem::FilledProblem;
use super::network_search::NetworkSearch;
use super::quotient::Quotient;
use super::umpa_greedy::greedy;
use super::umpa_hops::{Placed, refine};
use crate::base::error::{Error, ErrorKind, Result};
use crate::mapping::engine::Maxima;
use crate::mapping::{Budget, Mapper, Outcome, Problem};
use crate::topology::Network;

/// Swaps groups off the most loaded link.
pub(in crate::mapping) struct UmpaCongestion {
    by_volume: bool,
}

/// UMC.
pub(in crate::mapping) const MAXIMUM_CONGESTION: UmpaCongestion =
    UmpaCongestion { by_volume: true };

/// UMMC.
pub(in crate::mapping) const MAXIMUM_MESSAGE_CONGESTION: UmpaCongestion =
    UmpaCongestion { by_volume: false };

impl Mapper for UmpaCongestion {
    fn name(&self) -> &'static str {
        if self.by_volume { "umpa-mc" } else { "umpa-mmc" }
    }

    fn source(&self) -> &'static str {
        if self.by_volume {
            "Deveci et al. 2015, section III-C, Algorithm 3 (UMC)"
        } else {
            "Deveci et al. 2015, section III-C, Algorithm 3 for messages (UMMC)"
        }
    }

    fn map(&self, problem: &Problem<'_>, budget: &mut Budget) -> Result<Outcome> {
        let Some(network) = problem.topology().network() else {
            return Err(Error::new(
                ErrorKind::Infeasible,
                format!("{} needs the links of the topology, which has none", self.name()),
            )
            .at(problem.topology().name())
            .advise("--algorithm umpa-wh or the default"));
        };
        let filled = FilledProblem::new(problem, budget);
        let mut nodes = Quotient::new(&filled);
        let mut node_of = greedy(&filled, &nodes, budget);
        refine(&filled, &nodes, &mut node_of, budget);
        if !self.by_volume {
            nodes.graph.weights.fill(1);
        }
        let mut run = Run::new(&nodes, network, node_of, self.by_volume);
        let swaps = run.refine(&filled, budget);
        let place_of = nodes.places_of(&filled, &run.node_of);
        Ok(filled
            .outcome(place_of)
            .with("swaps", swaps)
            .with("congestion of groups", run.maximum.top()))
    }
}

struct Run<'a> {
    nodes: &'a Quotient,
    network: &'a dyn Network,
    bandwidth: bool,
    node_of: Vec<u32>,
    group_at: Vec<u32>,
    load: Vec<i64>,
    /// How many routes use each link.
    routes: Vec<u32>,
    maximum: Maxima,
    sum: f64,
    used: usize,
}

impl<'a> Run<'a> {
    fn new(
        nodes: &'a Quotient,
        network: &'a dyn Network,
        node_of: Vec<u32>,
        by_volume: bool,
    ) -> Self {
        let mut group_at = vec![0u32; nodes.len()];
        for (group, &node) in node_of.iter().enumerate() {
            group_at[node as usize] = group as u32;
        }
        let mut run = Run {
            nodes,
            network,
            bandwidth: by_volume,
            node_of,
            group_at,
            load: vec![0; network.links()],
            routes: vec![0; network.links()],
            maximum: Maxima::new(network.links()),
            sum: 0.0,
            used: 0,
        };
        for group in 0..nodes.len() {
            for (other, weight) in nodes.graph.arcs(group) {
                if other > group {
                    run.change(group, other, weight, true);
                }
            }
        }
        run
    }

    /// Adds or removes the messages of an edge.
    fn change(&mut self, a: usize, b: usize, weight: i64, add: bool) {
        let slot = |group: usize| self.nodes.slots[self.node_of[group] as usize];
        let (p, q) = (slot(a), slot(b));
        let (network, bandwidth) = (self.network, self.bandwidth);
        let (load, routes) = (&mut self.load, &mut self.routes);
        let (maximum, sum, used) = (&mut self.maximum, &mut self.sum, &mut self.used);
        for (from, to) in [(p, q), (q, p)] {
            network.route(from, to, &mut |link| {
                let width = if bandwidth { network.bandwidth(link) } else { 1.0 };
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
        let nodes = self.nodes;
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
                self.node_of.swap(a, b);
            }
        }
        self.group_at[self.node_of[a] as usize] = a as u32;
        self.group_at[self.node_of[b] as usize] = b as u32;
    }

    fn average(&self) -> f64 {
        self.sum / self.used.max(1) as f64
    }

    /// Groups whose messages pass a link, ascending.
    fn groups_on(&self, link: usize) -> Vec<usize> {
        let slot = |group: usize| self.nodes.slots[self.node_of[group] as usize];
        let mut groups = Vec::new();
        for group in 0..self.nodes.len() {
            let passes = self.nodes.graph.arcs(group).any(|(other, _)| {
                let mut on = false;
                self.network.route(slot(group), slot(other), &mut |l| on |= l == link);
                self.network.route(slot(other), slot(group), &mut |l| on |= l == link);
                on
            });
            if passes {
                groups.push(group);
            }
        }
        groups
    }

    fn refine(&mut self, filled: &FilledProblem, budget: &Budget) -> usize {
        let mut search = NetworkSearch::new(filled, self.nodes);
        let mut swaps = 0;
        'links: while !budget.expired() && self.maximum.top() > 0.0 {
            let link = self.maximum.index_of_top();
            for group in self.groups_on(link) {
                let mut near = Vec::new();
                let (node_of, group_at) = (&self.node_of[..], &self.group_at[..]);
                let placed = Placed { filled, nodes: self.nodes, node_of, group_at };
                placed.candidates(&mut search, group, |other| {
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
