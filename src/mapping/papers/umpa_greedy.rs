//! UMPA's greedy mapping (UG).
//!
//! Deveci, Kaya, Uçar and Çatalyürek, "Fast and High Quality Topology-Aware Task Mapping", IPDPS
//! 2015, section III-A, Algorithm 1. Groups of tasks, one per node, are placed in the order of falling
//! traffic with placed groups. A group goes to the first empty node that a breadth-first search from
//! its partners' nodes meets. The algorithm runs twice: with no further seed, and with one that is
//! placed far away. The better answer stays. Nodes of different size take only groups made for that
//! size.

use super::filled_problem::FilledProblem;
use super::network_search::NetworkSearch;
use super::placed_groups::{NONE, PlacedGroups};
use super::quotient::{Quotient, volume};
use crate::base::error::Result;
use crate::base::sorting::Arrange;
use crate::mapping::engine::GainHeap;
use crate::mapping::{Budget, Outcome, Problem};
use std::cmp::Reverse;
use std::collections::BTreeMap;

pub(super) fn map(problem: &Problem<'_>, budget: &Budget) -> Result<Outcome> {
    let filled = FilledProblem::new(problem, budget);
    Ok(greedy(&filled, &Quotient::new(&filled)).outcome())
}

/// Every group on a node: the better of both numbers of seeds.
pub(super) fn greedy<'a>(filled: &'a FilledProblem<'a>, nodes: &'a Quotient) -> PlacedGroups<'a> {
    let [none, one] = [0, 1].map(|seeds| grow(filled, nodes, seeds));
    if one.cost() < none.cost() { one } else { none }
}

fn grow<'a>(filled: &'a FilledProblem<'a>, nodes: &'a Quotient, seeds: usize) -> PlacedGroups<'a> {
    let (n, graph, capacity) = (nodes.len(), &nodes.graph, &nodes.capacity);
    let mut search = NetworkSearch::new(filled, nodes);
    let mut placed = PlacedGroups::new(filled, nodes);
    let mut by_volume: Vec<usize> = (0..n).collect();
    by_volume.arrange_by_key(|&group| Reverse(volume(graph, group)));
    let mut by_volume = by_volume.into_iter();
    let mut queue = GainHeap::default();
    queue.reset(n);
    for count in 0..n {
        let (group, connected) = match queue.peek() {
            _ if (1..=seeds).contains(&count) => (farthest_group(&placed), false),
            Some((_, group)) => (Some(group), true),
            None => (None, false),
        };
        // In parts of the graph that are not connected: the heaviest group left.
        let heaviest = || by_volume.find(|&group| placed.node_of[group] == NONE);
        let Some(group) = group.or_else(heaviest) else { break };
        if graph.degree(group) == 0 || filled.budget.expired() {
            break;
        }
        queue.remove(group);
        let fits = |&node: &u32| {
            placed.group_at[node as usize] == NONE && capacity[node as usize] == capacity[group]
        };
        let mut chosen = None;
        if count == 0 {
            chosen = (0..n as u32).find(fits);
        } else if connected {
            search.levels(&placed.partner_nodes(group), |level| {
                let free = level.iter().copied().filter(fits);
                chosen = free.min_by_key(|&node| placed.cost_at(group, node));
                chosen.is_none()
            });
        } else {
            let in_use = placed.node_of.iter().copied().filter(|&node| node != NONE);
            search.levels(&in_use.collect::<Vec<_>>(), |level| {
                chosen = level.iter().copied().find(fits).or(chosen);
                true
            });
        }
        let Some(node) = chosen else { break };
        placed.put(group, node);
        for (other, weight) in graph.arcs(group) {
            if placed.node_of[other] == NONE {
                queue.set(other, queue.gain(other).unwrap_or(0) + weight);
            }
        }
    }
    // Groups without traffic, or that were left when the time was over, take the nodes that remain.
    let mut left: BTreeMap<usize, Vec<u32>> = BTreeMap::new();
    for node in (0..n).rev().filter(|&node| placed.group_at[node] == NONE) {
        left.entry(capacity[node]).or_default().push(node as u32);
    }
    for (group, size) in capacity.iter().enumerate() {
        if placed.node_of[group] == NONE
            && let Some(node) = left.get_mut(size).and_then(Vec::pop)
        {
            placed.put(group, node);
        }
    }
    placed
}

/// The unplaced group that is most edges away from all placed ones; of several, the heaviest.
fn farthest_group(placed: &PlacedGroups) -> Option<usize> {
    let (graph, node_of) = (&placed.nodes.graph, &placed.node_of);
    let mut hops = vec![u32::MAX; node_of.len()];
    let mut queue: Vec<usize> = (0..hops.len()).filter(|&g| node_of[g] != NONE).collect();
    queue.iter().for_each(|&group| hops[group] = 0);
    let mut head = 0;
    while let Some(&group) = queue.get(head) {
        head += 1;
        for (other, _) in graph.arcs(group) {
            if hops[other] == u32::MAX {
                hops[other] = hops[group] + 1;
                queue.push(other);
            }
        }
    }
    let reached = queue.into_iter().filter(|&g| node_of[g] == NONE);
    reached.max_by_key(|&g| (hops[g], volume(graph, g), Reverse(g)))
}
