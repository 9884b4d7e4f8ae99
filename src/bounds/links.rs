//! Lower bounds for the most loaded link: the largest load over bandwidth (mc), and the predicted time.
//!
//! Two facts bound both, whatever the mapping:
//!
//! * *Ends.* What a task sends to tasks on other slots leaves over the links of its slot, and what it receives comes in over
//!   them. At most `capacity` − 1 other tasks share the slot: at best those with which it exchanges most. So a link of the slot has
//!   at least the rest of its traffic over the bandwidth of all links of the slot. The slot with the widest links counts.
//! * *Sums.* In a tree, what leaves the groups of a level goes up one link for each group. On a mesh, torus or graph, each byte
//!   uses as many links as its distance says. So a lower bound for the first sum, or for the hop-bytes, divided by the bandwidth of all
//!   these links, bounds the mean, and the largest is not less than the mean. Another proof gives these bounds.
//!
//! Both hold for every routing: hashed and adaptive routing move load between links, and detours only add to it. The
//! predicted time may also count messages and nodes, which only add to it too.
//!
//! Limits: a tree that was found in a network of cables has ends only, and so has a part of a mesh or torus.

use super::certificate::Proof;
use crate::matrix::SparseMatrix;
use crate::topology::{Network, Topology};

/// The least sums that another proof gives.
#[derive(Debug)]
pub(super) enum Sums {
    /// By level of a tree, the outermost first: what leaves its groups, and how many groups have slots.
    Levels(Vec<(u128, usize)>),
    /// The hop-bytes.
    Hops(u128),
}

/// True if the sums of a proof say something about the links of a topology.
pub(super) fn fit(proof: &Proof, topology: &dyn Topology) -> bool {
    match proof {
        Proof::Levels(_) => topology.as_tree().is_some() && topology.as_graph().is_none(),
        Proof::Distances(_) => {
            topology.as_grid().is_some()
                || (topology.as_graph().is_some() && topology.as_tree().is_none())
        }
        Proof::Links(_) => false,
    }
}

/// The least time of the most loaded link, in units of the weights.
pub(super) fn least(
    sums: Option<&Sums>,
    matrix: &SparseMatrix,
    topology: &dyn Topology,
    (slots, capacity): (&[usize], u32),
) -> Option<f64> {
    let network = topology.network()?;
    let by_ends = by_ends(matrix, network, slots, capacity);
    let by_sums = sums.map_or(0.0, |sums| by_sums(sums, topology, network));
    let time = by_ends.max(by_sums);
    time.is_finite().then_some(time)
}

fn by_sums(sums: &Sums, topology: &dyn Topology, network: &dyn Network) -> f64 {
    match (sums, topology.as_tree()) {
        (Sums::Levels(levels), Some(tree)) => {
            let width = |level: usize| tree.bandwidths().get(level).copied().unwrap_or(1.0);
            let mean = |(level, &(cut, groups)): (usize, &(u128, usize))| {
                cut as f64 / (groups.max(1) as f64 * width(level))
            };
            levels.iter().enumerate().map(mean).fold(0.0, f64::max)
        }
        (Sums::Hops(hops), _) => {
            let mut all = 0.0;
            for vertex in 0..network.vertices() {
                network.neighbours(vertex, &mut |_, link| all += network.bandwidth(link));
            }
            if all > 0.0 { *hops as f64 / all } else { 0.0 }
        }
        (Sums::Levels(_), None) => 0.0,
    }
}

/// The largest share of a task's traffic with tasks on other slots in the bandwidth of its slot.
fn by_ends(matrix: &SparseMatrix, network: &dyn Network, slots: &[usize], capacity: u32) -> f64 {
    let mut widths = vec![(0.0, 0.0); network.vertices()];
    for vertex in 0..network.vertices() {
        network.neighbours(vertex, &mut |other, link| {
            let bandwidth = network.bandwidth(link);
            widths[vertex].0 += bandwidth;
            widths[other].1 += bandwidth;
        });
    }
    let widest = |out: bool| {
        let width = |&slot: &usize| if out { widths[slot].0 } else { widths[slot].1 };
        slots.iter().map(width).fold(0.0, f64::max)
    };
    let (out, into) = (widest(true), widest(false));
    let mut sent = vec![Vec::new(); matrix.tasks()];
    let mut received = sent.clone();
    for (i, j, traffic) in matrix.entries().filter(|&(i, j, t)| i != j && t.bytes > 0) {
        sent[i as usize].push(traffic.bytes);
        received[j as usize].push(traffic.bytes);
    }
    let most = |amounts: Vec<Vec<u64>>, width: f64| {
        let outside = |mut amounts: Vec<u64>| {
            amounts.sort_unstable_by(|a, b| b.cmp(a));
            let inside = capacity.max(1) as usize - 1;
            amounts.into_iter().skip(inside).map(u128::from).sum::<u128>()
        };
        let largest = amounts.into_iter().map(outside).max().unwrap_or(0);
        if width > 0.0 { largest as f64 / width } else { 0.0 }
    };
    most(sent, out).max(most(received, into))
}
