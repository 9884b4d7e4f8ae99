//! The allowed places of a tree, sorted so that every group is a range, with path codes.
//!
//! A place's code packs its path from the root into 64 bits, one field a level. Two places first
//! differ at the level of the highest bit in which their codes differ, so a distance is one
//! exclusive-or, one count of leading zeros and one table lookup, without a matrix.

use super::Scale;
use crate::base::sorting::Arrange;
use crate::topology::Tree;
use std::ops::Range;

/// Places in sorted order: `order[k]` is the place, `codes[k]` its path.
#[derive(Debug, Clone)]
pub(crate) struct TreePlaces {
    pub(crate) order: Vec<u32>,
    pub(crate) codes: Vec<u64>,
    /// Distance by the number of leading zeros of the codes' difference.
    pub(crate) distance_of: [i64; 65],
    /// For every level that splits anything, root first: right shift that leaves the path down to
    /// that level.
    pub(crate) shifts: Vec<u32>,
}

impl TreePlaces {
    /// `None` if the paths do not fit into 64 bits.
    pub(crate) fn new(tree: &Tree, places: &[u32], scale: Scale) -> Option<TreePlaces> {
        let levels = tree.levels();
        // Number the children of every group among the places in use, level by level.
        let mut child = vec![vec![0u32; places.len()]; levels + 1];
        let mut parent = vec![0u32; places.len()];
        let mut bits = vec![0u32; levels + 1];
        for level in 0..=levels {
            let groups: Vec<u32> = if level < levels {
                places.iter().map(|&s| tree.groups(level)[s as usize]).collect()
            } else {
                // Several places of one slot: a level below the slots, at distance 0.
                (0..places.len() as u32).collect()
            };
            let mut by_group: Vec<u32> = (0..places.len() as u32).collect();
            let key = |&k: &u32| (parent[k as usize], groups[k as usize], k);
            if !by_group.is_sorted_by_key(key) {
                by_group.arrange_by_key(key);
            }
            let (mut number, mut next_group) = (0u32, 0u32);
            let mut grouped = vec![0u32; places.len()];
            for i in 0..by_group.len() {
                let k = by_group[i] as usize;
                if i > 0 {
                    let before = by_group[i - 1] as usize;
                    if parent[before] != parent[k] {
                        number = 0;
                        next_group += 1;
                    } else if groups[before] != groups[k] {
                        number += 1;
                        next_group += 1;
                    }
                }
                child[level][k] = number;
                grouped[k] = next_group;
            }
            let most = child[level].iter().copied().max().unwrap_or(0);
            bits[level] = 32 - most.leading_zeros();
            parent = grouped;
        }
        let total: u32 = bits.iter().sum();
        if total > 64 {
            return None;
        }
        let mut distance_of = [0i64; 65];
        let mut shifts = Vec::new();
        let mut used = 0u32;
        for (level, &width) in bits.iter().enumerate() {
            let cost = if level < levels { scale.distance(tree.cost(level)) } else { 0 };
            for zeros in 64 - total + used..64 - total + used + width {
                distance_of[zeros as usize] = cost;
            }
            used += width;
            if width > 0 && level < levels {
                shifts.push(total - used);
            }
        }
        let code = |k: usize| {
            (0..=levels).fold(0u64, |c, level| {
                c.checked_shl(bits[level]).unwrap_or(0) | u64::from(child[level][k])
            })
        };
        let mut sorted: Vec<(u64, u32)> = (0..places.len()).map(|k| (code(k), k as u32)).collect();
        sorted.sort_unstable();
        Some(TreePlaces {
            order: sorted.iter().map(|&(_, k)| k).collect(),
            codes: sorted.iter().map(|&(c, _)| c).collect(),
            distance_of,
            shifts,
        })
    }

    /// The same tree with other places: those of the path codes `codes`, numbered in their order.
    pub(crate) fn with_codes(&self, codes: Vec<u64>) -> TreePlaces {
        let order = (0..codes.len() as u32).collect();
        TreePlaces { order, codes, distance_of: self.distance_of, shifts: self.shifts.clone() }
    }

    /// The same tree with some of its places only, `keep` by place.
    pub(crate) fn restricted(&self, keep: &[bool]) -> TreePlaces {
        let kept = |&k: &usize| keep[self.order[k] as usize];
        TreePlaces {
            order: (0..self.order.len()).filter(kept).map(|k| self.order[k]).collect(),
            codes: (0..self.order.len()).filter(kept).map(|k| self.codes[k]).collect(),
            distance_of: self.distance_of,
            shifts: self.shifts.clone(),
        }
    }

    /// The ends of the groups that `lo..hi` falls into at level `level` of [`Self::shifts`].
    pub(crate) fn children(&self, lo: usize, hi: usize, level: usize) -> Vec<usize> {
        let shift = self.shifts[level];
        let parts = |&k: &usize| self.codes[k] >> shift != self.codes[k - 1] >> shift;
        (lo + 1..hi).filter(parts).chain([hi]).collect()
    }

    /// As [`Self::children`], as ranges.
    pub(crate) fn groups(&self, range: Range<usize>, level: usize) -> Vec<Range<usize>> {
        let mut start = range.start;
        let ends = self.children(range.start, range.end, level).into_iter();
        ends.map(|end| std::mem::replace(&mut start, end)..end).collect()
    }

    /// Whether two groups just below `shift` are equal in size and in how they branch.
    pub(crate) fn alike(&self, a: &Range<usize>, b: &Range<usize>, shift: u32) -> bool {
        let mask = (1u64 << shift) - 1;
        let below = |range: &Range<usize>| self.codes[range.clone()].iter().map(move |c| c & mask);
        a.len() == b.len() && below(a).eq(below(b))
    }

    /// The index of every place in the sorted order, by place; 0 for places that are not in this tree.
    /// `places` is the number of the problem's places.
    pub(crate) fn index_of(&self, places: usize) -> Vec<u32> {
        let mut index_of = vec![0u32; places];
        for (k, &place) in self.order.iter().enumerate() {
            index_of[place as usize] = k as u32;
        }
        index_of
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::Topology;

    #[test]
    fn codes_give_the_tree_distance() {
        let paths: Vec<Vec<u32>> =
            [[0, 0], [1, 0], [0, 1], [1, 1], [1, 0], [0, 0], [2, 0]].map(Vec::from).to_vec();
        let tree = Tree::from_paths(&paths, &[100, 10, 1]).unwrap();
        let places: Vec<u32> = (0..7).collect();
        let sorted = TreePlaces::new(&tree, &places, Scale::new(1, 100)).unwrap();
        for a in 0..7 {
            for b in 0..7 {
                let zeros = (sorted.codes[a] ^ sorted.codes[b]).leading_zeros() as usize;
                let expected = tree.distance(sorted.order[a] as usize, sorted.order[b] as usize);
                assert_eq!(sorted.distance_of[zeros], expected as i64);
            }
        }
        assert_eq!(sorted.children(0, 7, 0), [3, 6, 7]);
        assert_eq!(sorted.children(0, 3, 1), [2, 3]);
    }
}
