//! Exchanges of one size between hosts, and what they say about each pair: its slowness.
//!
//! The *slowness* of a pair is its time divided by the shortest time that the slower one of the two hosts ever had.
//! The shortest times come from rounds of few pairs, in which no uplink is shared.

use super::matching::random_pairs;
use super::modes::thresholds;
use super::partition::{PairTable, Partition, median, partitions};
use super::session::{LimitReached, Measured, Session};
use super::surveyed::count;
use crate::base::numbering::by_first_appearance;
use crate::base::sorting::Arrange;
use std::collections::BTreeMap;

/// The slowness across switches is at least so many times that below one.
pub(super) const RATIO: f64 = 1.5;
/// Of the pairs that were measured until now, this share agrees with groups that are clear, and every two of these
/// groups have so many pairs.
const CLEAR: f64 = 0.95;
const PAIRS_OF_GROUPS: usize = 2;
/// Thresholds that are nearer to each other are one.
const RATIO_OF_CUTS: f64 = 1.25;
/// The largest slowness that counts as that of two hosts below one switch.
const SLOWEST_INSIDE: f64 = 1.6;
/// If there are too many hosts for all pairs: how often each host takes part in rounds of few pairs, and in how many
/// rounds all hosts do once.
const SPARSE_PASSES: usize = 2;
const SPARSE_ROUNDS: usize = 16;
/// How often all hosts are moved to the group that fits best.
const MOVES: usize = 3;
/// In random pairs of a network with switches, at least this part is slow.
const FEWEST_SLOW: f64 = 0.15;

/// Exchanges of one size, and the shortest time of each host.
pub(super) struct Exchanges {
    pub bytes: u64,
    pub shortest: Vec<f64>,
    pub measured: Vec<Measured>,
}

impl Exchanges {
    pub fn new(hosts: usize, bytes: u64) -> Exchanges {
        Exchanges { bytes, shortest: vec![f64::INFINITY; hosts], measured: Vec::new() }
    }

    /// Adds exchanges of all hosts at once that were measured before.
    pub fn note(&mut self, times: Vec<Measured>) {
        self.compare(&times);
        self.measured.extend(times);
    }

    fn compare(&mut self, times: &[Measured]) {
        for &(a, b, time) in times {
            for host in [a as usize, b as usize] {
                self.shortest[host] = self.shortest[host].min(time);
            }
        }
    }

    pub fn run(
        &mut self,
        session: &mut Session,
        pairs: &[(u32, u32)],
    ) -> Result<Vec<Measured>, LimitReached> {
        let times = session.exchange(pairs, self.bytes)?;
        self.compare(&times);
        Ok(times)
    }

    pub fn slowness(&self, &(a, b, time): &Measured) -> Measured {
        (a, b, time / self.shortest[a as usize].max(self.shortest[b as usize]))
    }

    pub fn table(&self) -> PairTable {
        let slowness: Vec<Measured> = self.measured.iter().map(|m| self.slowness(m)).collect();
        PairTable::new(self.shortest.len(), &slowness)
    }

    /// The groups that explain the slowness. Two pairs that share an uplink have a slowness of 2, also if no two
    /// pairs did so until now.
    pub fn partitions(&self, agreement: f64) -> Vec<Partition> {
        let mut found = partitions(&self.table(), RATIO, agreement);
        found.iter_mut().for_each(|p| p.threshold = p.threshold.min(SLOWEST_INSIDE));
        found
    }

    /// Whether the pairs that were measured leave no doubt about the groups, although some pairs are missing: all
    /// groups have the same number of hosts, which a group that is still in two parts would not have, and every two
    /// groups have several pairs.
    pub fn show_clear_groups(&self) -> bool {
        let table = self.table();
        let Some(best) = partitions(&table, RATIO, CLEAR).into_iter().next() else { return false };
        let groups = count(&best.group);
        let mut sizes = vec![0usize; groups];
        best.group.iter().for_each(|&group| sizes[group as usize] += 1);
        let mut pairs = vec![0usize; groups * groups];
        for (a, b, _) in table.known() {
            let (a, b) = (best.group[a] as usize, best.group[b] as usize);
            pairs[a.min(b) * groups + a.max(b)] += 1;
        }
        let is_known = |a: usize, b: usize| a == b || pairs[a * groups + b] >= PAIRS_OF_GROUPS;
        sizes.iter().all(|&size| size == sizes[0])
            && (0..groups).all(|b| (0..b).all(|a| is_known(a, b)))
    }

    /// Rounds of a few pairs each, in which every host takes part twice, so that the shortest time of a host is not
    /// that of a shared link: the uplinks of leaf switches carry one sixteenth of what their hosts could send.
    pub fn sparse(&mut self, session: &mut Session) -> Result<(), LimitReached> {
        for _ in 0..SPARSE_PASSES {
            let pairs = random_pairs(&session.present(), &mut session.random);
            for some in pairs.chunks(pairs.len().div_ceil(SPARSE_ROUNDS).max(1)) {
                self.run(session, some)?;
            }
        }
        Ok(())
    }

    /// All pairs that were measured in rounds with all hosts, and whether they are near at a threshold.
    pub fn near(&self, threshold: f64) -> Vec<(u32, u32, bool)> {
        let slowness = self.measured.iter().map(|m| self.slowness(m));
        slowness.map(|(a, b, value)| (a, b, value <= threshold)).collect()
    }

    /// The thresholds between the levels, the one of the outermost level first; empty if hardly any pair was slow.
    pub fn cuts(&self) -> Vec<f64> {
        let values: Vec<f64> = self.measured.iter().map(|m| self.slowness(m).2).collect();
        let slow = values.iter().filter(|&&value| value > SLOWEST_INSIDE).count();
        if (slow as f64) < FEWEST_SLOW * values.len() as f64 {
            return Vec::new();
        }
        let mut cuts = thresholds(&values);
        // Noise may hide the border of the pairs below one leaf switch. Where it is, is known nevertheless.
        match cuts.first_mut() {
            Some(lowest) if *lowest < 2.0 * SLOWEST_INSIDE => *lowest = lowest.min(SLOWEST_INSIDE),
            _ => cuts.insert(0, RATIO),
        }
        cuts.reverse();
        cuts
    }

    /// The thresholds of [`Self::cuts`], and those that show only if the pairs of every two known groups count together:
    /// medians of several pairs have less noise.
    pub fn cuts_around(&self, known: Option<&Vec<u32>>) -> Vec<f64> {
        let mut cuts = self.cuts();
        let Some(groups) = known.filter(|_| !cuts.is_empty()) else { return cuts };
        let mut of_groups = BTreeMap::<(u32, u32), Vec<f64>>::new();
        for m in &self.measured {
            let (a, b, value) = self.slowness(m);
            let (a, b) = (groups[a as usize], groups[b as usize]);
            of_groups.entry((a.min(b), a.max(b))).or_default().push(value);
        }
        let medians = of_groups.iter_mut().filter(|(pair, _)| pair.0 != pair.1);
        let medians: Vec<f64> = medians.filter_map(|(_, values)| median(values)).collect();
        for cut in thresholds(&medians) {
            if cuts.iter().all(|other| cut.max(*other) > RATIO_OF_CUTS * cut.min(*other)) {
                cuts.push(cut);
            }
        }
        cuts.arrange_by(|a, b| b.total_cmp(a));
        cuts
    }

    /// The threshold between the usual slowness inside groups and the low ones of pairs that only the region joins.
    pub fn threshold_of(&self, group: &[u32], region: &[u32]) -> Option<f64> {
        let (mut inside, mut across) = (Vec::new(), Vec::new());
        for m in &self.measured {
            let (a, b, value) = self.slowness(m);
            let (a, b) = (a as usize, b as usize);
            match (group[a] == group[b], region[a] == region[b]) {
                (true, _) => inside.push(value),
                (false, true) => across.push(value),
                (false, false) => {}
            }
        }
        let usual = median(&mut inside)?;
        across.arrange_by(f64::total_cmp);
        let low = across.get(across.len() / 10).copied()?;
        (low > usual).then(|| (usual * low).sqrt())
    }

    /// Moves each host to the group of its region whose hosts are near to it most clearly: a component that was merged
    /// wrongly, when it had few hosts, stays wrong until here. The groups are numbered anew.
    pub fn move_hosts(&self, group: &mut Vec<u32>, region: &[u32], threshold: f64) {
        let mut others: Vec<Vec<(u32, i32)>> = vec![Vec::new(); group.len()];
        for m in &self.measured {
            let (a, b, value) = self.slowness(m);
            if region[a as usize] == region[b as usize] {
                let vote = if value <= threshold { 1 } else { -1 };
                others[a as usize].push((b, vote));
                others[b as usize].push((a, vote));
            }
        }
        for _ in 0..MOVES {
            for host in 0..group.len() {
                let mut votes = BTreeMap::<u32, i32>::new();
                for &(other, vote) in &others[host] {
                    *votes.entry(group[other as usize]).or_default() += vote;
                }
                let own = votes.get(&group[host]).copied().unwrap_or(0);
                if let Some((&best, _)) = votes.iter().filter(|v| *v.1 > own).max_by_key(|v| v.1) {
                    group[host] = best;
                }
            }
        }
        *group = by_first_appearance(group.iter().copied()).0;
    }

    /// For each level and for the hosts at the end: bytes per second of the link above a group, as far as the exchanges
    /// until now tell. Where they are used, there was no time to measure it ([`super::rates`]).
    ///
    /// In rounds of all hosts, the pairs that first differ in a level share the link above a group with as many others as
    /// hosts of the group are in such pairs.
    pub fn bandwidths(&self, levels: &[Vec<u32>]) -> Vec<f64> {
        let mut rates = vec![Vec::new(); levels.len()];
        let mut below = vec![0usize; levels.len()];
        for &(a, b, time) in &self.measured {
            let differs = |level: &Vec<u32>| level[a as usize] != level[b as usize];
            let first = levels.iter().position(differs).unwrap_or(levels.len());
            rates
                .iter_mut()
                .skip(first)
                .take(1)
                .for_each(|list| list.push(self.bytes as f64 / time));
            below.iter_mut().take(first + 1).for_each(|pairs| *pairs += 1);
        }
        let mut found = Vec::with_capacity(levels.len() + 1);
        for (k, level) in levels.iter().enumerate() {
            let hosts = level.len() as f64 / count(level).max(1) as f64;
            let crossing = hosts * rates[k].len() as f64 / below[k].max(1) as f64;
            let Some(rate) = median(&mut rates[k]) else { return Vec::new() };
            found.push(rate * crossing.max(1.0));
        }
        let alone = self.shortest.iter().filter(|time| time.is_finite());
        let mut alone: Vec<f64> = alone.map(|time| self.bytes as f64 / time).collect();
        found.extend(median(&mut alone));
        if found.len() == levels.len() + 1 { found } else { Vec::new() }
    }

    /// One pair after the other, so that the shortest time of a host is not that of a shared link.
    pub fn alone(&mut self, session: &mut Session) -> Result<(), LimitReached> {
        for pair in random_pairs(&session.present(), &mut session.random) {
            self.run(session, &[pair])?;
        }
        Ok(())
    }
}
