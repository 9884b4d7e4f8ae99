//! The nodes that a grid is spread over, in the order of the tree, each with its places.

use crate::mapping::engine::{Prepared, TreePlaces};

/// A node, or another group of places, for example a socket if there is only one node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NodeGroup {
    /// Its places, in the order of the tree.
    pub(super) places: Vec<u32>,
    /// The outermost level of the tree at which this group differs from the group before it. 0 is the outermost
    /// level of the tree.
    pub(super) parts: usize,
}

/// The groups for as many points as there are in the grid, which fill them one after the other, and
/// the places that are left over. `None` where there are no groups of several places.
pub(super) fn node_groups(
    prepared: &Prepared<'_, '_>,
    points: usize,
) -> Option<(Vec<NodeGroup>, Vec<u32>)> {
    let mut groups = match &prepared.tree {
        Some(tree) => of_tree(prepared, tree)?,
        None => {
            // In the order of their first places.
            let nodes = prepared.problem.by_node(prepared.chosen.iter().copied());
            nodes.into_iter().map(|places| NodeGroup { places, parts: 0 }).collect()
        }
    };
    if groups.len() < 2 || groups.iter().all(|group| group.places.len() < 2) {
        return None;
    }
    let mut left = points;
    let mut over = Vec::new();
    for group in &mut groups {
        over.extend(group.places.drain(left.min(group.places.len())..));
        left -= group.places.len();
    }
    groups.retain(|group| !group.places.is_empty());
    (left == 0).then_some((groups, over))
}

/// Ends of the groups to be filled: nodes; else the largest groups inside a single node, or the
/// smallest ones of several nodes with one place each.
fn ends_of(prepared: &Prepared<'_, '_>, tree: &TreePlaces) -> Option<Vec<usize>> {
    let n = tree.order.len();
    let (topology, slots) = (prepared.problem.topology(), prepared.problem.places());
    let node = |k: usize| topology.node_of(slots[tree.order[k] as usize] as usize);
    let nodes: Vec<usize> = (1..n).filter(|&k| node(k) != node(k - 1)).chain([n]).collect();
    let real = |ends: &Vec<usize>| ends.len() > 1 && ends.len() < n;
    if real(&nodes) {
        return Some(nodes);
    }
    let mut levels = (0..tree.shifts.len()).map(|level| tree.children(0, n, level)).filter(real);
    if nodes.len() == 1 { levels.next() } else { levels.next_back() }
}

fn of_tree(prepared: &Prepared<'_, '_>, tree: &TreePlaces) -> Option<Vec<NodeGroup>> {
    let mut start = 0;
    let groups = ends_of(prepared, tree)?.into_iter().map(|end| {
        let from = std::mem::replace(&mut start, end);
        let apart = |shift: &u32| tree.codes[from - 1] >> shift != tree.codes[from] >> shift;
        let parts = if from == 0 { 0 } else { tree.shifts.iter().position(apart).unwrap_or(0) };
        NodeGroup { places: tree.order[from..end].to_vec(), parts }
    });
    Some(groups.collect())
}
