//! Contention: hosts below the same switch exchange at full rate whatever the others do, and hosts below
//! different switches share their uplinks with the others.
//!
//! In every round all hosts exchange in pairs at the same time. The *slowness* of a pair is its time divided by
//! the shortest time that the slower one of the two hosts ever had. It is about 1 for hosts of one leaf switch.
//! For others it is the number of pairs that share an uplink, if the uplink has the bandwidth of one host. This
//! works where all hosts have the same latency, and it finds the level of switches whose uplinks are tapered.

use super::exchanges::Exchanges;
use super::matching::{pairs_across, pairs_inside, round_robin, shuffle};
use super::partition::{Agreement, Partition};
use super::session::{LimitReached, Session};
use std::collections::HashSet;

/// From this share on, groups are worth a closer look.
const LOOSE: f64 = 0.5;
/// Fewer hosts than a third of this are measured several times.
const ENOUGH: usize = 24;
/// Rounds of the held-out measurement.
const HELD_OUT: usize = 6;
/// Of its pairs, at least this share agrees with the groups.
pub(super) const VERIFIED: f64 = 0.7;
/// Rounds in which pairs in doubt are measured again.
pub(super) const AGAIN: usize = 6;
/// Groupings that are verified, the best first.
const TRIED: usize = 2;
/// Parts of the time of the survey after which half of the pairs must be enough, pairs in doubt are not measured again,
/// a grouping that is not confirmed gets no second try, and the pairs of the held-out measurement must be enough, if
/// there are as many as [`FEWEST`] of each kind.
const PAIRS_END: f64 = 0.62;
const DOUBT_ENDS: f64 = 0.8;
const TRIES_END: f64 = 0.82;
const VERIFYING_ENDS: f64 = 0.92;
const FEWEST: usize = 4;
/// Measurements after which the groups may be clear without the other pairs.
const BEFORE_CLEAR: usize = 12;
/// Held-out measurements that end early if all of them agree: so many pairs of hosts.
const PAIRS_THAT_AGREE: usize = 24;
const ROUNDS_THAT_AGREE: usize = 4;

/// The groups of few hosts, from exchanges of all pairs; `None` if there are none.
pub(super) fn of_all_pairs(
    session: &mut Session,
    exchanges: &mut Exchanges,
) -> Result<Option<Partition>, LimitReached> {
    exchanges.alone(session)?;
    let mut hosts = session.present();
    'passes: for _ in 0..passes(hosts.len()) {
        shuffle(&mut hosts, &mut session.random);
        for round in round_robin(&hosts) {
            let times = exchanges.run(session, &round)?;
            exchanges.measured.extend(times);
            let measured = exchanges.measured.len();
            let late = session.is_past(PAIRS_END) && 4 * measured >= hosts.len() * hosts.len();
            if late || measured >= BEFORE_CLEAR && exchanges.show_clear_groups() {
                break 'passes;
            }
        }
    }
    let found = exchanges.partitions(LOOSE);
    let is_clear = exchanges.show_clear_groups();
    if let Some(best) = found.first().filter(|best| best.agreement < 1.0 || !is_clear) {
        measure_again(session, exchanges, best)?;
    }
    for mut partition in exchanges.partitions(VERIFIED).into_iter().take(TRIED) {
        let mut held_out = verify(session, exchanges, &partition, Agreement::default())?;
        if (LOOSE..VERIFIED).contains(&held_out.share(2)) && !session.is_past(TRIES_END) {
            held_out = verify(session, exchanges, &partition, held_out)?;
        }
        if held_out.share(2) >= VERIFIED {
            partition.agreement = held_out.share(2);
            return Ok(Some(partition));
        }
        if session.is_past(TRIES_END) {
            return Err(LimitReached);
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
/// groups that have a near pair between them, and pairs of groups that are together not larger than the largest. All
/// other hosts load the uplinks meanwhile. Pairs that were not measured yet come first.
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
    let size = |host: u32| sizes[group(host) as usize];
    let may_be_one = |a: u32, b: u32| group(a) != group(b) && size(a) + size(b) <= most;
    let is_doubtful = |&&(a, b, is_near): &&(u32, u32, bool)| match group(a) == group(b) {
        true => !is_near,
        false => touching.contains(&groups(a, b)) || may_be_one(a, b),
    };
    let doubtful: Vec<(u32, u32)> =
        pairs.iter().filter(is_doubtful).map(|&(a, b, _)| (a, b)).collect();
    let measured: HashSet<(u32, u32)> =
        pairs.iter().map(|&(a, b, _)| (a.min(b), a.max(b))).collect();
    let present = session.present();
    let all = present.iter().flat_map(|&a| present.iter().map(move |&b| (a, b)));
    let is_new = |&(a, b): &(u32, u32)| a < b && may_be_one(a, b) && !measured.contains(&(a, b));
    let new: Vec<(u32, u32)> = all.filter(is_new).collect();
    let times = if doubtful.len() <= partition.group.len() { 4 } else { 2 };
    for time in 0..times {
        if time > 0 && exchanges.show_clear_groups() {
            break;
        }
        let mut open = doubtful.clone();
        shuffle(&mut open, &mut session.random);
        if time == 0 {
            open.splice(0..0, new.iter().copied());
        }
        for _ in 0..AGAIN {
            if session.is_past(DOUBT_ENDS) {
                return Ok(());
            }
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
/// while the other hosts exchange across groups. Adds them to an earlier agreement. There are fewer rounds if all pairs
/// agree, or if the time is almost over.
pub(super) fn verify(
    session: &mut Session,
    exchanges: &mut Exchanges,
    partition: &Partition,
    mut agreement: Agreement,
) -> Result<Agreement, LimitReached> {
    let group = |host: u32| partition.group[host as usize];
    let all = HELD_OUT.max(4 * ENOUGH / partition.group.len());
    let few = ROUNDS_THAT_AGREE.max(2 * PAIRS_THAT_AGREE / partition.group.len());
    for round in 0..all {
        let agrees = round >= few && agreement.share(FEWEST) == 1.0;
        if agrees || session.is_past(VERIFYING_ENDS) && agreement.share(FEWEST) >= VERIFIED {
            break;
        }
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
