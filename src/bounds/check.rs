//! Checks a certificate: computes its bound again from the matrix, the distances and the data in the certificate.
//!
//! Nothing here uses the search for mappings or the search for bounds. The reasons:
//!
//! * *Triangle inequality.* Let a task send an amount along pairs with traffic to another task. By the triangle
//!   inequality, the pairs on the way cost together at least the distance of the two tasks. So if flows and cliques use
//!   no pair more than its traffic, the mapping costs at least as much as the flows between their ends would cost. What
//!   they leave of the traffic costs at least the smallest distance.
//! * *Places.* The k tasks that get most from a task are at best on the k places nearest to it.
//! * *Levels.* The distance in a tree is a sum over levels: two tasks pay the step of a level if they are in different
//!   groups there. "In different groups" is a distance too (0 or 1), with the places of a group at distance 0.
//! * *Links.* `links.rs` says what follows for the most loaded link.
//! * *Grids.* `grid_cut.rs` explains how many pairs of a grid a group can hold.

use super::certificate::{Certificate, Clique, LevelProof, Packing, Proof};
use super::links::Sums;
use super::nearest::{clique_sums, is_metric, nearest_sums};
use super::{grid_cut, links, weights};
use crate::base::error::{Error, ErrorKind, Result};
use crate::base::nouns::counted;
use crate::matrix::{Graph, SparseMatrix};
use crate::topology::{Topology, Tree};
use std::collections::HashMap;

fn refused(what: impl Into<String>) -> Error {
    Error::new(ErrorKind::Infeasible, what.into())
        .advise("do not rely on this bound; compute a new certificate with 'rankweave eval --certificate FILE'")
}

fn too_large() -> Error {
    refused("the numbers of the certificate are larger than 128 bits can count")
}

/// What follows from a certificate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Proved {
    /// No mapping costs less than this.
    pub bound: u64,
    /// The same as a real number, for objectives that are no whole numbers.
    pub real_bound: Option<f64>,
}

/// The bound that follows from a certificate, whatever bound it states. Errors if its data is no proof.
pub fn proved(
    certificate: &Certificate,
    matrix: &SparseMatrix,
    topology: &dyn Topology,
    slots: &[usize],
) -> Result<Proved> {
    if certificate.schema != 1 {
        return Err(refused(format!(
            "certificates of version {} are not known",
            certificate.schema
        )));
    }
    if certificate.tasks != matrix.tasks() {
        let what = format!(
            "the certificate is about {}, and the matrix has {}",
            counted(certificate.tasks, "task"),
            matrix.tasks()
        );
        return Err(refused(what));
    }
    let Some((graph, unit)) = weights::of(matrix, &certificate.objective) else {
        return Err(refused(format!("no bound of '{}' can be checked", certificate.objective)));
    };
    let capacity = certificate.capacity.max(1);
    let problem = (&graph, topology, slots, capacity);
    let least = match &certificate.proof {
        Proof::Links(sums) => {
            if !weights::of_links(&certificate.objective) {
                let objective = &certificate.objective;
                return Err(refused(format!("the proof is about links, and {objective} is not")));
            }
            if sums.as_deref().is_some_and(|sums| !links::fit(sums, topology)) {
                return Err(refused(
                    "the proof of sums says nothing about the links of the topology",
                ));
            }
            let sums = sums.as_deref().map(|proof| sums_of(proof, problem)).transpose()?;
            let least = links::least(sums.as_ref(), matrix, topology, (slots, capacity))
                .ok_or_else(|| refused("the topology has no links"))?;
            let least = least / unit as f64;
            return Ok(Proved { bound: least as u64, real_bound: Some(least) });
        }
        _ if weights::of_links(&certificate.objective) => {
            let objective = &certificate.objective;
            return Err(refused(format!("{objective} is about links, and the proof is not")));
        }
        proof => match sums_of(proof, problem)? {
            Sums::Hops(sum) => sum,
            Sums::Levels(cuts) => of_cuts(&cuts, topology)?,
        },
    };
    let bound = u64::try_from(least.div_ceil(unit)).unwrap_or(u64::MAX);
    Ok(Proved { bound, real_bound: None })
}

/// A problem: its weights, topology, slots, and the places of a slot.
type Problem<'a> = (&'a Graph, &'a dyn Topology, &'a [usize], u32);

/// The least sums that follow from a proof.
fn sums_of(proof: &Proof, (graph, topology, slots, capacity): Problem) -> Result<Sums> {
    match proof {
        Proof::Distances(packing) => {
            let most = most_targets(packing);
            let facts = Facts {
                sums: nearest_sums(topology, slots, capacity, most),
                cliques: if capacity == 1 { clique_sums(topology) } else { Vec::new() },
                metric: is_metric(topology),
            };
            Ok(Sums::Hops(of_packing(packing, graph, &facts)?))
        }
        Proof::Levels(levels) => {
            let tree = topology.as_tree().ok_or_else(|| {
                refused("the proof is about the levels of a tree, and the topology is none")
            })?;
            Ok(Sums::Levels(of_levels(levels, graph, tree, (slots, capacity))?))
        }
        Proof::Links(_) => Err(refused("a proof about links cannot rest on another one")),
    }
}

/// What all levels of a tree cost together, from what leaves the groups of each.
fn of_cuts(cuts: &[(u128, usize)], topology: &dyn Topology) -> Result<u128> {
    let Some(tree) = topology.as_tree() else { return Ok(0) };
    let mut sum = 0u128;
    for (l, (cut, _)) in cuts.iter().enumerate() {
        let inner = if l + 1 < cuts.len() { tree.cost(l + 1) } else { 0 };
        let step = u128::from(tree.cost(l) - inner);
        sum = cut.checked_mul(step).and_then(|more| sum.checked_add(more)).ok_or_else(too_large)?;
    }
    Ok(sum)
}

/// What a packing may rely on.
pub(super) struct Facts {
    /// By number of places: the least sum of distances (see [`nearest_sums`]).
    pub(super) sums: Vec<u64>,
    /// By number of tasks: the least sum over all pairs; empty if none is known.
    pub(super) cliques: Vec<u64>,
    /// Whether ways over other tasks count.
    pub(super) metric: bool,
}

impl Facts {
    /// In different groups or not, for groups of so many places.
    pub(super) fn of_groups(places: usize, most: usize) -> Facts {
        let sums = (0..=most as u64).map(|k| k.saturating_sub(places as u64 - 1)).collect();
        Facts { sums, cliques: Vec::new(), metric: true }
    }
}

/// The most tasks that one task sends to, at least 1.
pub(super) fn most_targets(packing: &Packing) -> usize {
    packing.flows.iter().map(|flow| flow.arcs.len()).max().unwrap_or(0).max(1)
}

/// By level: what leaves the groups at least, and the number of groups.
fn of_levels(
    levels: &[LevelProof],
    graph: &Graph,
    tree: &Tree,
    (slots, capacity): (&[usize], u32),
) -> Result<Vec<(u128, usize)>> {
    if levels.len() != tree.levels() {
        return Err(refused(format!(
            "{} of {} proved",
            levels.len(),
            counted(tree.levels(), "level")
        )));
    }
    let cut = |(l, level): (usize, &LevelProof)| {
        let places = group_places(tree.groups(l), slots, capacity);
        let cut = match level {
            LevelProof::Packing(packing) => {
                let largest = places.first().copied().unwrap_or(1);
                of_packing(packing, graph, &Facts::of_groups(largest, most_targets(packing)))?
            }
            LevelProof::Grid(witness) => {
                grid_cut::least(witness, graph, &places).map_err(refused)?
            }
        };
        Ok((cut, places.len()))
    };
    levels.iter().enumerate().map(cut).collect()
}

/// The places of all groups, the largest first.
pub(super) fn group_places(groups: &[u32], slots: &[usize], capacity: u32) -> Vec<usize> {
    let mut places: HashMap<u32, usize> = HashMap::new();
    for &slot in slots {
        *places.entry(groups[slot]).or_default() += capacity as usize;
    }
    let mut places: Vec<usize> = places.into_values().collect();
    places.sort_unstable_by(|a, b| b.cmp(a));
    places
}

/// The least cost of the traffic of `graph` by a packing, rounded up.
pub(super) fn of_packing(packing: &Packing, graph: &Graph, facts: &Facts) -> Result<u128> {
    let scale = u128::from(packing.scale.max(1));
    let mut used: HashMap<(u32, u32), u128> = HashMap::new();
    let mut use_pair = |a: u32, b: u32, amount: u64| {
        *used.entry((a.min(b), a.max(b))).or_default() += u128::from(amount);
    };
    let nearest = u128::from(facts.sums.get(1).copied().unwrap_or(0));
    // What all pairs cost at least, and what the packing adds.
    let least = graph.total_weight().checked_mul(scale).and_then(|all| all.checked_mul(nearest));
    let mut total = least.ok_or_else(too_large)?;
    let mut add = |amount: u128, distance: u64| -> Result<()> {
        let more = amount.checked_mul(u128::from(distance));
        total = more.and_then(|more| total.checked_add(more)).ok_or_else(too_large)?;
        Ok(())
    };
    for flow in &packing.flows {
        let mut gets: HashMap<u32, i128> = HashMap::new();
        for &(from, to, amount) in &flow.arcs {
            use_pair(from, to, amount);
            *gets.entry(from).or_default() -= i128::from(amount);
            *gets.entry(to).or_default() += i128::from(amount);
            if !facts.metric && from != flow.task {
                return Err(refused(
                    "the traffic takes ways over other tasks, and this topology may have short cuts",
                ));
            }
        }
        gets.remove(&flow.task);
        if gets.values().any(|&amount| amount < 0) {
            return Err(refused(format!("task {} sends more than it has", flow.task)));
        }
        let mut amounts: Vec<u128> = gets.into_values().map(|amount| amount as u128).collect();
        amounts.sort_unstable_by(|a, b| b.cmp(a));
        for (amount, s) in amounts.into_iter().zip(facts.sums.windows(2)) {
            add(amount, s[1] - s[0])?;
        }
    }
    for Clique { tasks, amount } in &packing.cliques {
        let Some(&least) = facts.cliques.get(tasks.len()) else {
            return Err(refused(format!(
                "nothing is known about {} tasks that all exchange data",
                tasks.len()
            )));
        };
        for (k, &a) in tasks.iter().enumerate() {
            tasks[..k].iter().for_each(|&b| use_pair(a, b, *amount));
        }
        add(u128::from(*amount), least)?;
    }
    for ((a, b), amount) in used {
        let there = match (a as usize) < graph.vertices() && a != b {
            true => u128::from(graph.weight_between(a as usize, b as usize)) * scale,
            false => 0,
        };
        if amount > there {
            return Err(refused(format!(
                "tasks {a} and {b} exchange less than the certificate uses"
            )));
        }
        // The rest of the pair costs at least the smallest distance. `amount * nearest` is a part of `least`.
        total = total.checked_sub(amount * nearest).ok_or_else(too_large)?;
    }
    Ok(total.div_ceil(scale))
}
