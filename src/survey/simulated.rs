//! A model of a network, as the test bench of surveys: switches in levels, noise, losses, background traffic.
//!
//! A ping takes the latency of its hops and a random delay. Exchanges share the links on their way, each with
//! the same part of a link. Limits: routes are unique (a tree), and a delay does not depend on the load.

use super::wire::{Probe, Round, Wire};
use crate::base::random::SplitMix64;

/// A network of switches with hosts, and what disturbs it.
#[derive(Debug, Clone)]
pub struct Model {
    /// For each host: its group in each level of switches, outermost first. Groups of a level are numbered
    /// across the whole network.
    pub paths: Vec<Vec<u32>>,
    /// Bytes per second of the link above a group of each level, outermost first.
    pub uplinks: Vec<f64>,
    /// Bytes per second of the link of each host.
    pub hosts: Vec<f64>,
    /// Bytes that a link lets pass at once.
    pub burst: f64,
    /// Seconds of a round trip between two hosts of one switch.
    pub latency: f64,
    /// Seconds that each further level adds to it; 0 for a network of equal latencies.
    pub latency_of_level: f64,
    /// Levels, counted from the outermost, that add nothing to it.
    pub levels_without_latency: Vec<usize>,
    /// Mean random delay, as a part of the latency.
    pub jitter: f64,
    /// Part of the messages that are delayed a lot, by up to ten times the latency.
    pub outliers: f64,
    /// Part of the pairs without an answer.
    pub losses: f64,
    /// Part of the links that is taken by traffic of others, at most.
    pub background: f64,
    /// Hosts that never answer.
    pub dead: Vec<u32>,
}

impl Model {
    /// A network with so many groups in each level, outermost first, and so many hosts in each innermost group.
    /// The hosts are numbered in the order of their switches. All links have the rate of a host (100 Mbit/s)
    /// times the number of hosts below, so that nothing is tapered; nothing disturbs it.
    pub fn regular(arity: &[u32], hosts: u32) -> Model {
        let total = arity.iter().product::<u32>() * hosts;
        let mut below = hosts;
        let mut paths = vec![Vec::new(); total as usize];
        let mut uplinks = Vec::new();
        for &groups in arity.iter().rev() {
            for (host, path) in (0u32..).zip(&mut paths) {
                path.insert(0, host / below);
            }
            uplinks.insert(0, 12.5e6 * f64::from(below));
            below *= groups;
        }
        Model {
            paths,
            uplinks,
            hosts: vec![12.5e6; total as usize],
            burst: 65536.0,
            latency: 20e-6,
            latency_of_level: 8e-6,
            levels_without_latency: Vec::new(),
            jitter: 0.1,
            outliers: 0.0,
            losses: 0.0,
            background: 0.0,
            dead: Vec::new(),
        }
    }

    /// The network with every uplink `factor` times slower than the links below it together.
    pub fn tapered(mut self, factor: f64) -> Model {
        let levels = self.uplinks.len() as i32;
        for (level, rate) in (0..).zip(&mut self.uplinks) {
            *rate /= factor.powi(levels - level);
        }
        self
    }

    /// The network with some noise of every kind.
    pub fn noisy(self) -> Model {
        Model { jitter: 0.15, outliers: 0.05, losses: 0.005, background: 0.2, ..self }
    }

    /// An allocation: the hosts with these numbers, in this order.
    pub fn part(mut self, hosts: &[u32]) -> Model {
        self.paths = hosts.iter().map(|&host| self.paths[host as usize].clone()).collect();
        self.hosts = hosts.iter().map(|&host| self.hosts[host as usize]).collect();
        self
    }

    /// An allocation of `count` random hosts in a random order.
    pub fn random_part(self, count: usize, seed: u64) -> Model {
        let mut random = SplitMix64::new(seed);
        let mut hosts: Vec<u32> = (0..self.paths.len() as u32).collect();
        super::matching::shuffle(&mut hosts, &mut random);
        hosts.truncate(count);
        self.part(&hosts)
    }

    /// The share of hosts that a grouping of the innermost level has in the right group: each group counts
    /// for the switch of most of its hosts, and each switch for the group with most of its hosts.
    pub fn right(&self, groups: &[u32]) -> f64 {
        let switch = |host: usize| self.paths[host].last().copied().unwrap_or(0);
        let mut pairs = std::collections::HashMap::<(u32, u32), usize>::new();
        for (host, &group) in groups.iter().enumerate() {
            *pairs.entry((group, switch(host))).or_default() += 1;
        }
        let mut most: Vec<(usize, u32, u32)> =
            pairs.iter().map(|(&(g, s), &n)| (n, g, s)).collect();
        most.sort_unstable_by(|a, b| b.cmp(a));
        let (mut used, mut taken) =
            (std::collections::HashSet::new(), std::collections::HashSet::new());
        let mut right = 0;
        for (n, group, switch) in most {
            if !used.contains(&group) && !taken.contains(&switch) {
                used.insert(group);
                taken.insert(switch);
                right += n;
            }
        }
        right as f64 / groups.len().max(1) as f64
    }
}

/// A [`Wire`] over a [`Model`].
#[derive(Debug)]
pub struct Simulated<'m> {
    model: &'m Model,
    random: SplitMix64,
    seconds: f64,
}

impl<'m> Simulated<'m> {
    /// A wire whose noise depends on the seed.
    pub fn new(model: &'m Model, seed: u64) -> Simulated<'m> {
        Simulated { model, random: SplitMix64::new(seed), seconds: 0.0 }
    }

    /// The levels that two hosts do not share, from the innermost.
    fn apart(&self, (a, b): (u32, u32)) -> usize {
        let (a, b) = (&self.model.paths[a as usize], &self.model.paths[b as usize]);
        a.iter().zip(b).position(|(a, b)| a != b).map_or(0, |shared| a.len() - shared)
    }

    fn exponential(&mut self) -> f64 {
        -libm::log(self.random.unit().max(1e-12))
    }

    fn ping(&mut self, pair: (u32, u32), repeats: u32) -> f64 {
        let model = self.model;
        let levels = model.uplinks.len();
        let passed = levels - self.apart(pair)..levels;
        let slower = passed.filter(|level| !model.levels_without_latency.contains(level)).count();
        let least = model.latency + model.latency_of_level * slower as f64;
        let mut best = f64::INFINITY;
        for _ in 0..repeats.max(1) {
            let mut delay = model.jitter * model.latency * self.exponential();
            if self.random.unit() < model.outliers {
                delay += 10.0 * self.random.unit() * model.latency;
            }
            best = f64::min(best, least + delay);
        }
        best
    }

    /// Seconds of each pair if all begin at once.
    fn exchanges(&mut self, pairs: &[(u32, u32)], bytes: f64) -> Vec<f64> {
        let model = self.model;
        let levels = model.uplinks.len();
        // The links of a pair: (level, group), with the hosts as the last level.
        let links: Vec<Vec<(usize, u32)>> = pairs
            .iter()
            .map(|&(a, b)| {
                let mut links = vec![(levels, a), (levels, b)];
                for level in levels - self.apart((a, b))..levels {
                    let group = |host: u32| (level, model.paths[host as usize][level]);
                    links.extend([group(a), group(b)]);
                }
                links
            })
            .collect();
        let free: Vec<f64> =
            pairs.iter().map(|_| 1.0 - model.background * self.random.unit()).collect();
        let mut left: Vec<f64> = vec![(bytes - model.burst).max(0.1 * bytes); pairs.len()];
        let mut times = vec![0.0; pairs.len()];
        let mut open: Vec<usize> = (0..pairs.len()).collect();
        let mut now = 0.0;
        for step in 0..16 {
            let mut load = std::collections::HashMap::<(usize, u32), f64>::new();
            open.iter().flat_map(|&k| &links[k]).for_each(|&l| *load.entry(l).or_default() += 1.0);
            let share = |&(level, group): &(usize, u32)| {
                let rate = model
                    .uplinks
                    .get(level)
                    .unwrap_or(&model.hosts[group as usize % model.hosts.len()]);
                rate / load[&(level, group)]
            };
            let rate =
                |k: usize| free[k] * links[k].iter().map(share).fold(f64::INFINITY, f64::min);
            let rates: Vec<f64> = open.iter().map(|&k| rate(k)).collect();
            let ends: Vec<f64> = open.iter().zip(&rates).map(|(&k, rate)| left[k] / rate).collect();
            let next = ends.iter().copied().fold(f64::INFINITY, f64::min);
            // Pairs that end soon after the next one end with it.
            let until = if step == 15 { f64::INFINITY } else { 1.1 * next };
            for ((&k, end), rate) in open.iter().zip(&ends).zip(&rates) {
                times[k] = now + end.min(until);
                left[k] -= rate * end.min(until);
            }
            let ended: Vec<bool> = ends.iter().map(|&end| end <= until).collect();
            let mut ended = ended.into_iter();
            open.retain(|_| !ended.next().unwrap_or(true));
            now += until;
            if open.is_empty() {
                break;
            }
        }
        for time in &mut times {
            *time += model.latency * (2.0 + self.exponential());
            if self.random.unit() < model.outliers {
                *time *= 1.0 + 2.0 * self.random.unit();
            }
        }
        times
    }
}

impl Wire for Simulated<'_> {
    fn hosts(&self) -> usize {
        self.model.paths.len()
    }

    fn run(&mut self, round: &Round) -> Vec<Option<f64>> {
        let (times, repeats) = match round.probe {
            Probe::Ping { repeats } => {
                (round.pairs.iter().map(|&pair| self.ping(pair, repeats)).collect(), repeats)
            }
            Probe::Exchange { bytes } => (self.exchanges(&round.pairs, bytes as f64), 1),
        };
        let longest = times.iter().copied().fold(0.0, f64::max);
        // What the process that leads the rounds needs for them.
        self.seconds += longest * f64::from(repeats) + 1e-4 + 1e-6 * round.pairs.len() as f64;
        let answers: Vec<Option<f64>> = round
            .pairs
            .iter()
            .zip(times)
            .map(|((a, b), time)| {
                let dead = self.model.dead.contains(a) || self.model.dead.contains(b);
                let lost = self.random.unit() < self.model.losses || time > round.patience;
                (!dead && !lost).then_some(time)
            })
            .collect();
        if answers.contains(&None) {
            // The time after which the others do not wait any longer.
            self.seconds += 0.02;
        }
        answers
    }

    fn elapsed(&self) -> f64 {
        self.seconds
    }
}
