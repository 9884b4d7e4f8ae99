//! Surveys of networks that are known.

use super::*;
use proptest::prelude::*;

/// A survey of a model, with plenty of time.
fn survey(model: &Model, seed: u64) -> Surveyed {
    let hosts = model.paths.len();
    conduct(&mut Simulated::new(model, seed), Limits::for_hosts(hosts), seed)
}

fn leaves(surveyed: &Surveyed) -> &[u32] {
    surveyed.levels.last().map(Vec::as_slice).unwrap_or_default()
}

#[test]
fn tapered_switches_of_equal_latency() {
    for (arity, hosts) in [(4, 4), (2, 2), (8, 2), (2, 8), (3, 5)] {
        let mut wrong = Vec::new();
        for seed in 0..10 {
            let model = Model::regular(&[arity], hosts).tapered(f64::from(hosts));
            let total = model.paths.len();
            let model = Model { latency_of_level: 0.0, ..model }.random_part(total, seed);
            let found = survey(&model, seed);
            assert!(found.evidence.seconds < 2.0, "{}", found.words());
            if model.right(leaves(&found)) < 1.0 {
                wrong.push(format!("{arity}x{hosts} seed {seed}: {}", found.words()));
                continue;
            }
            let uplink = found.bandwidths[0] / model.uplinks[0];
            assert!(
                (0.6..1.6).contains(&uplink),
                "{arity}x{hosts} {uplink} {:?}",
                found.bandwidths
            );
        }
        assert!(wrong.is_empty(), "{wrong:?}");
    }
}

/// More hosts than those whose pairs are all measured, below switches that only contention shows.
#[test]
fn tapered_switches_of_equal_latency_and_many_hosts() {
    for (switches, hosts, speed) in [(4, 16, 1.0), (8, 8, 1.0), (8, 8, 100.0), (16, 16, 100.0)] {
        let mut right = 0.0;
        for seed in 0..4 {
            let mut model = Model::regular(&[switches], hosts).tapered(4.0).noisy();
            model.uplinks.iter_mut().chain(&mut model.hosts).for_each(|rate| *rate *= speed);
            let total = model.paths.len();
            let model = Model { latency_of_level: 0.0, ..model }.random_part(total, seed);
            let found = survey(&model, seed);
            assert_eq!(found.levels.len(), 1, "{switches}x{hosts} seed {seed}: {}", found.words());
            right += model.right(leaves(&found)) / 4.0;
        }
        assert!(right >= 0.99, "{switches}x{hosts}: {right}");
    }
}

/// More hosts than those whose pairs are all measured: latencies show one level, and only contention the other one.
#[test]
fn levels_that_latencies_do_not_show() {
    for (hidden, count) in [(0, 128), (1, 128), (0, 256), (1, 256)] {
        let (mut leaf, mut pods) = (0.0, 0.0);
        for seed in 0..4 {
            // Leaf switches that only contention shows have to be tapered more.
            let taper = if hidden == 1 { 4.0 } else { 2.0 };
            let mut model = Model::regular(&[4, count / 32], 8).tapered(taper).noisy();
            model.uplinks.iter_mut().chain(&mut model.hosts).for_each(|rate| *rate *= 100.0);
            model.levels_without_latency = vec![hidden];
            let model = model.random_part(count as usize, seed);
            let found = survey(&model, seed);
            assert_eq!(found.levels.len(), 2, "{hidden} {count} seed {seed}: {}", found.words());
            leaf += model.right(leaves(&found)) / 4.0;
            let mut above = model.clone();
            above.paths.iter_mut().for_each(|path| path.truncate(1));
            pods += above.right(&found.levels[0]) / 4.0;
        }
        assert!(leaf >= 0.99 && pods >= 0.99, "{hidden} {count}: {leaf} {pods}");
    }
}

/// Sixteen hosts on links of 100 Mbit/s: the time for which all processes of a job wait.
#[test]
fn surveys_of_few_hosts_are_short() {
    for (arity, hosts) in [(4, 4), (8, 2), (2, 8), (2, 2), (1, 16)] {
        for seed in 0..20 {
            let model = Model::regular(&[arity], hosts).tapered(f64::from(hosts)).noisy();
            let total = model.paths.len();
            let model = Model { latency_of_level: 0.0, ..model }.random_part(total, seed);
            let found = survey(&model, seed);
            // The last round may end later than the survey.
            assert!(found.evidence.seconds < 2.1, "{arity}x{hosts} {seed}: {}", found.words());
        }
    }
}

#[test]
fn flat_networks() {
    for hosts in [4, 5, 16, 24, 40, 100] {
        for seed in 0..6 {
            let model = Model::regular(&[1], hosts).noisy();
            let found = survey(&model, seed);
            assert!(found.is_flat(), "{hosts} seed {seed}: {}", found.words());
            assert!(found.reason.contains("flat"), "{}", found.words());
        }
    }
}

/// A flat network whose rounds are slow as a whole now and then, as if the clock of the processors changed.
struct SlowRounds {
    hosts: usize,
    random: crate::base::random::SplitMix64,
    slow: f64,
}

impl Wire for SlowRounds {
    fn hosts(&self) -> usize {
        self.hosts
    }

    fn run(&mut self, round: &Round) -> Vec<Option<f64>> {
        let factor = if self.random.unit() < self.slow { 1.5 } else { 1.0 };
        let mut time = || factor * 20e-6 * (1.0 + 0.02 * self.random.unit());
        match round.probe {
            Probe::Ping { .. } => round.pairs.iter().map(|_| Some(time())).collect(),
            Probe::Exchange { .. } => vec![Some(0.01); round.pairs.len()],
        }
    }

    fn elapsed(&self) -> f64 {
        0.0
    }
}

/// The held-out rounds were inside groups and across groups by turns, so that slow rounds looked like switches.
#[test]
fn slow_rounds_are_no_switches() {
    for hosts in [4, 5, 8, 12, 16] {
        for slow in [0.2, 0.5, 0.7] {
            let wrong = (0..200).filter(|&seed| {
                let random = crate::base::random::SplitMix64::new(seed);
                let mut wire = SlowRounds { hosts, random, slow };
                !conduct(&mut wire, Limits::for_hosts(hosts), seed).is_flat()
            });
            assert_eq!(wrong.count(), 0, "{hosts} hosts, {slow}");
        }
    }
}

#[test]
fn levels_of_latency() {
    for seed in 0..6 {
        for (arity, hosts) in [(&[4][..], 4), (&[4], 16), (&[4, 4], 8), (&[2, 3], 4)] {
            let model = Model::regular(arity, hosts).noisy();
            let total = model.paths.len();
            let model = model.random_part(total, seed);
            let found = survey(&model, seed);
            assert!(
                model.right(leaves(&found)) >= 0.99,
                "{arity:?}x{hosts} seed {seed}: {}",
                found.words()
            );
            assert_eq!(found.levels.len(), arity.len(), "{}", found.words());
            assert!(found.latencies.windows(2).all(|w| w[0] > w[1]), "{:?}", found.latencies);
        }
    }
}

#[test]
fn large_allocations_of_three_levels() {
    for (count, seed) in [(256, 1), (1000, 2), (4096, 3)] {
        let model = Model::regular(&[16, 16], 16).noisy().random_part(count, seed);
        let found = survey(&model, seed);
        assert!(model.right(leaves(&found)) >= 0.99, "{count}: {}", found.words());
        let most = 8.0 * count as f64 * (count as f64).log2();
        assert!((found.evidence.pings as f64) < most, "{count}: {}", found.words());
    }
}

#[test]
fn dead_hosts_are_left_out() {
    let model = Model { dead: vec![3, 9], ..Model::regular(&[4], 4).tapered(4.0) };
    let found = survey(&model, 1);
    assert_eq!(found.absent, [3, 9]);
    let groups = leaves(&found);
    assert!((0..16).all(|host| (groups[host] == groups[3]) == (host == 3)));
    assert_eq!(groups[0], groups[2]);
    let model = Model { dead: (1..16).collect(), ..model };
    assert!(survey(&model, 1).is_flat());
}

/// Half of the hosts are silent, so that many others meet several of them in a row.
#[test]
fn partners_of_dead_hosts_are_not_left_out() {
    for (hosts, seeds) in [(4, 20), (40, 5)] {
        for seed in 0..seeds {
            let model = Model::regular(&[4], hosts).tapered(4.0);
            let dead: Vec<u32> = (0..4 * hosts).filter(|host| host % 4 < 2).collect();
            let model = Model { dead: dead.clone(), ..model };
            let found = survey(&model, seed);
            assert_eq!(found.absent, dead, "{hosts} seed {seed}: {}", found.words());
        }
    }
}

#[test]
fn hosts_with_links_of_other_rates_stay_in_their_group() {
    for seed in 0..8 {
        let mut model = Model::regular(&[4], 4).tapered(4.0);
        model.latency_of_level = 0.0;
        (model.hosts[1], model.hosts[6]) = (9e6, 25e6);
        let found = survey(&model, seed);
        assert_eq!(model.right(leaves(&found)), 1.0, "seed {seed}: {}", found.words());
    }
}

#[test]
fn limits_give_a_flat_network() {
    let model = Model::regular(&[4], 4).tapered(4.0);
    for limits in [
        Limits { seconds: 0.0005, ..Limits::for_hosts(16) },
        Limits { bytes_per_host: 20, ..Limits::for_hosts(16) },
    ] {
        let found = conduct(&mut Simulated::new(&model, 1), limits, 1);
        assert!(found.is_flat() && found.reason.contains("limit"), "{}", found.words());
    }
    assert!(conduct(&mut Silent(9), Limits::for_hosts(9), 1).is_flat());
    assert!(conduct(&mut Silent(2), Limits::for_hosts(2), 1).reason.contains("fewer"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever the network, the levels are nested, have a group for each host, and the limits hold.
    #[test]
    fn levels_are_sound(
        arity in 1u32..5, hosts in 1u32..7, part in 1usize..30, taper in 1.0f64..6.0,
        jitter in 0.0f64..2.0, losses in 0.0f64..0.5, seed in 0u64..1000,
    ) {
        let model = Model::regular(&[arity], hosts).tapered(taper);
        let count = part.min(model.paths.len());
        let model = Model { jitter, losses, ..model.random_part(count, seed) };
        let limits = Limits::for_hosts(count);
        let found = conduct(&mut Simulated::new(&model, seed), limits, seed);
        for (k, level) in found.levels.iter().enumerate() {
            prop_assert_eq!(level.len(), count);
            prop_assert!(k == 0 || partition::refines(level, &found.levels[k - 1]));
        }
        prop_assert!(found.evidence.bytes_per_host <= limits.bytes_per_host);
        if !found.bandwidths.is_empty() {
            prop_assert_eq!(found.bandwidths.len(), found.levels.len() + 1);
            prop_assert!(found.bandwidths.iter().all(|rate| rate.is_finite() && *rate > 0.0));
        }
        prop_assert!(found.latencies.is_empty() || found.latencies.len() == found.levels.len() + 1);
    }
}
