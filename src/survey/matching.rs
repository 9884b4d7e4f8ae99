//! Pairs of hosts for a round: every host is in at most one pair.

use crate::base::random::SplitMix64;
use crate::base::sorting::Arrange;

/// Rounds in which each two of `hosts` meet once (the circle method of tournaments).
pub(super) fn round_robin(hosts: &[u32]) -> Vec<Vec<(u32, u32)>> {
    let mut ring: Vec<Option<u32>> = hosts.iter().map(|&host| Some(host)).collect();
    if ring.len() % 2 == 1 {
        ring.push(None);
    }
    let n = ring.len();
    let rounds = n.saturating_sub(1);
    (0..rounds)
        .map(|_| {
            let pairs = (0..n / 2).filter_map(|k| Some((ring[k]?, ring[n - 1 - k]?))).collect();
            ring[1..].rotate_right(1);
            pairs
        })
        .collect()
}

/// Puts a list in a random order.
pub(super) fn shuffle<T>(list: &mut [T], random: &mut SplitMix64) {
    for k in (1..list.len()).rev() {
        list.swap(k, random.below(k + 1));
    }
}

/// Pairs the hosts at random. If their number is odd, one stays alone.
pub(super) fn random_pairs(hosts: &[u32], random: &mut SplitMix64) -> Vec<(u32, u32)> {
    let mut hosts = hosts.to_vec();
    shuffle(&mut hosts, random);
    hosts.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect()
}

/// Pairs of hosts of different groups, as many as possible.
pub(super) fn pairs_across(
    hosts: &[u32],
    group: impl Fn(u32) -> u32,
    random: &mut SplitMix64,
) -> Vec<(u32, u32)> {
    let mut hosts = hosts.to_vec();
    shuffle(&mut hosts, random);
    // A stable sort keeps the random order inside each group. The groups come in a random order, too.
    let salt = random.next_u64() | 1;
    hosts.arrange_by_key(|&host| ((u64::from(group(host)) + 1).wrapping_mul(salt), group(host)));
    let largest = hosts.chunk_by(|&a, &b| group(a) == group(b)).map(<[u32]>::len).max();
    // A host and the one half of the list further are in different groups, if no group has more than half.
    let step = (hosts.len() / 2).max(largest.unwrap_or(0)).max(1);
    let far = hosts.get(step..).unwrap_or_default();
    let pairs = hosts.iter().copied().zip(far.iter().copied());
    pairs.take(step).filter(|&(a, b)| group(a) != group(b)).collect()
}

/// Pairs of hosts of the same group, and the hosts that are left: at most `most` pairs of each group.
pub(super) fn pairs_inside(
    hosts: &[u32],
    group: impl Fn(u32) -> u32,
    mut most: impl FnMut(usize) -> usize,
    random: &mut SplitMix64,
) -> (Vec<(u32, u32)>, Vec<u32>) {
    let mut hosts = hosts.to_vec();
    shuffle(&mut hosts, random);
    hosts.arrange_by_key(|&host| group(host));
    let (mut pairs, mut left) = (Vec::new(), Vec::new());
    for members in hosts.chunk_by(|&a, &b| group(a) == group(b)) {
        let paired = 2 * most(members.len()).min(members.len() / 2);
        pairs.extend(members[..paired].chunks_exact(2).map(|pair| (pair[0], pair[1])));
        left.extend_from_slice(&members[paired..]);
    }
    (pairs, left)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn is_disjoint(pairs: &[(u32, u32)]) -> bool {
        let mut seen = HashSet::new();
        pairs.iter().all(|&(a, b)| a != b && seen.insert(a) && seen.insert(b))
    }

    #[test]
    fn each_two_meet_once() {
        for n in 0..20u32 {
            let hosts: Vec<u32> = (0..n).map(|k| 3 * k).collect();
            let rounds = round_robin(&hosts);
            assert!(rounds.iter().all(|round| is_disjoint(round)));
            let met: HashSet<(u32, u32)> =
                rounds.concat().into_iter().map(|(a, b)| (a.min(b), a.max(b))).collect();
            assert_eq!(rounds.concat().len(), met.len());
            assert_eq!(met.len() as u32, n * n.saturating_sub(1) / 2);
        }
    }

    #[test]
    fn pairs_by_groups() {
        let mut random = SplitMix64::new(3);
        for n in 0..40u32 {
            let hosts: Vec<u32> = (0..n).collect();
            let group = |host: u32| host / 4;
            let across = pairs_across(&hosts, group, &mut random);
            assert!(is_disjoint(&across) && across.iter().all(|&(a, b)| group(a) != group(b)));
            if n >= 8 && n % 8 == 0 {
                assert_eq!(across.len() as u32, n / 2);
            }
            let (inside, left) = pairs_inside(&hosts, group, |_| 1, &mut random);
            assert!(is_disjoint(&inside) && inside.iter().all(|&(a, b)| group(a) == group(b)));
            assert_eq!(2 * inside.len() + left.len(), n as usize);
            assert!(is_disjoint(&random_pairs(&hosts, &mut random)));
        }
    }

    #[test]
    fn one_large_group_leaves_hosts_alone() {
        let mut random = SplitMix64::new(3);
        let hosts: Vec<u32> = (0..10).collect();
        let pairs = pairs_across(&hosts, |host| u32::from(host < 7), &mut random);
        assert_eq!(pairs.len(), 3);
    }
}
