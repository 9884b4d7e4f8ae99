//! A tree of slots, regular or not: nodes, packages, NUMA domains, cores.

use super::Topology;

/// A tree in which all slots lie at the same depth; inner levels may be of any size.
///
/// `groups[l][s]` is the group of slot `s` at level `l` (level 0 is just below the root). Groups of
/// a level are numbered from 0 and nested: slots of one group share all groups above it. Two slots
/// that first differ at level `l` are `costs[l]` apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tree {
    groups: Vec<Vec<u32>>,
    costs: Vec<u64>,
}

impl Tree {
    /// Builds from one path per slot, from the root down: `paths[s][l]` names the group at level
    /// `l`, unique among its siblings only. All paths have the same length; one more level, the
    /// slot itself, is added below. `costs[l]` for `l` in `0..=paths[0].len()`.
    ///
    /// `None` if lengths do not fit or costs do not fall from the root down to at least 1.
    pub fn from_paths(paths: &[Vec<u32>], costs: &[u64]) -> Option<Tree> {
        let levels = costs.len().checked_sub(1)?;
        if paths.iter().any(|p| p.len() != levels)
            || costs.windows(2).any(|w| w[0] < w[1])
            || costs.last().is_some_and(|&c| c == 0)
        {
            return None;
        }
        let mut groups = Vec::with_capacity(levels + 1);
        for level in 0..levels {
            let mut ids = std::collections::BTreeMap::new();
            let mut row = Vec::with_capacity(paths.len());
            for path in paths {
                let next = ids.len() as u32;
                row.push(*ids.entry(&path[..=level]).or_insert(next));
            }
            groups.push(row);
        }
        groups.push((0..paths.len() as u32).collect());
        Some(Tree { groups, costs: costs.to_vec() })
    }

    /// Number of levels below the root, the slots' own included.
    pub fn levels(&self) -> usize {
        self.costs.len()
    }

    /// The group of every slot at level `l`.
    pub fn groups(&self, l: usize) -> &[u32] {
        &self.groups[l]
    }

    /// Distance of two slots that first differ at level `l`.
    pub fn cost(&self, l: usize) -> u64 {
        self.costs[l]
    }
}

impl Topology for Tree {
    fn name(&self) -> String {
        format!("tree of {} slots, distances {:?}", self.slots(), self.costs)
    }

    fn slots(&self) -> usize {
        self.groups.last().map_or(0, Vec::len)
    }

    fn distance(&self, a: usize, b: usize) -> u64 {
        self.groups.iter().zip(&self.costs).find(|(g, _)| g[a] != g[b]).map_or(0, |(_, &c)| c)
    }

    fn as_tree(&self) -> Option<&Tree> {
        Some(self)
    }
}
