//! The predicted time of a mapping: the time of the slowest link, slot or node, if all traffic is sent at once.
//!
//! The bytes go over the links as the routing of the network spreads them. The unit is the time of a byte on a link of
//! bandwidth 1. A slot sends and receives over all its links at once, and each message costs it what the network
//! charges. If the network has an injection limit, no node sends or receives faster than that.
//!
//! * Hashed routing: the load of a physical link is random. The time is what the slowest one stays below in half of all
//!   cases ([`super::hashed_links`]). For the time of all links together, each counts with its mean and [`DEVIATIONS`]
//!   standard deviations.
//! * Adaptive routing hop by hop: at each point, more bytes go on over the links that have less to carry
//!   ([`Routing::choose`]). Matrices with very many pairs count with equal shares of all shortest paths.
//! * Adaptive routing with detours: messages choose between shortest and longer paths one after another, by the loads
//!   of those before them ([`super::detours`]).
//!
//! Limits: nothing waits for anything else, and all traffic of the matrix is sent at the same time.

use super::ends::{Ends, Sent};
use super::hashed_links::Spread;
use super::{detours, hashed_links};
use crate::matrix::SparseMatrix;
use crate::topology::{Network, Routing, Topology};

/// Standard deviations above the mean with which a load counts that a hash decides.
pub(crate) const DEVIATIONS: f64 = 2.0;

/// The fewest and the most rounds in which messages choose their links hop by hop.
const HOP_ROUNDS: (usize, usize) = (2, 6);

/// Links that all messages look at in all rounds, about. A prediction takes 0.6 s with so many, and a search makes
/// several.
const MOST_LOOKS: usize = 20_000_000;

/// With more pairs than this, messages do not choose: it would take too long.
const MOST_CHOOSING: usize = 50_000;

/// The predicted time, and what decides if it is equal.
#[derive(Debug, Clone, Copy, Default, PartialEq, PartialOrd)]
pub struct PredictedTime {
    /// The time of the slowest link, slot or node.
    pub slowest: f64,
    /// The time of all links, slots and nodes together: (Σ time^8)^(1/8), in which the slowest ones count most.
    pub links: f64,
}

/// The predicted time; `None` if the topology has no links. The caller has checked the mapping.
pub fn predicted_time(
    matrix: &SparseMatrix,
    topology: &dyn Topology,
    slot_of_task: &[usize],
) -> Option<PredictedTime> {
    let network = topology.network()?;
    let LinkTimes { times, slowest } =
        link_times(matrix, (network, topology.slots()), slot_of_task);
    let ends = end_times(matrix, topology, network, slot_of_task);
    let slowest = ends.iter().copied().fold(slowest, f64::max);
    let all = || times.iter().chain(&ends).copied();
    let top = all().fold(0.0, f64::max);
    let unit = if matrix.counts_halves() { 2.0 } else { 1.0 };
    let sum: f64 = all().map(|time| (time / top.max(f64::MIN_POSITIVE)).powi(8)).sum();
    Some(PredictedTime {
        slowest: rounded(slowest / unit),
        links: rounded(top * libm::pow(sum, 0.125) / unit),
    })
}

/// Without the last 12 bits, which depend on the order of the sum. Whole numbers below 2^41 stay as they are.
fn rounded(time: f64) -> f64 {
    let bits = time.to_bits();
    f64::from_bits(bits.saturating_add(1 << 11) & !0xfff)
}

/// Pairs of slots that exchange data, with the bytes.
type Flows = Vec<detours::Flow>;

/// The time of each link, under a hash with [`DEVIATIONS`], and that of the slowest one.
struct LinkTimes {
    times: Vec<f64>,
    slowest: f64,
}

impl LinkTimes {
    fn of(times: Vec<f64>) -> LinkTimes {
        LinkTimes { slowest: times.iter().copied().fold(0.0, f64::max), times }
    }
}

fn link_times(
    matrix: &SparseMatrix,
    (network, slots): (&dyn Network, usize),
    slot_of_task: &[usize],
) -> LinkTimes {
    let routing = network.routing();
    let ends = |(i, j): (u32, u32)| (slot_of_task[i as usize], slot_of_task[j as usize]);
    let flows: Flows = matrix
        .entries()
        .filter(|&(i, j, traffic)| traffic.bytes > 0 && ends((i, j)).0 != ends((i, j)).1)
        .map(|(i, j, traffic)| (ends((i, j)).0, ends((i, j)).1, traffic.bytes as f64))
        .collect();
    let mut mean = vec![0.0; network.links()];
    let mut variance = vec![0.0; if routing.is_hashed() { mean.len() } else { 0 }];
    let bandwidths: Vec<f64> = (0..mean.len()).map(|link| network.bandwidth(link)).collect();
    let mut choice = false;
    for &(from, to, bytes) in &flows {
        routing.spread(from, to, &mut |link, share| {
            mean[link] += bytes * share / bandwidths[link];
            if let Some(variance) = variance.get_mut(link) {
                let width = bytes / bandwidths[link];
                *variance += width * width * share * (routing.lanes(link) - share).max(0.0);
            }
        });
        choice = choice || routing.detours(from, to) > 0;
    }
    if choice {
        mean.fill(0.0);
        detours::assign(routing.as_ref(), |link| 1.0 / bandwidths[link], &flows, &mut mean);
        return LinkTimes::of(mean);
    }
    if routing.is_hashed() {
        let spread =
            |(link, (&mean, &variance))| Spread { mean, variance, lanes: routing.lanes(link) };
        let links: Vec<Spread> = mean.iter().zip(&variance).enumerate().map(spread).collect();
        let slowest = hashed_links::slowest(&links);
        for (mean, variance) in mean.iter_mut().zip(variance) {
            *mean += DEVIATIONS * variance.sqrt();
        }
        return LinkTimes { times: mean, slowest };
    }
    LinkTimes::of(chosen(routing.as_ref(), (network, slots), &flows, mean))
}

/// The times of the links after messages have chosen hop by hop among the links that bring them closer, from the times
/// of equal shares. The times stay as they are where messages do not choose in this way.
fn chosen(
    routing: &dyn Routing,
    (network, slots): (&dyn Network, usize),
    flows: &Flows,
    mut times: Vec<f64>,
) -> Vec<f64> {
    if flows.len() > MOST_CHOOSING || !routing.chooses() {
        return times;
    }
    let inverse: Vec<f64> = (0..times.len()).map(|link| 1.0 / network.bandwidth(link)).collect();
    let mut next = vec![0.0; times.len()];
    let looks = (flows.len() as f64 * links_looked_at(routing, slots, &times)) as usize;
    for round in 0..(MOST_LOOKS / looks.max(1)).clamp(HOP_ROUNDS.0, HOP_ROUNDS.1) {
        next.fill(0.0);
        for &(from, to, bytes) in flows {
            routing.choose(from, to, &times, &mut |link, share| {
                next[link] += bytes * share * inverse[link];
            });
        }
        let part = 1.0 / (round + 2) as f64;
        times.iter_mut().zip(&next).for_each(|(time, next)| *time += (next - *time) * part);
    }
    times
}

/// The links that a message looks at, as the mean of some pairs of slots. It does not depend on a mapping, so that all
/// mappings of a problem are judged alike.
fn links_looked_at(routing: &dyn Routing, slots: usize, times: &[f64]) -> f64 {
    const PAIRS: usize = 64;
    let mut links = 0u32;
    for k in 0..PAIRS {
        let (from, to) = (k * slots / PAIRS, k * 37 * slots / (PAIRS * 13) % slots.max(1));
        routing.choose(from, to, times, &mut |_, _| links += 1);
    }
    f64::from(links) / PAIRS as f64
}

/// The times of the slots, nodes and rails at the ends of messages; none if the network charges nothing but the bytes
/// on links.
pub(super) fn end_times(
    matrix: &SparseMatrix,
    topology: &dyn Topology,
    network: &dyn Network,
    slot_of_task: &[usize],
) -> Vec<f64> {
    let Some(ends) = Ends::new(topology, network) else { return Vec::new() };
    let unit = if matrix.counts_halves() { 2.0 } else { 1.0 };
    let mut times = vec![0.0; ends.count()];
    for (i, j, traffic) in matrix.entries().filter(|&(i, j, _)| i != j) {
        let sent = Sent {
            from: slot_of_task[i as usize],
            to: slot_of_task[j as usize],
            bytes: traffic.bytes as f64,
            messages: traffic.messages as f64 * unit,
        };
        ends.visit(sent, &mut |resource, time| times[resource] += time);
    }
    times
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::Traffic;
    use crate::topology::parse;
    use proptest::prelude::*;

    fn matrix(tasks: usize, flows: &[(u32, u32, u64)]) -> SparseMatrix {
        let entry = |&(i, j, bytes)| (i, j, Traffic { bytes, messages: 2 });
        SparseMatrix::from_entries(tasks, &flows.iter().map(entry).collect::<Vec<_>>())
    }

    /// The time with task t on slot t.
    fn time(spec: &str, flows: &[(u32, u32, u64)]) -> PredictedTime {
        let topology = parse(spec).unwrap();
        let order: Vec<usize> = (0..topology.slots()).collect();
        predicted_time(&matrix(order.len(), flows), topology.as_ref(), &order).unwrap()
    }

    fn slowest(spec: &str, flows: &[(u32, u32, u64)]) -> f64 {
        time(spec, flows).slowest
    }

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-9 * b.abs().max(1.0)
    }

    #[test]
    fn two_flows_share_a_link() {
        let found = time("mesh:4", &[(0, 2, 100), (1, 3, 50)]);
        assert!(close(found.slowest, 150.0), "{found:?}");
        let sum = 100f64.powi(8) + 150f64.powi(8) + 50f64.powi(8);
        assert!(close(found.links, sum.powf(0.125)), "{found:?}");
        assert!(close(slowest("mesh:4", &[(0, 1, 30), (1, 0, 40)]), 40.0));
        assert!(close(slowest("mesh:4", &[]), 0.0));
    }

    /// A slot receives from both sides at once, unless its injection is limited.
    #[test]
    fn a_slot_uses_all_its_links_at_once() {
        assert!(close(slowest("mesh:3", &[(0, 1, 70), (2, 1, 50)]), 70.0));
        assert!(close(slowest("mesh:3,injection=1", &[(0, 1, 70), (2, 1, 50)]), 120.0));
        // Two messages of cost 10 on each side; the slot in the middle has two links.
        let found = slowest("mesh:3,message=10", &[(0, 1, 70), (2, 1, 50)]);
        assert!(close(found, 120.0 / 2.0 + 2.0 * 20.0), "{found}");
    }

    #[test]
    fn halves_count_as_halves() {
        let topology = parse("mesh:4").unwrap();
        let halves = matrix(4, &[(0, 2, 100), (1, 3, 50)]).counted_in_halves();
        let found = predicted_time(&halves, topology.as_ref(), &[0, 1, 2, 3]).unwrap();
        assert!(close(found.slowest, 75.0), "{found:?}");
    }

    #[test]
    fn an_adaptive_mesh_uses_both_sides_of_a_square() {
        let flows = [(0, 3, 100)];
        let on = |links: f64, bytes: f64| bytes * links.powf(0.125);
        assert!(close(time("mesh:2x2,routing=adaptive", &flows).links, on(4.0, 50.0)));
        assert!(close(time("mesh:2x2", &flows).links, on(2.0, 100.0)));
    }

    /// Two groups of four hosts: each host sends 100 bytes to the other group, whose hosts send none.
    #[test]
    fn detours_relieve_the_global_link_of_a_dragonfly() {
        let flows: Vec<_> = (0..4).map(|k| (k, 4 + k, 100)).collect();
        assert!(close(slowest("dragonfly:3x2x2", &flows), 400.0));
        assert!(close(slowest("dragonfly:3x2x2,routing=valiant", &flows), 400.0));
        // The best is 200: half of the bytes over the third group. UGAL sends less, because that way is longer.
        let found = slowest("dragonfly:3x2x2,routing=adaptive", &flows);
        assert!((200.0 - 1e-9..300.0).contains(&found), "{found}");
    }

    /// Four hosts of a leaf send 100 bytes each over two uplinks.
    #[test]
    fn a_hash_may_put_two_flows_on_one_uplink() {
        let flows: Vec<_> = (0..4).map(|k| (k, 4 + k, 100)).collect();
        assert!(close(slowest("fattree:4:3:2@2:1", &flows), 200.0));
        // On one uplink: four times 0 or 100, so a mean of 200 and a standard deviation of 100.
        let found = slowest("fattree:4:3:2@2:1,routing=ecmp", &flows);
        // The mean of the slowest of two is 275, and it is later still if both leaves are looked at.
        assert!((275.0..310.0).contains(&found), "{found}");
        let links = time("fattree:4:3:2@2:1,routing=ecmp", &flows).links;
        assert!(links >= 200.0 + DEVIATIONS * 100.0, "{links}");
        // A leaf's own links are single.
        assert!(close(slowest("fattree:4:3:2@2:1,routing=ecmp", &[(0, 1, 100)]), 100.0));
    }

    #[test]
    fn a_node_sends_as_fast_as_its_injection() {
        let flows = [(0, 1, 100), (0, 2, 60), (2, 1, 20)];
        assert!(close(slowest("torus:4", &flows), 160.0));
        assert!(close(slowest("torus:4,injection=0.5", &flows), 320.0));
        // The link from 1 to 2 carries both flows; then the nodes decide.
        let flows = [(0, 2, 100), (1, 3, 100)];
        assert!(close(slowest("torus:4,injection=2", &flows), 200.0));
        assert!(close(slowest("torus:4,injection=0.25", &flows), 400.0));
    }

    #[test]
    fn messages_cost_by_number_and_by_way() {
        // 2 messages of 10 + 2 * 5.
        assert!(close(slowest("mesh:4,message=10,hop=5", &[(0, 2, 100)]), 140.0));
        assert!(close(slowest("mesh:4,message=10", &[(0, 2, 100)]), 120.0));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        /// The loads of all links are bytes times path lengths, under every routing that uses shortest paths.
        #[test]
        fn loads_are_bytes_times_path_lengths(
            raw in prop::collection::vec((0u32..12, 0u32..12, 1u64..1000), 1..40), kind in 0usize..6)
        {
            let spec = [
                "torus:4x3", "torus:4x3,routing=adaptive", "mesh:3x2x2", "dragonfly:3x2x2",
                "mesh:3x4,routing=adaptive", "hypercube:4,routing=adaptive",
            ][kind];
            let topology = parse(spec).unwrap();
            let matrix = matrix(12, &raw);
            let order: Vec<usize> = (0..12).rev().collect();
            let network = topology.network().unwrap();
            let times = link_times(&matrix, (network, 12), &order).times;
            let loads: f64 =
                times.iter().enumerate().map(|(link, time)| time * network.bandwidth(link)).sum();
            let mut wanted = 0.0;
            for (i, j, traffic) in matrix.entries() {
                let (a, b) = (order[i as usize], order[j as usize]);
                network.route(a, b, &mut |_| wanted += traffic.bytes as f64);
            }
            prop_assert!((loads - wanted).abs() <= 1e-6 * wanted.max(1.0), "{} {}", loads, wanted);
            let found = predicted_time(&matrix, topology.as_ref(), &order).unwrap();
            let top = times.iter().copied().fold(0.0, f64::max);
            prop_assert!(found.slowest.min(found.links) >= top * (1.0 - 1e-9));
        }
    }
}
