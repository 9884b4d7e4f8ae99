//! Groups of tasks on nodes, as UMPA's algorithms place and swap them.

use super::filled_problem::FilledProblem;
use super::network_search::NetworkSearch;
use super::quotient::Quotient;
use crate::mapping::Outcome;

/// A group without a node, or a node without a group.
pub(super) const NONE: u32 = u32::MAX;

/// Nodes that are tried for a group (Δ in the UMPA paper).
const TRIALS: usize = 8;

/// A mapping of groups to nodes. Groups may still be without a node.
pub(super) struct PlacedGroups<'a> {
    pub(super) filled: &'a FilledProblem<'a>,
    pub(super) nodes: &'a Quotient,
    /// The node of every group.
    pub(super) node_of: Vec<u32>,
    /// The group at every node.
    pub(super) group_at: Vec<u32>,
}

impl<'a> PlacedGroups<'a> {
    /// No group has a node.
    pub(super) fn new(filled: &'a FilledProblem<'a>, nodes: &'a Quotient) -> Self {
        let none = vec![NONE; nodes.len()];
        PlacedGroups { filled, nodes, node_of: none.clone(), group_at: none }
    }

    pub(super) fn put(&mut self, group: usize, node: u32) {
        self.node_of[group] = node;
        self.group_at[node as usize] = group as u32;
    }

    pub(super) fn swap(&mut self, a: usize, b: usize) {
        let (p, q) = (self.node_of[a], self.node_of[b]);
        self.put(a, q);
        self.put(b, p);
    }

    /// The slot of a group that has a node.
    pub(super) fn slot(&self, group: usize) -> usize {
        self.nodes.slots[self.node_of[group] as usize]
    }

    /// The partners of a group that have a node, and the traffic with each.
    fn placed_partners(&self, group: usize) -> impl Iterator<Item = (usize, i64)> + '_ {
        self.nodes.graph.arcs(group).filter(|&(other, _)| self.node_of[other] != NONE)
    }

    /// The nodes of a group's partners.
    pub(super) fn partner_nodes(&self, group: usize) -> Vec<u32> {
        self.placed_partners(group).map(|(other, _)| self.node_of[other]).collect()
    }

    /// Hop-bytes of one group with its placed partners if it were on `node`.
    pub(super) fn cost_at(&self, group: usize, node: u32) -> i64 {
        let slot = self.nodes.slots[node as usize];
        let between = |other| self.filled.between_slots(slot, self.slot(other));
        self.placed_partners(group).map(|(other, w)| w * between(other)).sum()
    }

    /// Hop-bytes between groups; every pair counts from both of its ends.
    pub(super) fn cost(&self) -> i64 {
        (0..self.nodes.len()).map(|group| self.cost_at(group, self.node_of[group])).sum()
    }

    /// The decrease of hop-bytes if two groups swap their nodes.
    pub(super) fn gain(&self, a: usize, b: usize) -> i64 {
        let (p, q) = (self.slot(a), self.slot(b));
        let mut gain = 0;
        for (group, other, from, to) in [(a, b, p, q), (b, a, q, p)] {
            for (partner, w) in self.nodes.graph.arcs(group).filter(|&(t, _)| t != other) {
                let at = self.slot(partner);
                let between = |slot| self.filled.between_slots(slot, at);
                gain += w * (between(from) - between(to));
            }
        }
        gain
    }

    /// Visits the groups on the first nodes that a search from a group's partners meets, at most
    /// [`TRIALS`], until `visit` says false. Groups for nodes of another size are left out.
    pub(super) fn candidates(
        &self,
        search: &mut NetworkSearch,
        group: usize,
        mut visit: impl FnMut(usize) -> bool,
    ) {
        let capacity = &self.nodes.capacity;
        let mut tried = 0;
        search.levels(&self.partner_nodes(group), |level| {
            let groups = level.iter().map(|&node| self.group_at[node as usize] as usize);
            groups.filter(|&other| other != group && capacity[other] == capacity[group]).all(
                |other| {
                    tried += 1;
                    visit(other) && tried < TRIALS
                },
            )
        });
    }

    /// The answer, with the tasks of each group on the places of its node.
    pub(super) fn outcome(&self) -> Outcome {
        self.nodes.outcome(self.filled, &self.node_of)
    }
}
