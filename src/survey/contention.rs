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
use super::partition::{Agreement, PairTable, Partition, partitions};
use super::session::{LimitReached, Measured, Session};

/// The slowness across switches is at least so many times that below one.
const RATIO: f64 = 1.5;
/// Rounds of the held-out measurement.
const HELD_OUT: usize = 6;
/// Of its pairs, at least this share agrees with the groups.
pub(super) const VERIFIED: f64 = 0.7;
/// Rounds in which pairs in doubt are measured again.
const AGAIN: usize = 12;
/// Groupings that are verified, the best first.
const TRIED: usize = 2;
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
    shuffle(&mut hosts, &mut session.random);
    for round in round_robin(&hosts) {
        let times = exchanges.run(session, &round)?;
        exchanges.measured.extend(times);
    }
    let mut found = partitions(&exchanges.table(), RATIO);
    if let Some(best) = found.first().filter(|best| best.agreement < 1.0)
        && measure_again(session, exchanges, best)?
    {
        found = partitions(&exchanges.table(), RATIO);
    }
    for mut partition in found.into_iter().take(TRIED) {
        let held_out = verify(session, exchanges, &partition)?.share(2);
        if held_out >= VERIFIED {
            partition.agreement = held_out;
            return Ok(Some(partition));
        }
    }
    Ok(None)
}

/// Measures pairs again that may be in the wrong place: far pairs of one group, and all pairs of two groups
/// that have a near pair between them. All other hosts load the uplinks meanwhile. Returns whether there were
/// such pairs.
fn measure_again(
    session: &mut Session,
    exchanges: &mut Exchanges,
    partition: &Partition,
) -> Result<bool, LimitReached> {
    let group = |host: u32| partition.group[host as usize];
    let slowness: Vec<Measured> =
        exchanges.measured.iter().map(|m| exchanges.slowness(m)).collect();
    let is_near = |m: &&Measured| m.2 <= partition.threshold;
    let touching: Vec<(u32, u32)> = slowness
        .iter()
        .filter(is_near)
        .map(|&(a, b, _)| (group(a).min(group(b)), group(a).max(group(b))))
        .filter(|(a, b)| a != b)
        .collect();
    let mut doubtful: Vec<(u32, u32)> = slowness
        .iter()
        .filter(|m| {
            let (a, b) = (group(m.0), group(m.1));
            if a == b { !is_near(m) } else { touching.contains(&(a.min(b), a.max(b))) }
        })
        .map(|&(a, b, _)| (a, b))
        .collect();
    if doubtful.is_empty() {
        return Ok(false);
    }
    shuffle(&mut doubtful, &mut session.random);
    let mut again: Vec<Measured> = Vec::new();
    for _ in 0..AGAIN {
        let mut left = session.present();
        let mut pairs = Vec::new();
        doubtful.retain(|&(a, b)| {
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
        let tested = pairs.len();
        pairs.extend(pairs_across(&left, group, &mut session.random));
        let times = exchanges.run(session, &pairs)?;
        again.extend(times.into_iter().filter(|&(a, b, _)| pairs[..tested].contains(&(a, b))));
    }
    let replaced = |m: &Measured| again.iter().any(|n| (n.0, n.1) == (m.0, m.1));
    exchanges.measured.retain(|m| !replaced(m));
    exchanges.measured.extend(again);
    Ok(true)
}

/// Compares groups with measurements that had no part in finding them: rounds with some pairs inside groups,
/// while the other hosts exchange across groups.
fn verify(
    session: &mut Session,
    exchanges: &mut Exchanges,
    partition: &Partition,
) -> Result<Agreement, LimitReached> {
    let group = |host: u32| partition.group[host as usize];
    let mut agreement = Agreement::default();
    for round in 0..HELD_OUT {
        let hosts = session.present();
        let turn = session.random.below(2);
        // A group of two is inside or across as a whole.
        let most = |size: usize| match (round, size) {
            (0, _) => 0,
            (_, 2) => (round + turn) % 2,
            _ => (size / 4).max(1),
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

/// The groups of many hosts, from some of the pairs; `None` if there are none.
pub(super) fn of_some_pairs(
    session: &mut Session,
    exchanges: &mut Exchanges,
) -> Result<Option<Partition>, LimitReached> {
    for _ in 0..POOL {
        let pairs = random_pairs(&session.present(), &mut session.random);
        let times = exchanges.run(session, &pairs)?;
        exchanges.measured.extend(times);
    }
    let values: Vec<f64> = exchanges.measured.iter().map(|m| exchanges.slowness(m).2).collect();
    let Some(&threshold) = thresholds(&values).first() else { return Ok(None) };
    let hosts = exchanges.shortest.len();
    let mut merging = Merging::new(hosts, &vec![0; hosts]);
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
            let tested: std::collections::HashSet<u32> =
                pairs.iter().flat_map(|&(a, b)| [a, b]).collect();
            let left: Vec<u32> = hosts.into_iter().filter(|host| !tested.contains(host)).collect();
            let number = |host: u32| host;
            pairs.extend(pairs_across(&left, number, &mut session.random));
            for m in exchanges.run(session, &pairs)? {
                let (a, b, slowness) = exchanges.slowness(&m);
                if tested.contains(&a) {
                    merging.note(a, b, slowness <= threshold);
                }
            }
        }
        if part == 0 {
            merging.test_small_ones_again();
        }
    }
    let mut partition = Partition { group: merging.groups(), threshold, agreement: 0.0, overlap: 0.0 };
    partition.agreement = verify(session, exchanges, &partition)?.share(2);
    Ok((partition.agreement >= VERIFIED).then_some(partition))
}
