//! A survey from the beginning to the end: latencies, contention, what both say together, bandwidths.
//!
//! Latencies are compared first, because they cost little and set up the connections. Then contention is measured. With
//! many hosts, it only looks for levels that latencies do not show. If both show groups that contradict each other,
//! those of contention count: they are about bandwidth.

use super::exchanges::Exchanges;
use super::latency::{self, Levels};
use super::partition::{Partition, median, refines};
use super::rates;
use super::session::{ALL_PAIRS, LimitReached, Limits, Session};
use super::surveyed::{Surveyed, count};
use super::wire::Wire;
use super::{contention, contention_of_many};
use crate::base::nouns::counted;
use crate::base::sorting::Arrange;

/// Exchanges of a host that the limit of bytes must permit if there are more hosts than these.
const EXCHANGES: u64 = 256;
/// With fewer hosts there are no two groups of two.
pub const FEWEST_HOSTS: usize = 4;

const LIMIT: &str = "the network is taken for flat, because the limit of the measurement was reached before \
                     anything was certain";

/// Finds the network between the hosts of a wire. The same answers of the wire and the same `seed` give the same
/// result.
pub fn conduct(wire: &mut dyn Wire, limits: Limits, seed: u64) -> Surveyed {
    let hosts = wire.hosts();
    if hosts < FEWEST_HOSTS {
        let reason =
            format!("nothing was measured, because there are fewer than {FEWEST_HOSTS} nodes");
        return Surveyed { reason, ..Surveyed::default() };
    }
    let mut session = Session::new(wire, limits, seed);
    let all_pairs = hosts <= ALL_PAIRS;
    let (levels, mut cut) = or_none(match all_pairs {
        true => latency::of_all_pairs(&mut session),
        false => latency::of_some_pairs(&mut session),
    });
    let mut groups = levels.groups.clone();
    let mut agreement = levels.agreement;
    let mut exchanges = None;
    if session.present().len() >= FEWEST_HOSTS {
        match contended(&mut session, hosts, all_pairs, &groups) {
            Ok((used, found)) => {
                exchanges = Some(used);
                for found in found {
                    agreement = if groups.is_empty() {
                        found.agreement
                    } else {
                        agreement.min(found.agreement)
                    };
                    groups = joined(groups, found);
                }
            }
            Err(LimitReached) => cut = true,
        }
    }
    let absent = session.absent();
    set_apart(&mut groups, &absent);
    let bandwidths = exchanges.map_or(Vec::new(), |exchanges| {
        let measured = rates::bandwidths(&mut session, &groups, exchanges.bytes);
        if measured.is_empty() { exchanges.bandwidths(&groups) } else { measured }
    });
    let latencies = latencies(&levels, &groups);
    let mut evidence = session.told();
    evidence.agreement = if groups.is_empty() { 0.0 } else { agreement };
    let reason = reason(&groups, cut, absent.len() + FEWEST_HOSTS > hosts);
    let is_certain = !cut && absent.is_empty();
    Surveyed { levels: groups, bandwidths, latencies, absent, evidence, is_certain, reason }
}

fn or_none(found: Result<Levels, LimitReached>) -> (Levels, bool) {
    found.map_or_else(|LimitReached| (Levels::default(), true), |levels| (levels, false))
}

/// What contention shows.
fn contended(
    session: &mut Session,
    hosts: usize,
    all_pairs: bool,
    known: &[Vec<u32>],
) -> Result<(Exchanges, Vec<Partition>), LimitReached> {
    let bytes = rates::bytes_of_exchange(session)?;
    let (mut bytes, mut measured) = rates::for_all_at_once(session, bytes)?;
    if !all_pairs {
        bytes = bytes.min(session.limits.bytes_per_host / EXCHANGES);
        // They would have another size.
        measured.clear();
    }
    let mut exchanges = Exchanges::new(hosts, bytes);
    exchanges.note(measured);
    let found = match all_pairs {
        true => Vec::from_iter(contention::of_all_pairs(session, &mut exchanges)?),
        false => contention_of_many::of_some_pairs(session, &mut exchanges, known)?,
    };
    Ok((exchanges, found))
}

/// Levels of latencies together with the groups of contention, outermost first.
fn joined(mut levels: Vec<Vec<u32>>, found: Partition) -> Vec<Vec<u32>> {
    let group = found.group;
    levels.retain(|level| *level != group && (refines(level, &group) || refines(&group, level)));
    levels.push(group);
    levels.arrange_by_key(|level| count(level));
    levels
}

/// Gives each absent host a group of its own in each level.
fn set_apart(levels: &mut [Vec<u32>], absent: &[u32]) {
    for level in levels {
        let first = count(level) as u32;
        for (own, &host) in (first..).zip(absent) {
            level[host as usize] = own;
        }
        *level = crate::base::numbering::by_first_appearance(level.iter().copied()).0;
    }
}

/// The median round-trip time of the pairs that first differ in each level, and of those that share all.
fn latencies(levels: &Levels, groups: &[Vec<u32>]) -> Vec<f64> {
    let mut values = vec![Vec::new(); groups.len() + 1];
    for &(a, b, time) in &levels.measured {
        let differs = |level: &Vec<u32>| level[a as usize] != level[b as usize];
        values[groups.iter().position(differs).unwrap_or(groups.len())].push(time);
    }
    let medians: Option<Vec<f64>> = values.iter_mut().map(|values| median(values)).collect();
    medians.unwrap_or_default()
}

fn reason(levels: &[Vec<u32>], cut: bool, too_few: bool) -> String {
    if let Some(leaves) = levels.last() {
        // The groups of each level, the innermost first.
        let outer = levels.iter().rev().skip(1);
        let groups: String = outer
            .map(|level| format!(", which are in {}", counted(count(level), "group")))
            .collect();
        let leaf = if levels.len() > 1 { "leaf " } else { "" };
        return format!(
            "{} on {}{groups}",
            counted(leaves.len(), "node"),
            counted(count(leaves), &format!("{leaf}switch"))
        );
    }
    match (too_few, cut) {
        (true, _) => "the network is taken for flat, because too few nodes answered".into(),
        (false, true) => LIMIT.into(),
        (false, false) => "the network is flat: no groups of nodes are closer than others".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_levels_are_told_from_the_inside() {
        let leaves: Vec<u32> = (0..8).map(|node| node / 2).collect();
        let outer: Vec<u32> = (0..8).map(|node| node / 4).collect();
        let one = std::slice::from_ref(&leaves);
        assert_eq!(reason(one, false, false), "8 nodes on 4 switches");
        assert_eq!(
            reason(&[outer, leaves], false, false),
            "8 nodes on 4 leaf switches, which are in 2 groups"
        );
    }
}
