//! Looks for the best lower bound: for each level of a tree, or by distances elsewhere.

use super::certificate::{Certificate, GridWitness, LevelProof, Packing, Proof};
use super::check::{Facts, group_places, of_packing, proved};
use super::nearest::{clique_sums, is_metric, nearest_sums};
use super::pack::Packer;
use super::{grid_cut, links, weights};
use crate::base::error::Result;
use crate::base::named_enum::named_enum;
use crate::mapping::{Objective, grid_of};
use crate::matrix::{Graph, SparseMatrix};
use crate::topology::{Topology, Tree};

named_enum! {
    /// How long to look for a bound; the names are those of `--bound`.
    #[derive(Default)]
    pub enum Effort, "bound" {
        /// No bound.
        #[default]
        Off = "off",
        /// A bound that is found soon, in a few rounds.
        Quick = "quick",
        /// The largest bound that is known how to find.
        Best = "best",
    }
}

impl Effort {
    /// Rounds of the search for a packing of ways to other tasks, where a round takes about as long as so many `visits`.
    fn rounds(self, visits: usize) -> usize {
        let (most, all) = match self {
            Effort::Off => (0, 0),
            Effort::Quick => (4, 100_000),
            Effort::Best => (400, 60_000_000),
        };
        most.min(all / visits.max(1))
    }
}

/// The best bound of mappings to `slots` with at most `capacity` tasks on a slot. `None` if no bound is known for the
/// objective, or with [`Effort::Off`].
pub fn find(
    matrix: &SparseMatrix,
    topology: &dyn Topology,
    slots: &[usize],
    capacity: u32,
    objective: Objective,
    effort: Effort,
) -> Result<Option<Certificate>> {
    if effort == Effort::Off {
        return Ok(None);
    }
    let capacity = capacity.max(1);
    let Some((graph, _)) = weights::of(matrix, objective.name()) else { return Ok(None) };
    let (proof, found_by) = match topology.as_tree() {
        Some(tree) => by_levels(&graph, tree, slots, capacity, effort),
        None => by_distances(&graph, topology, slots, capacity, effort),
    };
    let (proof, found_by) = match (weights::of_links(objective.name()), topology.network()) {
        (false, _) => (proof, found_by),
        (true, None) => return Ok(None),
        (true, Some(_)) if links::fit(&proof, topology) => {
            let words = format!("the links of each slot, and the mean load of links by {found_by}");
            (Proof::Links(Some(Box::new(proof))), words)
        }
        (true, Some(_)) => (Proof::Links(None), "the links of each slot".into()),
    };
    let mut certificate = Certificate {
        schema: 1,
        objective: objective.name().into(),
        tasks: matrix.tasks(),
        capacity,
        bound: 0,
        real_bound: None,
        found_by,
        proof,
    };
    let found = proved(&certificate, matrix, topology, slots)?;
    (certificate.bound, certificate.real_bound) = (found.bound, found.real_bound);
    Ok(Some(certificate))
}

/// The packing that the search finds, and what it proves. If it proves less than no packing, none is used.
fn packed(graph: &Graph, facts: &Facts, rounds: usize) -> (Packing, u128) {
    let least = of_packing(&nothing(), graph, facts).unwrap_or(0);
    if rounds > 0 && graph.edges() > 0 {
        let packing = Packer::new(graph, facts).pack(rounds);
        let proved = of_packing(&packing, graph, facts);
        debug_assert!(proved.is_ok(), "the search found what is no proof");
        match proved {
            Ok(bound) if bound > least => return (packing, bound),
            _ => {}
        }
    }
    (nothing(), least)
}

/// Tasks that a search for ways can reach, beyond those that fit into a group.
fn reach(places: usize, tasks: usize) -> usize {
    (places.saturating_mul(3) + 8).min(tasks.saturating_sub(1))
}

fn nothing() -> Packing {
    Packing { scale: 1, ..Packing::default() }
}

fn by_levels(
    graph: &Graph,
    tree: &Tree,
    slots: &[usize],
    capacity: u32,
    effort: Effort,
) -> (Proof, String) {
    let n = graph.vertices();
    let grid =
        grid_of(graph).map(|(dims, periodic, points)| GridWitness { dims, periodic, points });
    let (mut used, mut levels) = (Vec::new(), Vec::new());
    for l in 0..tree.levels() {
        let places = group_places(tree.groups(l), slots, capacity);
        let largest = places.first().copied().unwrap_or(1);
        let inner = if l + 1 < tree.levels() { tree.cost(l + 1) } else { 0 };
        if largest == 1 || largest >= n || tree.cost(l) == inner {
            levels.push(LevelProof::Packing(nothing()));
            continue;
        }
        let by_surface =
            grid.as_ref().and_then(|g| grid_cut::least(g, graph, &places).ok()).unwrap_or(0);
        let facts = Facts::of_groups(largest, reach(largest, n));
        let rounds = effort.rounds(n * reach(largest, n));
        let (packing, by_places) = packed(graph, &facts, rounds);
        match &grid {
            Some(grid) if by_surface > 0 && by_surface >= by_places => {
                used.push("surfaces of groups in a grid");
                levels.push(LevelProof::Grid(grid.clone()));
            }
            _ => {
                if !packing.flows.is_empty() {
                    used.push("places of groups");
                }
                levels.push(LevelProof::Packing(packing));
            }
        }
    }
    used.dedup();
    let words = if used.is_empty() {
        "the smallest distance of each pair".into()
    } else {
        used.join(" and ")
    };
    (Proof::Levels(levels), words)
}

fn by_distances(
    graph: &Graph,
    topology: &dyn Topology,
    slots: &[usize],
    capacity: u32,
    effort: Effort,
) -> (Proof, String) {
    let n = graph.vertices();
    let degree = (0..n).map(|v| graph.degree(v)).max().unwrap_or(0);
    let metric = is_metric(topology) && effort == Effort::Best;
    let most = if metric { reach(degree, n).clamp(1, 64) } else { degree.max(1) };
    let facts = Facts {
        sums: nearest_sums(topology, slots, capacity, most),
        cliques: if capacity <= 1 { clique_sums(topology) } else { Vec::new() },
        metric,
    };
    let rounds = effort.rounds(if metric { n * most } else { graph.edges() });
    let (packing, _) = packed(graph, &facts, rounds);
    let words = match (packing.flows.is_empty(), packing.cliques.is_empty()) {
        (true, true) => "the smallest distance of each pair",
        (false, true) => "the places nearest to a slot",
        (true, false) => "groups of tasks that all exchange data",
        (false, false) => "the places nearest to a slot and groups of tasks that all exchange data",
    };
    (Proof::Distances(packing), words.into())
}
