//! The arcs of a graph in little memory: eight bytes each where weights fit into 32 bits.
//!
//! Target and weight of an arc are side by side, so a row of eight arcs is one cache line. The upper halves of weights
//! are in a list of their own, which is empty until the first weight needs it. Weights are never negative.

use super::ask_for;
use std::mem::MaybeUninit;
use std::ops::Range;

/// The target of an arc, and the lower half of its weight.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Arc {
    target: u32,
    low: u32,
}

/// Arcs by number.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Arcs {
    pub(super) list: Vec<Arc>,
    /// The upper halves of the weights of all arcs; empty if all are zero.
    pub(super) high: Vec<u32>,
}

/// Memory for arcs that are written before their number is known.
pub(super) struct FreeArcs<'a> {
    list: &'a mut [MaybeUninit<Arc>],
    high: &'a mut [MaybeUninit<u32>],
}

impl Arcs {
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether a weight needs more than 32 bits.
    #[inline]
    pub(crate) fn are_wide(&self) -> bool {
        !self.high.is_empty()
    }

    #[inline(always)]
    pub(crate) fn push(&mut self, target: u32, weight: i64) {
        let high = (weight >> 32) as u32;
        if self.are_wide() {
            self.high.push(high);
        } else if high != 0 {
            self.widen(high);
        }
        self.list.push(Arc { target, low: weight as u32 });
    }

    /// Appends arcs by target and weight.
    #[inline(always)]
    pub(crate) fn extend(&mut self, arcs: &[(u32, i64)]) {
        if self.are_wide() || arcs.iter().fold(0, |all, &(_, w)| all | w) >> 32 != 0 {
            return arcs.iter().for_each(|&(target, weight)| self.push(target, weight));
        }
        self.list.extend(arcs.iter().map(|&(target, w)| Arc { target, low: w as u32 }));
    }

    /// Appends the arcs number `range` of another list, each to the new number of its target, but for targets whose number
    /// is [`u32::MAX`].
    #[inline(always)]
    pub(crate) fn extend_renumbered(&mut self, from: &Arcs, range: Range<usize>, number: &[u32]) {
        if self.are_wide() || from.are_wide() {
            for (target, weight) in from.iter(range).filter(|&(t, _)| number[t] != u32::MAX) {
                self.push(number[target], weight);
            }
            return;
        }
        self.list.reserve(range.len() + 1);
        let (before, room) = (self.list.len(), self.list.spare_capacity_mut());
        let mut end = 0;
        for arc in &from.list[range] {
            let target = number[arc.target as usize];
            // Written before it is known whether the arc stays: no branch on it.
            room[end].write(Arc { target, low: arc.low });
            end += usize::from(target != u32::MAX);
        }
        // SAFETY: the first `end` elements of the room were written, within its bounds.
        unsafe { self.list.set_len(before + end) };
    }

    /// Appends all arcs of another list.
    pub(crate) fn append(&mut self, other: &Arcs) {
        if self.are_wide() || other.are_wide() {
            self.high.resize(self.list.len(), 0);
            self.high.extend_from_slice(&other.high);
        }
        self.list.extend_from_slice(&other.list);
        if self.are_wide() {
            self.high.resize(self.list.len(), 0);
        }
    }

    /// Takes upper halves from now on; `high` is the first one that is not zero.
    #[cold]
    fn widen(&mut self, high: u32) {
        self.high.resize(self.list.len(), 0);
        self.high.push(high);
    }

    #[inline]
    pub(crate) fn target(&self, k: usize) -> u32 {
        self.list[k].target
    }

    #[inline]
    pub(crate) fn weight(&self, k: usize) -> i64 {
        weight(self.list[k].low, self.high.get(k).copied().unwrap_or(0))
    }

    pub(crate) fn set_weight(&mut self, k: usize, weight: i64) {
        let high = (weight >> 32) as u32;
        if high != 0 && !self.are_wide() {
            self.high.resize(self.list.len(), 0);
        }
        if let Some(put) = self.high.get_mut(k) {
            *put = high;
        }
        self.list[k].low = weight as u32;
    }

    /// Gives all arcs the weight 1.
    pub(crate) fn forget_weights(&mut self) {
        self.high = Vec::new();
        self.list.iter_mut().for_each(|arc| arc.low = 1);
    }

    /// Targets and weights of some arcs.
    #[inline(always)]
    pub(crate) fn iter(&self, range: Range<usize>) -> impl Iterator<Item = (usize, i64)> + '_ {
        let high = self.high.get(range.clone()).unwrap_or_default();
        self.list[range].iter().enumerate().map(move |(k, arc)| {
            (arc.target as usize, weight(arc.low, high.get(k).copied().unwrap_or(0)))
        })
    }

    /// Tells the processor to load the arcs from number `k` on.
    #[inline(always)]
    pub(crate) fn ask_for(&self, k: u32) {
        ask_for(self.list.get(k as usize..).unwrap_or_default());
    }

    /// Room for arcs that [`FreeArcs::put`] or [`FreeArcs::set`] writes, followed by [`Self::take`].
    pub(super) fn free(&mut self) -> FreeArcs<'_> {
        let (list, high) = (self.list.spare_capacity_mut(), self.high.spare_capacity_mut());
        FreeArcs { list, high }
    }

    /// Moves the arcs number `range` to `end` and after it, as [`FreeArcs::put`] writes them to another list; the new end.
    /// `end` must be at most the start of the range: then no arc is overwritten before it was read.
    #[inline(always)]
    pub(super) fn put_before(
        &mut self,
        range: Range<usize>,
        (number, own, limit): (&[u32], u32, u32),
        mut end: usize,
    ) -> usize {
        for k in range {
            let arc = self.list[k];
            let to = number[arc.target as usize];
            // Written before it is known whether the arc stays: no branch on it.
            self.list[end] = Arc { target: to & (limit - 1), low: arc.low };
            if let Some(&high) = self.high.get(k) {
                self.high[end] = high;
            }
            end += usize::from((to ^ own) < limit);
        }
        end
    }

    /// Leaves the first `count` arcs only.
    pub(super) fn truncate(&mut self, count: usize) {
        self.list.truncate(count);
        self.high.truncate(count);
    }

    /// Takes over the arcs that were written to the room of an empty list.
    ///
    /// # Safety
    ///
    /// `count` arcs were written from the beginning of the room, with their upper halves if they are `wide`.
    pub(super) unsafe fn take(&mut self, count: usize, wide: bool) {
        // SAFETY: as the caller says; the room is bounded by the slices that were written to.
        unsafe {
            self.list.set_len(count);
            self.high.set_len(if wide { count } else { 0 });
        }
    }
}

impl<'a> FreeArcs<'a> {
    /// The room for the first `count` arcs, and the rest.
    pub(super) fn split(self, count: usize) -> [FreeArcs<'a>; 2] {
        let (first, second) = self.list.split_at_mut(count);
        let (high_first, high_second) = self.high.split_at_mut(count.min(self.high.len()));
        [FreeArcs { list: first, high: high_first }, FreeArcs { list: second, high: high_second }]
    }

    /// Writes an arc without the upper half of its weight; false if that half is not zero.
    #[inline(always)]
    pub(super) fn set(&mut self, k: usize, target: u32, weight: i64) -> bool {
        self.list[k].write(Arc { target, low: weight as u32 });
        weight >> 32 == 0
    }

    /// Writes the arcs number `range` of `from` whose new target, `number[target] ^ own`, is below `limit`, from
    /// `end` on; the new end. One element beyond the end may be written.
    #[inline(always)]
    pub(super) fn put(
        &mut self,
        from: &Arcs,
        range: Range<usize>,
        (number, own, limit): (&[u32], u32, u32),
        mut end: usize,
    ) -> usize {
        let high = from.high.get(range.clone()).unwrap_or_default();
        for (k, arc) in from.list[range].iter().enumerate() {
            let to = number[arc.target as usize];
            // Written before it is known whether the arc stays: no branch on it.
            self.list[end].write(Arc { target: to & (limit - 1), low: arc.low });
            if let Some(&high) = high.get(k) {
                self.high[end].write(high);
            }
            end += usize::from((to ^ own) < limit);
        }
        end
    }
}

#[inline(always)]
fn weight(low: u32, high: u32) -> i64 {
    i64::from(high) << 32 | i64::from(low)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_take_more_memory_only_where_they_need_it() {
        let mut arcs = Arcs::default();
        arcs.push(3, 5);
        arcs.push(4, (1 << 32) - 1);
        assert!(!arcs.are_wide());
        arcs.push(5, 7 << 32 | 1);
        arcs.push(6, 2);
        assert!(arcs.are_wide());
        let all: Vec<(usize, i64)> = arcs.iter(0..4).collect();
        assert_eq!(all, [(3, 5), (4, (1 << 32) - 1), (5, 7 << 32 | 1), (6, 2)]);
        assert_eq!((arcs.target(2), arcs.weight(2)), (5, 7 << 32 | 1));
        arcs.forget_weights();
        assert!(!arcs.are_wide() && arcs.iter(0..4).all(|(_, w)| w == 1));
        arcs.set_weight(1, 1 << 40);
        assert_eq!(arcs.iter(0..4).map(|(_, w)| w).collect::<Vec<_>>(), [1, 1 << 40, 1, 1]);
        arcs.set_weight(1, 9);
        assert_eq!(arcs.weight(1), 9);
    }

    #[test]
    fn lists_of_arcs_are_appended_whether_or_not_they_are_wide() {
        let lists: [&[(u32, i64)]; 3] = [&[(1, 5), (2, 6)], &[(3, 7 << 32), (4, 8)], &[]];
        for (a, b) in lists.iter().flat_map(|a| lists.iter().map(move |b| (a, b))) {
            let [mut one, mut other, mut pushed] = [(); 3].map(|()| Arcs::default());
            one.extend(a);
            other.extend(b);
            one.append(&other);
            a.iter().chain(*b).for_each(|&(target, weight)| pushed.push(target, weight));
            assert_eq!(one, pushed);
            let number = [9, 8, u32::MAX, 7, 6];
            let (before, mut some) = (one.len(), one.clone());
            some.extend_renumbered(&one, 0..before, &number);
            let kept = one.iter(0..before).filter(|&(t, _)| t != 2);
            let kept: Vec<_> = kept.map(|(t, w)| (number[t] as usize, w)).collect();
            assert_eq!(some.iter(before..some.len()).collect::<Vec<_>>(), kept);
        }
    }
}
