//! Turns a fresh mapping on a tree so that most tasks are where they were, at no cost.
//!
//! Groups of the same shape can be exchanged. From the root down, the tasks of each child of a group are given
//! to the child from which most of them come. The largest overlap comes first.

use super::{NONE, OldPlaces};
use crate::base::sorting::Arrange;
use crate::mapping::engine::{Prepared, TreePlaces};
use std::ops::Range;

/// `place_of` and the answer are by task. The mapping is unchanged where the topology is no tree.
pub(super) fn to_previous(
    prepared: &Prepared<'_, '_>,
    old: &OldPlaces,
    mut place_of: Vec<u32>,
) -> Vec<u32> {
    let Some(tree) = &prepared.all else { return place_of };
    let n = tree.order.len();
    let index_of = tree.index_of(n);
    let home = |&place: &u32| index_of.get(place as usize).copied().unwrap_or(NONE);
    let is_fixed = |task| prepared.problem.fixed_place(task).is_some();
    let mut exchange = Exchange {
        tree,
        home: old.first_place.iter().map(home).collect(),
        task_at: vec![NONE; n],
        pinned: (0..place_of.len()).map(is_fixed).collect(),
    };
    for (task, &place) in place_of.iter().enumerate() {
        exchange.task_at[index_of[place as usize] as usize] = task as u32;
    }
    exchange.deal(0..n, 0);
    for (k, &task) in exchange.task_at.iter().enumerate() {
        if let Some(place) = place_of.get_mut(task as usize) {
            *place = tree.order[k];
        }
    }
    place_of
}

struct Exchange<'a> {
    tree: &'a TreePlaces,
    /// By task: index of its previous place, or [`NONE`].
    home: Vec<u32>,
    /// By index: the task there, or [`NONE`].
    task_at: Vec<u32>,
    pinned: Vec<bool>,
}

impl Exchange<'_> {
    fn deal(&mut self, group: Range<usize>, level: usize) {
        if level == self.tree.shifts.len() || group.len() <= 1 {
            return;
        }
        let children = self.tree.groups(group.clone(), level);
        let child_of = |k: u32| {
            let after = children.partition_point(|c| c.start <= k as usize);
            children.get(after.wrapping_sub(1)).filter(|c| c.contains(&(k as usize)))?;
            Some(after - 1)
        };
        let mut target: Vec<Option<usize>> = vec![None; children.len()];
        let mut taken = vec![false; children.len()];
        let mut overlaps: Vec<(u32, usize, usize)> = Vec::new();
        for (a, child) in children.iter().enumerate() {
            let mut from = std::collections::BTreeMap::new();
            for &task in self.task_at[child.clone()].iter().filter(|&&task| task != NONE) {
                if self.pinned[task as usize] {
                    target[a] = Some(a);
                    taken[a] = true;
                }
                if let Some(b) = child_of(self.home[task as usize]) {
                    *from.entry(b).or_insert(0u32) += 1;
                }
            }
            overlaps.extend(from.into_iter().map(|(b, count)| (count, a, b)));
        }
        overlaps.arrange_by_key(|&(count, a, b)| (std::cmp::Reverse(count), a != b, a, b));
        let shift = self.tree.shifts[level];
        let alike = |a: usize, b: usize| self.tree.alike(&children[a], &children[b], shift);
        for (_, a, b) in overlaps {
            if target[a].is_none() && !taken[b] && alike(a, b) {
                target[a] = Some(b);
                taken[b] = true;
            }
        }
        for (a, (to, taken)) in target.iter_mut().zip(&mut taken).enumerate() {
            if to.is_none() && !*taken {
                *to = Some(a);
                *taken = true;
            }
        }
        // The tasks that are left cannot have their own child, because other tasks have it. They get a free
        // child of the same shape.
        for (a, to) in target.iter_mut().enumerate().filter(|(_, to)| to.is_none()) {
            let free = (0..children.len()).find(|&b| !taken[b] && alike(a, b));
            let Some(b) = free else { return };
            *to = Some(b);
            taken[b] = true;
        }
        let before = self.task_at[group.clone()].to_vec();
        for (a, to) in target.iter().enumerate() {
            let to = children[to.unwrap_or(a)].clone();
            let from = children[a].start - group.start..children[a].end - group.start;
            self.task_at[to].copy_from_slice(&before[from]);
        }
        for child in children {
            self.deal(child, level + 1);
        }
    }
}
