//! Contention between many hosts: groups of hosts that do not slow each other down, from some of the pairs.
//!
//! All hosts exchange in random pairs, which shows the levels of slowness. Then groups are found level by level, the
//! outermost first, by merging hosts whose pairs are not slow while all others load the uplinks.

use super::contention::{AGAIN, VERIFIED, verify};
use super::exchanges::Exchanges;
use super::matching::{pairs_across, random_pairs, shuffle};
use super::merging::Merging;
use super::partition::{Agreement, Partition, improved};
use super::session::{LimitReached, Session};
use super::surveyed::count;
use crate::base::numbering::by_first_appearance;
use std::collections::{BTreeMap, HashSet};

/// The same for groups of switches: what looks like a second level may be noise, if there are many leaf switches.
const VERIFIED_OUTSIDE: f64 = 0.9;
const VERIFIED_AROUND: f64 = 0.75;
/// Up to so many hosts, most pairs have been measured by the time that there are groups, so that all of them can be
/// looked at together.
const DENSE: usize = 128;
/// Random rounds from which the threshold is taken if there are too many hosts for all pairs.
const POOL: usize = 12;

/// The groups of many hosts in each level of switches that is not `known` from latencies, outermost first, from some of
/// the pairs.
///
/// Where known groups are inside the new ones, or around them, as far as the first pairs say, they stay whole.
pub(super) fn of_some_pairs(
    session: &mut Session,
    exchanges: &mut Exchanges,
    known: &[Vec<u32>],
) -> Result<Vec<Partition>, LimitReached> {
    exchanges.sparse(session)?;
    for _ in 0..POOL {
        let pairs = random_pairs(&session.present(), &mut session.random);
        let times = exchanges.run(session, &pairs)?;
        exchanges.measured.extend(times);
    }
    let mut found: Vec<Partition> = Vec::new();
    let cuts = exchanges.cuts_around(known.last());
    for (k, &threshold) in cuts.iter().enumerate() {
        let near = exchanges.near(threshold);
        if known.iter().any(|level| shares(&near, level).are_same()) {
            continue;
        }
        let around = known.iter().filter(|level| shares(&near, level).is_around());
        let hosts = exchanges.shortest.len();
        let both = |region: Vec<u32>, level: &Vec<u32>| {
            by_first_appearance(region.into_iter().zip(level.iter().copied())).0
        };
        let region = around.chain(found.iter().map(|p| &p.group)).fold(vec![0; hosts], both);
        let inside = known.iter().find(|level| shares(&near, level).is_inside());
        let start = |region: &[u32]| {
            let mut merging = Merging::new(hosts, region);
            inside.into_iter().for_each(|groups| merging.begin_with(groups));
            merging
        };
        let group = merged(session, exchanges, start(&region), threshold)?;
        // The groups show better where the threshold should be, and then the threshold shows the groups better.
        let threshold = exchanges.threshold_of(&group, &region).unwrap_or(threshold);
        let mut group = merged(session, exchanges, start(&region), threshold)?;
        if inside.is_none() {
            exchanges.move_hosts(&mut group, &region, threshold);
        }
        join_groups(session, exchanges, &mut group, &region, threshold)?;
        if hosts <= DENSE && inside.is_none() && region.iter().all(|&one| one == 0) {
            group = improved(&exchanges.table(), group, threshold);
        }
        let mut sizes = vec![0usize; count(&group)];
        group.iter().for_each(|&group| sizes[group as usize] += 1);
        let is_new = count(&group) > count(&region);
        if !is_new || sizes.iter().filter(|&&size| size >= 2).count() < 2 {
            continue;
        }
        let mut partition = Partition { group, threshold, agreement: 0.0, overlap: 0.0 };
        partition.agreement =
            verify(session, exchanges, &partition, Agreement::default())?.share(2);
        let least = match inside {
            _ if k + 1 == cuts.len() => VERIFIED,
            // Known groups that stay whole: few mistakes are possible.
            Some(_) => VERIFIED_AROUND,
            None => VERIFIED_OUTSIDE,
        };
        if partition.agreement >= least {
            found.push(partition);
        }
    }
    Ok(found)
}

/// How pairs that are near, or not, agree with known groups.
#[derive(Debug, Clone, Copy, Default)]
struct Shares {
    /// Pairs inside groups, and those of them that are near.
    inside: usize,
    near_inside: usize,
    /// Near pairs of all hosts.
    near: usize,
}

/// Pairs of each kind without which nothing can be said.
const FEWEST: usize = 6;
/// The part of the pairs that agrees.
const MOST_PAIRS: f64 = 0.85;

impl Shares {
    /// The known groups have almost all near pairs in them.
    fn is_around(self) -> bool {
        self.near >= FEWEST && self.near_inside as f64 >= MOST_PAIRS * self.near as f64
    }

    /// Almost all pairs inside the known groups are near.
    fn is_inside(self) -> bool {
        self.inside >= FEWEST && self.near_inside as f64 >= MOST_PAIRS * self.inside as f64
    }

    fn are_same(self) -> bool {
        self.is_around() && self.is_inside()
    }
}

fn shares(pairs: &[(u32, u32, bool)], groups: &[u32]) -> Shares {
    let mut shares = Shares::default();
    for &(a, b, is_near) in pairs {
        let is_inside = groups[a as usize] == groups[b as usize];
        shares.inside += usize::from(is_inside);
        shares.near += usize::from(is_near);
        shares.near_inside += usize::from(is_inside && is_near);
    }
    shares
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

/// The groups that follow from components whose pairs are tested: pairs whose slowness is below a threshold are near.
fn merged(
    session: &mut Session,
    exchanges: &mut Exchanges,
    mut merging: Merging,
    threshold: f64,
) -> Result<Vec<u32>, LimitReached> {
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
