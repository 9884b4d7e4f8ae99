//! Networks that launches measured: the switches between named hosts.
//!
//! Each survey is a file in the folder `networks` of the store. Its name stands for the set of hosts, so that a
//! new survey of the same hosts replaces it. An answer about some hosts comes from the newest survey of all of
//! them, or is joined from several surveys that have hosts of the same groups in common: a cluster is then known
//! after some jobs. A survey that contradicts a newer one is not used. The files can be removed at any time. A
//! file that is damaged, of a newer version or not readable counts as absent.
//!
//! Bounds: [`MOST_NETWORKS`] files, the newest; surveys older than [`LONGEST_KEPT`] are not used.

use super::Store;
use super::others::check_folder;
use super::record_format::{open_sealed, read_sealed, seal};
use crate::base::error::{Error, ErrorKind, Result};
use crate::base::hash::Fnv1a;
use crate::base::numbering::by_first_appearance;
use crate::survey::{Evidence, Surveyed};
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

const MAGIC: [u8; 8] = *b"RKNETWK\n";
const VERSION: u32 = 1;
const FOLDER: &str = "networks";
const ENDING: &str = ".network";
/// Surveys that are kept.
pub const MOST_NETWORKS: usize = 64;
/// Seconds after which a survey is not used any more: half a year.
pub const LONGEST_KEPT: u64 = 183 * 24 * 3600;
/// Largest file that is read, hosts and levels in it.
const LARGEST: u64 = 32 << 20;
const MOST_HOSTS: usize = 1 << 18;
const MOST_LEVELS: usize = 8;
/// Innermost groups of a survey that is joined with others.
const MOST_JOINED: usize = 1024;

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
}

/// A survey as it is stored: the hosts have names.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct StoredSurvey {
    hosts: Vec<String>,
    network: MeasuredNetwork,
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
        }
    }

    /// Whether no switches were found.
    pub fn is_flat(&self) -> bool {
        self.level_names.is_empty()
    }

    /// The network of some of the hosts. `hosts` are their numbers in this one. Groups are numbered anew.
    fn part(&self, hosts: &[usize]) -> MeasuredNetwork {
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
fn renumbered(mut paths: Vec<Vec<u32>>, levels: usize) -> Vec<Vec<u32>> {
    for level in 0..levels {
        let (numbers, _) = by_first_appearance(paths.iter().map(|path| path[level]));
        paths.iter_mut().zip(numbers).for_each(|(path, number)| path[level] = number);
    }
    paths
}

impl StoredSurvey {
    fn is_sound(&self) -> bool {
        let names: HashSet<&String> = self.hosts.iter().collect();
        !self.hosts.is_empty()
            && self.hosts.len() <= MOST_HOSTS
            && names.len() == self.hosts.len()
            && self.hosts.iter().all(|name| !name.is_empty() && name.len() <= 255)
            && self.network.is_sound(self.hosts.len())
    }

    fn numbers(&self) -> HashMap<&str, usize> {
        self.hosts.iter().enumerate().map(|(k, name)| (name.as_str(), k)).collect()
    }
}

impl Store {
    /// What earlier surveys say about the network between these hosts; `None` if they do not say it of all
    /// pairs. `now` is in seconds since 1970-01-01 UTC.
    ///
    /// Errors say why the folder cannot be used. They are for messages only; callers treat them like `None`.
    pub fn measured_network(&self, hosts: &[String], now: u64) -> Result<Option<MeasuredNetwork>> {
        let mut surveys = self.surveys()?;
        surveys.retain(|(_, s)| s.network.measured_at.saturating_add(LONGEST_KEPT) >= now);
        let surveys: Vec<&StoredSurvey> = surveys.iter().map(|(_, survey)| survey).collect();
        for survey in &surveys {
            let numbers = survey.numbers();
            let known: Option<Vec<usize>> =
                hosts.iter().map(|name| numbers.get(name.as_str()).copied()).collect();
            if let Some(known) = known {
                return Ok(Some(survey.network.part(&known)));
            }
        }
        Ok(Joined::of(&surveys, hosts).and_then(|joined| joined.answer(hosts)))
    }

    /// Keeps what a survey found between these hosts, in place of an earlier survey of the same ones.
    ///
    /// Errors: I/O errors; names or a network that do not fit together.
    pub fn keep_measured_network(
        &self,
        hosts: &[String],
        network: &MeasuredNetwork,
    ) -> Result<PathBuf> {
        let survey = StoredSurvey { hosts: hosts.to_vec(), network: network.clone() };
        if !survey.is_sound() {
            return Err(damaged("does not fit its hosts"));
        }
        let folder = self.networks();
        check_folder(&folder)?;
        fs::create_dir_all(&folder)
            .map_err(|e| Error::io("cannot create the folder of networks", &folder, &e))?;
        let mut sorted: Vec<&String> = hosts.iter().collect();
        sorted.sort();
        let mut hash = Fnv1a::default();
        sorted.iter().for_each(|name| {
            hash.bytes(name.as_bytes());
            hash.bytes(&[0]);
        });
        let path = folder.join(format!("{:016x}{ENDING}", hash.value()));
        if let Ok(bytes) = read_sealed(&path, MAGIC, LARGEST)
            && let Err(error) = decode(&bytes)
            && error.kind() == ErrorKind::NewerVersion
        {
            return Err(error.at(path.display()));
        }
        let body = postcard::to_allocvec(&survey).map_err(|e| {
            Error::new(ErrorKind::Format, format!("cannot encode the network: {e}"))
        })?;
        self.write(&path, &seal(MAGIC, VERSION, &body), false, &|| false)?;
        for (path, _) in self.surveys()?.iter().skip(MOST_NETWORKS) {
            let _ = fs::remove_file(path);
        }
        Ok(path)
    }

    /// All surveys that can be read, the newest first: the file, the hosts, and the network between them.
    ///
    /// Errors: I/O errors.
    pub fn measured_networks(&self) -> Result<Vec<(PathBuf, Vec<String>, MeasuredNetwork)>> {
        let all = self.surveys()?.into_iter();
        Ok(all.map(|(path, survey)| (path, survey.hosts, survey.network)).collect())
    }

    /// Removes all measured networks, and returns how many there were.
    ///
    /// Errors: I/O errors.
    pub fn forget_measured_networks(&self) -> Result<usize> {
        let paths = self.network_files()?;
        for path in &paths {
            fs::remove_file(path).map_err(|e| Error::io("cannot remove the network", path, &e))?;
        }
        Ok(paths.len())
    }

    fn networks(&self) -> PathBuf {
        self.directory().join(FOLDER)
    }

    fn network_files(&self) -> Result<Vec<PathBuf>> {
        let folder = self.networks();
        check_folder(&folder)?;
        let entries = match fs::read_dir(&folder) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            other => other.map_err(|e| Error::io("cannot read the folder", &folder, &e))?,
        };
        let paths = entries.flatten().map(|entry| entry.path());
        let ours = |path: &PathBuf| path.to_string_lossy().ends_with(ENDING);
        Ok(paths.filter(ours).take(4 * MOST_NETWORKS).collect())
    }

    /// The surveys that can be read, the newest first.
    fn surveys(&self) -> Result<Vec<(PathBuf, StoredSurvey)>> {
        let read = |path: PathBuf| {
            let bytes = read_sealed(&path, MAGIC, LARGEST).ok()?;
            Some((path, decode(&bytes).ok()?))
        };
        let mut surveys: Vec<_> = self.network_files()?.into_iter().filter_map(read).collect();
        surveys
            .sort_by(|(a, s), (b, t)| (t.network.measured_at, b).cmp(&(s.network.measured_at, a)));
        Ok(surveys)
    }
}

/// The hosts and the network in a file of a store.
///
/// Errors: I/O errors, not such a file, a newer version, damaged.
pub fn read_measured_network(path: &Path) -> Result<(Vec<String>, MeasuredNetwork)> {
    let bytes = read_sealed(path, MAGIC, LARGEST)
        .map_err(|e| Error::io("cannot read the measured network", path, &e))?;
    decode_measured_network(&bytes).map_err(|e| e.at(path.display()))
}

/// The hosts and the network in the bytes of such a file. The group of each host, and the bandwidth of each
/// level if there is any, are in it.
///
/// Errors (without a place): not such a file, a newer version, damaged.
pub fn decode_measured_network(bytes: &[u8]) -> Result<(Vec<String>, MeasuredNetwork)> {
    let survey = decode(bytes)?;
    Ok((survey.hosts, survey.network))
}

/// Several surveys of parts of one cluster.
#[derive(Clone)]
struct Joined<'s> {
    newest: &'s MeasuredNetwork,
    /// For each known host its group in each level.
    paths: HashMap<&'s str, Vec<u32>>,
    /// Groups of one level of which a survey says that they differ. Groups are numbered across all levels.
    apart: HashSet<(u32, u32)>,
    groups: u32,
}

impl<'s> Joined<'s> {
    /// Joins the surveys that have hosts of the same groups as the newest one with some of `hosts`.
    fn of(surveys: &[&'s StoredSurvey], hosts: &[String]) -> Option<Joined<'s>> {
        let asked: HashSet<&str> = hosts.iter().map(String::as_str).collect();
        let with_levels = |s: &&&StoredSurvey| !s.network.is_flat();
        let touches = |s: &&&StoredSurvey| s.hosts.iter().any(|name| asked.contains(name.as_str()));
        let first = *surveys.iter().filter(with_levels).find(touches)?;
        let mut joined = Joined {
            newest: &first.network,
            paths: HashMap::new(),
            apart: HashSet::new(),
            groups: 0,
        };
        joined.add(first);
        let mut left: Vec<&&'s StoredSurvey> = surveys.iter().filter(with_levels).collect();
        left.retain(|s| !std::ptr::eq(**s, first));
        // A survey may have hosts in common with one that is added after it.
        loop {
            let before = left.len();
            left.retain(|survey| !joined.add(survey));
            if left.len() == before || left.is_empty() {
                return Some(joined);
            }
        }
    }

    /// Adds a survey; `false` if it has no host in common, other levels, or contradicts what is known.
    fn add(&mut self, survey: &'s StoredSurvey) -> bool {
        let network = &survey.network;
        let levels = self.newest.level_names.len();
        let inner: HashSet<u32> =
            network.group_of_host.iter().filter_map(|path| path.last()).copied().collect();
        let common = survey.hosts.iter().any(|name| self.paths.contains_key(name.as_str()));
        let fits = network.level_names.len() == levels && inner.len() <= MOST_JOINED;
        if !fits || !(common || self.paths.is_empty()) {
            return false;
        }
        let mut next = self.clone();
        let added = next.unite(survey) && next.insert(survey);
        if added {
            *self = next;
        }
        added
    }

    /// Makes one group of known groups of which hosts are in one group of the survey; `false` if they are apart.
    fn unite(&mut self, survey: &StoredSurvey) -> bool {
        for level in 0..self.newest.level_names.len() {
            let mut known: HashMap<u32, u32> = HashMap::new();
            for (name, path) in survey.hosts.iter().zip(&survey.network.group_of_host) {
                let Some(ours) = self.paths.get(name.as_str()).map(|path| path[level]) else {
                    continue;
                };
                let one = *known.entry(path[level]).or_insert(ours);
                if one == ours {
                    continue;
                }
                if self.apart.contains(&(one, ours)) {
                    return false;
                }
                self.paths
                    .values_mut()
                    .filter(|path| path[level] == ours)
                    .for_each(|p| p[level] = one);
                let moved = |group: u32| if group == ours { one } else { group };
                self.apart = self.apart.iter().map(|&(a, b)| (moved(a), moved(b))).collect();
                known.values_mut().for_each(|group| *group = moved(*group));
            }
        }
        true
    }

    /// Adds the hosts of a survey, each of whose groups is in at most one known group; `false` if two of its
    /// groups are in the same one, or if levels would no longer be inside each other.
    fn insert(&mut self, survey: &'s StoredSurvey) -> bool {
        for level in 0..self.newest.level_names.len() {
            let mut known: HashMap<u32, u32> = HashMap::new();
            for (name, path) in survey.hosts.iter().zip(&survey.network.group_of_host) {
                if let Some(ours) = self.paths.get(name.as_str()) {
                    known.insert(path[level], ours[level]);
                }
            }
            let distinct: HashSet<u32> = known.values().copied().collect();
            if distinct.len() < known.len() {
                return false;
            }
            for (name, path) in survey.hosts.iter().zip(&survey.network.group_of_host) {
                let next = self.groups;
                let group = *known.entry(path[level]).or_insert(next);
                self.groups += u32::from(group == next);
                let ours = self.paths.entry(name.as_str()).or_default();
                if ours.len() == level {
                    ours.push(group);
                }
            }
            let all: Vec<u32> = known.into_values().collect();
            for &a in &all {
                self.apart.extend(all.iter().filter(|&&b| b != a).map(|&b| (a, b)));
            }
        }
        let paths: Vec<Vec<u32>> = self.paths.values().cloned().collect();
        is_nested(&paths, self.newest.level_names.len())
    }

    /// The network between some hosts, if all of it is known.
    fn answer(&self, hosts: &[String]) -> Option<MeasuredNetwork> {
        let levels = self.newest.level_names.len();
        let paths: Option<Vec<Vec<u32>>> =
            hosts.iter().map(|name| self.paths.get(name.as_str()).cloned()).collect();
        let paths = paths?;
        let inner: HashSet<u32> = paths.iter().map(|path| path[levels - 1]).collect();
        let certain =
            inner.iter().all(|&a| inner.iter().all(|&b| a == b || self.apart.contains(&(a, b))));
        certain.then(|| MeasuredNetwork {
            group_of_host: renumbered(paths, levels),
            ..self.newest.clone()
        })
    }
}

fn decode(bytes: &[u8]) -> Result<StoredSurvey> {
    let (_, body) = open_sealed(bytes, MAGIC, VERSION, "network")?;
    let survey: StoredSurvey =
        postcard::from_bytes(body).map_err(|e| damaged(&format!("cannot be decoded: {e}")))?;
    if survey.is_sound() { Ok(survey) } else { Err(damaged("contradicts itself")) }
}

fn damaged(what: &str) -> Error {
    Error::new(ErrorKind::Format, format!("the measured network {what}"))
}

#[cfg(test)]
#[path = "measured_networks_tests.rs"]
mod tests;
