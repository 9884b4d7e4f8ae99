//! HierTopoMap: groups of tasks to nodes first, then tasks to the places inside.
//!
//! Wu, Xiong and Lan, "Hierarchical task mapping for parallel applications on supercomputers",
//! Journal of Supercomputing 2015, section 3. Between nodes either recursive tree mapping (3.1.1),
//! on the topology's own tree or on one joined from hop distances, or recursive bipartitioning by
//! coordinates (3.1.2) for meshes and tori, contiguous allocations or not. The paper's bipartitioning
//! ignores wrap-around links; the variant with `-wrap` turns each dimension so that its widest gap of
//! unused coordinates lies at the border. Parts come out exactly full from the bisection, so the
//! paper's correction of METIS' balance has nothing to do. Inside nodes: recursive tree mapping (3.2).

use super::filled_problem::FilledProblem;
use super::neighbour_joining;
use super::quotient::Quotient;
use crate::base::error::{Error, ErrorKind, Result};
use crate::mapping::engine::{Csr, Rng, Scale, TreePlaces};
use crate::mapping::multisection::{Bisector, multisect};
use crate::mapping::{Budget, Mapper, Outcome, Problem};
use crate::topology::Grid;

/// HierTopoMap, by one of its ways to group.
pub(in crate::mapping) struct HierTopoMap {
    between: Between,
}

#[derive(PartialEq)]
enum Between {
    Tree,
    Bipart,
    BipartWrap,
}

/// Recursive tree mapping between nodes.
pub(in crate::mapping) const TREE: HierTopoMap = HierTopoMap { between: Between::Tree };

/// Recursive bipartitioning by coordinates.
pub(in crate::mapping) const BIPART: HierTopoMap = HierTopoMap { between: Between::Bipart };

/// The same, with wrap-around links.
pub(in crate::mapping) const BIPART_WRAP: HierTopoMap =
    HierTopoMap { between: Between::BipartWrap };

impl Mapper for HierTopoMap {
    fn name(&self) -> &'static str {
        match self.between {
            Between::Tree => "hiertopomap-tree",
            Between::Bipart => "hiertopomap-bipart",
            Between::BipartWrap => "hiertopomap-bipart-wrap",
        }
    }

    fn source(&self) -> &'static str {
        match self.between {
            Between::Tree => {
                "Wu, Xiong and Lan 2015, sections 3.1.1 and 3.2 (recursive tree mapping)"
            }
            Between::Bipart => "Wu, Xiong and Lan 2015, section 3.1.2 (recursive bipartitioning)",
            Between::BipartWrap => {
                "Wu, Xiong and Lan 2015, section 3.1.2, made aware of wrap-around links"
            }
        }
    }

    fn map(&self, problem: &Problem<'_>, budget: &mut Budget) -> Result<Outcome> {
        let filled = FilledProblem::new(problem, budget);
        if self.between == Between::Tree {
            return tree_mapping(&filled);
        }
        let Some((grid, points)) = problem.grid() else {
            return Err(Error::new(
                ErrorKind::Infeasible,
                format!("{} needs coordinates: a mesh or torus", self.name()),
            )
            .at(problem.topology().name())
            .advise("--algorithm hiertopomap-tree or the default"));
        };
        let nodes = Quotient::equal(&filled);
        let mut point_of = vec![0usize; problem.topology().slots()];
        for (&slot, &point) in problem.places().iter().zip(&points) {
            point_of[slot as usize] = point as usize;
        }
        let points: Vec<usize> = nodes.slots.iter().map(|&s| point_of[s]).collect();
        let mut run = Bipartition {
            grid,
            points: &points,
            wrap: self.between == Between::BipartWrap,
            bisector: filled.bisector(),
            rng: filled.rng.fork(5),
            node_of: vec![0; nodes.len()],
        };
        let all: Vec<u32> = (0..nodes.len() as u32).collect();
        run.split(&nodes.unit_graph(), &all, all.clone());
        let node_of = run.node_of;
        Ok(filled.outcome(nodes.places_of(&filled, &node_of)))
    }
}

/// Recursive tree mapping between nodes, on the topology's tree or one joined from distances.
fn tree_mapping(filled: &FilledProblem) -> Result<Outcome> {
    let nodes = Quotient::equal(filled);
    let unit = Scale::new(1, 1);
    let own = filled.problem.topology().as_tree().and_then(|tree| {
        let slots: Vec<u32> = nodes.slots.iter().map(|&s| s as u32).collect();
        TreePlaces::new(tree, &slots, unit)
    });
    let tree = match own {
        Some(tree) => Some(tree),
        None if nodes.len() > neighbour_joining::LIMIT => {
            return Err(Error::new(
                ErrorKind::Infeasible,
                format!(
                    "hiertopomap-tree joins at most {} nodes, not {}: it compares all distances",
                    neighbour_joining::LIMIT,
                    nodes.len()
                ),
            )
            .advise("--algorithm hiertopomap-bipart or the default"));
        }
        None => neighbour_joining::join(filled, &nodes.slots).and_then(|tree| {
            let slots: Vec<u32> = (0..nodes.len() as u32).collect();
            TreePlaces::new(&tree, &slots, unit)
        }),
    };
    let Some(tree) = tree else {
        return Err(Error::new(
            ErrorKind::Infeasible,
            "the tree that was joined from the distances is too deep",
        )
        .advise("--algorithm hiertopomap-bipart or the default"));
    };
    let mut bisector = filled.bisector();
    let answer = multisect(&nodes.unit_graph(), &tree, &mut bisector, &filled.rng);
    let node_of: Vec<u32> = answer.iter().map(|&k| tree.order[k as usize]).collect();
    Ok(filled.outcome(nodes.places_of(filled, &node_of)))
}

struct Bipartition<'a> {
    grid: &'a Grid,
    /// Point of every node.
    points: &'a [usize],
    wrap: bool,
    bisector: Bisector,
    rng: Rng,
    node_of: Vec<u32>,
}

impl Bipartition<'_> {
    /// Maps the groups `members` (vertices of `graph`) onto as many nodes.
    fn split(&mut self, graph: &Csr, members: &[u32], mut nodes: Vec<u32>) {
        if members.len() <= 1 {
            for (&group, &node) in members.iter().zip(&nodes) {
                self.node_of[group as usize] = node;
            }
            return;
        }
        let target = members.len() / 2;
        self.sort_along_largest(&mut nodes);
        let far = nodes.split_off(target);
        let side = self.bisector.bisect(graph, target as i64, &mut self.rng).side;
        let mut local = vec![u32::MAX; graph.len()];
        for (which, nodes) in [(0, nodes), (1, far)] {
            let chosen: Vec<u32> =
                (0..members.len() as u32).filter(|&v| side[v as usize] == which).collect();
            let groups: Vec<u32> = chosen.iter().map(|&v| members[v as usize]).collect();
            let sub = graph.subgraph(&chosen, &mut local);
            self.split(&sub, &groups, nodes);
        }
    }

    /// Sorts nodes along the dimension in which they extend farthest, then along the others.
    fn sort_along_largest(&self, nodes: &mut [u32]) {
        let dims = self.grid.dims();
        let at = |node: u32, k: usize| self.grid.coordinates(self.points[node as usize])[k];
        let starts: Vec<u32> = (0..dims.len())
            .map(|k| {
                if !(self.wrap && self.grid.wrap()[k]) {
                    return 0;
                }
                border(dims[k], nodes.iter().map(|&node| at(node, k)))
            })
            .collect();
        let turned =
            |node: u32, k: usize| (at(node, k) + dims[k] as u32 - starts[k]) % dims[k] as u32;
        let extent = |k: usize| {
            let low = nodes.iter().map(|&node| turned(node, k)).min().unwrap_or(0);
            let high = nodes.iter().map(|&node| turned(node, k)).max().unwrap_or(0);
            high - low
        };
        let mut order: Vec<usize> = (0..dims.len()).collect();
        order.sort_by_key(|&k| std::cmp::Reverse(extent(k)));
        nodes.sort_by_cached_key(|&node| {
            (order.iter().map(|&k| turned(node, k)).collect::<Vec<u32>>(), node)
        });
    }
}

/// The coordinate behind the widest gap of unused coordinates of a ring of `length`.
pub(super) fn border(length: usize, used: impl Iterator<Item = u32>) -> u32 {
    let mut present = vec![false; length];
    used.for_each(|x| present[x as usize] = true);
    let (mut best, mut start, mut gap) = (0, 0, 0);
    // Twice around, so that a gap across 0 is seen as one.
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
