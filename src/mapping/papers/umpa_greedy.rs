//! UMPA's greedy mapping (UG).
//!
//! Deveci, Kaya, Uçar and Çatalyürek, "Fast and High Quality Topology-Aware Task Mapping", IPDPS
//! 2015, section III-A, Algorithm 1. Groups of tasks, one per node, are placed by falling traffic
//! with placed ones; a group goes to the first empty node that a breadth-first search from its
//! partners' nodes meets. Runs with no and with one further seed placed far away; the better stays.
//! Nodes of different size take only groups made for that size.

use super::filled_problem::FilledProblem;
use super::network_search::NetworkSearch;
use super::quotient::{Quotient, volume};
use crate::base::error::Result;
use crate::mapping::engine::GainHeap;
use crate::mapping::{Budget, Mapper, Outcome, Problem};
use std::collections::BTreeMap;

/// UMPA's greedy mapping.
pub(in crate::mapping) struct UmpaGreedy;

impl Mapper for UmpaGreedy {
    fn name(&self) -> &'static str {
        "umpa-greedy"
    }

    fn source(&self) -> &'static str {
        "Deveci et al. 2015, section III-A, Algorithm 1 (UG)"
    }

    fn map(&self, problem: &Problem<'_>, budget: &mut Budget) -> Result<Outcome> {
        let filled = FilledProblem::new(problem, budget);
        let nodes = Quotient::new(&filled);
        let node_of = greedy(&filled, &nodes, budget);
        Ok(filled.outcome(nodes.places_of(&filled, &node_of)))
    }
}

/// The node of every group: the better of both numbers of seeds.
pub(super) fn greedy(filled: &FilledProblem, nodes: &Quotient, budget: &Budget) -> Vec<u32> {
    let none = grow(filled, nodes, 0, budget);
    let one = grow(filled, nodes, 1, budget);
    if weighted_hops(filled, nodes, &one) < weighted_hops(filled, nodes, &none) {
        one
    } else {
        none
    }
}

/// Hop-bytes between groups.
pub(super) fn weighted_hops(filled: &FilledProblem, nodes: &Quotient, node_of: &[u32]) -> i64 {
    (0..nodes.len()).map(|group| group_cost(filled, nodes, node_of, group, node_of[group])).sum()
}

/// Hop-bytes of one group if it sat on `node`, counting placed partners.
pub(super) fn group_cost(
    filled: &FilledProblem,
    nodes: &Quotient,
    node_of: &[u32],
    group: usize,
    node: u32,
) -> i64 {
    let slot = nodes.slots[node as usize];
    let placed = nodes.graph.arcs(group).filter(|&(other, _)| node_of[other] != u32::MAX);
    placed
        .map(|(other, w)| w * filled.between_slots(slot, nodes.slots[node_of[other] as usize]))
        .sum()
}

fn grow(filled: &FilledProblem, nodes: &Quotient, seeds: usize, budget: &Budget) -> Vec<u32> {
    let n = nodes.len();
    let mut search = NetworkSearch::new(filled, nodes);
    let mut node_of = vec![u32::MAX; n];
    let mut empty = vec![true; n];
    let mut volumes: Vec<(i64, u32)> =
        (0..n).map(|g| (volume(&nodes.graph, g), u32::MAX - g as u32)).collect();
    volumes.sort_unstable();
    let mut queue = GainHeap::default();
    queue.reset(n);
    let mut connectivity = vec![0i64; n];
    let mut sources: Vec<u32> = Vec::new();
    let mut placed = 0;
    while placed < n {
        let (group, connected) = match queue.peek() {
            _ if placed > 0 && placed <= seeds => (farthest_group(nodes, &node_of), false),
            Some((_, group)) => (Some(group), true),
            None => (None, false),
        };
        // Parts of the graph that are not connected: the heaviest group left.
        let group = group.or_else(|| {
            while let Some(&(_, g)) = volumes.last() {
                let group = (u32::MAX - g) as usize;
                if node_of[group] == u32::MAX {
                    return Some(group);
                }
                volumes.pop();
            }
            None
        });
        let Some(group) = group else { break };
        if nodes.graph.degree(group) == 0 || budget.expired() {
            break;
        }
        queue.remove(group);
        let fits = |node: u32, empty: &[bool]| {
            empty[node as usize] && nodes.capacity[node as usize] == nodes.capacity[group]
        };
        let mut chosen = None;
        if placed == 0 {
            chosen = (0..n as u32).find(|&node| fits(node, &empty));
        } else if connected {
            sources.clear();
            let at = nodes.graph.arcs(group).map(|(other, _)| node_of[other]);
            sources.extend(at.filter(|&node| node != u32::MAX));
            search.levels(filled, &sources, |level| {
                chosen = level
                    .iter()
                    .copied()
                    .filter(|&node| fits(node, &empty))
                    .min_by_key(|&node| group_cost(filled, nodes, &node_of, group, node));
                chosen.is_none()
            });
        } else {
            sources.clear();
            sources.extend(node_of.iter().copied().filter(|&node| node != u32::MAX));
            search.levels(filled, &sources, |level| {
                chosen = level.iter().copied().find(|&node| fits(node, &empty)).or(chosen);
                true
            });
        }
        let Some(node) = chosen else { break };
        node_of[group] = node;
        empty[node as usize] = false;
        placed += 1;
        for (other, weight) in nodes.graph.arcs(group) {
            if node_of[other] == u32::MAX {
                connectivity[other] += weight;
                queue.set(other, connectivity[other]);
            }
        }
    }
    // Groups that talk to nobody, or that the time limit left over, take what remains.
    let mut left: BTreeMap<usize, Vec<u32>> = BTreeMap::new();
    for node in (0..n).rev().filter(|&node| empty[node]) {
        left.entry(nodes.capacity[node]).or_default().push(node as u32);
    }
    for (group, at) in node_of.iter_mut().enumerate().filter(|(_, at)| **at == u32::MAX) {
        if let Some(node) = left.get_mut(&nodes.capacity[group]).and_then(Vec::pop) {
            *at = node;
        }
    }
    node_of
}

/// The unplaced group that is most edges away from all placed ones; of several, the heaviest.
fn farthest_group(nodes: &Quotient, node_of: &[u32]) -> Option<usize> {
    let mut hops = vec![u32::MAX; nodes.len()];
    let mut queue: Vec<u32> = Vec::new();
    for (group, &node) in node_of.iter().enumerate() {
        if node != u32::MAX {
            hops[group] = 0;
            queue.push(group as u32);
        }
    }
    let mut head = 0;
    while let Some(&group) = queue.get(head) {
        head += 1;
        for (other, _) in nodes.graph.arcs(group as usize) {
            if hops[other] == u32::MAX {
                hops[other] = hops[group as usize] + 1;
                queue.push(other as u32);
            }
        }
    }
    let reached = (0..nodes.len()).filter(|&g| node_of[g] == u32::MAX && hops[g] != u32::MAX);
    reached.max_by_key(|&g| (hops[g], volume(&nodes.graph, g), usize::MAX - g))
}
