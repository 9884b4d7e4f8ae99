//! A decomposition of a grid: which points go to which node.

use super::node_groups::NodeGroup;
use super::points::Points;

/// The points of every group: as many points as the group has places, and all points of the grid together. The
/// error says to which grids the decomposition applies, in words that follow "needs".
pub(super) type Parts = Result<Vec<Vec<u32>>, &'static str>;

/// To what most decompositions apply.
pub(super) const ON_NODES: &str = "grids of tasks on nodes of any size";

/// A way to divide the points of a grid among nodes. [`ROWS`] is the template.
pub(in crate::mapping) struct Decomposition {
    /// Name on the command line.
    pub(super) name: &'static str,
    /// Paper and section.
    pub(super) source: &'static str,
    /// To what it applies.
    pub(super) applies_to: &'static str,
    /// Divides the points.
    pub(super) parts: fn(&Points, &[NodeGroup]) -> Parts,
}

/// Row by row: the placement of a grid in row-major order by a launcher that fills node after node.
pub(super) const ROWS: Decomposition = Decomposition {
    name: "grid-rows",
    source: "baseline: row-major order, node after node (\"blocked\" in CLUSTER 2020)",
    applies_to: ON_NODES,
    parts: |points, groups| {
        let row_major: Vec<u32> = (0..points.len() as u32).collect();
        Ok(filled(&row_major, groups))
    },
};

/// Fills the groups one after the other with points in the order of the list.
pub(super) fn filled(points: &[u32], groups: &[NodeGroup]) -> Vec<Vec<u32>> {
    let mut rest = points;
    groups
        .iter()
        .map(|group| {
            let (part, after) = rest.split_at(group.places.len().min(rest.len()));
            rest = after;
            part.to_vec()
        })
        .collect()
}
