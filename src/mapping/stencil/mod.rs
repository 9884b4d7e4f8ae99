//! Placements of grids on nodes that know the stencil: blocks, planes, k-d trees, strips.
//!
//! An MPI library could do the same in MPI_Cart_create; the papers below say how. All placements start from the
//! grid ([`points`]) and the nodes with their sizes ([`node_groups()`]), and divide the points among the nodes
//! ([`decomposition`]). The engine then decides which part goes to which node, and which task to which place
//! inside a node ([`placement`]). The decompositions use the stencil only, so they take very little time.
//! The portfolio takes the best of them as one more candidate.
//!
//! | name | source |
//! |---|---|
//! | `grid-rows` | baseline and template |
//! | `nodecart` | Gropp 2018 |
//! | `hyperplane`, `kd-tree`, `stencil-strips` | von Kirchbach et al., CLUSTER 2020 |

mod decomposition;
mod hyperplane;
mod kd_tree;
mod node_groups;
mod nodecart;
mod placement;
mod points;
mod strips;
mod task_numbers;

#[cfg(test)]
mod tests;

use super::engine::{Prepared, places_on_tree};
use super::geometric::{GridShape, place_in_slabs, recognise};
use super::problem::refused;
use super::{Budget, Mapper, Outcome, Problem};
use crate::base::error::Result;
use decomposition::Decomposition;
use node_groups::node_groups;
use points::Points;

/// All algorithms of this folder.
pub(super) const ALL: [&Decomposition; 5] = [
    &decomposition::ROWS,
    &nodecart::NODECART,
    &hyperplane::HYPERPLANE,
    &kd_tree::KD_TREE,
    &strips::STRIPS,
];

/// Above this number of tasks the portfolio asks no decomposition: sorting the points would take too long.
const OFFERED_UP_TO: usize = 65_536;

impl Mapper for Decomposition {
    fn name(&self) -> &'static str {
        self.name
    }

    fn source(&self) -> &'static str {
        self.source
    }

    fn applies_to(&self) -> &'static str {
        self.applies_to
    }

    fn map(&self, problem: &Problem<'_>, budget: &mut Budget) -> Result<Outcome> {
        let needs = |what: &str| {
            refused(format!("{} needs {what}", self.name)).at(problem.topology().name()).advise(
                "use another of grid-rows, hyperplane, kd-tree, stencil-strips, or the default",
            )
        };
        let prepared = Prepared::new(problem);
        let recognised = || recognise(&prepared.graph).map(|grid| grid.shape);
        let detected = problem.task_grid().is_none().then(recognised).flatten();
        let points = Points::new(&prepared, detected.as_ref())
            .ok_or_else(|| needs("tasks that form a grid"))?;
        let (groups, over) = node_groups(&prepared, points.len())
            .ok_or_else(|| needs("several nodes, with several places on one of them"))?;
        let parts = (self.parts)(&points, &groups).map_err(needs)?;
        let place_of = placement::plain(&prepared, &points, &parts, &groups, &over);
        let mut place_of = placement::refined(&prepared, place_of, &groups, budget);
        prepared.honour_fixed(&mut place_of);
        Ok(Outcome::new(problem, prepared.by_task(place_of)))
    }
}

/// The best of all for the portfolio: its name, and the place of every vertex. `None` where the tasks are
/// no grid or there are no nodes to fill. With `boxes`, a candidate of nested blocks exists already; then
/// also `None` where no other shape could cut less.
pub(super) fn best(
    prepared: &Prepared<'_, '_>,
    detected: Option<&GridShape>,
    boxes: bool,
    budget: &Budget,
) -> Option<(&'static str, Vec<u32>)> {
    if prepared.graph.len() > OFFERED_UP_TO {
        return None;
    }
    let points = Points::new(prepared, detected)?;
    let (groups, over) = node_groups(prepared, points.len())?;
    if boxes && nodecart::ideal(&points, &groups) {
        return None;
    }
    let candidates = ALL.into_iter().filter_map(|decomposition| {
        let parts = (decomposition.parts)(&points, &groups).ok()?;
        let place_of = placement::plain(prepared, &points, &parts, &groups, &over);
        Some((prepared.cost(&place_of), decomposition.name, place_of))
    });
    let (_, name, place_of) = candidates.min_by_key(|(cost, ..)| *cost)?;
    let best = (name, placement::refined(prepared, place_of, &groups, budget));
    // Where a grid was recognised, slabs are a candidate of their own.
    let slabs = detected.is_none().then(|| in_slabs(prepared, &points, budget)).flatten();
    let slabs = slabs.filter(|slabs| prepared.cost(slabs) < prepared.cost(&best.1));
    Some(slabs.map_or(best, |slabs| ("grid in slabs", slabs)))
}

/// The place of every vertex in slabs. `None` if the machine is no tree, or if some tasks are no points.
fn in_slabs(prepared: &Prepared<'_, '_>, points: &Points, budget: &Budget) -> Option<Vec<u32>> {
    let tree = prepared.tree.as_ref()?;
    let n = prepared.graph.len();
    if points.len() != n {
        return None;
    }
    let mut shape = points.shape.clone();
    let column = |k: usize| {
        let mut column = vec![0u32; n];
        for (&v, point) in points.vertex_at.iter().zip(0..) {
            column[v as usize] = points.coordinate(point, k) as u32;
        }
        column
    };
    shape.coordinates = (0..shape.dims.len()).map(column).collect();
    let sorted = place_in_slabs(&prepared.graph, &shape, tree, budget, true)?;
    Some(places_on_tree(prepared, tree, sorted))
}
