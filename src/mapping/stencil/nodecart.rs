//! Equal blocks of the grid, one for each node.
//!
//! Gropp, "Using node (and socket) information to implement MPI Cartesian topologies", EuroMPI 2018
//! and Parallel Computing 2019: the node size is factored over the dimensions of the grid, each
//! factor dividing its extent, and every node takes one block. Differences: of all factorings the one
//! that cuts the least of the stencil is taken; inside a node the engine places the tasks, with
//! sockets and caches as far as the topology knows them. For nodes of equal size only.

use super::decomposition::{Decomposition, Parts};
use super::node_groups::NodeGroup;
use super::points::Points;
use crate::mapping::geometric::{best_sides, divisors};

/// Blocks that cut this much more than the ideal ones are good enough.
const GOOD: f64 = 1.02;

/// Whether blocks of the node size cut about as little as boxes of any sides could. No other placement is then
/// tried.
pub(super) fn ideal(points: &Points, groups: &[NodeGroup]) -> bool {
    let size = groups.first().map_or(0, |group| group.places.len());
    let cut = |sides: &[f64]| -> f64 {
        let open = (0..sides.len()).filter(|&k| sides[k] < points.shape.dims[k] as f64);
        open.map(|k| points.crossing[k] / sides[k]).sum()
    };
    let blocks = divisors(&points.shape.dims, size).into_iter().map(|sides| {
        let sides: Vec<f64> = sides.into_iter().map(|side| side as f64).collect();
        cut(&sides)
    });
    let least = cut(&best_sides(&points.shape.dims, &points.crossing, size as f64));
    groups.iter().all(|group| group.places.len() == size)
        && blocks.min_by(f64::total_cmp).is_some_and(|blocks| blocks <= GOOD * least)
}

/// Equal blocks, one for each node.
pub(super) const NODECART: Decomposition = Decomposition {
    name: "nodecart",
    source: "Gropp 2018, node decomposition of Cartesian grids",
    applies_to: "grids of tasks on nodes of equal size, if the blocks fit into the grid",
    parts,
};

fn parts(points: &Points, groups: &[NodeGroup]) -> Parts {
    let size = groups.first().map_or(0, |group| group.places.len());
    if groups.iter().any(|group| group.places.len() != size) {
        return Err("nodes that all take the same number of tasks");
    }
    let dims = &points.shape.dims;
    let sides = divisors(dims, size)
        .into_iter()
        .max_by(|a, b| points.inside(a).total_cmp(&points.inside(b)).then_with(|| a.cmp(b)))
        .ok_or("a grid that can be cut into equal blocks of a node's size")?;
    let mut parts = vec![Vec::with_capacity(size); groups.len()];
    for point in 0..points.len() as u32 {
        let block = (0..dims.len()).fold(0, |block, k| {
            block * (dims[k] / sides[k]) + points.coordinate(point, k) / sides[k]
        });
        if let Some(part) = parts.get_mut(block) {
            part.push(point);
        }
    }
    Ok(parts)
}
