//! TopoMatch: whole trees bottom-up by adaptive grouping, parts of trees top-down, and other topologies by dual
//! recursive bipartitioning. Also TreeMatch, its predecessor.
//!
//! Jeannot, JPDC 2022: section 4.2.2 (whole regular trees, Algorithm 1), 4.4 (constraints on a tree,
//! Algorithm 3), 4.3 (generic topologies, Algorithm 2, where the paper calls Scotch), 4.5
//! (oversubscription: a further level of leaves below each unit). With fewer tasks than leaves,
//! leaves in as few groups as possible are chosen, and this choice is then a constraint. Of dense
//! matrices only the heaviest pairs are grouped (4.3.2). Afterwards tasks are exchanged by the whole
//! matrix, which the paper does not do ([`super::dense_exchange`]).
//!
//! TreeMatch (Jeannot and Mercier, Euro-Par 2010; in Open MPI since 1.9) knows whole trees only. It
//! groups greedily where it does not enumerate. With fewer tasks than leaves, tasks without traffic
//! fill the rest.

use super::dense_exchange::exchange;
use super::filled_problem::FilledProblem;
use super::quotient::quotient;
use super::topomatch_grouping::group;
use super::{bipartition, infeasible};
use crate::base::error::Result;
use crate::base::permutation::{identity, inverse};
use crate::mapping::engine::{TreePlaces, closest_in_tree, is_dense};
use crate::mapping::multisection::multisect;
use crate::mapping::{Budget, Objective, Outcome, Problem};

/// TreeMatch, for whole trees.
pub(super) fn treematch(problem: &Problem<'_>, budget: &Budget) -> Result<Outcome> {
    let arity = whole_tree(problem).ok_or_else(|| {
        let what = "treematch needs all slots of a tree whose groups are alike on every level";
        infeasible(what, "topomatch").at(problem.topology().name())
    })?;
    let filled = FilledProblem::new(problem, budget);
    Ok(filled.outcome(bottom_up(&filled, &arity, false)))
}

/// TopoMatch, for any topology.
pub(super) fn topomatch(problem: &Problem<'_>, budget: &Budget) -> Result<Outcome> {
    let filled = FilledProblem::thinned(problem, budget);
    let tree = problem.topology().as_tree();
    let tree = tree.and_then(|tree| TreePlaces::new(tree, problem.places(), filled.scale));
    let all_in_use = problem.tasks() == problem.places().len();
    if let Some(arity) = whole_tree(problem).filter(|_| all_in_use) {
        let mut place_of = bottom_up(&filled, &arity, true);
        if let Some(tree) = &tree {
            let index_of = inverse(&tree.order);
            let position = place_of.iter().map(|&place| index_of[place as usize]).collect();
            place_of = exchanged(&filled, tree, position);
        }
        return Ok(filled.outcome(place_of).with("case", "whole tree"));
    }
    let Some(tree) = tree else {
        let place_of = bipartition::dual_bisection(&filled);
        return Ok(filled.outcome(place_of).with("case", "generic topology"));
    };
    let tree = closest(problem, &tree);
    let tasks = identity(problem.tasks());
    let graph = filled.graph.subgraph(&tasks, &mut vec![u32::MAX; filled.len()]);
    let position = multisect(&graph, &tree, &mut filled.bisector(), &filled.rng);
    let place_of = filled.fill_up(exchanged(&filled, &tree, position));
    Ok(filled.outcome(place_of).with("case", "constrained tree"))
}

/// The places of tasks at positions in the order of `tree`; of a dense matrix after exchanges that
/// lower the cost.
fn exchanged(filled: &FilledProblem, tree: &TreePlaces, mut position: Vec<u32>) -> Vec<u32> {
    let problem = filled.problem;
    if is_dense(problem.graph()) && problem.objective() != Objective::TotalHops {
        exchange(filled, tree, &mut position);
    }
    position.iter().map(|&k| tree.order[k as usize]).collect()
}

/// As many places as tasks, in as few groups as possible.
fn closest(problem: &Problem, tree: &TreePlaces) -> TreePlaces {
    if problem.tasks() == problem.places().len() {
        return tree.clone();
    }
    let mut keep = vec![false; problem.places().len()];
    closest_in_tree(problem, tree).into_iter().for_each(|place| keep[place as usize] = true);
    tree.restricted(&keep)
}

/// Arity from the leaves up if the places are all leaves of a regular tree, each equally often.
fn whole_tree(problem: &Problem) -> Option<Vec<usize>> {
    let tree = problem.topology().as_tree()?;
    let (slots, places) = (problem.topology().slots(), problem.places());
    let factor = places.len() / slots.max(1);
    let each = places.iter().enumerate().all(|(k, &s)| s as usize == k / factor.max(1));
    if factor == 0 || places.len() != slots * factor || !each {
        return None;
    }
    let mut arity: Vec<usize> = tree.arity()?.to_vec();
    arity.push(factor);
    arity.reverse();
    arity.retain(|&a| a > 1);
    Some(arity)
}

/// Joins groups to larger groups until one is left. Its leaves in order are the tasks of the places.
/// `adaptive` as for [`group`].
fn bottom_up(filled: &FilledProblem, arity: &[usize], adaptive: bool) -> Vec<u32> {
    let mut graph = filled.graph.clone();
    let mut leaves: Vec<Vec<u32>> = (0..filled.len() as u32).map(|t| vec![t]).collect();
    let (mut bisector, mut rng) = (filled.bisector(), filled.rng.fork(4));
    for &a in arity {
        graph.sizes.fill(1);
        let groups = group(&graph, a, adaptive, &mut bisector, &mut rng, &filled.budget);
        graph = quotient(&graph, &groups);
        let inside =
            |group: &Vec<u32>| group.iter().flat_map(|&v| leaves[v as usize].clone()).collect();
        leaves = groups.iter().map(inside).collect();
    }
    inverse(&leaves.concat())
}
