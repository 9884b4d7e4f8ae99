//! The compute load of every task.

use crate::base::error::{Error, ErrorKind, Result};
use crate::base::sorting::Arrange;

/// Compute load of every task, and how uneven slots may be loaded.
#[derive(Debug, Clone, PartialEq)]
pub struct Loads {
    loads: Vec<u64>,
    imbalance: f64,
}

impl Loads {
    /// `imbalance`: the share by which the load of a slot may exceed the mean, 0.03 for 3 %.
    ///
    /// Errors: an imbalance that is negative or no number.
    pub fn new(loads: Vec<u64>, imbalance: f64) -> Result<Loads> {
        if !(0.0..=1e6).contains(&imbalance) {
            return Err(Error::new(
                ErrorKind::Usage,
                format!("an imbalance of {} % is not possible", 100.0 * imbalance),
            )
            .advise("give a number from 0; 3 is usual"));
        }
        Ok(Loads { loads, imbalance })
    }

    /// Number of tasks.
    pub fn tasks(&self) -> usize {
        self.loads.len()
    }

    /// Load of all tasks.
    pub fn total(&self) -> u128 {
        self.loads.iter().map(|&l| u128::from(l)).sum()
    }

    /// Load of every slot of a mapping.
    pub fn of_slots(&self, slots: usize, slot_of_task: &[usize]) -> Vec<u128> {
        let mut sums = vec![0u128; slots];
        for (&slot, &load) in slot_of_task.iter().zip(&self.loads) {
            if let Some(sum) = sums.get_mut(slot) {
                *sum += u128::from(load);
            }
        }
        sums
    }

    pub(super) fn of(&self, task: usize) -> u128 {
        self.loads.get(task).copied().map_or(0, u128::from)
    }

    pub(super) fn imbalance(&self) -> f64 {
        self.imbalance
    }

    pub(super) fn of_groups(&self, of_task: &[u32], count: usize) -> Vec<u128> {
        let slots: Vec<usize> = of_task.iter().map(|&g| g as usize).collect();
        self.of_slots(count, &slots)
    }

    /// The mean load of a group with the imbalance on top, at least the heaviest task.
    pub(super) fn limit(&self, count: usize) -> u128 {
        let count = count.max(1) as u128;
        let mean = self.total().div_ceil(count);
        // In millionths, so that huge loads do not lose their last digits.
        let extra = (self.imbalance * 1e6) as u128;
        let limit = mean.saturating_add((mean / 1_000_000).saturating_mul(extra))
            + (mean % 1_000_000) * extra / 1_000_000;
        let heaviest = self.loads.iter().copied().max().map_or(0, u128::from);
        limit.max(heaviest)
    }

    /// The largest sum of the loads of tasks that must share a slot.
    pub(super) fn pinned_maximum(&self, together: &[Vec<u32>]) -> u128 {
        let sum = |list: &Vec<u32>| list.iter().map(|&t| self.of(t as usize)).sum();
        together.iter().map(sum).max().unwrap_or(0)
    }

    /// Puts the heaviest task into the least loaded group, again and again. The largest load of a group is
    /// at most 4/3 of the best possible (Graham 1969).
    pub(super) fn longest_first(&self, count: usize, together: &[Vec<u32>]) -> Vec<u32> {
        let mut of_task = vec![u32::MAX; self.loads.len()];
        let mut sums = vec![0u128; count];
        for (group, list) in together.iter().enumerate().take(count) {
            for &task in list {
                of_task[task as usize] = group as u32;
                sums[group] += self.of(task as usize);
            }
        }
        let mut queue: std::collections::BinaryHeap<_> =
            sums.iter().enumerate().map(|(g, &s)| std::cmp::Reverse((s, g))).collect();
        let mut order: Vec<usize> =
            (0..self.loads.len()).filter(|&t| of_task[t] == u32::MAX).collect();
        order.arrange_by_key(|&t| (std::cmp::Reverse(self.loads[t]), t));
        for task in order {
            let Some(std::cmp::Reverse((sum, group))) = queue.pop() else { break };
            of_task[task] = group as u32;
            queue.push(std::cmp::Reverse((sum + self.of(task), group)));
        }
        of_task
    }
}
