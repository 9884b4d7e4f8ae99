//! UMPA's refinement of weighted hops (UWH) and of total hops (UTH).
//!
//! Deveci et al. 2015, section III-B, Algorithm 2, on top of the greedy mapping. The group with most
//! hop-bytes is swapped with one that sits near its partners: the first Δ = 8 nodes that a search
//! from its partners' nodes meets are tried, the first improvement is taken. Passes repeat while the
//! last one gained more than 0.5 %. For total hops every edge counts 1.

use super::filled_problem::FilledProblem;
use super::network_search::NetworkSearch;
use super::quotient::Quotient;
use super::umpa_greedy::{greedy, group_cost, weighted_hops};
use crate::base::error::Result;
use crate::mapping::engine::GainHeap;
use crate::mapping::{Budget, Mapper, Outcome, Problem};

/// Nodes that are tried for a group.
pub(super) const TRIALS: usize = 8;

/// Swaps groups near the nodes of their partners.
pub(in crate::mapping) struct UmpaHops {
    weighted: bool,
}

/// UWH.
pub(in crate::mapping) const WEIGHTED_HOPS: UmpaHops = UmpaHops { weighted: true };

/// UTH.
pub(in crate::mapping) const TOTAL_HOPS: UmpaHops = UmpaHops { weighted: false };

impl Mapper for UmpaHops {
    fn name(&self) -> &'static str {
        if self.weighted { "umpa-wh" } else { "umpa-th" }
    }

    fn source(&self) -> &'static str {
        if self.weighted {
            "Deveci et al. 2015, section III-B, Algorithm 2 (UWH)"
        } else {
            "Deveci et al. 2015, section III-B, Algorithm 2 for total hops (UTH)"
        }
    }

    fn map(&self, problem: &Problem<'_>, budget: &mut Budget) -> Result<Outcome> {
        let filled = FilledProblem::new(problem, budget);
        let mut nodes = Quotient::new(&filled);
        if !self.weighted {
            nodes.graph.weights.fill(1);
        }
        let mut node_of = greedy(&filled, &nodes, budget);
        let swaps = refine(&filled, &nodes, &mut node_of, budget);
        Ok(filled.outcome(nodes.places_of(&filled, &node_of)).with("swaps", swaps))
    }
}

/// Refines the node of every group; returns the number of swaps.
pub(super) fn refine(
    filled: &FilledProblem,
    nodes: &Quotient,
    node_of: &mut [u32],
    budget: &Budget,
) -> usize {
    let n = nodes.len();
    let mut group_at = vec![0u32; n];
    for (group, &node) in node_of.iter().enumerate() {
        group_at[node as usize] = group as u32;
    }
    let mut search = NetworkSearch::new(filled, nodes);
    let mut queue = GainHeap::default();
    let mut swaps = 0;
    let mut total = weighted_hops(filled, nodes, node_of) / 2;
    loop {
        let before = total;
        queue.reset(n);
        for group in 0..n {
            if nodes.graph.degree(group) > 0 {
                queue.set(group, group_cost(filled, nodes, node_of, group, node_of[group]));
            }
        }
        while let Some((_, group)) = queue.peek() {
            queue.remove(group);
            if budget.expired() {
                return swaps;
            }
            let placed = Placed { filled, nodes, node_of, group_at: &group_at };
            let Some((other, gain)) = first_gain(&placed, &mut search, group) else { continue };
            total -= gain;
            swaps += 1;
            node_of.swap(group, other);
            group_at[node_of[group] as usize] = group as u32;
            group_at[node_of[other] as usize] = other as u32;
            for moved in [group, other] {
                for (partner, _) in nodes.graph.arcs(moved) {
                    if queue.contains(partner) {
                        let at = node_of[partner];
                        queue.set(partner, group_cost(filled, nodes, node_of, partner, at));
                    }
                }
            }
        }
        if (before - total) * 200 <= before {
            return swaps;
        }
    }
}

/// The first of the nodes near a group's partners whose group is worth swapping with, and the gain.
fn first_gain(
    placed: &Placed<'_, '_, '_>,
    search: &mut NetworkSearch,
    group: usize,
) -> Option<(usize, i64)> {
    let mut found = None;
    placed.candidates(search, group, |other| {
        let gain = swap_gain(placed.filled, placed.nodes, placed.node_of, group, other);
        if gain > 0 {
            found = Some((other, gain));
        }
        found.is_none()
    });
    found
}

/// Groups of tasks on their nodes.
pub(super) struct Placed<'a, 'p, 'q> {
    pub(super) filled: &'a FilledProblem<'p, 'q>,
    pub(super) nodes: &'a Quotient,
    /// The node of every group.
    pub(super) node_of: &'a [u32],
    /// The group at every node.
    pub(super) group_at: &'a [u32],
}

impl Placed<'_, '_, '_> {
    /// Visits the groups on the first nodes that a search from a group's partners meets, at most
    /// [`TRIALS`], until `visit` says false.
    pub(super) fn candidates(
        &self,
        search: &mut NetworkSearch,
        group: usize,
        mut visit: impl FnMut(usize) -> bool,
    ) {
        let Placed { filled, nodes, node_of, group_at } = self;
        let sources: Vec<u32> = nodes.graph.arcs(group).map(|(other, _)| node_of[other]).collect();
        let mut tried = 0;
        search.levels(filled, &sources, |level| {
            for &node in level {
                let other = group_at[node as usize] as usize;
                if other == group || nodes.capacity[other] != nodes.capacity[group] {
                    continue;
                }
                tried += 1;
                if !visit(other) || tried == TRIALS {
                    return false;
                }
            }
            true
        });
    }
}

/// How much hop-bytes fall if two groups swap their nodes.
fn swap_gain(filled: &FilledProblem, nodes: &Quotient, node_of: &[u32], a: usize, b: usize) -> i64 {
    let slot = |group: usize| nodes.slots[node_of[group] as usize];
    let (p, q) = (slot(a), slot(b));
    let mut gain = 0;
    for (group, other, from, to) in [(a, b, p, q), (b, a, q, p)] {
        for (partner, w) in nodes.graph.arcs(group).filter(|&(partner, _)| partner != other) {
            let at = slot(partner);
            gain += w * (filled.between_slots(from, at) - filled.between_slots(to, at));
        }
    }
    gain
}
