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
use super::joined_networks::Joined;
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
const VERSION: u32 = 2;
const FOLDER: &str = "networks";
const ENDING: &str = ".network";
/// Surveys that are kept.
pub const MOST_NETWORKS: usize = 64;
/// Seconds after which a survey is not used any more: half a year.
pub const LONGEST_KEPT: u64 = 183 * 24 * 3600;
/// The same for a survey that did not come to a certain end.
pub const LONGEST_UNCERTAIN: u64 = 24 * 3600;
/// Largest file that is read, hosts and levels in it.
const LARGEST: u64 = 8 << 20;
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
    fn replaces(&self, uncertain: &MeasuredNetwork) -> bool {
        self.is_certain && self.is_valid(uncertain.measured_at)
    }

    /// Whether it is young enough to be used at the time `now`.
    fn is_valid(&self, now: u64) -> bool {
        let longest = if self.is_certain { LONGEST_KEPT } else { LONGEST_UNCERTAIN };
        self.measured_at.saturating_add(longest) >= now
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
pub(super) fn renumbered(mut paths: Vec<Vec<u32>>, levels: usize) -> Vec<Vec<u32>> {
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
        surveys.retain(|(_, s)| s.network.is_valid(now));
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

    /// Keeps what a survey found between these hosts, in place of an earlier survey of the same ones. A survey that
    /// did not come to a certain end does not replace one that did.
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
        if let Ok(bytes) = read_sealed(&path, MAGIC, LARGEST) {
            match decode(&bytes) {
                Err(error) if error.kind() == ErrorKind::NewerVersion => {
                    return Err(error.at(path.display()));
                }
                Ok(known) if !network.is_certain && known.network.replaces(network) => {
                    return Ok(path);
                }
                _ => {}
            }
        }
        let body = postcard::to_allocvec(&survey).map_err(|e| {
            Error::new(ErrorKind::Format, format!("cannot encode the network: {e}"))
        })?;
        self.write(&path, &seal(MAGIC, VERSION, &body), false, &|| false)?;
        for old in self.network_files()?.iter().skip(MOST_NETWORKS) {
            let _ = fs::remove_file(old);
        }
        Ok(path)
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

    /// The files of surveys, the one that was written last first.
    fn network_files(&self) -> Result<Vec<PathBuf>> {
        let folder = self.networks();
        check_folder(&folder)?;
        let entries = match fs::read_dir(&folder) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            other => other.map_err(|e| Error::io("cannot read the folder", &folder, &e))?,
        };
        let ours = |entry: &fs::DirEntry| entry.file_name().to_string_lossy().ends_with(ENDING);
        let written = |entry: &fs::DirEntry| entry.metadata().and_then(|m| m.modified()).ok();
        let mut files: Vec<_> =
            entries.flatten().filter(ours).map(|entry| (written(&entry), entry.path())).collect();
        files.sort_by(|a, b| b.cmp(a));
        Ok(files.into_iter().map(|(_, path)| path).collect())
    }

    /// The newest surveys that can be read, the newest first.
    fn surveys(&self) -> Result<Vec<(PathBuf, StoredSurvey)>> {
        let read = |path: PathBuf| {
            let bytes = read_sealed(&path, MAGIC, LARGEST).ok()?;
            Some((path, decode(&bytes).ok()?))
        };
        let files = self.network_files()?;
        let mut surveys: Vec<_> = files.into_iter().take(MOST_NETWORKS).filter_map(read).collect();
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
