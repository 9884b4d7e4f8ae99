//! Networks that launches measured: the switches between named hosts.
//!
//! Each survey is a file in the folder `networks` of the store. Its name stands for the set of hosts, so that a
//! new survey of the same hosts replaces it. An answer about some hosts comes from the newest survey of all of
//! them, or is joined from several surveys that have hosts of the same groups in common: a cluster is then known
//! after some jobs. A survey that contradicts a newer one is not used. The files can be removed at any time. A
//! file that is damaged, of a newer version or not readable counts as absent.
//!
//! Bounds: [`MOST_NETWORKS`] files, the newest; surveys older than [`super::LONGEST_KEPT`] are not used.

use super::Store;
use super::joined_networks::Joined;
use super::others::check_folder;
use super::record_format::{open_sealed, read_sealed, seal};
use super::sharing::create_folder;
use super::stored_survey::{MeasuredNetwork, StoredSurvey};
use crate::base::error::{Error, ErrorKind, Result};
use crate::base::hash::Fnv1a;
use crate::base::sorting::Arrange;
use std::fs;
use std::path::{Path, PathBuf};

const MAGIC: [u8; 8] = *b"RKNETWK\n";
const VERSION: u32 = 2;
const FOLDER: &str = "networks";
const ENDING: &str = ".network";
/// Surveys that are kept.
pub const MOST_NETWORKS: usize = 64;
/// Largest file that is read, hosts and levels in it.
const LARGEST: u64 = 8 << 20;

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
        create_folder(&folder)
            .map_err(|e| Error::io("cannot create the folder of networks", &folder, &e))?;
        let mut sorted: Vec<&String> = hosts.iter().collect();
        sorted.arrange();
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
                Ok(known) if !network.is_certain && known.network.outlasts(network) => {
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
        files.arrange_by(|a, b| b.cmp(a));
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
        surveys.arrange_by(|(a, s), (b, t)| {
            (t.network.measured_at, b).cmp(&(s.network.measured_at, a))
        });
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
