//! A tree of slots, regular or not: nodes, packages, NUMA domains, cores.
//!
//! The distance of two slots depends on the outermost level at which they differ. Each slot has a code of 64
//! bits with one field for each level, and the outermost level is in the highest bits. The highest bit in which
//! two codes differ gives this level. A distance therefore costs one XOR and one table look-up for any number
//! of levels. In trees whose fields need more than 64 bits, slots are compared level by level.

use super::machine::UNPLACED;
use super::network::is_bandwidth;
use super::tree_shape::Shape;
use super::{Network, Topology};
use crate::base::nouns::counted;
use crate::base::numbering::by_first_appearance;
use std::ops::Range;

/// A tree in which all slots lie at the same depth; inner levels may be of any size.
///
/// `groups[l][s]` is the group of slot `s` at level `l` (level 0 is just below the root). Groups of
/// a level are numbered from 0 and nested: slots of one group share all groups above it. Two slots
/// that first differ at level `l` are `costs[l]` apart. Memory: 4 bytes per slot and level, and 16
/// per slot.
#[derive(Debug, Clone, PartialEq)]
pub struct Tree {
    pub(super) groups: Vec<Vec<u32>>,
    costs: Vec<u64>,
    /// Code of every slot, empty if the fields do not fit into 64 bits.
    codes: Vec<u64>,
    /// Distance of two codes whose highest different bit is the index.
    cost_of_bit: Vec<u64>,
    /// The level at which two slots first differ, by the number of leading zeros of the difference of their codes; the
    /// number of levels for equal codes. Empty if there are no codes.
    level_of_zeros: Vec<u8>,
    /// The number of children of the groups of each level, from the root down. `None` if the groups
    /// of a level differ in it, or if slots are not numbered along the tree.
    arity: Option<Vec<usize>>,
    shape: Shape,
    /// The level whose groups are the nodes; `None` if all slots are in one node.
    node_level: Option<usize>,
    label: Option<String>,
    slot_names: Vec<String>,
    /// The names of the groups of each level, where they are switches with names; empty if they have none.
    pub(super) switch_names: Vec<Vec<String>>,
    /// The mean number of slots below the groups of each level of the tree that this one is a part of; empty if it is
    /// a whole one.
    mean_below: Vec<f64>,
}

impl Tree {
    /// Builds from one path per slot, from the root down: `paths[s][l]` is the number of the group of
    /// slot `s` at level `l`. Numbers need to differ only below the same parent. All paths have the
    /// same length. The slots themselves are one more level, so there is one cost more than levels in
    /// a path.
    ///
    /// A slot with [`UNPLACED`] in its path is in a group of its own from that level inwards. It is as
    /// far from its siblings at that level as they are from each other.
    ///
    /// `None` if lengths do not fit or costs do not fall from the root down to at least 1.
    pub fn from_paths(paths: &[Vec<u32>], costs: &[u64]) -> Option<Tree> {
        let levels = costs.len().checked_sub(1)?;
        if paths.iter().any(|p| p.len() != levels) || !costs_fall(costs) {
            return None;
        }
        let mut groups: Vec<Vec<u32>> = Vec::with_capacity(levels + 1);
        for level in 0..levels {
            let group = |(slot, path): (usize, &Vec<u32>)| {
                let parent = groups.last().map_or(0, |above| above[slot]);
                (parent, path[level], if path[level] == UNPLACED { slot } else { 0 })
            };
            groups.push(by_first_appearance(paths.iter().enumerate().map(group)).0);
        }
        groups.push((0..paths.len() as u32).collect());
        Some(Tree::finish(groups, costs.to_vec()))
    }

    /// A regular tree: the root has `arity[0]` children, and every group of level `l` has
    /// `arity[l + 1]`. Slots are numbered along the tree. There is one cost for each level.
    ///
    /// `None` if lengths differ or are 0, an arity is 0, the product exceeds `u32::MAX`, or costs
    /// do not fall from the root down to at least 1.
    pub fn regular(arity: &[usize], costs: &[u64]) -> Option<Tree> {
        let slots = super::slots_of(arity)?;
        if arity.len() != costs.len() || !costs_fall(costs) {
            return None;
        }
        let mut below = slots;
        let groups = arity
            .iter()
            .map(|&a| {
                below /= a;
                (0..slots).map(|slot| (slot / below) as u32).collect()
            })
            .collect();
        Some(Tree::finish(groups, costs.to_vec()))
    }

    /// The tree of nested groups, with the codes and the table from which distances follow.
    fn finish(groups: Vec<Vec<u32>>, costs: Vec<u64>) -> Tree {
        let slots = groups.last().map_or(0, Vec::len);
        let arity = regular_arity(&groups);
        // Index of every slot's group among the children of the group above, level by level.
        let mut codes = vec![0u64; slots];
        let mut cost_of_bit = Vec::new();
        let mut level_of_bit: Vec<u8> = Vec::new();
        let mut bits_left = 64u32;
        let mut fits = true;
        let mut above: Vec<u32> = vec![0; slots];
        for ((level, row), &cost) in groups.iter().enumerate().zip(&costs) {
            let (child, most) = child_indices(&above, row);
            let bits = usize::BITS - most.saturating_sub(1).leading_zeros();
            if bits > bits_left {
                fits = false;
                break;
            }
            bits_left -= bits;
            for (code, &index) in codes.iter_mut().zip(&child) {
                *code |= shifted(u64::from(index), bits_left);
            }
            cost_of_bit.splice(0..0, std::iter::repeat_n(cost, bits as usize));
            level_of_bit.splice(0..0, std::iter::repeat_n(level as u8, bits as usize));
            above.clone_from(row);
        }
        if fits {
            // Let the lowest field start at bit 0, so that the table has no empty front.
            codes.iter_mut().for_each(|code| *code = code.checked_shr(bits_left).unwrap_or(0));
        } else {
            codes.clear();
        }
        let levels = u8::try_from(groups.len()).ok().filter(|_| fits);
        let level_of_zeros = levels.map_or_else(Vec::new, |levels| {
            level_of_bit.resize(64, levels);
            level_of_bit.into_iter().rev().chain([levels]).collect()
        });
        Tree {
            shape: Shape::new(&groups),
            groups,
            costs,
            codes,
            cost_of_bit,
            level_of_zeros,
            arity,
            node_level: Some(0),
            label: None,
            slot_names: Vec::new(),
            switch_names: Vec::new(),
            mean_below: Vec::new(),
        }
    }

    /// Sets the mean number of slots below the groups of each level of the tree that this one is a part of; `None`
    /// unless there is one number of at least 1 for each level.
    pub(super) fn with_mean_below(mut self, below: &[f64]) -> Option<Tree> {
        self.mean_below = below.to_vec();
        let fits = below.len() == self.levels() && below.iter().all(|n| n.is_finite() && *n >= 1.0);
        fits.then_some(self)
    }

    /// The mean number of slots below the groups of level `l`, in the whole tree.
    pub(super) fn mean_below(&self, l: usize) -> f64 {
        let groups = self.groups[l].iter().max().map_or(1, |&most| most as usize + 1);
        let counted = (self.slots() as f64 / groups as f64).max(1.0);
        self.mean_below.get(l).copied().unwrap_or(counted)
    }

    /// Sets the bandwidth of the links above the groups of each level, the slots' own level last;
    /// `None` unless there is one positive number for each.
    pub fn with_bandwidths(mut self, bandwidths: &[f64]) -> Option<Tree> {
        let fits = bandwidths.len() == self.levels() && bandwidths.iter().all(|&b| is_bandwidth(b));
        self.shape.bandwidths = bandwidths.to_vec();
        fits.then_some(self)
    }

    /// The bandwidth of the links above the groups of each level, the slots' own level last.
    pub fn bandwidths(&self) -> &[f64] {
        &self.shape.bandwidths
    }

    /// How many times the links of the nodes below a group have the bandwidth of the link above it, for the group and the
    /// level where this is largest. At most 1 if no uplink is narrower than the nodes below it together, or if all
    /// links have the same bandwidth, which is what a tree without bandwidths says. 0 without levels above the nodes.
    pub fn taper(&self) -> f64 {
        let (Some(level), bandwidths) = (self.node_level, self.bandwidths()) else { return 0.0 };
        let Some(&own) = bandwidths.get(level) else { return 0.0 };
        if bandwidths.iter().all(|&bandwidth| bandwidth == own) {
            return 1.0_f64.min(level as f64);
        }
        let nodes = &self.groups[level];
        let taper = |above: usize| {
            let mut below =
                vec![0u32; self.groups[above].iter().max().map_or(0, |&m| m as usize + 1)];
            let mut seen = vec![false; nodes.iter().max().map_or(0, |&m| m as usize + 1)];
            for (&group, &node) in self.groups[above].iter().zip(nodes) {
                below[group as usize] +=
                    u32::from(!std::mem::replace(&mut seen[node as usize], true));
            }
            let most = below.into_iter().max().unwrap_or(0);
            f64::from(most) * own / bandwidths[above]
        };
        (0..level).map(taper).fold(0.0, f64::max)
    }

    /// Sets the level whose groups are the nodes of the machine, the outermost one unless set;
    /// `None` if the whole tree is one node.
    #[must_use]
    pub fn with_node_level(mut self, level: Option<usize>) -> Tree {
        self.node_level = level.map(|l| l.min(self.levels().saturating_sub(1)));
        self
    }

    /// The level whose groups are the nodes of the machine; `None` if the whole tree is one node.
    pub(super) fn node_level(&self) -> Option<usize> {
        self.node_level
    }

    /// Sets the answer of [`Topology::name`].
    #[must_use]
    pub fn with_label(mut self, label: String) -> Tree {
        self.label = Some(label);
        self
    }

    /// Sets the name of every slot.
    #[must_use]
    pub fn with_slot_names(mut self, names: Vec<String>) -> Tree {
        self.slot_names = names;
        self
    }

    /// The code of every slot, and the level at which two slots first differ by the number of leading zeros of the
    /// exclusive or of their codes (65 numbers; that for 64 zeros is the number of levels). `None` if the codes do not
    /// fit into 64 bits.
    pub(crate) fn codes(&self) -> Option<(&[u64], &[u8; 65])> {
        let level_of_zeros = self.level_of_zeros.as_slice().try_into().ok()?;
        Some((&self.codes, level_of_zeros))
    }

    /// The vertex of the network for the group of a slot at level `l`.
    pub(crate) fn vertex_of(&self, l: usize, slot: usize) -> usize {
        self.shape.first[l] + self.groups[l][slot] as usize
    }

    /// The vertex above a vertex of the network; `None` for the root.
    pub(crate) fn parent(&self, vertex: usize) -> Option<usize> {
        self.shape.parent.get(vertex).map(|&parent| parent as usize)
    }

    /// The vertices of the nodes; none if the whole tree is one node.
    pub(crate) fn nodes(&self) -> Range<usize> {
        let Some(level) = self.node_level else { return 0..0 };
        let end = match level {
            0 => self.shape.parent.len(),
            _ => self.shape.first[level - 1],
        };
        self.shape.first[level]..end
    }

    pub(super) fn shape(&self) -> &Shape {
        &self.shape
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

    /// Number of children of every group from the root down, if it is the same within each level
    /// and slots are numbered along the tree.
    pub fn arity(&self) -> Option<&[usize]> {
        self.arity.as_deref()
    }

    /// The tree of some of the slots. Slot `k` of the result is slot `slots[k]` of this tree.
    ///
    /// Slots that this tree does not have are left out.
    #[must_use]
    pub fn restricted(&self, slots: &[usize]) -> Tree {
        let kept: Vec<usize> = slots.iter().copied().filter(|&s| s < self.slots()).collect();
        let inner = self.groups.len().saturating_sub(1);
        let mut groups: Vec<Vec<u32>> = self.groups[..inner]
            .iter()
            .map(|row| by_first_appearance(kept.iter().map(|&slot| row[slot])).0)
            .collect();
        groups.push((0..kept.len() as u32).collect());
        let mut tree = Tree::finish(groups, self.costs.clone()).with_node_level(self.node_level);
        tree.shape.bandwidths.clone_from(&self.shape.bandwidths);
        tree.slot_names =
            kept.iter().filter_map(|&slot| self.slot_names.get(slot).cloned()).collect();
        match self.switch_names.is_empty() {
            true => tree,
            false => {
                let name = |level, slot: usize| self.switch_name(level, kept[slot]);
                tree.with_switch_names(|level, slot| name(level, slot).map(String::from))
            }
        }
    }
}

/// Whether the costs do not rise towards the slots and are positive.
fn costs_fall(costs: &[u64]) -> bool {
    costs.windows(2).all(|w| w[0] >= w[1]) && costs.last().is_some_and(|&c| c > 0)
}

fn shifted(value: u64, by: u32) -> u64 {
    value.checked_shl(by).unwrap_or(0)
}

/// For every slot the index of its group (`row`) among the groups with the same parent (`above`),
/// in the order of first appearance, and the largest number of children of a parent.
fn child_indices(above: &[u32], row: &[u32]) -> (Vec<u32>, usize) {
    let parents = above.iter().max().map_or(0, |&m| m as usize + 1);
    let groups = row.iter().max().map_or(0, |&m| m as usize + 1);
    let mut children = vec![0u32; parents];
    let mut index = vec![u32::MAX; groups];
    let rows = above
        .iter()
        .zip(row)
        .map(|(&parent, &group)| {
            let index = &mut index[group as usize];
            if *index == u32::MAX {
                *index = children[parent as usize];
                children[parent as usize] += 1;
            }
            *index
        })
        .collect();
    (rows, children.into_iter().max().unwrap_or(0) as usize)
}

/// The arity of each level if the tree is regular and numbered along its slots.
fn regular_arity(groups: &[Vec<u32>]) -> Option<Vec<usize>> {
    let slots = groups.last()?.len();
    let mut above = 1;
    groups
        .iter()
        .map(|row| {
            let count = *row.last()? as usize + 1;
            let size = slots / count;
            let regular = slots.is_multiple_of(count)
                && count.is_multiple_of(above)
                && row.iter().enumerate().all(|(slot, &group)| slot / size == group as usize);
            let arity = count / above;
            above = count;
            regular.then_some(arity)
        })
        .collect()
}

impl Topology for Tree {
    fn name(&self) -> String {
        if let Some(label) = &self.label {
            return label.clone();
        }
        let costs: Vec<String> = self.costs.iter().rev().map(u64::to_string).collect();
        match &self.arity {
            Some(arity) => {
                let arity: Vec<String> = arity.iter().rev().map(usize::to_string).collect();
                format!("tree:{}@{}", arity.join(":"), costs.join(":"))
            }
            None => {
                let slots = counted(self.slots(), "slot");
                format!("irregular tree of {slots}, distances {}", costs.join(":"))
            }
        }
    }

    fn slots(&self) -> usize {
        self.groups.last().map_or(0, Vec::len)
    }

    #[inline]
    fn distance(&self, a: usize, b: usize) -> u64 {
        if a == b {
            return 0;
        }
        if let (Some(x), Some(y)) = (self.codes.get(a), self.codes.get(b)) {
            let bit = (x ^ y).checked_ilog2().unwrap_or(0);
            return self.cost_of_bit.get(bit as usize).copied().unwrap_or(0);
        }
        self.groups.iter().zip(&self.costs).find(|(g, _)| g[a] != g[b]).map_or(0, |(_, &c)| c)
    }

    fn as_tree(&self) -> Option<&Tree> {
        Some(self)
    }

    fn network(&self) -> Option<&dyn Network> {
        Some(self)
    }

    fn node_of(&self, slot: usize) -> usize {
        self.node_level.map_or(0, |l| self.groups[l][slot] as usize)
    }

    fn slot_name(&self, slot: usize) -> Option<&str> {
        self.slot_names.get(slot).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The distance by its definition.
    fn by_levels(tree: &Tree, a: usize, b: usize) -> u64 {
        (0..tree.levels())
            .find(|&l| tree.groups(l)[a] != tree.groups(l)[b])
            .map_or(0, |l| tree.cost(l))
    }

    #[test]
    fn regular_is_what_its_paths_say() {
        let tree = Tree::regular(&[3, 2, 5], &[100, 10, 1]).unwrap();
        let paths: Vec<Vec<u32>> = (0..30u32).map(|s| vec![s / 10, s / 5 % 2]).collect();
        assert_eq!(tree, Tree::from_paths(&paths, &[100, 10, 1]).unwrap());
        assert_eq!(tree.arity(), Some([3, 2, 5].as_slice()));
        assert_eq!(tree.name(), "tree:5:2:3@1:10:100");
        let d: Vec<u64> = [0, 4, 5, 9, 10, 29].iter().map(|&b| tree.distance(0, b)).collect();
        assert_eq!(d, [0, 1, 10, 10, 100, 100]);
    }

    #[test]
    fn misfits_are_none() {
        assert!(Tree::from_paths(&[vec![0], vec![]], &[2, 1]).is_none());
        assert!(Tree::from_paths(&[vec![0]], &[1, 2]).is_none());
        assert!(Tree::from_paths(&[vec![]], &[0]).is_none());
        assert!(Tree::from_paths(&[], &[]).is_none());
        assert!(Tree::regular(&[], &[]).is_none());
        assert!(Tree::regular(&[0], &[1]).is_none());
        assert!(Tree::regular(&[usize::MAX, 2], &[1, 1]).is_none());
        assert!(Tree::regular(&[1 << 40], &[1]).is_none());
    }

    #[test]
    fn unplaced_slots_are_alone() {
        let u = UNPLACED;
        let paths = [vec![0, u, u], vec![0, u, u], vec![0, 0, 1], vec![0, 0, u], vec![0, 0, u]];
        let tree = Tree::from_paths(&paths, &[100, 10, 5, 1]).unwrap();
        assert_eq!(tree.distance(0, 1), 10);
        assert_eq!(tree.distance(0, 2), 10);
        assert_eq!(tree.distance(2, 3), 5);
        assert_eq!(tree.distance(3, 4), 5);
    }

    #[test]
    fn one_slot_and_no_slot() {
        let one = Tree::from_paths(&[vec![7]], &[2, 1]).unwrap();
        assert_eq!((one.slots(), one.distance(0, 0)), (1, 0));
        assert_eq!(Tree::from_paths(&[], &[2, 1]).unwrap().slots(), 0);
    }

    #[test]
    fn deep_trees_compare_level_by_level() {
        // 70 levels of two children each along one path: more than 64 bits of fields.
        let paths: Vec<Vec<u32>> =
            (0..71usize).map(|s| (0..70).map(|l| u32::from(l >= s)).collect()).collect();
        let costs: Vec<u64> = (1..=71).rev().collect();
        let tree = Tree::from_paths(&paths, &costs).unwrap();
        assert!(tree.codes.is_empty());
        for a in 0..71 {
            for b in 0..71 {
                assert_eq!(tree.distance(a, b), by_levels(&tree, a, b));
            }
        }
        assert_eq!(tree.distance(0, 1), 71);
    }

    proptest! {
        #[test]
        fn codes_agree_with_levels(
            paths in prop::collection::vec(prop::collection::vec(0u32..4, 3), 1..40),
            picks in prop::collection::vec(0usize..40, 0..20),
        ) {
            let tree = Tree::from_paths(&paths, &[90, 30, 30, 1]).unwrap();
            for a in 0..paths.len() { for b in 0..paths.len() {
                prop_assert_eq!(tree.distance(a, b), by_levels(&tree, a, b));
                let shared = (0..3).find(|&l| paths[a][l] != paths[b][l]).unwrap_or(3);
                let want = if a == b { 0 } else { [90, 30, 30, 1][shared] };
                prop_assert_eq!(tree.distance(a, b), want);
            }}
            let kept: Vec<usize> = picks.into_iter().filter(|&s| s < paths.len()).collect();
            let part = tree.restricted(&kept);
            prop_assert_eq!(part.slots(), kept.len());
            for (x, &a) in kept.iter().enumerate() { for (y, &b) in kept.iter().enumerate() {
                let want = if x != y && a == b { 1 } else { tree.distance(a, b) };
                prop_assert_eq!(part.distance(x, y), want);
            }}
        }
    }
}
