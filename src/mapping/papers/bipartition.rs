//! Halving a set of places of any topology by distances alone.
//!
//! Two places far from each other are the poles; places are sorted by how much nearer they are to
//! one than to the other, and cut at the wanted number. This takes the part of Scotch's
//! decomposition of the target in dual recursive bipartitioning (Pellegrini and Roman 1996) where
//! there is no graph to partition, and works for trees, tori and tables of distances alike.

use super::filled_problem::{FilledProblem, partition};
use crate::mapping::Budget;
use crate::mapping::engine::Csr;

/// Splits `places` so that the first part has `target` of them.
pub(super) fn halve(filled: &FilledProblem, places: &[u32], target: usize) -> (Vec<u32>, Vec<u32>) {
    let d = |a: u32, b: u32| filled.distance(a as usize, b as usize);
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
pub(super) fn dual_bisection(filled: &FilledProblem, budget: &Budget) -> Vec<u32> {
    let n = filled.len();
    let mut place_of = vec![0u32; n];
    // Until it is final, a task counts as sitting on some place of its set.
    let mut bisector = filled.bisector();
    let mut rng = filled.rng.fork(3);
    let all: Vec<u32> = (0..n as u32).collect();
    let mut local = vec![u32::MAX; n];
    // The set that a task was last seen in.
    let (mut set_of, mut set) = (vec![0u32; n], 0u32);
    let mut sets = vec![(all.clone(), all)];
    while let Some((tasks, places)) = sets.pop() {
        if tasks.len() <= 1 || budget.expired() {
            for (&task, &place) in tasks.iter().zip(&places) {
                place_of[task as usize] = place;
            }
            continue;
        }
        let target = tasks.len() / 2;
        let sizes = [target, tasks.len() - target];
        let mut parts =
            partition(&filled.graph, &tasks, &sizes, &mut bisector, &mut rng, &mut local);
        let (near, far) = halve(filled, &places, target);
        let (a, b) = (near[near.len() / 2], far[far.len() / 2]);
        if near.len() == far.len() {
            set += 1;
            tasks.iter().for_each(|&t| set_of[t as usize] = set);
            let inside = |t: usize| set_of[t] == set;
            let pull = |part: &[u32]| outside_pull(filled, inside, &place_of, part, a, b);
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

/// Cost of a part at `a` minus its cost at `b`, as far as partners outside are concerned.
fn outside_pull(
    filled: &FilledProblem,
    inside: impl Fn(usize) -> bool,
    place_of: &[u32],
    part: &[u32],
    a: u32,
    b: u32,
) -> i64 {
    let graph: &Csr = &filled.graph;
    let mut sum = 0;
    for &task in part {
        for (other, weight) in graph.arcs(task as usize).filter(|&(other, _)| !inside(other)) {
            let at = place_of[other] as usize;
            sum += weight * (filled.distance(a as usize, at) - filled.distance(b as usize, at));
        }
    }
    sum
}
