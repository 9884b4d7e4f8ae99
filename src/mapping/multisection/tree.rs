//! Hierarchical multisection over a tree: split at the root first, then inside every group.
//!
//! On a tree hop-bytes are a sum over levels of (cost difference × cut), so the upper, expensive
//! levels go first (KaHIP's global multisection; Schulz and Träff, "Better Process Mapping and
//! Sparse Quadratic Assignment", SEA 2017). Every group is filled exactly; groups may differ in
//! size, as on machines where the scheduler gave parts of nodes.

use super::inheritance::Inheritance;
use super::{BisectEffort, Bisector};
use crate::mapping::engine::{Csr, Rng, TreePlaces};
use std::sync::atomic::{AtomicU64, Ordering};

/// Smallest part that is worth a thread of its own.
const THREAD_FROM: usize = 8192;

/// Places the vertices of `graph` on all places; both must be of equal number. Uses the threads of
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
    let threads = bisector.budget().threads();
    let run = Run { places, effort: bisector.effort(), rng, placed: AtomicU64::new(0) };
    run.group(graph, members, None, 0, 0, &mut task_at, bisector, threads);
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

impl Run<'_> {
    /// Splits `graph` (its vertices are the tasks `members`) among the places from `lo` on, which
    /// are one group above `level`; `out[k]` becomes the task at place `lo + k`.
    #[allow(clippy::too_many_arguments)]
    fn group(
        &self,
        graph: &Csr,
        members: Vec<u32>,
        left: Option<Inheritance>,
        lo: usize,
        mut level: usize,
        out: &mut [u32],
        bisector: &mut Bisector,
        threads: usize,
    ) {
        let hi = lo + members.len();
        let mut ends = vec![hi];
        while level < self.places.shifts.len() {
            ends = self.places.children(lo, hi, level);
            level += 1;
            if ends.len() > 1 {
                break;
            }
        }
        let single = ends.len() == members.len();
        if ends.len() <= 1 || single {
            out.copy_from_slice(&members);
            let count = members.len() as u64;
            let done = self.placed.fetch_add(count, Ordering::Relaxed) + count;
            let of = self.places.order.len() as u64;
            // A few hundred reports in all.
            if done * 256 / of.max(1) != (done - count) * 256 / of.max(1) {
                bisector.budget().report("splitting", done, of);
            }
            return;
        }
        self.split(graph, members, left, lo, &ends, level, out, bisector, threads);
    }

    /// Splits among the children that end at `ends` by bisecting their list.
    #[allow(clippy::too_many_arguments)]
    fn split(
        &self,
        graph: &Csr,
        members: Vec<u32>,
        left: Option<Inheritance>,
        lo: usize,
        ends: &[usize],
        level: usize,
        out: &mut [u32],
        bisector: &mut Bisector,
        threads: usize,
    ) {
        let (Some(&hi), true) = (ends.last(), ends.len() > 1) else {
            return self.group(graph, members, left, lo, level, out, bisector, threads);
        };
        let middle = lo + (hi - lo) / 2;
        let mut cut = ends.partition_point(|&e| e <= middle).max(1);
        if cut < ends.len() - 1 && ends[cut].abs_diff(middle) < ends[cut - 1].abs_diff(middle) {
            cut += 1;
        }
        let cut = cut.min(ends.len() - 1);
        let at = ends[cut - 1];
        let mut rng = self.rng.fork(((lo as u64) << 32) | hi as u64);
        bisector.inherit(left);
        bisector.use_threads(threads);
        let b = bisector.bisect(graph, (at - lo) as i64, &mut rng);
        let [(sub_0, left_0), (sub_1, left_1)] = bisector.split(graph, &b.side);
        let mut tasks = [Vec::with_capacity(at - lo), Vec::with_capacity(hi - at)];
        for (&task, &side) in members.iter().zip(&b.side) {
            tasks[usize::from(side & 1)].push(task);
        }
        let [tasks_0, tasks_1] = tasks;
        drop((b, members));
        let (out_0, out_1) = out.split_at_mut(at - lo);
        let (ends_0, ends_1) = ends.split_at(cut);
        if threads > 1 && hi - lo >= THREAD_FROM {
            let budget = &bisector.budget().clone();
            let half = threads / 2;
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    let mut own = Bisector::new(self.effort, budget);
                    self.split(&sub_1, tasks_1, left_1, at, ends_1, level, out_1, &mut own, half);
                });
                let rest = threads - half;
                self.split(&sub_0, tasks_0, left_0, lo, ends_0, level, out_0, bisector, rest);
            });
            bisector.recycle(sub_0);
            bisector.recycle(sub_1);
        } else {
            self.split(&sub_0, tasks_0, left_0, lo, ends_0, level, out_0, bisector, 1);
            bisector.recycle(sub_0);
            self.split(&sub_1, tasks_1, left_1, at, ends_1, level, out_1, bisector, 1);
            bisector.recycle(sub_1);
        }
    }
}
