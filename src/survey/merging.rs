//! Groups of many hosts from few pairs: components of near hosts are merged, round after round.
//!
//! At the beginning every host is a component of its own. In each round, all hosts are paired with hosts of
//! components that are not known to be apart from their own. Two components whose pairs are near are merged.
//! All members of a component can test other components in the same round, so that few rounds are needed when
//! the components are large. A host needs about as many pairs as there are groups in its region: O(n log n)
//! pairs in all if a group has a bounded number of groups inside it.
//!
//! Components are merged after two near pairs, because a wrong merge would be worse than a missed one. A single
//! far pair keeps two components apart until the end. Components that stayed small are then tested again.

use super::matching::shuffle;
use crate::base::numbering::by_first_appearance;
use crate::base::random::SplitMix64;
use crate::base::sorting::Arrange;
use std::collections::{HashMap, HashSet};

/// Near pairs after which two components are merged.
const NEAR: u32 = 2;

/// What is known of two components.
#[derive(Debug, Clone, Copy, Default)]
struct Votes {
    near: u32,
    far: u32,
}

/// Hosts that are in no pair of the round yet.
struct FreeHosts {
    of_root: Vec<Vec<u32>>,
    /// Components with free hosts, by region.
    roots: HashMap<u32, Vec<u32>>,
    pairs: Vec<(u32, u32)>,
}

impl FreeHosts {
    /// Pairs a free host of each of two components; `false` if one has none.
    fn take(&mut self, (a, b): (u32, u32)) -> bool {
        if self.of_root[a as usize].is_empty() || self.of_root[b as usize].is_empty() {
            return false;
        }
        let pair = self.of_root[a as usize].pop().zip(self.of_root[b as usize].pop());
        self.pairs.extend(pair);
        pair.is_some()
    }
}

/// Components of hosts.
#[derive(Debug)]
pub(super) struct Merging {
    /// Parent of each host in the tree of its component.
    parent: Vec<u32>,
    members: Vec<Vec<u32>>,
    /// Only hosts of the same region can be in the same group.
    region: Vec<u32>,
    votes: Vec<HashMap<u32, Votes>>,
    /// Far pairs after which two components are apart.
    patience: u32,
    /// In the second part, only components smaller than this are tested.
    small: usize,
}

impl Merging {
    /// Every host of `hosts` is a component. `region` has a number for every host.
    pub fn new(hosts: usize, region: &[u32]) -> Merging {
        Merging {
            parent: (0..hosts as u32).collect(),
            members: (0..hosts as u32).map(|host| vec![host]).collect(),
            region: region.to_vec(),
            votes: vec![HashMap::new(); hosts],
            patience: 1,
            small: usize::MAX,
        }
    }

    /// Makes each group of `groups` one component.
    pub fn begin_with(&mut self, groups: &[u32]) {
        let mut first = HashMap::new();
        for (host, &group) in (0u32..).zip(groups) {
            let (a, b) = (self.root(*first.entry(group).or_insert(host)), self.root(host));
            if a != b {
                self.merge(a, b);
            }
        }
    }

    fn root(&mut self, host: u32) -> u32 {
        let root = self.component(host);
        self.parent[host as usize] = root;
        root
    }

    /// A number of the component of a host.
    pub fn component(&self, host: u32) -> u32 {
        let mut root = host;
        while self.parent[root as usize] != root {
            root = self.parent[root as usize];
        }
        root
    }

    /// Notes whether a pair is near.
    pub fn note(&mut self, a: u32, b: u32, is_near: bool) {
        if self.region[a as usize] != self.region[b as usize] {
            return;
        }
        let (a, b) = (self.root(a), self.root(b));
        if a == b {
            return;
        }
        let mut now = Votes::default();
        for (a, b) in [(a, b), (b, a)] {
            let votes = self.votes[a as usize].entry(b).or_default();
            votes.near += u32::from(is_near);
            votes.far += u32::from(!is_near);
            now = *votes;
        }
        if now.near >= NEAR && now.near > now.far {
            self.merge(a, b);
        }
    }

    fn merge(&mut self, a: u32, b: u32) {
        let (small, large) = match self.members[a as usize].len() < self.members[b as usize].len() {
            true => (a, b),
            false => (b, a),
        };
        self.parent[small as usize] = large;
        let moved = std::mem::take(&mut self.members[small as usize]);
        self.members[large as usize].extend(moved);
        self.votes[large as usize].remove(&small);
        for (other, votes) in std::mem::take(&mut self.votes[small as usize]) {
            if other == large {
                continue;
            }
            self.votes[other as usize].remove(&small);
            for (a, b) in [(large, other), (other, large)] {
                let known = self.votes[a as usize].entry(b).or_default();
                known.near += votes.near;
                known.far += votes.far;
            }
        }
    }

    /// Whether another pair of these components is wanted, and how soon: small numbers first.
    fn wants(&self, a: u32, b: u32) -> Option<u32> {
        let smaller = self.members[a as usize].len().min(self.members[b as usize].len());
        if a == b || self.region[a as usize] != self.region[b as usize] || smaller >= self.small {
            return None;
        }
        let votes = self.votes[a as usize].get(&b).copied().unwrap_or_default();
        let open = votes.far < self.patience.max(votes.near + 1) && votes.far < 4 * self.patience;
        open.then_some(if votes.near > 0 { 0 } else { 1 + votes.far })
    }

    /// The pairs of the next round; empty if nothing is open. `hosts` take part.
    pub fn next_pairs(&mut self, hosts: &[u32], random: &mut SplitMix64) -> Vec<(u32, u32)> {
        let mut hosts = hosts.to_vec();
        shuffle(&mut hosts, random);
        let mut free = FreeHosts {
            of_root: vec![Vec::new(); self.parent.len()],
            roots: HashMap::new(),
            pairs: Vec::new(),
        };
        for &host in &hosts {
            let root = self.root(host);
            if free.of_root[root as usize].is_empty() {
                free.roots.entry(self.region[host as usize]).or_default().push(root);
            }
            free.of_root[root as usize].push(host);
        }
        let mut roots: Vec<u32> = hosts.iter().map(|&host| self.parent[host as usize]).collect();
        // Components that were near once come first.
        let mut asked: HashSet<(u32, u32)> = HashSet::new();
        for &root in &roots {
            let mut near: Vec<u32> = self.votes[root as usize]
                .iter()
                .filter(|(_, v)| v.near > 0)
                .map(|(&o, _)| o)
                .collect();
            near.sort_unstable();
            for other in near {
                let pair = (root.min(other), root.max(other));
                if !asked.contains(&pair) && self.wants(root, other).is_some() && free.take(pair) {
                    asked.insert(pair);
                }
            }
        }
        // Then hosts that are alone: they need the others, which can be replaced by their neighbours.
        roots.arrange_by_key(|&root| self.members[root as usize].len());
        for root in roots {
            if let Some(other) = self.partner(root, &mut free, &asked, random) {
                let pair = (root.min(other), root.max(other));
                asked.insert(pair);
                free.take(pair);
            }
        }
        free.pairs
    }

    /// A component with a free host that `root` should be compared with, preferably one that it was not
    /// compared with yet.
    fn partner(
        &self,
        root: u32,
        free: &mut FreeHosts,
        asked: &HashSet<(u32, u32)>,
        random: &mut SplitMix64,
    ) -> Option<u32> {
        if free.of_root[root as usize].is_empty() {
            return None;
        }
        let others = free.roots.get_mut(&self.region[self.members[root as usize][0] as usize])?;
        let mut best: Option<(u32, u32)> = None;
        let mut at = random.below(others.len());
        let mut seen = 0;
        while seen < others.len() {
            at %= others.len();
            let other = others[at];
            if free.of_root[other as usize].is_empty() {
                others.swap_remove(at);
                continue;
            }
            (at, seen) = (at + 1, seen + 1);
            if asked.contains(&(root.min(other), root.max(other))) {
                continue;
            }
            let Some(rank) = self.wants(root, other) else { continue };
            if best.is_none_or(|(least, _)| rank < least) {
                best = Some((rank, other));
            }
            if rank <= 1 {
                break;
            }
        }
        best.map(|(_, other)| other)
    }

    /// Begins the second part: components smaller than this part of the median size are tested again.
    pub fn test_again(&mut self, part: f64) {
        let mut sizes: Vec<usize> = Vec::new();
        for members in &self.members {
            sizes.extend(std::iter::repeat_n(members.len(), members.len()));
        }
        sizes.sort_unstable();
        let median = sizes.get(sizes.len() / 2).copied().unwrap_or(0);
        self.small = ((part * median as f64) as usize).max(2);
        self.patience = 3;
    }

    /// The component of each host, numbered by first appearance.
    pub fn groups(&mut self) -> Vec<u32> {
        let roots: Vec<u32> = (0..self.parent.len() as u32).map(|host| self.root(host)).collect();
        by_first_appearance(roots).0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merged(hosts: u32, group: impl Fn(u32) -> u32, seed: u64) -> (Vec<u32>, usize) {
        let mut random = SplitMix64::new(seed);
        let mut merging = Merging::new(hosts as usize, &vec![0; hosts as usize]);
        let all: Vec<u32> = (0..hosts).collect();
        let mut rounds = 0;
        loop {
            let pairs = merging.next_pairs(&all, &mut random);
            if pairs.is_empty() {
                break;
            }
            rounds += 1;
            for (a, b) in pairs {
                merging.note(a, b, group(a) == group(b));
            }
        }
        (merging.groups(), rounds)
    }

    #[test]
    fn groups_are_found_in_few_rounds() {
        for (hosts, size) in [(64, 8), (256, 16), (1024, 64), (100, 1), (100, 100)] {
            let (found, rounds) = merged(hosts, |host| host / size, u64::from(hosts));
            assert_eq!(found, (0..hosts).map(|host| host / size).collect::<Vec<_>>());
            assert!(rounds <= 3 * (hosts / size) as usize + 12, "{hosts} by {size}: {rounds}");
        }
    }

    #[test]
    fn regions_stay_apart() {
        let mut merging = Merging::new(4, &[0, 0, 1, 1]);
        for _ in 0..3 {
            merging.note(0, 2, true);
            merging.note(0, 1, true);
        }
        assert_eq!(merging.groups(), [0, 0, 1, 2]);
    }
}
