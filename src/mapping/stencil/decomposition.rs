//! What a placement of grids on nodes has to do.

use super::node_groups::NodeGroup;
use super::points::Points;

/// Deals the points of a grid out to nodes. [`Rows`] is the template.
pub(super) trait Decomposition: Send + Sync {
    /// Name on the command line.
    fn name(&self) -> &'static str;

    /// Paper and section.
    fn source(&self) -> &'static str;

    /// The points of every group, exactly as many as it has places; together as many as the grid has.
    /// Errors: to what it applies, in words that follow "needs".
    fn parts(&self, points: &Points, groups: &[NodeGroup]) -> Result<Vec<Vec<u32>>, &'static str>;
}

/// Row by row: what a launcher that fills node after node does to a grid in row-major order.
pub(super) struct Rows;

impl Decomposition for Rows {
    fn name(&self) -> &'static str {
        "grid-rows"
    }

    fn source(&self) -> &'static str {
        "baseline: row-major order, node after node (\"blocked\" in CLUSTER 2020)"
    }

    fn parts(&self, points: &Points, groups: &[NodeGroup]) -> Result<Vec<Vec<u32>>, &'static str> {
        let order: Vec<u32> = (0..points.len() as u32).collect();
        Ok(filled(&order, groups))
    }
}

/// Fills the groups with the points in this order.
pub(super) fn filled(order: &[u32], groups: &[NodeGroup]) -> Vec<Vec<u32>> {
    let mut rest = order;
    groups
        .iter()
        .map(|group| {
            let (part, after) = rest.split_at(group.places.len().min(rest.len()));
            rest = after;
            part.to_vec()
        })
        .collect()
}
