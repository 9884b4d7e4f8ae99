//! The predicted time of a mapping: the time of the slowest link, slot or node, if all traffic is sent at once.
//!
//! The bytes go over the links as the routing of the network spreads them. The unit is the time of a byte on a link of
//! bandwidth 1. A slot sends and receives with bandwidth 1, and each message costs it what the network charges.
//!
//! * Hashed routing: the load of a physical link is random. It counts with its mean and [`DEVIATIONS`] standard
//!   deviations, because the slowest of many links decides.
//! * Adaptive routing with detours: a pair of tasks sends more of its bytes over the longer paths for as long as the
//!   loads on them are lower ([`balanced`]).
//!
//! Limits: nothing waits for anything else, and all traffic of the matrix is sent at the same time.

use super::rails::rail_loads;
use crate::matrix::SparseMatrix;
use crate::topology::{Network, Routing, Topology};

/// Standard deviations above the mean with which a load counts that a hash decides.
const DEVIATIONS: f64 = 2.0;

/// Rounds in which pairs choose between shortest paths and detours.
const ROUNDS: usize = 12;

/// The predicted time, and what decides if it is equal.
#[derive(Debug, Clone, Copy, Default, PartialEq, PartialOrd)]
pub struct PredictedTime {
    /// The time of the slowest link, slot or node.
    pub slowest: f64,
    /// The time of all links together: (Σ time^8)^(1/8), in which the slowest ones count most.
    pub links: f64,
}

/// The predicted time; `None` if the topology has no links. The caller has checked the mapping.
pub fn predicted_time(
    matrix: &SparseMatrix,
    topology: &dyn Topology,
    slot_of_task: &[usize],
) -> Option<PredictedTime> {
    let network = topology.network()?;
    let times = link_times(matrix, network, slot_of_task);
    let slowest = times.iter().copied().fold(0.0, f64::max);
    let unit = if matrix.counts_halves() { 2.0 } else { 1.0 };
    let sum: f64 = times.iter().map(|time| (time / slowest.max(f64::MIN_POSITIVE)).powi(8)).sum();
    let ends = end_time(matrix, topology, network, slot_of_task);
    Some(PredictedTime {
        slowest: slowest.max(ends) / unit,
        links: slowest * libm::pow(sum, 0.125) / unit,
    })
}

/// Pairs of slots that exchange data, with the bytes.
type Flows = Vec<(usize, usize, f64)>;

/// The time of each link.
fn link_times(matrix: &SparseMatrix, network: &dyn Network, slot_of_task: &[usize]) -> Vec<f64> {
    let routing = network.routing();
    let slots = |(i, j): (u32, u32)| (slot_of_task[i as usize], slot_of_task[j as usize]);
    let flows: Flows = matrix
        .entries()
        .filter(|&(i, j, traffic)| traffic.bytes > 0 && slots((i, j)).0 != slots((i, j)).1)
        .map(|(i, j, traffic)| (slots((i, j)).0, slots((i, j)).1, traffic.bytes as f64))
        .collect();
    let mut mean = vec![0.0; network.links()];
    let mut variance = vec![0.0; if routing.is_hashed() { mean.len() } else { 0 }];
    let mut detours = false;
    for &(from, to, bytes) in &flows {
        routing.spread(from, to, &mut |link, share| {
            mean[link] += bytes * share / network.bandwidth(link);
            if let Some(variance) = variance.get_mut(link) {
                let width = bytes / network.bandwidth(link);
                *variance += width * width * share * (routing.lanes(link) - share).max(0.0);
            }
        });
        detours |= routing.detour(from, to, &mut |_, _| ());
    }
    if detours {
        return balanced(routing.as_ref(), network, &flows, mean);
    }
    for (mean, variance) in mean.iter_mut().zip(variance) {
        *mean += DEVIATIONS * variance.sqrt();
    }
    mean
}

/// The times of the links after pairs have chosen shares for their detours, from the times without detours.
///
/// In each round a pair looks at the times of the links, sees which of the two ways is worse, and moves a part of its
/// bytes to the better way. The parts become smaller from round to round (method of successive averages).
fn balanced(
    routing: &dyn Routing,
    network: &dyn Network,
    flows: &Flows,
    mut times: Vec<f64>,
) -> Vec<f64> {
    let mut shares = vec![0.0; flows.len()];
    let norm = |times: &[f64]| times.iter().map(|t| t.powi(8)).sum::<f64>();
    let mut best = (norm(&times), times.clone());
    for round in 0..ROUNDS {
        let top = times.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
        let price: Vec<f64> = (0..times.len())
            .map(|link| (times[link] / top).powi(5) / network.bandwidth(link))
            .collect();
        let mut next = vec![0.0; times.len()];
        for (&(from, to, bytes), part) in flows.iter().zip(&mut shares) {
            let (mut short, mut long) = (0.0, 0.0);
            routing.spread(from, to, &mut |link, share| short += share * price[link]);
            let exists = routing.detour(from, to, &mut |link, share| long += share * price[link]);
            let wanted = f64::from(exists && long < short);
            *part += (wanted - *part) / (round + 2) as f64;
            let part = *part;
            let mut add = |link: usize, share: f64| {
                next[link] += bytes * share / network.bandwidth(link);
            };
            routing.spread(from, to, &mut |link, share| add(link, share * (1.0 - part)));
            if part > 0.0 {
                routing.detour(from, to, &mut |link, share| add(link, share * part));
            }
        }
        times = next;
        let worth = norm(&times);
        if worth < best.0 {
            best = (worth, times.clone());
        }
    }
    best.1
}

/// The time of the slot or node that takes longest to send or to receive.
fn end_time(
    matrix: &SparseMatrix,
    topology: &dyn Topology,
    network: &dyn Network,
    slot_of_task: &[usize],
) -> f64 {
    let charges = network.charges();
    let unit = if matrix.counts_halves() { 2.0 } else { 1.0 };
    let nodes = (0..topology.slots()).map(|slot| topology.node_of(slot)).max().map_or(0, |n| n + 1);
    let mut by_slot = vec![[0.0; 2]; topology.slots()];
    let mut by_node = vec![[0.0; 2]; nodes];
    for (i, j, traffic) in matrix.entries().filter(|&(i, j, _)| i != j) {
        let (from, to) = (slot_of_task[i as usize], slot_of_task[j as usize]);
        if from == to {
            continue;
        }
        let bytes = traffic.bytes as f64;
        let mut per_message = charges.message;
        if charges.hop > 0.0 {
            network.route(from, to, &mut |_| per_message += charges.hop);
        }
        let time = bytes + traffic.messages as f64 * per_message * unit;
        by_slot[from][0] += time;
        by_slot[to][1] += time;
        let (sender, receiver) = (topology.node_of(from), topology.node_of(to));
        if sender != receiver {
            by_node[sender][0] += bytes;
            by_node[receiver][1] += bytes;
        }
    }
    let largest = |ends: &[[f64; 2]]| ends.iter().flatten().copied().fold(0.0, f64::max);
    let Some(injection) = charges.injection else { return largest(&by_slot) };
    let rails = rail_loads(matrix, topology, slot_of_task);
    let busiest = match &rails {
        Some(rails) => rails.busiest as f64 * unit,
        None => largest(&by_node),
    };
    // Where the limit of the node is known, that of a slot is the cost of its messages alone.
    let messages = charges.message > 0.0 || charges.hop > 0.0;
    (busiest / injection).max(if messages { largest(&by_slot) } else { 0.0 })
}
