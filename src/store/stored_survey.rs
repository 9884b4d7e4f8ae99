//! A network that was measured, and its hosts: what a file of a survey holds.
//!
//! Limits: [`MOST_HOSTS`] hosts and [`MOST_LEVELS`] levels.

use crate::base::numbering::by_first_appearance;
use crate::survey::{Evidence, Surveyed};
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet};

/// Seconds after which a survey is not used any more: half a year.
pub const LONGEST_KEPT: u64 = 183 * 24 * 3600;
/// Seconds until the network is measured again after a survey that did not come to a certain end.
pub const LONGEST_UNCERTAIN: u64 = 600;
const MOST_HOSTS: usize = 1 << 18;
const MOST_LEVELS: usize = 8;

/// A network that was measured.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct MeasuredNetwork {
    /// Names of the levels of switches, outermost first. Empty if the network is flat.
    pub level_names: Vec<String>,
    /// For each host: its group in each level.
    pub group_of_host: Vec<Vec<u32>>,
    /// Bytes per second of the link above a group of each level, and of a host at the end; empty if unknown.
    pub bandwidths: Vec<f64>,
    /// Seconds of a round trip between hosts that first differ in each level, and between hosts of one innermost
    /// group at the end; empty if unknown.
    pub latencies: Vec<f64>,
    /// Seconds since 1970-01-01 UTC.
    pub measured_at: u64,
    /// What the survey did.
    pub evidence: Evidence,
    /// See [`Surveyed::is_certain`].
    pub is_certain: bool,
}

/// A survey as it is stored: the hosts have names.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct StoredSurvey {
    pub hosts: Vec<String>,
    pub network: MeasuredNetwork,
}

impl MeasuredNetwork {
    /// The network that a survey found at the time `now`.
    pub fn of(surveyed: &Surveyed, hosts: usize, now: u64) -> MeasuredNetwork {
        let depth = surveyed.levels.len();
        // The innermost level are the leaf switches.
        let name = |level: usize| match depth - level {
            1 => "leaf".to_string(),
            n => format!("level{n}"),
        };
        let path = |host: usize| surveyed.levels.iter().map(|level| level[host]).collect();
        MeasuredNetwork {
            level_names: (0..depth).map(name).collect(),
            group_of_host: (0..hosts).map(path).collect(),
            bandwidths: surveyed.bandwidths.clone(),
            latencies: surveyed.latencies.clone(),
            measured_at: now,
            evidence: surveyed.evidence,
            is_certain: surveyed.is_certain,
        }
    }

    /// Whether no switches were found.
    pub fn is_flat(&self) -> bool {
        self.level_names.is_empty()
    }

    /// Whether it stays where a survey that did not come to a certain end could take its place.
    pub(super) fn outlasts(&self, uncertain: &MeasuredNetwork) -> bool {
        self.is_certain && self.is_valid(uncertain.measured_at)
    }

    /// Whether it is young enough to be used at the time `now`.
    pub(super) fn is_valid(&self, now: u64) -> bool {
        let longest = if self.is_certain { LONGEST_KEPT } else { LONGEST_UNCERTAIN };
        self.measured_at.saturating_add(longest) >= now
    }

    /// The network of some of the hosts. `hosts` are their numbers in this one. Groups are numbered anew.
    pub(super) fn part(&self, hosts: &[usize]) -> MeasuredNetwork {
        let paths = hosts.iter().map(|&host| self.group_of_host[host].clone()).collect();
        MeasuredNetwork { group_of_host: renumbered(paths, self.level_names.len()), ..self.clone() }
    }

    /// Whether its lists fit together, for so many hosts.
    fn is_sound(&self, hosts: usize) -> bool {
        let levels = self.level_names.len();
        let fits = |list: &[f64]| list.is_empty() || list.len() == levels + 1;
        let positive = |list: &[f64]| list.iter().all(|x| x.is_finite() && *x > 0.0);
        levels <= MOST_LEVELS
            && self.level_names.iter().all(|name| name.len() <= 64)
            && self.group_of_host.len() == hosts
            && self.group_of_host.iter().all(|path| path.len() == levels)
            && fits(&self.bandwidths)
            && fits(&self.latencies)
            && positive(&self.bandwidths)
            && positive(&self.latencies)
            && is_nested(&self.group_of_host, levels)
    }
}

/// Whether hosts that share a group also share all groups around it.
fn is_nested(paths: &[Vec<u32>], levels: usize) -> bool {
    (1..levels).all(|level| {
        let mut around = HashMap::new();
        paths
            .iter()
            .all(|path| *around.entry(path[level]).or_insert(path[level - 1]) == path[level - 1])
    })
}

/// Paths with the groups of each level numbered by first appearance.
pub(super) fn renumbered(mut paths: Vec<Vec<u32>>, levels: usize) -> Vec<Vec<u32>> {
    for level in 0..levels {
        let (numbers, _) = by_first_appearance(paths.iter().map(|path| path[level]));
        paths.iter_mut().zip(numbers).for_each(|(path, number)| path[level] = number);
    }
    paths
}

impl StoredSurvey {
    pub(super) fn is_sound(&self) -> bool {
        let names: HashSet<&String> = self.hosts.iter().collect();
        !self.hosts.is_empty()
            && self.hosts.len() <= MOST_HOSTS
            && names.len() == self.hosts.len()
            && self.hosts.iter().all(|name| !name.is_empty() && name.len() <= 255)
            && self.network.is_sound(self.hosts.len())
    }

    pub(super) fn numbers(&self) -> HashMap<&str, usize> {
        self.hosts.iter().enumerate().map(|(k, name)| (name.as_str(), k)).collect()
    }
}
