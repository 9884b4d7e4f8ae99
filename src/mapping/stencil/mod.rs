//! Placements of grids on nodes that know the stencil: blocks, planes, k-d trees, strips.
//!
//! What MPI_Cart_create could do by itself, by the papers on it. All start from the grid
//! ([`points`]) and the nodes with their sizes ([`node_groups`]), deal the points out ([`decomposition`]),
//! and leave it to the engine which part goes to which node and what is inside ([`placement`]). They look
//! at no more than the stencil, so that they cost next to nothing; the portfolio takes the best of
//! them as one more candidate.
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

use super::engine::Prepared;
use super::geometric::{GridShape, detect};
use super::{Budget, Mapper, Outcome, Problem};
use crate::base::error::{Error, ErrorKind, Result};
use decomposition::Decomposition;
use node_groups::node_groups;
use points::Points;

/// One placement as an algorithm of its own.
struct Placed(&'static dyn Decomposition);

const DECOMPOSITIONS: [&dyn Decomposition; 5] = [
    &decomposition::Rows,
    &nodecart::NodeCart,
    &hyperplane::Hyperplane,
    &kd_tree::KdTree,
    &strips::Strips,
];

/// All algorithms of this folder.
pub(super) const ALL: &[&dyn Mapper] = &[
    &Placed(DECOMPOSITIONS[0]),
    &Placed(DECOMPOSITIONS[1]),
    &Placed(DECOMPOSITIONS[2]),
    &Placed(DECOMPOSITIONS[3]),
    &Placed(DECOMPOSITIONS[4]),
];

/// Above this number of tasks the portfolio does without: sorting costs more than it may take.
const OFFERED_UP_TO: usize = 65_536;

impl Mapper for Placed {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn source(&self) -> &'static str {
        self.0.source()
    }

    fn map(&self, problem: &Problem<'_>, budget: &mut Budget) -> Result<Outcome> {
        let needs = |what: &str| {
            Error::new(ErrorKind::Infeasible, format!("{} needs {what}", self.name()))
                .at(problem.topology().name())
                .advise("another of grid-rows, hyperplane, kd-tree, stencil-strips, or the default")
        };
        let prepared = Prepared::new(problem);
        let detected = match problem.task_grid() {
            Some(_) => None,
            None => detect(&prepared.graph),
        };
        let points = Points::new(&prepared, detected.as_ref())
            .ok_or_else(|| needs("tasks that form a grid"))?;
        let (groups, over) = node_groups(&prepared, points.len())
            .ok_or_else(|| needs("several nodes, with several places on one of them"))?;
        let parts = self.0.parts(&points, &groups).map_err(needs)?;
        let place_of = placement::plain(&prepared, &points, &parts, &groups, &over);
        let mut place_of = placement::refined(&prepared, place_of, &groups, budget);
        prepared.honour_fixed(&mut place_of);
        Ok(Outcome::new(problem, prepared.by_task(place_of)))
    }
}

/// The best of all for the portfolio, with its name; the place of every vertex. `None` where the
/// tasks are no grid or there are no nodes to fill, and with `boxes`, nested blocks that there are
/// already, where no other shape could cut less.
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
    let (_, name, place_of) = DECOMPOSITIONS
        .iter()
        .filter_map(|decomposition| {
            let parts = decomposition.parts(&points, &groups).ok()?;
            let place_of = placement::plain(prepared, &points, &parts, &groups, &over);
            Some((prepared.cost(&place_of), decomposition.name(), place_of))
        })
        .min_by_key(|(cost, ..)| *cost)?;
    Some((name, placement::refined(prepared, place_of, &groups, budget)))
}
