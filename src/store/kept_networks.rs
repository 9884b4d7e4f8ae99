//! What large descriptions of networks say about the hosts of launches, so that later launches need not read them.
//!
//! An answer belongs to a question: a description (its file with size, time of change and inode), the version of the
//! readers, and the set of hosts. The question is in the file, and a hash of it is its name. A description that changed
//! is therefore another question, and its old answers are not found any more. The files are in the folder `fabrics`
//! of the store. They can be removed at any time. A file that is damaged, of a newer version, of another question or
//! not readable counts as absent.
//!
//! Bounds: [`MOST_KEPT`] files, the newest; hosts and bytes as below.

use super::Store;
use super::leftovers::is_stale;
use super::others::check_folder;
use super::record_format::{open_sealed, read_sealed, seal};
use super::sharing::create_folder;
use crate::base::error::{Error, ErrorKind, Result};
use crate::base::file::{FileIdentity, is_own};
use crate::base::hash::Fnv1a;
use crate::topology::NetworkPart;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

const MAGIC: [u8; 8] = *b"RKFABRC\n";
const VERSION: u32 = 2;
const FOLDER: &str = "fabrics";
const ENDING: &str = ".fabric";
/// Answers that are kept.
pub const MOST_KEPT: usize = 64;
/// Largest file that is read or written, and hosts in it.
const LARGEST: u64 = 32 << 20;
const MOST_HOSTS: usize = 1 << 18;

/// What is asked: what a description says about some hosts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetworkQuestion {
    /// The description, with the full path of its file.
    pub description: String,
    /// Which file that was.
    pub file: FileIdentity,
    /// The versions of the program and of its readers.
    pub readers: String,
    /// The hosts by all that they are looked for by, sorted.
    pub hosts: Vec<String>,
}

/// What the description says.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct KeptNetwork {
    /// For each host of the question its number in the part; `None` if the network does not have it.
    pub number_of_host: Vec<Option<u32>>,
    /// The part of the network with these hosts; `None` if the network has none of them.
    pub part: Option<NetworkPart>,
    /// What of the description is not used, in a sentence; empty if all of it is.
    pub remark: String,
}

/// A question with its answer, as they are stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct StoredAnswer {
    question: NetworkQuestion,
    answer: KeptNetwork,
}

impl NetworkQuestion {
    /// The name of its file.
    fn name(&self) -> String {
        let mut hash = Fnv1a::default();
        let mut add = |bytes: &[u8]| {
            hash.bytes(bytes);
            hash.bytes(&[0]);
        };
        add(self.description.as_bytes());
        add(self.readers.as_bytes());
        let FileIdentity { size, changed, inode } = self.file;
        [size, changed.0 as u64, u64::from(changed.1), inode]
            .iter()
            .for_each(|number| add(&number.to_le_bytes()));
        self.hosts.iter().for_each(|host| add(host.as_bytes()));
        format!("{:016x}{ENDING}", hash.value())
    }
}

impl KeptNetwork {
    /// Whether it answers for so many hosts, and its numbers are those of hosts of the part.
    fn is_sound(&self, hosts: usize) -> bool {
        let numbers = self.number_of_host.iter().flatten();
        self.number_of_host.len() == hosts
            && hosts <= MOST_HOSTS
            && match &self.part {
                None => numbers.count() == 0,
                // The part itself is checked where it is built.
                Some(_) => numbers.max().is_some_and(|&most| (most as usize) < hosts),
            }
    }
}

impl Store {
    /// The answer of an earlier launch to the same question.
    ///
    /// Errors say why an existing file cannot be used. They are for messages only; callers treat them like `None`.
    pub fn kept_network(&self, question: &NetworkQuestion) -> Result<Option<KeptNetwork>> {
        let folder = self.kept_networks_folder();
        check_folder(&folder)?;
        let path = folder.join(question.name());
        let bytes = match read_sealed(&path, MAGIC, LARGEST) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            other => other.map_err(|e| Error::io("cannot read the kept network", &path, &e))?,
        };
        let stored = decode(&bytes).map_err(|e| e.at(path.display()))?;
        Ok((stored.question == *question).then_some(stored.answer))
    }

    /// Keeps an answer, and removes the oldest ones beyond [`MOST_KEPT`]. Does not wait for the disk.
    ///
    /// Errors: I/O errors; an answer that does not fit its question, or is too large; a file of a newer version in
    /// place, which is not changed.
    pub fn keep_network(
        &self,
        question: &NetworkQuestion,
        answer: &KeptNetwork,
    ) -> Result<PathBuf> {
        if !answer.is_sound(question.hosts.len()) {
            return Err(damaged("does not fit its hosts"));
        }
        let folder = self.kept_networks_folder();
        check_folder(&folder)?;
        create_folder(&folder)
            .map_err(|e| Error::io("cannot create the folder of networks", &folder, &e))?;
        let path = folder.join(question.name());
        if let Ok(bytes) = read_sealed(&path, MAGIC, LARGEST)
            && let Err(error) = decode(&bytes)
            && error.kind() == ErrorKind::NewerVersion
        {
            return Err(error.at(path.display()));
        }
        let body = postcard::to_allocvec(&(question, answer)).map_err(|e| {
            Error::new(ErrorKind::Format, format!("cannot encode the network: {e}"))
        })?;
        if body.len() as u64 > LARGEST / 2 {
            return Err(Error::new(ErrorKind::Infeasible, "the network is too large to be kept"));
        }
        self.write(&path, &seal(MAGIC, VERSION, &body), false, &|| false)?;
        for path in self.kept_network_files()?.iter().skip(MOST_KEPT) {
            let _ = fs::remove_file(path);
        }
        Ok(path)
    }

    /// The descriptions of which answers are kept: the question of each, the newest first. Files that cannot be read
    /// are left out.
    ///
    /// Errors: I/O errors.
    pub fn kept_network_questions(&self) -> Result<Vec<(PathBuf, NetworkQuestion)>> {
        let read = |path: PathBuf| {
            let stored = decode(&read_sealed(&path, MAGIC, LARGEST).ok()?).ok()?;
            Some((path, stored.question))
        };
        Ok(self.kept_network_files()?.into_iter().filter_map(read).collect())
    }

    /// Removes all kept answers, and returns how many there were.
    ///
    /// Errors: I/O errors.
    pub fn forget_kept_networks(&self) -> Result<usize> {
        let paths = self.kept_network_files()?;
        for path in &paths {
            fs::remove_file(path)
                .map_err(|e| Error::io("cannot remove the kept network", path, &e))?;
        }
        Ok(paths.len())
    }

    fn kept_networks_folder(&self) -> PathBuf {
        self.directory().join(FOLDER)
    }

    /// The files of the folder, the newest first. Leftovers of saves that were interrupted long ago are removed.
    fn kept_network_files(&self) -> Result<Vec<PathBuf>> {
        let folder = self.kept_networks_folder();
        check_folder(&folder)?;
        let entries = match fs::read_dir(&folder) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            other => other.map_err(|e| Error::io("cannot read the folder", &folder, &e))?,
        };
        let mut ours: Vec<(SystemTime, PathBuf)> = Vec::new();
        for entry in entries.flatten() {
            let (path, name) = (entry.path(), entry.file_name());
            let name = name.to_string_lossy();
            if name.ends_with(".tmp") && is_stale(&entry) && is_own(&path) {
                let _ = fs::remove_file(&path);
            } else if is_name(&name) {
                let changed = entry.metadata().and_then(|meta| meta.modified());
                ours.push((changed.unwrap_or(SystemTime::UNIX_EPOCH), path));
            }
        }
        ours.sort_unstable_by(|a, b| b.cmp(a));
        Ok(ours.into_iter().map(|(_, path)| path).collect())
    }
}

/// Whether a file has a name that [`NetworkQuestion::name`] gives.
fn is_name(name: &str) -> bool {
    let number = name.strip_suffix(ENDING);
    number.is_some_and(|n| n.len() == 16 && n.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// The question and the answer in the bytes of such a file.
///
/// Errors (without a place): not such a file, a newer version, damaged.
pub fn decode_kept_network(bytes: &[u8]) -> Result<(NetworkQuestion, KeptNetwork)> {
    decode(bytes).map(|stored| (stored.question, stored.answer))
}

/// The question and the answer in a file of a store.
///
/// Errors: I/O errors, not such a file, a newer version, damaged.
pub fn read_kept_network(path: &Path) -> Result<(NetworkQuestion, KeptNetwork)> {
    let bytes = read_sealed(path, MAGIC, LARGEST)
        .map_err(|e| Error::io("cannot read the kept network", path, &e))?;
    decode_kept_network(&bytes).map_err(|e| e.at(path.display()))
}

fn decode(bytes: &[u8]) -> Result<StoredAnswer> {
    let (_, body) = open_sealed(bytes, MAGIC, VERSION, "network")?;
    let stored: StoredAnswer =
        postcard::from_bytes(body).map_err(|e| damaged(&format!("cannot be decoded: {e}")))?;
    match stored.answer.is_sound(stored.question.hosts.len()) {
        true => Ok(stored),
        false => Err(damaged("does not fit its hosts")),
    }
}

fn damaged(what: &str) -> Error {
    Error::new(ErrorKind::Format, format!("the kept network {what}"))
}

#[cfg(test)]
#[path = "kept_networks_tests.rs"]
mod tests;
