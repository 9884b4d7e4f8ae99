//! The time of a mapping on a network with detours, simulated with fair rates.
//!
//! The predicted time is that of the slowest resource ([`super::time`]). On networks with detours, many mappings reach
//! what the links of the hosts need, and none can be below it. They still differ by several per cent in when the last
//! message ends, because a link is idle while its flows wait for other links. No sum of loads shows this. So mappings with the
//! same predicted time are compared by a simulation ([`super::fair_rates`]): by the mean of a few draws of the
//! chance in which messages choose their ways.
//!
//! Limits: who asks says how much work a simulation may be; those of [`super::fair_rates`].

use super::detours::{self, Flow, LinkShare};
use super::ends::{Ends, Sent};
use super::fair_rates::{Allowance, SharedLinks};
use super::time::end_times;
use crate::base::random::SplitMix64;
use crate::matrix::SparseMatrix;
use crate::topology::{Network, Topology};

/// Draws of chance. Single draws of a mapping differ by 0.03 to 3 %, most where links between routers are the slowest.
const DRAWS: u64 = 6;

/// A mapping is given up when the mean of its draws is above the limit by this part over the square root of their number.
const UNCERTAIN: f64 = 0.02;

/// Parts of the bytes of a pair.
const PARTS: usize = 8;

/// Links that a part looks at to choose its way: on the shortest path and on four detours.
const LOOKS_OF_A_CHOICE: u64 = 60;

/// The simulated time of a mapping, in the unit of the predicted time. Infinity if it is above `limit`. `None` if the
/// network has no detours, or if the allowance is not enough. The caller has checked the mapping.
pub(crate) fn fair_time(
    matrix: &SparseMatrix,
    topology: &dyn Topology,
    slot_of_task: &[usize],
    limit: f64,
    allowance: &mut Allowance<'_>,
) -> Option<f64> {
    let network = topology.network()?;
    let choices = (matrix.pairs() as u64).saturating_mul(PARTS as u64 * LOOKS_OF_A_CHOICE);
    if !network.routing().has_detours() || choices.saturating_mul(DRAWS) > allowance.looks {
        return None;
    }
    let unit = if matrix.counts_halves() { 2.0 } else { 1.0 };
    let limit = limit * unit;
    let simulation = Simulation::new(matrix, topology, network, slot_of_task);
    let mut sum = 0.0;
    for draw in 1..=DRAWS {
        allowance.take(choices)?;
        // So much may this draw take if the mean of all draws so far is to stay below the limit.
        let most = limit * (draw as f64 + UNCERTAIN * (draw as f64).sqrt());
        sum += simulation.last_end(draw, most - sum, allowance)?;
        if sum > most {
            return Some(f64::INFINITY);
        }
    }
    let mean = sum / DRAWS as f64;
    Some(if mean > limit { f64::INFINITY } else { mean / unit })
}

/// The links of a way, and the number of parts that took it.
type Way = (Vec<LinkShare>, u32);

/// What all draws share.
struct Simulation<'a> {
    network: &'a dyn Network,
    flows: Vec<Flow>,
    /// The bandwidth of each link, and 1 for each resource at the ends of messages.
    width: Vec<f64>,
    /// The resources at the ends of each flow, with what a byte takes of them. Empty if there are none.
    at_ends: Vec<Vec<LinkShare>>,
    /// The time of the slowest resource at the ends, with messages that have no bytes.
    ends: f64,
}

impl<'a> Simulation<'a> {
    fn new(
        matrix: &SparseMatrix,
        topology: &dyn Topology,
        network: &'a dyn Network,
        slot_of_task: &[usize],
    ) -> Simulation<'a> {
        let links = network.links();
        let mut width: Vec<f64> = (0..links).map(|link| network.bandwidth(link)).collect();
        let ends = Ends::new(topology, network);
        width.resize(links + ends.as_ref().map_or(0, Ends::count), 1.0);
        let unit = if matrix.counts_halves() { 2.0 } else { 1.0 };
        let (mut flows, mut at_ends) = (Vec::new(), Vec::new());
        for (i, j, traffic) in matrix.entries().filter(|(.., traffic)| traffic.bytes > 0) {
            let (from, to) = (slot_of_task[i as usize], slot_of_task[j as usize]);
            if from == to {
                continue;
            }
            let (bytes, messages) = (traffic.bytes as f64, traffic.messages as f64 * unit);
            flows.push((from, to, bytes));
            at_ends.extend(ends.as_ref().map(|ends| {
                let mut own = Vec::new();
                ends.visit(Sent { from, to, bytes, messages }, &mut |resource, time| {
                    own.push((links + resource, time / bytes));
                });
                own
            }));
        }
        let ends =
            end_times(matrix, topology, network, slot_of_task).into_iter().fold(0.0, f64::max);
        Simulation { network, flows, width, at_ends, ends }
    }

    /// When the last flow ends in a draw of chance.
    fn last_end(&self, draw: u64, limit: f64, allowance: &mut Allowance<'_>) -> Option<f64> {
        let mut ways: Vec<Vec<Way>> = vec![Vec::new(); self.flows.len()];
        let mut times = vec![0.0; self.network.links()];
        let routing = self.network.routing();
        detours::assign_by_chance(
            (routing.as_ref(), PARTS),
            |link| 1.0 / self.width[link],
            (&self.flows, &mut times),
            &mut SplitMix64::new(draw),
            &mut |flow, way| match ways[flow].iter_mut().find(|(known, _)| known == way) {
                Some((_, parts)) => *parts += 1,
                None => ways[flow].push((way.to_vec(), 1)),
            },
        );
        if times.iter().copied().fold(self.ends, f64::max) > limit {
            return Some(f64::INFINITY);
        }
        let mut shared = SharedLinks::new();
        for (k, ways) in ways.iter().enumerate() {
            let at_ends = self.at_ends.get(k).into_iter().flatten();
            for (way, parts) in ways {
                let bytes = self.flows[k].2 * f64::from(*parts) / PARTS as f64;
                shared.add(bytes, way.iter().chain(at_ends.clone()).copied());
            }
        }
        let end = shared.last_end(&self.width, limit, allowance)?;
        Some(end.max(self.ends))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::Traffic;
    use crate::metrics::predicted_time;
    use crate::topology::parse;
    use proptest::prelude::*;

    fn simulated(spec: &str, matrix: &SparseMatrix, slots: &[usize]) -> Option<f64> {
        fair_time(
            matrix,
            parse(spec).unwrap().as_ref(),
            slots,
            f64::INFINITY,
            &mut allowance(LOOKS),
        )
    }

    const LOOKS: u64 = 10_000_000;

    fn allowance(looks: u64) -> Allowance<'static> {
        Allowance { looks, is_over: &|| false }
    }

    fn matrix(tasks: usize, flows: &[(u32, u32, u64)]) -> SparseMatrix {
        let entry = |&(i, j, bytes)| (i, j, Traffic { bytes, messages: 2 });
        SparseMatrix::from_entries(tasks, &flows.iter().map(entry).collect::<Vec<_>>())
    }

    #[test]
    fn only_networks_with_detours_are_simulated() {
        let order: Vec<usize> = (0..12).collect();
        let one = matrix(12, &[(0, 11, 80)]);
        assert_eq!(simulated("dragonfly:3x2x2", &one, &order), None);
        assert_eq!(simulated("torus:12", &one, &order), None);
        // A message of 80 bytes in 8 parts of 10 that take turns over ways that are free.
        let spec = "dragonfly:3x2x2,routing=adaptive";
        assert_eq!(simulated(spec, &one, &order), Some(80.0));
        let halves = matrix(12, &[(0, 11, 80)]).counted_in_halves();
        assert_eq!(simulated(spec, &halves, &order), Some(40.0));
        let none =
            fair_time(&one, parse(spec).unwrap().as_ref(), &order, 79.0, &mut allowance(LOOKS));
        assert_eq!(none, Some(f64::INFINITY));
        assert_eq!(
            fair_time(&one, parse(spec).unwrap().as_ref(), &order, 80.0, &mut allowance(10)),
            None
        );
    }

    #[test]
    fn the_ends_of_messages_count() {
        let order: Vec<usize> = (0..12).collect();
        let spec = "dragonfly:3x2x2,routing=adaptive";
        let flows = matrix(12, &[(0, 11, 80), (0, 10, 20), (1, 2, 10)]);
        let charged = simulated(&format!("{spec},message=30"), &flows, &order).unwrap();
        // Slot 0 sends 100 bytes over its only link, and four messages.
        assert!((charged - 220.0).abs() < 1.0, "{charged}");
        // A message without bytes costs as much as any other: 3 * 2 * 30 and 100 bytes.
        let flows = matrix(12, &[(0, 11, 80), (0, 10, 20), (0, 5, 0), (1, 2, 10)]);
        let charged = simulated(&format!("{spec},message=30"), &flows, &order).unwrap();
        assert!((charged - 280.0).abs() < 1.0, "{charged}");
        let limited = simulated(&format!("{spec},injection=0.5"), &flows, &order).unwrap();
        assert!((limited - 200.0).abs() < 1.0, "{limited}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        /// The links of the hosts have the same loads whatever way messages take, so no simulation ends earlier.
        #[test]
        fn never_before_the_hosts_are_done(
            raw in prop::collection::vec((0u32..12, 0u32..12, 1u64..1000), 1..60), seed in any::<u64>())
        {
            let matrix = matrix(12, &raw);
            let mut slots: Vec<usize> = (0..12).collect();
            let mut rng = SplitMix64::new(seed);
            for k in (1..12).rev() {
                slots.swap(k, rng.below(k + 1));
            }
            let topology = parse("dragonfly:3x2x2,routing=adaptive").unwrap();
            let found = fair_time(&matrix, topology.as_ref(), &slots, f64::INFINITY, &mut allowance(LOOKS)).unwrap();
            let mut busiest = 0u64;
            for task in 0..12u32 {
                let of = |side: &dyn Fn(u32, u32) -> u32| -> u64 {
                    let own = matrix.entries().filter(|&(i, j, _)| i != j && side(i, j) == task);
                    own.map(|(_, _, traffic)| traffic.bytes).sum()
                };
                busiest = busiest.max(of(&|i, _| i)).max(of(&|_, j| j));
            }
            prop_assert!(found >= busiest as f64 * (1.0 - 1e-9), "{} {}", found, busiest);
            // The numbers of the tasks do not matter.
            let other: Vec<(u32, u32, u64)> =
                raw.iter().map(|&(i, j, bytes)| (11 - i, 11 - j, bytes)).collect();
            let mut turned = slots.clone();
            turned.reverse();
            let again = fair_time(&self::matrix(12, &other), topology.as_ref(), &turned, f64::INFINITY, &mut allowance(LOOKS));
            prop_assert!((again.unwrap() - found).abs() <= 1e-9 * found);
            let predicted = predicted_time(&matrix, topology.as_ref(), &slots).unwrap().slowest;
            prop_assert!(found <= predicted * 3.0 && found >= predicted * 0.4, "{} {}", found, predicted);
        }
    }
}
