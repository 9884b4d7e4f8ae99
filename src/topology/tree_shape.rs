//! The parent and the children of every vertex of a tree of slots.
//!
//! Vertices are the slots, then the groups of each inner level from the inside out, then the root.

use crate::base::compressed_rows;

/// The vertices above and below each vertex; kept with the tree.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Shape {
    /// First vertex of the groups of each level; that of the slots is 0.
    pub(super) first: Vec<usize>,
    /// Parent of every vertex but the root.
    pub(super) parent: Vec<u32>,
    /// Children of every inner vertex: `children[offsets[v - slots]..offsets[v - slots + 1]]`.
    pub(super) offsets: Vec<usize>,
    pub(super) children: Vec<u32>,
    /// Bandwidth of the links above the groups of each level, the slots' own level last.
    pub(super) bandwidths: Vec<f64>,
}

impl Shape {
    /// From nested groups, the outermost level first and the slots last.
    pub(super) fn new(groups: &[Vec<u32>]) -> Shape {
        let mut first = vec![0; groups.len()];
        let mut next = 0;
        for (level, row) in groups.iter().enumerate().rev() {
            first[level] = next;
            next += row.iter().max().map_or(0, |&m| m as usize + 1);
        }
        let root = next;
        let slots = groups.last().map_or(0, Vec::len);
        let mut parent = vec![root as u32; root];
        for (level, row) in groups.iter().enumerate().skip(1) {
            for (&group, &above) in row.iter().zip(&groups[level - 1]) {
                parent[first[level] + group as usize] = (first[level - 1] + above as usize) as u32;
            }
        }
        let rows = parent.iter().map(|&above| above as usize - slots);
        let offsets = compressed_rows::offsets(root + 1 - slots, rows);
        let mut cursor = offsets.clone();
        let mut children = vec![0; root];
        for (vertex, &above) in parent.iter().enumerate() {
            let at = &mut cursor[above as usize - slots];
            children[*at] = vertex as u32;
            *at += 1;
        }
        Shape { first, parent, offsets, children, bandwidths: vec![1.0; groups.len()] }
    }
}
