//! TopoMatch: trees bottom-up by adaptive grouping, parts of trees top-down, other topologies by
//! dual recursive bipartitioning; and TreeMatch, which it grew from.
//!
//! Jeannot, JPDC 2022: section 4.2.2 (whole regular trees, Algorithm 1), 4.4 (constraints on a tree,
//! Algorithm 3), 4.3 (generic topologies, Algorithm 2, where the paper calls Scotch), 4.5
//! (oversubscription: a further level of leaves below each unit; with fewer tasks than leaves the
//! best leaves are chosen: as few groups as possible, which is then a constraint). Of dense matrices
//! the heaviest pairs are used (4.3.2), and then tasks are exchanged by the whole matrix, which the
//! paper has not ([`super::dense_exchange`]).
//!
//! TreeMatch (Jeannot and Mercier, Euro-Par 2010; in Open MPI since 1.9) knows whole trees only and
//! groups greedily where it does not enumerate; with fewer tasks than leaves, tasks that talk to
//! nobody fill the rest.

use super::bipartition;
use super::dense_exchange::exchange;
use super::filled_problem::FilledProblem;
use super::quotient::quotient;
use super::topomatch_grouping::{Strategy, group};
use crate::base::error::{Error, ErrorKind, Result};
use crate::mapping::engine::closest_in_tree;
use crate::mapping::engine::{TreePlaces, is_dense};
use crate::mapping::multisection::multisect;
use crate::mapping::{Budget, Mapper, Objective, Outcome, Problem};

/// TopoMatch, for any topology.
pub(in crate::mapping) struct TopoMatch;

/// TreeMatch, for whole trees.
pub(in crate::mapping) struct TreeMatch;

impl Mapper for TreeMatch {
    fn name(&self) -> &'static str {
        "treematch"
    }

    fn source(&self) -> &'static str {
        "Jeannot and Mercier 2010 (TreeMatch, as in Open MPI)"
    }

    fn map(&self, problem: &Problem<'_>, budget: &mut Budget) -> Result<Outcome> {
        let Some(arity) = whole_tree(problem) else {
            return Err(Error::new(
                ErrorKind::Infeasible,
                "treematch needs all slots of a tree whose groups are alike on every level",
            )
            .at(problem.topology().name())
            .advise("--algorithm topomatch or the default"));
        };
        let filled = FilledProblem::new(problem, budget);
        let place_of = bottom_up(&filled, &arity, Strategy::Greedy, budget);
        Ok(filled.outcome(place_of))
    }
}

impl Mapper for TopoMatch {
    fn name(&self) -> &'static str {
        "topomatch"
    }

    fn source(&self) -> &'static str {
        "Jeannot 2022, sections 4.2 to 4.5 (TopoMatch; TreeMatch on trees)"
    }

    fn map(&self, problem: &Problem<'_>, budget: &mut Budget) -> Result<Outcome> {
        let filled = FilledProblem::thinned(problem, budget);
        let tree = problem.topology().as_tree();
        let tree = tree.and_then(|tree| TreePlaces::new(tree, problem.places(), filled.scale()));
        let all_in_use = problem.tasks() == problem.places().len();
        if let Some(arity) = whole_tree(problem).filter(|_| all_in_use) {
            let mut place_of = bottom_up(&filled, &arity, Strategy::Adaptive, budget);
            if let Some(tree) = &tree {
                let mut index_of = vec![0u32; tree.order.len()];
                (0..).zip(&tree.order).for_each(|(k, &place)| index_of[place as usize] = k);
                let at = place_of.iter().map(|&place| index_of[place as usize]);
                let mut position: Vec<u32> = at.collect();
                exchanged(&filled, tree, &mut position, budget);
                place_of = position.iter().map(|&k| tree.order[k as usize]).collect();
            }
            return Ok(filled.outcome(place_of).with("case", "whole tree"));
        }
        if let Some(tree) = tree {
            let tree = closest(problem, &tree);
            let mut bisector = filled.bisector();
            let tasks: Vec<u32> = (0..problem.tasks() as u32).collect();
            let graph = filled.graph.subgraph(&tasks, &mut vec![u32::MAX; filled.len()]);
            let mut answer = multisect(&graph, &tree, &mut bisector, &filled.rng);
            exchanged(&filled, &tree, &mut answer, budget);
            let place_of = answer.iter().map(|&k| tree.order[k as usize]).collect();
            let place_of = fill_up(place_of, filled.len());
            return Ok(filled.outcome(place_of).with("case", "constrained tree"));
        }
        let place_of = bipartition::dual_bisection(&filled, budget);
        Ok(filled.outcome(place_of).with("case", "generic topology"))
    }
}

/// Lowers the cost of a dense matrix by exchanges; `position` indexes the order of `tree`.
fn exchanged(filled: &FilledProblem, tree: &TreePlaces, position: &mut [u32], budget: &Budget) {
    let problem = filled.problem;
    if is_dense(problem.graph()) && problem.objective() != Objective::TotalHops {
        let rng = &mut filled.rng.fork(9);
        exchange(problem.graph(), filled.scale(), tree, position, rng, budget);
    }
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

/// Extends an answer to the tasks that fill up the graph.
fn fill_up(place_of: Vec<u32>, places: usize) -> Vec<u32> {
    super::refine_topolb::fill_up(&place_of, places)
}

/// Arity from the leaves up if the places are all leaves of a regular tree, each equally often.
fn whole_tree(problem: &Problem) -> Option<Vec<usize>> {
    let tree = problem.topology().as_tree()?;
    let slots = problem.topology().slots();
    let factor = problem.places().len() / slots.max(1);
    let each = problem.places().iter().enumerate().all(|(k, &s)| s as usize == k / factor.max(1));
    if factor == 0 || problem.places().len() != slots * factor || !each {
        return None;
    }
    let mut arity: Vec<usize> = tree.arity()?.to_vec();
    arity.push(factor);
    arity.reverse();
    arity.retain(|&a| a > 1);
    Some(arity)
}

/// Groups of groups until one is left; its leaves in order are the places.
fn bottom_up(
    filled: &FilledProblem,
    arity: &[usize],
    strategy: Strategy,
    budget: &Budget,
) -> Vec<u32> {
    let mut graph = filled.graph.clone();
    let mut leaves: Vec<Vec<u32>> = (0..filled.len() as u32).map(|t| vec![t]).collect();
    let (mut bisector, mut rng) = (filled.bisector(), filled.rng.fork(4));
    for &a in arity {
        graph.sizes.fill(1);
        let groups = group(&graph, a, strategy, &mut bisector, &mut rng, budget);
        graph = quotient(&graph, &groups);
        leaves = groups
            .iter()
            .map(|members| members.iter().flat_map(|&v| leaves[v as usize].clone()).collect())
            .collect();
    }
    let mut place_of = vec![0u32; filled.len()];
    for (place, &task) in leaves.concat().iter().enumerate() {
        place_of[task as usize] = place as u32;
    }
    place_of
}
