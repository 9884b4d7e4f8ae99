//! Halving a set of places of any topology by distances alone.
//!
//! Two places far from each other are the poles. The places are sorted by how much nearer they are to
//! one pole than to the other, and cut at the wanted number. This replaces Scotch's decomposition of
//! the target in dual recursive bipartitioning (Pellegrini and Roman 1996), which needs a graph of the
//! target. Halving by distances works for trees, tori and tables of distances alike.

use super::filled_problem::{FilledProblem, partition};
use crate::base::permutation::identity;
use crate::mapping::engine::Distance;

/// Splits `places` so that the first part has `target` of them.
pub(super) fn halve(filled: &FilledProblem, places: &[u32], target: usize) -> (Vec<u32>, Vec<u32>) {
    let d = |a: u32, b: u32| filled.between(a, b);
    let farthest = |from: u32| places.iter().copied().max_by_key(|&p| (d(from, p), u32::MAX - p));
    let start = places.first().copied().unwrap_or(0);
    let north = farthest(start).unwrap_or(start);
    let south = farthest(north).unwrap_or(start);
    let mut order: Vec<(i64, i64, u32)> =
        places.iter().map(|&p| (d(north, p) - d(south, p), d(north, p), p)).collect();
    order.sort_unstable();
    let order: Vec<u32> = order.into_iter().map(|(_, _, p)| p).collect();
    let (near, far) = order.split_at(target.min(order.len()));
    (near.to_vec(), far.to_vec())
}

/// Halves tasks and places together until they are single: `place_of[task]` for all `members`.
///
/// Of the two ways to match the halves, the one is taken that puts tasks nearer to their partners
/// outside whose half is already decided (Hoefler and Snir leave this to chance).
pub(super) fn dual_bisection(filled: &FilledProblem) -> Vec<u32> {
    let (n, graph) = (filled.len(), &filled.graph);
    // Until its place is final, a task counts as being on some place of its set.
    let mut place_of = vec![0u32; n];
    let (mut bisector, mut rng) = (filled.bisector(), filled.rng.fork(3));
    let mut local = vec![u32::MAX; n];
    // The set that a task was last seen in.
    let (mut set_of, mut set) = (vec![0u32; n], 0u32);
    let mut sets = vec![(identity(n), identity(n))];
    while let Some((tasks, places)) = sets.pop() {
        if tasks.len() <= 1 || filled.budget.expired() {
            for (&task, &place) in tasks.iter().zip(&places) {
                place_of[task as usize] = place;
            }
            continue;
        }
        let target = tasks.len() / 2;
        let sizes = [target, tasks.len() - target];
        let inner = graph.subgraph(&tasks, &mut local);
        let mut parts = partition(&inner, &tasks, &sizes, &mut bisector, &mut rng);
        let (near, far) = halve(filled, &places, target);
        let (a, b) = (near[near.len() / 2], far[far.len() / 2]);
        if near.len() == far.len() {
            set += 1;
            tasks.iter().for_each(|&t| set_of[t as usize] = set);
            // Cost of a part at `a` minus its cost at `b`, as far as partners outside are concerned.
            let pull = |part: &[u32]| -> i64 {
                let arcs = part.iter().flat_map(|&task| graph.arcs(task as usize));
                let outside = arcs.filter(|&(other, _)| set_of[other] != set);
                let farther = |at: u32| filled.between(a, at) - filled.between(b, at);
                outside.map(|(other, weight)| weight * farther(place_of[other])).sum()
            };
            if pull(&parts[0]) > pull(&parts[1]) {
                parts.swap(0, 1);
            }
        }
        for (part, place) in parts.iter().zip([a, b]) {
            part.iter().for_each(|&task| place_of[task as usize] = place);
        }
        let second = parts.pop().unwrap_or_default();
        let first = parts.pop().unwrap_or_default();
        sets.push((second, far));
        sets.push((first, near));
    }
    place_of
}
