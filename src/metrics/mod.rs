//! What a mapping costs, computed independently of every algorithm.
//!
//! Algorithms keep costs and differences of costs of their own; these are not used here. Every sum is
//! computed from the matrix, the distances and the routes, in integers except where bandwidths enter.

mod byte_sum;
mod congestion;
pub(crate) mod detours;
pub(crate) mod ends;
mod evaluation;
mod fair_rates;
mod fair_time;
mod hashed_links;
mod rails;
mod time;
mod tree_sums;
mod validate;

pub use byte_sum::ByteSum;
pub use evaluation::{Evaluation, Parts, evaluate, evaluate_by, evaluate_parts};
pub(crate) use fair_rates::Allowance;
pub(crate) use fair_time::fair_time;
pub use rails::{RailLoad, RailLoads, rail_loads};
pub(crate) use time::DEVIATIONS;
pub use time::{PredictedTime, predicted_time};
pub use validate::check_mapping;

use crate::base::memory::{ask_for, roomy};
use crate::matrix::Graph;
use crate::topology::{Topology, Tree};

/// Hop-bytes Σ w(i,j)·d(σ(i),σ(j)) over the undirected edges (UMPA paper: weighted hops, WH).
pub fn hop_bytes(graph: &Graph, topology: &dyn Topology, slot_of_task: &[usize]) -> u128 {
    hop_bytes_by(1, graph, topology, slot_of_task)
}

/// [`hop_bytes`] by several threads, each with a share of the tasks. Small graphs take one thread.
pub fn hop_bytes_by(
    threads: usize,
    graph: &Graph,
    topology: &dyn Topology,
    slot_of_task: &[usize],
) -> u128 {
    const SHARE: usize = 65_536;
    let n = graph.vertices();
    let threads = threads.min(n / SHARE).max(1);
    let codes = tree_codes(topology, slot_of_task);
    let part = |k: usize| {
        let tasks = n * k / threads..n * (k + 1) / threads;
        hop_bytes_from(graph, topology, slot_of_task, codes.as_ref(), tasks)
    };
    std::thread::scope(|scope| {
        let part = &part;
        let others: Vec<_> = (1..threads).map(|k| (k, scope.spawn(move || part(k)))).collect();
        let first = part(0);
        others.into_iter().map(|(k, t)| t.join().unwrap_or_else(|_| part(k))).sum::<u128>() + first
    })
}

/// [`hop_bytes`] if they are at most `limit`. If they are far more, few tasks are looked at.
pub fn hop_bytes_within(
    graph: &Graph,
    topology: &dyn Topology,
    slot_of_task: &[usize],
    limit: u128,
) -> Option<u128> {
    /// Tasks after which the sum is compared with the limit.
    const SHARE: usize = 4096;
    let n = graph.vertices();
    let codes = tree_codes(topology, slot_of_task);
    (0..n).step_by(SHARE).try_fold(0u128, |sum, first| {
        let tasks = first..n.min(first + SHARE);
        let sum = sum + hop_bytes_from(graph, topology, slot_of_task, codes.as_ref(), tasks);
        (sum <= limit).then_some(sum)
    })
}

/// The hop-bytes of the edges from each of `tasks` to tasks with larger numbers; `codes` as from [`tree_codes`].
fn hop_bytes_from(
    graph: &Graph,
    topology: &dyn Topology,
    slot_of_task: &[usize],
    codes: Option<&(&Tree, Vec<u64>)>,
    tasks: std::ops::Range<usize>,
) -> u128 {
    match codes {
        Some((tree, codes)) => hop_bytes_on_tree(graph, tree, codes, tasks),
        None => hop_bytes_of(graph, topology, slot_of_task, tasks),
    }
}

/// The tree and the code of each task's slot, where the topology is a tree with codes.
fn tree_codes<'a>(
    topology: &'a dyn Topology,
    slot_of_task: &[usize],
) -> Option<(&'a Tree, Vec<u64>)> {
    let tree = topology.as_tree().filter(|&tree| std::ptr::addr_eq(tree, topology))?;
    let (codes, _) = tree.codes()?;
    let mut code_of_task = roomy(slot_of_task.len());
    code_of_task.extend(slot_of_task.iter().map(|&slot| codes[slot]));
    Some((tree, code_of_task))
}

/// As [`hop_bytes_of`], from the codes of the tasks: one access to memory for each edge.
fn hop_bytes_on_tree(
    graph: &Graph,
    tree: &Tree,
    code_of_task: &[u64],
    tasks: std::ops::Range<usize>,
) -> u128 {
    /// Tasks whose neighbours are asked for ahead of their turn.
    const AHEAD: usize = 8;
    let Some((_, level_of_zeros)) = tree.codes() else { return 0 };
    let mut weights = vec![0u128; tree.levels() + 1];
    // An edge counts at its smaller end only. At the other end it counts as one of weight 0 from the task to itself,
    // because a branch on the order of two arbitrary numbers would be slow.
    for i in tasks {
        let soon = i + AHEAD;
        if soon < graph.vertices() {
            let row = graph.neighbours(soon).iter();
            row.for_each(|&j| ask_for(&code_of_task[soon.max(j as usize)..]));
        }
        let code = code_of_task[i];
        for (&j, &w) in graph.neighbours(i).iter().zip(graph.weights(i)) {
            let j = j as usize;
            let zeros = (code ^ code_of_task[i.max(j)]).leading_zeros() as usize;
            let counted = if j > i { w } else { 0 };
            weights[usize::from(level_of_zeros[zeros])] += u128::from(counted);
        }
    }
    (0..tree.levels()).map(|level| weights[level] * u128::from(tree.cost(level))).sum()
}

/// The hop-bytes of the edges from each of `tasks` to tasks with larger numbers.
fn hop_bytes_of(
    graph: &Graph,
    topology: &dyn Topology,
    slot_of_task: &[usize],
    tasks: std::ops::Range<usize>,
) -> u128 {
    let mut sum = 0u128;
    // Row by row, so that the processor can load the slots of all neighbours at the same time.
    let (mut slots, mut distances) = (Vec::new(), Vec::new());
    for (i, &slot) in slot_of_task.iter().enumerate().take(tasks.end).skip(tasks.start) {
        let row = graph.neighbours(i);
        let above = row.partition_point(|&j| j as usize <= i);
        slots.clear();
        slots.extend(row[above..].iter().map(|&j| slot_of_task[j as usize]));
        distances.resize(slots.len(), 0);
        topology.distances(slot, &slots, &mut distances);
        for (&w, &d) in graph.weights(i)[above..].iter().zip(&distances) {
            sum += u128::from(w) * u128::from(d);
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_share_the_sum() {
        let graph = crate::matrix::synthetic::pattern("rgg:200000").unwrap();
        let topology = crate::topology::parse("tree:32:64:128").unwrap();
        let slots: Vec<usize> = (0..200_000).rev().collect();
        let alone = hop_bytes(&graph, topology.as_ref(), &slots);
        for threads in [0, 1, 2, 3, 100] {
            assert_eq!(hop_bytes_by(threads, &graph, topology.as_ref(), &slots), alone);
        }
        assert_eq!(hop_bytes_of(&graph, topology.as_ref(), &slots, 0..200_000), alone);
        let within = |limit| hop_bytes_within(&graph, topology.as_ref(), &slots, limit);
        assert_eq!((within(alone), within(alone - 1), within(0)), (Some(alone), None, None));
    }
}
