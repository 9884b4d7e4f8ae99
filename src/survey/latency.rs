//! Latency: the round-trip time of a small message grows with the number of switches on the way.
//!
//! The shortest of several round trips counts, because everything that disturbs a message makes it later and
//! never earlier.

use super::matching::{pairs_across, pairs_inside, random_pairs, round_robin, shuffle};
use super::merging::Merging;
use super::modes::thresholds;
use super::partition::{Agreement, PairTable, Partition, are_distinct, partitions, refines};
use super::session::{LimitReached, Measured, Session};
use super::surveyed::count;

/// The latency across switches is at least so many times that below one.
const RATIO: f64 = 1.1;
/// Rounds of the held-out measurement.
const HELD_OUT: usize = 4;
/// Of its pairs, at least this share agrees with the groups. More is asked for than of exchanges, because
/// latencies do not depend on what other pairs do.
const VERIFIED: f64 = 0.85;
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
            let held_out = verify(session, &partition.group, partition.threshold)?.share(2);
            if held_out >= VERIFIED {
                counted.push(Partition { agreement: held_out, ..partition });
            }
        }
    }
    counted.sort_by_key(|partition| count(&partition.group));
    counted.into_iter().for_each(|partition| levels.add(partition.group, partition.agreement));
    Ok(levels)
}

/// Compares groups with measurements that had no part in finding them.
fn verify(
    session: &mut Session,
    groups: &[u32],
    threshold: f64,
) -> Result<Agreement, LimitReached> {
    let group = |host: u32| groups[host as usize];
    let mut agreement = Agreement::default();
    for round in 0..HELD_OUT {
        let hosts = session.present();
        let most = |size: usize| if round % 2 == 0 { size } else { 0 };
        let (mut pairs, left) = pairs_inside(&hosts, group, most, &mut session.random);
        pairs.extend(pairs_across(&left, group, &mut session.random));
        for (a, b, time) in session.ping(&pairs)? {
            agreement.add(group(a) == group(b), time <= threshold);
        }
    }
    Ok(agreement)
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
        let held_out = verify(session, &groups, threshold)?.share(2);
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
