//! An order of the points by a k-d tree, cut into nodes.
//!
//! Von Kirchbach et al., CLUSTER 2020, section V-B: the grid is halved across the dimension that is
//! longest for what the stencil sends across it, down to single points; nodes take the points in
//! that order, so they may be of any size. Difference: the stencil counts by the weights and lengths
//! of its edges, not by their number.

use super::decomposition::{Decomposition, ON_NODES, Parts, filled};
use super::node_groups::NodeGroup;
use super::points::Points;

/// Fills nodes in the order of a k-d tree.
pub(super) const KD_TREE: Decomposition = Decomposition {
    name: "kd-tree",
    source: "von Kirchbach et al., CLUSTER 2020, section V-B",
    applies_to: ON_NODES,
    parts,
};

fn parts(points: &Points, groups: &[NodeGroup]) -> Parts {
    let dims = &points.shape.dims;
    let mut order = Vec::with_capacity(points.len());
    // Boxes: the first point in each dimension, and the extent.
    let mut boxes = vec![dims.iter().map(|&d| (0, d)).collect::<Vec<(usize, usize)>>()];
    while let Some(mut near) = boxes.pop() {
        // A dimension that nothing crosses goes first: cuts across it are free.
        let length = |k: usize| near[k].1 as f64 / points.crossing[k].max(f64::MIN_POSITIVE);
        let longest = (0..dims.len())
            .filter(|&k| near[k].1 > 1)
            .max_by(|&a, &b| length(a).total_cmp(&length(b)).then(b.cmp(&a)));
        let Some(k) = longest else {
            let point = near.iter().zip(dims).fold(0, |p, (&(x, _), &d)| p * d + x);
            order.push(point as u32);
            continue;
        };
        let (start, extent) = near[k];
        let half = extent.div_ceil(2);
        let mut far = near.clone();
        far[k] = (start + half, extent - half);
        near[k] = (start, half);
        boxes.push(far);
        boxes.push(near);
    }
    Ok(filled(&order, groups))
}
