//! Hierarchical multisection over a tree: split at the root first, then inside every group.
//!
//! On a tree hop-bytes are a sum over levels of (cost difference × cut), so the upper, expensive
//! levels go first (KaHIP's global multisection; Schulz and Träff, "Better Process Mapping and
//! Sparse Quadratic Assignment", SEA 2017). Every group is filled exactly; groups may differ in
//! size, as in an allocation with parts of nodes.

use super::inheritance::Inheritance;
use super::{BisectEffort, Bisector};
use crate::mapping::Budget;
use crate::mapping::engine::{Csr, Rng, TreePlaces};
use std::borrow::Cow;
use std::sync::atomic::{AtomicU64, Ordering};

/// Smallest part that is worth a thread of its own.
const THREAD_FROM: usize = 8192;

/// Places the vertices of `graph` on all places; there must be as many vertices as places. Uses the threads of
/// the bisector's budget; the answer does not depend on how many there are.
///
/// Returns for every vertex its index into the sorted order of `places`.
pub(crate) fn multisect(
    graph: &Csr,
    places: &TreePlaces,
    bisector: &mut Bisector,
    rng: &Rng,
) -> Vec<u32> {
    let members: Vec<u32> = (0..graph.len() as u32).collect();
    let mut task_at = vec![0u32; graph.len()];
    let threads = bisector.budget.threads();
    let run = Run { places, effort: bisector.effort, rng, placed: AtomicU64::new(0) };
    let part = Part {
        graph: Cow::Borrowed(graph),
        members,
        left: None,
        lo: 0,
        level: 0,
        out: &mut task_at,
    };
    run.group(part, bisector, threads);
    bisector.effort = run.effort;
    let mut answer = vec![0u32; graph.len()];
    for (k, &task) in task_at.iter().enumerate() {
        answer[task as usize] = k as u32;
    }
    answer
}

struct Run<'a> {
    places: &'a TreePlaces,
    effort: BisectEffort,
    rng: &'a Rng,
    /// Tasks that have their place.
    placed: AtomicU64,
}

/// Tasks, and as many consecutive places for them.
struct Part<'a> {
    /// Its vertices are the tasks `members`. A graph of its own is freed once it is split.
    graph: Cow<'a, Csr>,
    members: Vec<u32>,
    /// The coarsening that the bisection above left for this part.
    left: Option<Inheritance>,
    /// The first place.
    lo: usize,
    /// The places are one group above this level.
    level: usize,
    /// `out[k]` becomes the task at place `lo + k`.
    out: &'a mut [u32],
}

impl Run<'_> {
    /// Splits a part among the groups below it.
    fn group(&self, mut part: Part<'_>, bisector: &mut Bisector, threads: usize) {
        let (ends, level) = self.below(part.lo, part.lo + part.members.len(), part.level);
        if ends.is_empty() {
            part.out.copy_from_slice(&part.members);
            recycle(part.graph, bisector);
            self.report(part.members.len() as u64, &bisector.budget);
            return;
        }
        part.level = level;
        self.split(part, &ends, bisector, threads);
    }

    /// Where the groups end that the places `lo..hi` of one group above `level` are divided into, and the level below
    /// them. No ends if all these places are alike.
    fn below(&self, lo: usize, hi: usize, mut level: usize) -> (Vec<usize>, usize) {
        while level < self.places.shifts.len() {
            let ends = self.places.children(lo, hi, level);
            level += 1;
            if ends.len() > 1 {
                return (if ends.len() == hi - lo { Vec::new() } else { ends }, level);
            }
        }
        (Vec::new(), level)
    }

    /// Reports that more tasks have their place; a few hundred reports in all.
    fn report(&self, count: u64, budget: &Budget) {
        let done = self.placed.fetch_add(count, Ordering::Relaxed) + count;
        let of = self.places.order.len() as u64;
        if done * 256 / of.max(1) != (done - count) * 256 / of.max(1) {
            budget.report("splitting", done, of);
        }
    }

    /// Splits a part among the groups that end at `ends` by bisecting their list.
    fn split(&self, part: Part<'_>, ends: &[usize], bisector: &mut Bisector, threads: usize) {
        let (Some(&hi), true) = (ends.last(), ends.len() > 1) else {
            return self.group(part, bisector, threads);
        };
        let Part { graph, members, left, lo, level, out } = part;
        let cut = middle(ends, lo, hi);
        let at = ends[cut - 1];
        let mut rng = self.rng.fork(((lo as u64) << 32) | hi as u64);
        bisector.effort = self.effort.of_part(hi - lo, ends.len());
        bisector.inherited = left;
        bisector.threads = threads;
        let b = bisector.bisect(&graph, (at - lo) as i64, &mut rng);
        let (ends_0, ends_1) = ends.split_at(cut);
        let is_last =
            |ends: &[usize], lo, hi| ends.len() == 1 && self.below(lo, hi, level).0.is_empty();
        let [(sub_0, left_0), (sub_1, left_1)] =
            match is_last(ends_0, lo, at) && is_last(ends_1, at, hi) {
                // Where no part is split again, none needs its graph.
                true => {
                    recycle(graph, bisector);
                    [(); 2].map(|()| (Csr::default(), None))
                }
                false => bisector.split(graph, &b.side),
            };
        let mut tasks = [Vec::with_capacity(at - lo), Vec::with_capacity(hi - at)];
        for (&task, &side) in members.iter().zip(&b.side) {
            tasks[usize::from(side & 1)].push(task);
        }
        let [tasks_0, tasks_1] = tasks;
        drop((b, members));
        let (out_0, out_1) = out.split_at_mut(at - lo);
        let (sub_0, sub_1) = (Cow::Owned(sub_0), Cow::Owned(sub_1));
        let part_0 = Part { graph: sub_0, members: tasks_0, left: left_0, lo, level, out: out_0 };
        let part_1 =
            Part { graph: sub_1, members: tasks_1, left: left_1, lo: at, level, out: out_1 };
        if threads > 1 && hi - lo >= THREAD_FROM {
            let budget = &bisector.budget.clone();
            let half = threads / 2;
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    let mut own = Bisector::new(self.effort, budget);
                    self.split(part_1, ends_1, &mut own, half);
                });
                self.split(part_0, ends_0, bisector, threads - half);
            });
        } else {
            self.split(part_0, ends_0, bisector, 1);
            self.split(part_1, ends_1, bisector, 1);
        }
    }
}

/// Hands the memory of a graph that is no longer needed to the next graphs.
fn recycle(graph: Cow<'_, Csr>, bisector: &mut Bisector) {
    if let Cow::Owned(graph) = graph {
        bisector.recycle(graph);
    }
}

/// How many of the groups of `lo..hi`, which end at `ends`, go to the first side: as near to half of
/// the places as their ends allow.
fn middle(ends: &[usize], lo: usize, hi: usize) -> usize {
    let middle = lo + (hi - lo) / 2;
    let mut cut = ends.partition_point(|&e| e <= middle).max(1);
    if cut < ends.len() - 1 && ends[cut].abs_diff(middle) < ends[cut - 1].abs_diff(middle) {
        cut += 1;
    }
    cut.min(ends.len() - 1)
}
