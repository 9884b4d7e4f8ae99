//! A tree as a network: one link up and one down between every group and the group above it.
//!
//! Vertices are the slots, then the groups of each inner level from the inside out, then the root.
//! Several physical uplinks of a group are one link with their bandwidth together.

use super::{Network, Routing, SinglePath, Topology, Tree};

impl Tree {
    /// The level of the groups that a link is above.
    pub(super) fn level_of_link(&self, link: usize) -> Option<usize> {
        self.shape().first.iter().position(|&first| first <= link / 2)
    }
}

impl Network for Tree {
    fn vertices(&self) -> usize {
        self.shape().parent.len() + 1
    }

    fn links(&self) -> usize {
        2 * self.shape().parent.len()
    }

    fn bandwidth(&self, link: usize) -> f64 {
        let level = self.level_of_link(link);
        level.and_then(|l| self.bandwidths().get(l)).copied().unwrap_or(1.0)
    }

    fn neighbours(&self, vertex: usize, visit: &mut dyn FnMut(usize, usize)) {
        let shape = self.shape();
        if let Some(&parent) = shape.parent.get(vertex) {
            visit(parent as usize, 2 * vertex);
        }
        if let Some(inner) = vertex.checked_sub(self.slots()) {
            for &child in &shape.children[shape.offsets[inner]..shape.offsets[inner + 1]] {
                visit(child as usize, 2 * child as usize + 1);
            }
        }
    }

    fn route(&self, from: usize, to: usize, visit: &mut dyn FnMut(usize)) {
        let first = &self.shape().first;
        let Some(top) = (0..self.levels()).find(|&l| self.groups(l)[from] != self.groups(l)[to])
        else {
            return;
        };
        for level in (top..self.levels()).rev() {
            visit(2 * (first[level] + self.groups(level)[from] as usize));
        }
        for (level, first) in first.iter().enumerate().skip(top) {
            visit(2 * (first + self.groups(level)[to] as usize) + 1);
        }
    }

    fn routing(&self) -> Box<dyn Routing + '_> {
        Box::new(SinglePath(self))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::tests::breadth_first;

    #[test]
    fn routes_climb_to_the_common_group() {
        let tree = Tree::regular(&[2, 2], &[4, 2]).unwrap();
        // Slots 0..4, groups 4 and 5, root 6.
        assert_eq!((tree.vertices(), tree.links()), (7, 12));
        let route = |a, b| {
            let mut links = Vec::new();
            tree.route(a, b, &mut |link| links.push(link));
            links
        };
        assert_eq!(route(0, 1), [0, 3]);
        assert_eq!(route(0, 3), [0, 8, 11, 7]);
        assert!(route(2, 2).is_empty());
        assert_eq!(breadth_first(&tree, 0), [0, 2, 4, 4, 1, 3, 2]);
    }

    #[test]
    fn bandwidths_belong_to_levels() {
        let tree = Tree::regular(&[2, 2], &[4, 2]).unwrap().with_bandwidths(&[8.0, 3.0]).unwrap();
        let mut seen = Vec::new();
        tree.route(0, 3, &mut |link| seen.push(tree.bandwidth(link)));
        assert_eq!(seen, [3.0, 8.0, 8.0, 3.0]);
    }
}
