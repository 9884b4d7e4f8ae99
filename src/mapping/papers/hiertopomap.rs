//! HierTopoMap: groups of tasks to nodes first, then tasks to the places inside.
//!
//! Wu, Xiong and Lan, "Hierarchical task mapping for parallel applications on supercomputers",
//! Journal of Supercomputing 2015, section 3. There are two ways to map groups to nodes. Recursive tree
//! mapping (3.1.1) uses the topology's own tree, or a tree joined from hop distances. Recursive
//! bipartitioning by coordinates (3.1.2) is for meshes and tori, with contiguous allocations or
//! others. The paper's bipartitioning ignores wrap-around links. The variant with `-wrap` turns each
//! dimension so that its widest gap of unused coordinates lies at the border. The bisection here fills
//! parts exactly, so the paper's correction of METIS' balance is left out. Inside nodes tasks are
//! placed by recursive tree mapping (3.2).

use super::filled_problem::{FilledProblem, partition};
use super::quotient::Quotient;
use super::{infeasible, neighbour_joining};
use crate::base::error::Result;
use crate::base::permutation::identity;
use crate::mapping::engine::{Scale, TreePlaces};
use crate::mapping::multisection::multisect;
use crate::mapping::{Budget, Outcome, Problem};
use crate::topology::Grid;

/// Recursive bipartitioning by coordinates between nodes.
pub(super) fn bipart(problem: &Problem<'_>, budget: &Budget) -> Result<Outcome> {
    bipartition(problem, budget, ("hiertopomap-bipart", false))
}

/// Recursive bipartitioning by coordinates between nodes, with wrap-around links.
pub(super) fn bipart_wrap(problem: &Problem<'_>, budget: &Budget) -> Result<Outcome> {
    bipartition(problem, budget, ("hiertopomap-bipart-wrap", true))
}

fn bipartition(
    problem: &Problem<'_>,
    budget: &Budget,
    (name, wrap): (&str, bool),
) -> Result<Outcome> {
    let Some((grid, points)) = problem.grid() else {
        let what = format!("{name} needs coordinates: a mesh or torus");
        return Err(infeasible(what, "hiertopomap-tree").at(problem.topology().name()));
    };
    let filled = FilledProblem::new(problem, budget);
    let nodes = Quotient::equal(&filled);
    let mut point_of = vec![0usize; problem.topology().slots()];
    for (&slot, &point) in problem.places().iter().zip(&points) {
        point_of[slot as usize] = point as usize;
    }
    let points: Vec<usize> = nodes.slots.iter().map(|&s| point_of[s]).collect();
    let mut order = identity(nodes.len());
    halve(&mut order, &Machine { grid, points: &points, wrap });
    let (mut bisector, mut rng) = (filled.bisector(), filled.rng.fork(5));
    let (graph, groups, single) = (nodes.unit_graph(), identity(nodes.len()), vec![1; nodes.len()]);
    let groups = partition(&graph, &groups, &single, &mut bisector, &mut rng).concat();
    let mut node_of = vec![0; nodes.len()];
    groups.iter().zip(order).for_each(|(&group, node)| node_of[group as usize] = node);
    Ok(nodes.outcome(&filled, &node_of))
}

/// Recursive tree mapping between nodes, on the topology's tree or one joined from distances.
pub(super) fn tree(problem: &Problem<'_>, budget: &Budget) -> Result<Outcome> {
    let filled = FilledProblem::new(problem, budget);
    let nodes = Quotient::equal(&filled);
    let unit = Scale::new(1, 1);
    let own = problem.topology().as_tree().and_then(|tree| {
        let slots: Vec<u32> = nodes.slots.iter().map(|&s| s as u32).collect();
        TreePlaces::new(tree, &slots, unit)
    });
    if own.is_none() && nodes.len() > neighbour_joining::LIMIT {
        let what = format!(
            "hiertopomap-tree joins at most {} nodes, not {}: it compares all distances",
            neighbour_joining::LIMIT,
            nodes.len()
        );
        return Err(infeasible(what, "hiertopomap-bipart"));
    }
    let joined = || {
        let tree = neighbour_joining::join(&filled, &nodes.slots)?;
        TreePlaces::new(&tree, &identity(nodes.len()), unit)
    };
    let too_deep = "the tree that was joined from the distances is too deep";
    let tree = own.or_else(joined).ok_or_else(|| infeasible(too_deep, "hiertopomap-bipart"))?;
    let answer = multisect(&nodes.unit_graph(), &tree, &mut filled.bisector(), &filled.rng);
    let node_of: Vec<u32> = answer.iter().map(|&k| tree.order[k as usize]).collect();
    Ok(nodes.outcome(&filled, &node_of))
}

/// Nodes as points of a grid.
struct Machine<'a> {
    grid: &'a Grid,
    /// Point of every node.
    points: &'a [usize],
    /// Whether wrap-around links count.
    wrap: bool,
}

/// Puts nodes in the order of recursive halving, each time along the dimension in which they extend
/// farthest.
fn halve(nodes: &mut [u32], machine: &Machine) {
    if nodes.len() > 1 {
        sort_along_largest(nodes, machine);
        let (near, far) = nodes.split_at_mut(nodes.len() / 2);
        halve(near, machine);
        halve(far, machine);
    }
}

/// Sorts nodes along the dimension in which they extend farthest, then along the others.
fn sort_along_largest(nodes: &mut [u32], &Machine { grid, points, wrap }: &Machine) {
    let dims = grid.dims();
    let at = |node: u32, k: usize| grid.coordinates(points[node as usize])[k];
    let start = |k: usize| match wrap && grid.wrap()[k] {
        true => border(dims[k], nodes.iter().map(|&node| at(node, k))),
        false => 0,
    };
    let starts: Vec<u32> = (0..dims.len()).map(start).collect();
    let turned = |node: u32, k: usize| (at(node, k) + dims[k] as u32 - starts[k]) % dims[k] as u32;
    let extent = |k: usize| {
        let along = nodes.iter().map(|&node| turned(node, k));
        along.clone().max().unwrap_or(0) - along.min().unwrap_or(0)
    };
    let mut order: Vec<usize> = (0..dims.len()).collect();
    order.sort_by_cached_key(|&k| std::cmp::Reverse(extent(k)));
    nodes.sort_by_cached_key(|&node| {
        (order.iter().map(|&k| turned(node, k)).collect::<Vec<u32>>(), node)
    });
}

/// The coordinate behind the widest gap of unused coordinates of a ring of `length`.
pub(super) fn border(length: usize, used: impl Iterator<Item = u32>) -> u32 {
    let mut present = vec![false; length];
    used.for_each(|x| present[x as usize] = true);
    let (mut best, mut start, mut gap) = (0, 0, 0);
    // The ring is walked twice, so that a gap across 0 counts as one gap.
    for x in 0..2 * length {
        if present[x % length] {
            if gap > best {
                (best, start) = (gap, x % length);
            }
            gap = 0;
        } else {
            gap += 1;
        }
    }
    start as u32
}

#[cfg(test)]
mod tests {
    use super::border;

    #[test]
    fn the_border_follows_the_widest_gap() {
        assert_eq!(border(8, [0, 1, 6, 7].into_iter()), 6);
        assert_eq!(border(8, [2, 3, 4].into_iter()), 2);
        assert_eq!(border(4, 0..4), 0);
        assert_eq!(border(4, std::iter::empty()), 0);
    }
}
