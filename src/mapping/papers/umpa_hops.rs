//! UMPA's refinement of weighted hops (UWH) and of total hops (UTH).
//!
//! Deveci et al. 2015, section III-B, Algorithm 2, on top of the greedy mapping. The group with most
//! hop-bytes is swapped with a group near its partners. A search from its partners' nodes gives the
//! first Δ = 8 nodes to try, and the first improvement is taken. Passes repeat while the last one
//! gained more than 0.5 %. For total hops every edge counts 1.

use super::filled_problem::FilledProblem;
use super::network_search::NetworkSearch;
use super::placed_groups::PlacedGroups;
use super::quotient::Quotient;
use super::umpa_greedy::greedy;
use crate::base::error::Result;
use crate::mapping::engine::GainHeap;
use crate::mapping::{Budget, Outcome, Problem};

/// UWH.
pub(super) fn weighted(problem: &Problem<'_>, budget: &Budget) -> Result<Outcome> {
    let filled = FilledProblem::new(problem, budget);
    Ok(map(&filled, &Quotient::new(&filled)))
}

/// UTH.
pub(super) fn total(problem: &Problem<'_>, budget: &Budget) -> Result<Outcome> {
    let filled = FilledProblem::new(problem, budget);
    let mut nodes = Quotient::new(&filled);
    nodes.graph.arcs.forget_weights();
    Ok(map(&filled, &nodes))
}

fn map(filled: &FilledProblem, nodes: &Quotient) -> Outcome {
    let mut placed = greedy(filled, nodes);
    let swaps = refine(&mut placed);
    placed.outcome().with("swaps", swaps)
}

/// Refines the node of every group; returns the number of swaps.
pub(super) fn refine(placed: &mut PlacedGroups) -> usize {
    let nodes = placed.nodes;
    let mut search = NetworkSearch::new(placed.filled, nodes);
    let mut queue = GainHeap::default();
    let mut swaps = 0;
    let mut total = placed.cost() / 2;
    loop {
        let before = total;
        queue.reset(nodes.len());
        for group in (0..nodes.len()).filter(|&group| nodes.graph.degree(group) > 0) {
            queue.set(group, placed.cost_at(group, placed.node_of[group]));
        }
        while let Some((_, group)) = queue.peek() {
            queue.remove(group);
            if placed.filled.budget.expired() {
                return swaps;
            }
            let mut found = None;
            placed.candidates(&mut search, group, |other| {
                found = Some((other, placed.gain(group, other))).filter(|&(_, gain)| gain > 0);
                found.is_none()
            });
            let Some((other, gain)) = found else { continue };
            total -= gain;
            swaps += 1;
            placed.swap(group, other);
            for moved in [group, other] {
                for (partner, _) in nodes.graph.arcs(moved) {
                    if queue.contains(partner) {
                        queue.set(partner, placed.cost_at(partner, placed.node_of[partner]));
                    }
                }
            }
        }
        if (before - total) * 200 <= before {
            return swaps;
        }
    }
}
