//! The mapping of a large job in parts, so that the processes of the job can share the work.
//!
//! Network phase: which node each task goes to. It sees the machine down to the nodes only, and may be
//! tried with several seeds by several processes at once ([`Network::search`]). Node phase: which of the
//! node's processes each of its tasks goes to ([`Part::place`]), one part for each node, none of which
//! depends on another: from outside a node all places in it are equally far. Together they give a
//! permutation ([`Network::joined`]).
//!
//! On a tree, hop-bytes are the sum of the costs of both phases. The cut into phases therefore only loses
//! what a last round of swaps between nodes could still gain. Schulz and Träff solve the levels one after
//! the other as well ("Better Process Mapping and Sparse Quadratic Assignment", SEA 2017, section 3).
//!
//! Limits: trees only; nodes must be groups of the tree.

use crate::base::error::{Error, ErrorKind, Result};
use crate::base::numbering::by_first_appearance;
use crate::mapping::{Auto, Budget, Mapper, Preset, Problem};
use crate::matrix::Graph;
use crate::topology::{Topology, Tree};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Which node each task goes to: all that a process needs to know to search for an answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Network {
    graph: Graph,
    /// Node of each process, numbered from 0.
    node_of_process: Vec<u32>,
    /// Path of each process in the machine, outermost group first, its node last.
    paths: Vec<Vec<u32>>,
    /// Distance of two processes that first differ at each level of the path, and inside a node.
    costs: Vec<u64>,
    /// Tasks that keep their process.
    fixed: Vec<u32>,
    fast: bool,
}

/// An answer of the network phase.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NodeAssignment {
    /// Hop-bytes with every node taken for one place.
    pub cost: u128,
    /// Node of each task: as many on each as it has processes.
    pub node_of_task: Vec<u32>,
    /// The time limit struck, and more time may find a better answer.
    pub cut: bool,
}

/// The tasks of one node and its processes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Part {
    /// The tasks; those that stay on their process stand at its index.
    tasks: Vec<u32>,
    /// As many processes, ascending.
    processes: Vec<u32>,
    graph: Graph,
    /// Path of each process inside the node.
    paths: Vec<Vec<u32>>,
    costs: Vec<u64>,
    /// Indices of tasks that keep their process.
    fixed: Vec<u32>,
    seed: u64,
}

impl Network {
    /// The network phase of placing the vertices of `graph`, with process k on slot `slots[k]` of
    /// `topology` and on node `node_of_process[k]`.
    ///
    /// `None` if there is nothing to gain from two phases: no tree, one node only, no node with two
    /// processes, or nodes that are no groups of the tree.
    pub fn new(
        graph: Graph,
        topology: &dyn Topology,
        slots: &[usize],
        node_of_process: &[u32],
        fixed: &[u32],
        preset: Preset,
    ) -> Option<Network> {
        let tree = topology.as_tree()?;
        let processes = slots.len();
        let nodes = by_first_appearance(node_of_process.iter().copied()).0;
        let count = nodes.iter().max().map_or(0, |&m| m as usize + 1);
        if graph.vertices() != processes
            || nodes.len() != processes
            || count < 2
            || count == processes
            || fixed.iter().any(|&task| task as usize >= processes)
            || slots.iter().any(|&slot| slot >= tree.slots())
        {
            return None;
        }
        let depth = depth_of_nodes(tree, slots, &nodes, count)?;
        let paths = slots.iter().map(|&s| (0..depth).map(|l| tree.groups(l)[s]).collect());
        Some(Network {
            paths: paths.collect(),
            costs: (0..=depth).map(|l| tree.cost(l)).collect(),
            graph,
            node_of_process: nodes,
            fixed: fixed.to_vec(),
            fast: preset == Preset::Fast,
        })
    }

    /// Number of nodes.
    pub fn nodes(&self) -> usize {
        self.node_of_process.iter().max().map_or(0, |&m| m as usize + 1)
    }

    /// Node of each process, numbered by first appearance.
    pub fn node_of_process(&self) -> &[u32] {
        &self.node_of_process
    }

    /// Whether all fits together; used after receiving one from elsewhere.
    pub fn is_valid(&self) -> bool {
        let processes = self.node_of_process.len();
        self.graph.is_valid()
            && self.graph.vertices() == processes
            && self.paths.len() == processes
            && self.fixed.iter().all(|&task| (task as usize) < processes)
    }

    /// Searches for the best nodes within `limit`; `seed` is that of everything random. The same seed
    /// gives the same answer unless the limit strikes.
    ///
    /// Errors: parts that do not fit together.
    pub fn search(&self, seed: u64, limit: Duration) -> Result<NodeAssignment> {
        let tree = Tree::from_paths(&self.paths, &self.costs).ok_or_else(misfit)?;
        let preset = if self.fast { Preset::Fast } else { Preset::Default };
        let mut builder = Problem::builder(&self.graph, &tree).seed(seed).preset(preset);
        for &task in &self.fixed {
            builder = builder.fix(task, task as usize);
        }
        let problem = builder.build()?;
        let mut budget = Budget::within(limit);
        let outcome = Auto.map(&problem, &mut budget)?;
        Ok(NodeAssignment {
            cost: outcome.hop_bytes,
            node_of_task: outcome
                .slot_of_task
                .iter()
                .map(|&process| self.node_of_process[process])
                .collect(),
            cut: budget.expired(),
        })
    }

    /// Whether an answer puts as many tasks on every node as it has processes, and fixed ones where
    /// they belong.
    pub fn accepts(&self, found: &NodeAssignment) -> bool {
        let ascending = |nodes: &[u32]| {
            let mut nodes = nodes.to_vec();
            nodes.sort_unstable();
            nodes
        };
        ascending(&found.node_of_task) == ascending(&self.node_of_process)
            && self.fixed.iter().all(|&task| {
                let task = task as usize;
                found.node_of_task.get(task) == self.node_of_process.get(task)
            })
    }

    /// What is left to do on each node, in the order of the nodes. `topology` and `slots` are those
    /// that this was made from, `found` is an answer that [`Network::accepts`].
    pub fn parts<'a>(
        &'a self,
        found: &NodeAssignment,
        topology: &'a dyn Topology,
        slots: &'a [usize],
        seed: u64,
    ) -> impl Iterator<Item = Part> + 'a {
        let by_node = |nodes: &[u32]| {
            let mut members: Vec<Vec<u32>> = vec![Vec::new(); self.nodes()];
            (0u32..).zip(nodes).for_each(|(one, &node)| members[node as usize].push(one));
            members
        };
        let (tasks, processes) = (by_node(&found.node_of_task), by_node(&self.node_of_process));
        let mut index = vec![u32::MAX; self.graph.vertices()];
        let depth = self.costs.len().saturating_sub(1);
        tasks.into_iter().zip(processes).enumerate().map(move |(node, (tasks, processes))| {
            let tasks = stay_where_possible(tasks, &processes);
            let tree = topology.as_tree();
            let levels = tree.map_or(0, |tree| tree.levels());
            let inner = depth..levels.saturating_sub(1).max(depth);
            let path = |&process: &u32| {
                let slot = slots[process as usize];
                inner.clone().filter_map(|l| tree.map(|t| t.groups(l)[slot])).collect()
            };
            Part {
                graph: self.graph.induced(&tasks, &mut index),
                paths: processes.iter().map(path).collect(),
                costs: (depth..levels).filter_map(|l| tree.map(|t| t.cost(l))).collect(),
                fixed: (0u32..)
                    .zip(tasks.iter().zip(&processes))
                    .filter(|(_, (task, _))| self.fixed.contains(task))
                    .map(|(k, _)| k)
                    .collect(),
                tasks,
                processes,
                seed: seed.wrapping_add((node as u64) << 20),
            }
        })
    }

    /// Joins the answers of all nodes to a permutation: the process of each task. `None` if the answers are not those
    /// of a permutation.
    pub fn joined<'a>(
        &self,
        answers: impl IntoIterator<Item = &'a [(u32, u32)]>,
    ) -> Option<Vec<u32>> {
        let tasks = self.graph.vertices();
        let mut process_of_task = vec![u32::MAX; tasks];
        let mut taken = vec![false; tasks];
        for &(task, process) in answers.into_iter().flatten() {
            let place = process_of_task.get_mut(task as usize)?;
            let taken = taken.get_mut(process as usize)?;
            if *place != u32::MAX || *taken {
                return None;
            }
            *place = process;
            *taken = true;
        }
        process_of_task.iter().all(|&process| process != u32::MAX).then_some(process_of_task)
    }

    /// The graph that is placed.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }
}

impl Part {
    /// `(task, process)` of all tasks of the node: the best found within `limit`.
    ///
    /// Errors: parts that do not fit together.
    pub fn place(&self, limit: Duration) -> Result<Vec<(u32, u32)>> {
        if self.tasks.len() != self.processes.len() || self.paths.len() != self.tasks.len() {
            return Err(misfit());
        }
        // All places are equally far from each other.
        if self.costs.len() <= 1 || self.graph.edges() == 0 {
            return Ok(self.given());
        }
        let tree = Tree::from_paths(&self.paths, &self.costs).ok_or_else(misfit)?;
        let mut builder = Problem::builder(&self.graph, &tree).seed(self.seed);
        for &k in &self.fixed {
            builder = builder.fix(k, k as usize);
        }
        let problem = builder.build()?;
        let outcome = Auto.map(&problem, &mut Budget::within(limit))?;
        let places = self.tasks.iter().zip(&outcome.slot_of_task);
        places
            .map(|(&task, &place)| Some((task, *self.processes.get(place)?)))
            .collect::<Option<_>>()
            .ok_or_else(misfit)
    }

    /// `(task, process)` with the tasks in the order they are in: valid, and no better than that.
    pub fn given(&self) -> Vec<(u32, u32)> {
        self.tasks.iter().copied().zip(self.processes.iter().copied()).collect()
    }

    /// Launcher rank of the first process of the node.
    pub fn first_process(&self) -> Option<u32> {
        self.processes.first().copied()
    }
}

/// The number of levels of the tree above and at the nodes. The groups of these levels keep every node whole. `None` if
/// the groups of the last of these levels do not separate the nodes.
fn depth_of_nodes(tree: &Tree, slots: &[usize], nodes: &[u32], count: usize) -> Option<usize> {
    for level in 0..tree.levels().saturating_sub(1) {
        let groups = tree.groups(level);
        let mut group_of_node = vec![u32::MAX; count];
        let whole = slots.iter().zip(nodes).all(|(&slot, &node)| {
            let group = &mut group_of_node[node as usize];
            let first = *group == u32::MAX;
            *group = if first { groups[slot] } else { *group };
            *group == groups[slot]
        });
        if !whole {
            return None;
        }
        group_of_node.sort_unstable();
        group_of_node.dedup();
        if group_of_node.len() == count {
            return Some(level + 1);
        }
    }
    None
}

/// The same tasks in another order: a task whose own process is among `processes` (ascending) stands at
/// the index of that process.
fn stay_where_possible(tasks: Vec<u32>, processes: &[u32]) -> Vec<u32> {
    let mut answer = vec![u32::MAX; processes.len()];
    let mut others = Vec::new();
    for task in tasks {
        match processes.binary_search(&task) {
            Ok(k) => answer[k] = task,
            Err(_) => others.push(task),
        }
    }
    let free = answer.iter_mut().filter(|task| **task == u32::MAX);
    free.zip(others).for_each(|(place, task)| *place = task);
    answer
}

fn misfit() -> Error {
    Error::new(ErrorKind::Infeasible, "the answers of the searchers do not fit together")
}

#[cfg(test)]
#[path = "two_phase_tests.rs"]
mod tests;
