//! Contention: hosts below the same switch exchange at full rate whatever the others do, and hosts below
//! different switches share their uplinks with the others.
//!
//! In every round all hosts exchange in pairs at the same time. The *slowness* of a pair is its time divided by
//! the shortest time that the slower one of the two hosts ever had. It is about 1 for hosts of one leaf switch.
//! For others it is the number of pairs that share an uplink, if the uplink has the bandwidth of one host. This
//! works where all hosts have the same latency, and it finds the level of switches whose uplinks are tapered.

use super::matching::{pairs_across, pairs_inside, random_pairs, round_robin, shuffle};
use super::merging::Merging;
use super::modes::thresholds;
use super::partition::{Agreement, PairTable, Partition, median, partitions};
use super::session::{LimitReached, Measured, Session};
use super::surveyed::count;
use crate::base::numbering::by_first_appearance;
use crate::base::sorting::Arrange;
use std::collections::{BTreeMap, HashSet};

/// The slowness across switches is at least so many times that below one.
const RATIO: f64 = 1.5;
/// From this share on, groups are worth a closer look.
const LOOSE: f64 = 0.5;
/// Fewer hosts than a third of this are measured several times.
const ENOUGH: usize = 24;
/// Rounds of the held-out measurement.
const HELD_OUT: usize = 6;
/// Of its pairs, at least this share agrees with the groups.
pub(super) const VERIFIED: f64 = 0.7;
/// The same for groups of switches: what looks like a second level may be noise, if there are many leaf switches.
const VERIFIED_OUTSIDE: f64 = 0.9;
/// The largest slowness that counts as that of two hosts below one switch.
const SLOWEST_INSIDE: f64 = 1.6;
/// Rounds in which pairs in doubt are measured again.
const AGAIN: usize = 6;
/// Groupings that are verified, the best first.
const TRIED: usize = 2;
/// If there are too many hosts for all pairs: how often each host takes part in rounds of few pairs, and in how many
/// rounds all hosts do once.
const SPARSE_PASSES: usize = 2;
const SPARSE_ROUNDS: usize = 16;
/// How often all hosts are moved to the group that fits best.
const MOVES: usize = 3;
/// In random pairs of a network with switches, at least this part is slow.
const FEWEST_SLOW: f64 = 0.15;
/// Random rounds from which the threshold is taken if there are too many hosts for all pairs.
const POOL: usize = 12;

/// Exchanges of one size, and the shortest time of each host.
pub(super) struct Exchanges {
    pub bytes: u64,
    shortest: Vec<f64>,
    measured: Vec<Measured>,
}

impl Exchanges {
    pub fn new(hosts: usize, bytes: u64) -> Exchanges {
        Exchanges { bytes, shortest: vec![f64::INFINITY; hosts], measured: Vec::new() }
    }

    fn run(
        &mut self,
        session: &mut Session,
        pairs: &[(u32, u32)],
    ) -> Result<Vec<Measured>, LimitReached> {
        let times = session.exchange(pairs, self.bytes)?;
        for &(a, b, time) in &times {
            for host in [a as usize, b as usize] {
                self.shortest[host] = self.shortest[host].min(time);
            }
        }
        Ok(times)
    }

    fn slowness(&self, &(a, b, time): &Measured) -> Measured {
        (a, b, time / self.shortest[a as usize].max(self.shortest[b as usize]))
    }

    fn table(&self) -> PairTable {
        let slowness: Vec<Measured> = self.measured.iter().map(|m| self.slowness(m)).collect();
        PairTable::new(self.shortest.len(), &slowness)
    }

    /// The groups that explain the slowness. Two pairs that share an uplink have a slowness of 2, also if no two
    /// pairs did so until now.
    fn partitions(&self, agreement: f64) -> Vec<Partition> {
        let mut found = partitions(&self.table(), RATIO, agreement);
        found.iter_mut().for_each(|p| p.threshold = p.threshold.min(SLOWEST_INSIDE));
        found
    }

    /// Rounds of a few pairs each, in which every host takes part twice, so that the shortest time of a host is not
    /// that of a shared link: the uplinks of leaf switches carry one sixteenth of what their hosts could send.
    fn sparse(&mut self, session: &mut Session) -> Result<(), LimitReached> {
        for _ in 0..SPARSE_PASSES {
            let pairs = random_pairs(&session.present(), &mut session.random);
            for some in pairs.chunks(pairs.len().div_ceil(SPARSE_ROUNDS).max(1)) {
                self.run(session, some)?;
            }
        }
        Ok(())
    }

    /// The thresholds between the levels, the one of the outermost level first; empty if hardly any pair was slow.
    fn cuts(&self) -> Vec<f64> {
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

    /// The threshold between the usual slowness inside groups and the low ones of pairs that only the region joins.
    fn threshold_of(&self, group: &[u32], region: &[u32]) -> Option<f64> {
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
    fn move_hosts(&self, group: &mut Vec<u32>, region: &[u32], threshold: f64) {
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

    /// One pair after the other, so that the shortest time of a host is not that of a shared link.
    fn alone(&mut self, session: &mut Session) -> Result<(), LimitReached> {
        for pair in random_pairs(&session.present(), &mut session.random) {
            self.run(session, &[pair])?;
        }
        Ok(())
    }
}

/// The groups of few hosts, from exchanges of all pairs; `None` if there are none.
pub(super) fn of_all_pairs(
    session: &mut Session,
    exchanges: &mut Exchanges,
) -> Result<Option<Partition>, LimitReached> {
    exchanges.alone(session)?;
    let mut hosts = session.present();
    for _ in 0..passes(hosts.len()) {
        shuffle(&mut hosts, &mut session.random);
        for round in round_robin(&hosts) {
            let times = exchanges.run(session, &round)?;
            exchanges.measured.extend(times);
        }
    }
    let found = exchanges.partitions(LOOSE);
    if let Some(best) = found.first().filter(|best| best.agreement < 1.0) {
        measure_again(session, exchanges, best)?;
    }
    for mut partition in exchanges.partitions(VERIFIED).into_iter().take(TRIED) {
        let mut held_out = verify(session, exchanges, &partition, Agreement::default())?;
        if (LOOSE..VERIFIED).contains(&held_out.share(2)) {
            held_out = verify(session, exchanges, &partition, held_out)?;
        }
        if held_out.share(2) >= VERIFIED {
            partition.agreement = held_out.share(2);
            return Ok(Some(partition));
        }
    }
    Ok(None)
}

/// How often each pair is measured: an odd number of times, because the median counts. A few hosts have only a few
/// pairs.
fn passes(hosts: usize) -> usize {
    match ENOUGH / hosts.max(1) {
        0..3 => 1,
        3..5 => 3,
        _ => 5,
    }
}

/// Measures pairs two or four times again that may be in the wrong place: far pairs of one group, all pairs of two
/// groups that have a near pair between them, and pairs of groups that are smaller than the largest. All other hosts
/// load the uplinks meanwhile.
fn measure_again(
    session: &mut Session,
    exchanges: &mut Exchanges,
    partition: &Partition,
) -> Result<(), LimitReached> {
    let group = |host: u32| partition.group[host as usize];
    let table = exchanges.table();
    let pairs: Vec<(u32, u32, bool)> = table
        .known()
        .map(|(a, b, value)| (a as u32, b as u32, value <= partition.threshold))
        .collect();
    let groups = |a: u32, b: u32| (group(a).min(group(b)), group(a).max(group(b)));
    let touching: HashSet<(u32, u32)> =
        pairs.iter().filter(|pair| pair.2).map(|&(a, b, _)| groups(a, b)).collect();
    // Hosts of groups smaller than the largest may belong together, although their pairs were slow by accident.
    let mut sizes = vec![0; partition.group.len()];
    partition.group.iter().for_each(|&g| sizes[g as usize] += 1);
    let most = sizes.iter().max().copied().unwrap_or(0);
    let is_small = |host: u32| sizes[group(host) as usize] < most;
    let is_doubtful = |&&(a, b, is_near): &&(u32, u32, bool)| match group(a) == group(b) {
        true => !is_near,
        false => touching.contains(&groups(a, b)) || is_small(a) && is_small(b),
    };
    let doubtful: Vec<(u32, u32)> =
        pairs.iter().filter(is_doubtful).map(|&(a, b, _)| (a, b)).collect();
    let times = if doubtful.len() <= partition.group.len() { 4 } else { 2 };
    for _ in 0..times {
        let mut open = doubtful.clone();
        shuffle(&mut open, &mut session.random);
        for _ in 0..AGAIN {
            let mut left = session.present();
            let mut pairs = Vec::new();
            open.retain(|&(a, b)| {
                let free = left.contains(&a) && left.contains(&b);
                if free {
                    left.retain(|&host| host != a && host != b);
                    pairs.push((a, b));
                }
                !free
            });
            if pairs.is_empty() {
                break;
            }
            let tested: HashSet<u32> = pairs.iter().map(|&(a, _)| a).collect();
            pairs.extend(pairs_across(&left, group, &mut session.random));
            let times = exchanges.run(session, &pairs)?;
            exchanges.measured.extend(times.into_iter().filter(|(a, ..)| tested.contains(a)));
        }
    }
    Ok(())
}

/// Compares groups with measurements that had no part in finding them: rounds with some pairs inside groups,
/// while the other hosts exchange across groups. Adds them to an earlier agreement.
fn verify(
    session: &mut Session,
    exchanges: &mut Exchanges,
    partition: &Partition,
    mut agreement: Agreement,
) -> Result<Agreement, LimitReached> {
    let group = |host: u32| partition.group[host as usize];
    for round in 0..HELD_OUT.max(4 * ENOUGH / partition.group.len()) {
        let hosts = session.present();
        let mut coin = session.random.fork(round as u64);
        // A group of two is inside or across as a whole. Not all of them are inside at once: then the processors
        // of emulated hosts, and not the links, would limit the rates.
        let most = |size: usize| match (round, size) {
            (0, _) => 0,
            (_, 2) => coin.below(2),
            // Pairs inside do not load the uplinks, so that there must be few if uplinks are hardly tapered.
            _ => (size / 16).max(1),
        };
        let (mut pairs, left) = pairs_inside(&hosts, group, most, &mut session.random);
        pairs.extend(pairs_across(&left, group, &mut session.random));
        for time in exchanges.run(session, &pairs)? {
            let (a, b, slowness) = exchanges.slowness(&time);
            agreement.add(group(a) == group(b), slowness <= partition.threshold);
        }
    }
    Ok(agreement)
}

/// The groups of many hosts in each level of switches, outermost first, from some of the pairs.
pub(super) fn of_some_pairs(
    session: &mut Session,
    exchanges: &mut Exchanges,
) -> Result<Vec<Partition>, LimitReached> {
    exchanges.sparse(session)?;
    for _ in 0..POOL {
        let pairs = random_pairs(&session.present(), &mut session.random);
        let times = exchanges.run(session, &pairs)?;
        exchanges.measured.extend(times);
    }
    let mut found: Vec<Partition> = Vec::new();
    let cuts = exchanges.cuts();
    for (k, &threshold) in cuts.iter().enumerate() {
        let hosts = exchanges.shortest.len();
        let region = found.last().map_or_else(|| vec![0; hosts], |outer| outer.group.clone());
        let group = merged(session, exchanges, &region, threshold)?;
        // The groups show better where the threshold should be, and then the threshold shows the groups better.
        let threshold = exchanges.threshold_of(&group, &region).unwrap_or(threshold);
        let mut group = merged(session, exchanges, &region, threshold)?;
        exchanges.move_hosts(&mut group, &region, threshold);
        join_groups(session, exchanges, &mut group, &region, threshold)?;
        let mut sizes = vec![0usize; count(&group)];
        group.iter().for_each(|&group| sizes[group as usize] += 1);
        let is_new = count(&group) > count(&region);
        if !is_new || sizes.iter().filter(|&&size| size >= 2).count() < 2 {
            continue;
        }
        let mut partition = Partition { group, threshold, agreement: 0.0, overlap: 0.0 };
        partition.agreement =
            verify(session, exchanges, &partition, Agreement::default())?.share(2);
        let least = if k + 1 == cuts.len() { VERIFIED } else { VERIFIED_OUTSIDE };
        if partition.agreement >= least {
            found.push(partition);
        }
    }
    Ok(found)
}

/// Joins groups of one region that belong together, although their first pairs were slow by accident: pairs of groups
/// that had a near pair, and of groups smaller than most, are measured again while all other hosts load the uplinks.
fn join_groups(
    session: &mut Session,
    exchanges: &mut Exchanges,
    group: &mut Vec<u32>,
    region: &[u32],
    threshold: f64,
) -> Result<(), LimitReached> {
    let mut members = vec![Vec::new(); count(group)];
    (0u32..).zip(group.iter()).for_each(|(host, &g)| members[g as usize].push(host));
    let usual = members[group[group.len() / 2] as usize].len();
    let mut open: BTreeMap<(u32, u32), Votes> = BTreeMap::new();
    for m in &exchanges.measured {
        let (a, b, value) = exchanges.slowness(m);
        let (a, b) = (a as usize, b as usize);
        let (low, high) = (group[a].min(group[b]), group[a].max(group[b]));
        let smallest = members[low as usize].len().min(members[high as usize].len());
        if low != high && region[a] == region[b] && value <= threshold && smallest < usual {
            open.entry((low, high)).or_default();
        }
    }
    for _ in 0..AGAIN {
        let mut left = session.present();
        shuffle(&mut left, &mut session.random);
        let mut pairs = Vec::new();
        for &(low, high) in open.keys() {
            let mut free = |g: u32| {
                let at = left.iter().position(|&host| group[host as usize] == g)?;
                Some(left.swap_remove(at))
            };
            pairs.extend(free(low).zip(free(high)));
        }
        if pairs.is_empty() {
            return Ok(());
        }
        let tested: HashSet<u32> = pairs.iter().map(|&(a, _)| a).collect();
        pairs.extend(pairs_across(&left, |host| group[host as usize], &mut session.random));
        let times = exchanges.run(session, &pairs)?;
        for m in times.iter().filter(|m| tested.contains(&m.0)) {
            let (a, b, value) = exchanges.slowness(m);
            let (a, b) = (group[a as usize], group[b as usize]);
            if let Some(votes) = open.get_mut(&(a.min(b), a.max(b))) {
                votes.count(value <= threshold);
            }
        }
        exchanges.measured.extend(times);
    }
    for ((low, high), votes) in open {
        if votes.are_near() {
            let (low, high) = (group[members[low as usize][0] as usize], members[high as usize][0]);
            let high = group[high as usize];
            group.iter_mut().filter(|g| **g == high).for_each(|g| *g = low);
        }
    }
    *group = by_first_appearance(group.iter().copied()).0;
    Ok(())
}

/// Pairs of two groups.
#[derive(Debug, Clone, Copy, Default)]
struct Votes {
    near: u32,
    far: u32,
}

impl Votes {
    fn count(&mut self, is_near: bool) {
        self.near += u32::from(is_near);
        self.far += u32::from(!is_near);
    }

    fn are_near(self) -> bool {
        self.near >= 2 && self.near > self.far
    }
}

/// The groups of hosts of the same region whose slowness is below a threshold.
fn merged(
    session: &mut Session,
    exchanges: &mut Exchanges,
    region: &[u32],
    threshold: f64,
) -> Result<Vec<u32>, LimitReached> {
    let mut merging = Merging::new(region.len(), region);
    for m in &exchanges.measured {
        merging.note(m.0, m.1, exchanges.slowness(m).2 <= threshold);
    }
    for part in 0..2 {
        loop {
            let hosts = session.present();
            let mut pairs = merging.next_pairs(&hosts, &mut session.random);
            if pairs.is_empty() {
                break;
            }
            // The others load the uplinks.
            let tested: HashSet<u32> = pairs.iter().flat_map(|&(a, b)| [a, b]).collect();
            let left: Vec<u32> = hosts.into_iter().filter(|host| !tested.contains(host)).collect();
            let number = |host: u32| merging.component(host);
            pairs.extend(pairs_across(&left, number, &mut session.random));
            let times = exchanges.run(session, &pairs)?;
            for m in times.iter().filter(|m| tested.contains(&m.0)) {
                merging.note(m.0, m.1, exchanges.slowness(m).2 <= threshold);
            }
            exchanges.measured.extend(times);
        }
        if part == 0 {
            merging.test_again(1.0);
        }
    }
    Ok(merging.groups())
}
