//! Strips along the longest dimension, as wide as the best box of a node.
//!
//! Von Kirchbach et al., CLUSTER 2020, section V-C ("stencil strips"): the sides of the best box for
//! a node are in the ratio of the stencil's extents; the grid is cut into strips of these widths
//! along its longest dimension, which are walked one after the other, there and back, and nodes take
//! the points in that order. Differences: the ratio is that of the weights crossing each dimension,
//! which is the same for stencils with equal weights in every direction; all dimensions are tried as
//! the one to walk along, and widths are evened out.

use super::decomposition::{Decomposition, ON_NODES, Parts, filled};
use super::node_groups::NodeGroup;
use super::points::Points;
use crate::mapping::geometric::best_sides;

/// Fills nodes along strips.
pub(super) const STRIPS: Decomposition = Decomposition {
    name: "stencil-strips",
    source: "von Kirchbach et al., CLUSTER 2020, section V-C",
    applies_to: ON_NODES,
    parts,
};

fn parts(points: &Points, groups: &[NodeGroup]) -> Parts {
    let size = points.len() as f64 / groups.len().max(1) as f64;
    let dims = &points.shape.dims;
    let sides = best_sides(dims, &points.crossing, size);
    // Along the dimension in which the grid is longest, measured in boxes.
    let along = (0..dims.len())
        .max_by(|&a, &b| {
            let boxes = |k: usize| dims[k] as f64 / sides[k];
            boxes(a).total_cmp(&boxes(b)).then(b.cmp(&a))
        })
        .unwrap_or(0);
    Ok(filled(&walk(points, &sides, along), groups))
}

/// All points, strip after strip.
fn walk(points: &Points, sides: &[f64], along: usize) -> Vec<u32> {
    let dims = &points.shape.dims;
    let across: Vec<usize> = (0..dims.len()).filter(|&k| k != along).collect();
    let strips: Vec<usize> = across
        .iter()
        .map(|&k| ((dims[k] as f64 / sides[k]).round() as usize).clamp(1, dims[k]))
        .collect();
    // Points are sorted by strip, then by their position along the strip, then by their position in the slice.
    // All three numbers run in a zigzag (`there_and_back`), so consecutive points are close to each other.
    let mut keys: Vec<(u64, u32)> = (0..points.len() as u32)
        .map(|point| {
            let mut strip = 0usize;
            let at = points.coordinate(point, along);
            for (&k, &count) in across.iter().zip(&strips) {
                let x = points.coordinate(point, k);
                let which = x * count / dims[k];
                strip = there_and_back(strip, which, count);
            }
            let at = if strip.is_multiple_of(2) { at } else { dims[along] - 1 - at };
            let mut in_slice = at;
            for &k in &across {
                in_slice = there_and_back(in_slice, points.coordinate(point, k), dims[k]);
            }
            let key = (strip * dims[along] + at) as u64;
            (key << 32 | (in_slice as u64 & 0xffff_ffff), point)
        })
        .collect();
    keys.sort_unstable();
    keys.into_iter().map(|(_, point)| point).collect()
}

/// Appends a digit to a number. The digit runs upwards if the number is even, and downwards if it is odd.
/// Counting up therefore changes one digit by one at each step.
fn there_and_back(number: usize, digit: usize, base: usize) -> usize {
    number * base + if number.is_multiple_of(2) { digit } else { base - 1 - digit }
}
