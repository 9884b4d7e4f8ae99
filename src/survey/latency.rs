//! Latency: the round-trip time of a small message grows with the number of switches on the way.
//!
//! The shortest of several round trips counts, because everything that disturbs a message makes it later and
//! never earlier.

use super::matching::{pairs_across, pairs_inside, random_pairs, round_robin, shuffle};
use super::merging::Merging;
use super::modes::thresholds;
use super::partition::{
    Agreement, PairTable, Partition, are_distinct, median, partitions, refines,
};
use super::session::{LimitReached, Measured, Session};
use super::surveyed::count;
use crate::base::sorting::Arrange;

/// The latency across switches is at least so many times that below one.
const RATIO: f64 = 1.1;
/// Rounds of the held-out measurement; with few hosts more of them, so that there are so many pairs.
const HELD_OUT: usize = 6;
const PAIRS_OF_FEW: usize = 96;
/// The share of its rounds in which pairs across groups are slower than pairs inside them.
const ROUNDS_THAT_DIFFER: f64 = 0.8;
/// Of its pairs, at least this share agrees with the groups. More is asked for than of exchanges, because
/// latencies do not depend on what other pairs do.
const VERIFIED: f64 = 0.85;
/// The part of the time of the survey after which no further pairs are compared. Where pings take so long, processes
/// wait for their processors, and latencies tell nothing about switches.
const PINGS_END: f64 = 0.12;
/// Levels of switches.
const MOST_LEVELS: usize = 4;
/// Rounds in which the groups of a level are found.
const MOST_ROUNDS: usize = 2048;

/// Levels that were found, outermost first, and the least agreement of a level.
#[derive(Debug, Clone, Default)]
pub(super) struct Levels {
    pub groups: Vec<Vec<u32>>,
    pub agreement: f64,
    /// All round-trip times that were measured.
    pub measured: Vec<Measured>,
}

impl Levels {
    /// Adds groups that are inside those of all levels until now.
    fn add(&mut self, groups: Vec<u32>, agreement: f64) {
        let before = if self.groups.is_empty() { 1.0 } else { self.agreement };
        self.agreement = agreement.min(before);
        self.groups.push(groups);
    }
}

/// The levels of few hosts, from the latencies of all pairs.
pub(super) fn of_all_pairs(session: &mut Session) -> Result<Levels, LimitReached> {
    let mut hosts = session.present();
    shuffle(&mut hosts, &mut session.random);
    let mut levels = Levels::default();
    for round in round_robin(&hosts) {
        if session.is_past(PINGS_END) {
            break;
        }
        levels.measured.extend(session.ping(&round)?);
    }
    let table = PairTable::new(hosts.len(), &levels.measured);
    // The best first. Others count if they are inside or around those that count.
    let mut counted: Vec<Partition> = Vec::new();
    for partition in partitions(&table, RATIO, VERIFIED) {
        let fits = |known: &Partition| {
            let (fine, coarse) = match count(&partition.group) > count(&known.group) {
                true => (&partition.group, &known.group),
                false => (&known.group, &partition.group),
            };
            refines(fine, coarse) && are_distinct(&table, fine, coarse, RATIO)
        };
        if counted.len() < MOST_LEVELS && counted.iter().all(fits) {
            let held_out = verify(session, &partition.group, partition.threshold)?;
            if held_out >= VERIFIED {
                counted.push(Partition { agreement: held_out, ..partition });
            }
        }
    }
    counted.arrange_by_key(|partition| count(&partition.group));
    counted.into_iter().for_each(|partition| levels.add(partition.group, partition.agreement));
    Ok(levels)
}

/// Compares groups with measurements that had no part in finding them. Returns the smaller of the shares of pairs
/// inside groups that are near and of pairs across groups that are far; 0 if the groups are not confirmed.
///
/// What disturbs a whole round makes all its pairs slow. Therefore a round has pairs of both kinds, where this is
/// possible, and most rounds must show the difference by themselves. Two groups of two hosts have only rounds of one
/// kind, in a random order; there are many of them.
fn verify(session: &mut Session, groups: &[u32], threshold: f64) -> Result<f64, LimitReached> {
    let group = |host: u32| groups[host as usize];
    let mut agreement = Agreement::default();
    let (mut rounds, mut differ) = (0, 0);
    for round in 0..HELD_OUT.max(PAIRS_OF_FEW / groups.len()) {
        let hosts = session.present();
        let mut coin = session.random.fork(round as u64);
        let all_inside = coin.below(2);
        let most = |size: usize| match (hosts.len(), size) {
            (4, _) => all_inside,
            (_, 2) => coin.below(2),
            _ => (size / 4).max(1),
        };
        let (mut pairs, left) = pairs_inside(&hosts, group, most, &mut session.random);
        pairs.extend(pairs_across(&left, group, &mut session.random));
        let (mut inside, mut across) = (Vec::new(), Vec::new());
        for (a, b, time) in session.ping(&pairs)? {
            let is_inside = group(a) == group(b);
            agreement.add(is_inside, time <= threshold);
            if is_inside { inside.push(time) } else { across.push(time) }
        }
        if let Some((across, inside)) = median(&mut across).zip(median(&mut inside)) {
            rounds += 1;
            differ += usize::from(across >= RATIO * inside);
        }
    }
    let confirmed = differ as f64 >= ROUNDS_THAT_DIFFER * rounds as f64;
    Ok(if confirmed { agreement.share(2) } else { 0.0 })
}

/// The levels of many hosts, from the latencies of some pairs: random ones show which levels there are, and then
/// groups are found level by level, the outermost first.
pub(super) fn of_some_pairs(session: &mut Session) -> Result<Levels, LimitReached> {
    let hosts = session.present().len();
    let mut levels = Levels::default();
    let rounds = 4 + 2 * (usize::BITS - hosts.leading_zeros()) as usize;
    for _ in 0..rounds {
        let pairs = random_pairs(&session.present(), &mut session.random);
        levels.measured.extend(session.ping(&pairs)?);
    }
    let values: Vec<f64> = levels.measured.iter().map(|m| m.2).collect();
    let mut cuts = thresholds(&values);
    cuts.reverse();
    cuts.truncate(MOST_LEVELS);
    for threshold in cuts {
        let region = levels.groups.last().cloned().unwrap_or_else(|| vec![0; hosts]);
        let groups = inside(session, &region, threshold, &mut levels.measured)?;
        let mut sizes = vec![0usize; count(&groups)];
        groups.iter().for_each(|&group| sizes[group as usize] += 1);
        let is_new = count(&groups) > count(&region);
        if !is_new || sizes.iter().filter(|&&size| size >= 2).count() < 2 {
            continue;
        }
        let held_out = verify(session, &groups, threshold)?;
        if held_out >= VERIFIED {
            levels.add(groups, held_out);
        }
    }
    Ok(levels)
}

/// The groups of hosts of the same region whose latency is below a threshold.
fn inside(
    session: &mut Session,
    region: &[u32],
    threshold: f64,
    measured: &mut Vec<Measured>,
) -> Result<Vec<u32>, LimitReached> {
    let mut merging = Merging::new(region.len(), region);
    for &(a, b, time) in measured.iter() {
        merging.note(a, b, time <= threshold);
    }
    for part in 0..2 {
        for _ in 0..MOST_ROUNDS {
            let pairs = merging.next_pairs(&session.present(), &mut session.random);
            if pairs.is_empty() {
                break;
            }
            let times = session.ping(&pairs)?;
            for &(a, b, time) in &times {
                merging.note(a, b, time <= threshold);
            }
            measured.extend(times);
        }
        if part == 0 {
            merging.test_again(0.5);
        }
    }
    Ok(merging.groups())
}
