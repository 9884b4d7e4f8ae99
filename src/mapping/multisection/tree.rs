//! Hierarchical multisection over a tree: split at the root first, then inside every group.
//!
//! On a tree hop-bytes are a sum over levels of (cost difference × cut), so the upper, expensive
//! levels go first (KaHIP's global multisection; Schulz and Träff, "Better Process Mapping and
//! Sparse Quadratic Assignment", SEA 2017). Every group is filled exactly; groups may differ in
//! size, as on machines where the scheduler gave parts of nodes.

use super::Bisector;
use crate::mapping::work::{Csr, Rng, TreePlaces};

/// Places the vertices of `graph` on all places; both must be of equal number.
///
/// Returns for every vertex its index into the sorted order of `places`.
pub(crate) fn multisect(
    graph: &Csr,
    places: &TreePlaces,
    bisector: &mut Bisector,
    rng: &Rng,
) -> Vec<u32> {
    let mut answer = vec![0u32; graph.len()];
    let members: Vec<u32> = (0..graph.len() as u32).collect();
    let mut run = Run { places, bisector, rng, answer: &mut answer };
    run.group(graph, &members, 0, 0);
    answer
}

struct Run<'a> {
    places: &'a TreePlaces,
    bisector: &'a mut Bisector,
    rng: &'a Rng,
    answer: &'a mut [u32],
}

impl Run<'_> {
    /// Splits `graph` (its vertices are the tasks `members`) among the places from `lo` on, which
    /// are one group above `level`.
    fn group(&mut self, graph: &Csr, members: &[u32], lo: usize, mut level: usize) {
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
            for (k, &task) in members.iter().enumerate() {
                self.answer[task as usize] = (lo + k) as u32;
            }
            return;
        }
        self.split(graph, members, lo, &ends, level);
    }

    /// Splits among the children that end at `ends` by bisecting their list.
    fn split(&mut self, graph: &Csr, members: &[u32], lo: usize, ends: &[usize], level: usize) {
        let (Some(&hi), true) = (ends.last(), ends.len() > 1) else {
            self.group(graph, members, lo, level);
            return;
        };
        let middle = lo + (hi - lo) / 2;
        let mut cut = ends.partition_point(|&e| e <= middle).max(1);
        if cut < ends.len() - 1 && ends[cut].abs_diff(middle) < ends[cut - 1].abs_diff(middle) {
            cut += 1;
        }
        let cut = cut.min(ends.len() - 1);
        let at = ends[cut - 1];
        let mut rng = self.rng.fork(((lo as u64) << 32) | hi as u64);
        let b = self.bisector.bisect(graph, (at - lo) as i64, &mut rng);
        let mut local = vec![u32::MAX; graph.len()];
        for (side, start, ends) in [(0, lo, &ends[..cut]), (1, at, &ends[cut..])] {
            let chosen: Vec<u32> =
                (0..graph.len() as u32).filter(|&v| b.side[v as usize] == side).collect();
            let tasks: Vec<u32> = chosen.iter().map(|&v| members[v as usize]).collect();
            let sub = graph.subgraph(&chosen, &mut local);
            self.split(&sub, &tasks, start, ends, level);
        }
    }
}
