//! The weights whose sum, multiplied by distances, is an objective. Loads of links have the weights of hop-bytes.

use crate::matrix::{Graph, SparseMatrix};

/// The objectives with bounds, in words for users.
pub const KNOWN: &str = "hop-bytes, sum-com, total-hops, mc or time";

/// Whether bounds of an objective can be computed.
pub fn known(objective: &str) -> bool {
    matches!(objective, "hop-bytes" | "sum-com" | "total-hops") || of_links(objective)
}

/// Whether an objective is about the most loaded link.
pub(super) fn of_links(objective: &str) -> bool {
    matches!(objective, "mc" | "time")
}

/// The undirected weights of an objective, and how many units of them make one unit of the objective. `None` for
/// objectives without bounds, and for traffic that 64 bits cannot count.
pub fn of(matrix: &SparseMatrix, objective: &str) -> Option<(Graph, u128)> {
    let bytes: u128 = matrix.entries().map(|(_, _, t)| u128::from(t.bytes)).sum();
    let pairs: Vec<(u32, u32, u64)> = match objective {
        "hop-bytes" | "sum-com" | "mc" | "time" if bytes <= u128::from(u64::MAX) => {
            matrix.entries().map(|(i, j, t)| (i, j, t.bytes)).collect()
        }
        "total-hops" => matrix.entries().map(|(i, j, _)| (i, j, 1)).collect(),
        _ => return None,
    };
    let unit = if matrix.counts_halves() && objective != "total-hops" { 2 } else { 1 };
    Some((Graph::from_edges(matrix.tasks(), &pairs), unit))
}
