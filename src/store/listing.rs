//! The list of the records in a store, also of a store with a million of them.
//!
//! The heads of all records are read once, by several threads, and kept in a file in the user's cache folder
//! (`$XDG_CACHE_HOME/rankweave/lists`, else `~/.cache/rankweave/lists`). If the directory has not changed since, the
//! kept list is the answer. If it has, the list of its files is read again, and only the records whose files are
//! not those of the kept list are opened. Records are replaced by renaming, which changes the directory.
//!
//! A kept list that is damaged, of another version or of another user counts as absent. Small stores have none.

use super::access::unreadable;
use super::directory::Store;
use super::entry::Entry;
use super::file_name::ENDING;
use super::record_format::{open_sealed, read_sealed, seal};
use crate::base::clock::since_1970;
use crate::base::error::Result;
use crate::base::file::{FileIdentity, is_own};
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// First bytes of a kept list.
const MAGIC: [u8; 8] = *b"RKLIST\n\0";
/// Version of the format.
const VERSION: u32 = 1;
/// Stores with fewer records are read anew each time.
const FEWEST: usize = 256;
/// The largest kept list that is read.
const LARGEST: u64 = 4 << 30;
/// A directory that changed less than so many seconds before it was read may change again without another time.
const SETTLED: i64 = 2;
/// Threads that open records.
const THREADS: usize = 8;
/// Ending of the files with verdicts.
const VERDICTS: &str = "verdict";

/// The records of a store, and the programs that have verdicts.
#[derive(Debug, Clone, Default)]
pub struct Listing {
    /// The newest first; files that cannot be read are last.
    pub entries: Vec<Entry>,
    /// Names of the files with verdicts, without ending.
    verdicts: HashSet<String>,
}

/// What is kept of a store.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Kept {
    /// The directory, as it was before it was read.
    directory: FileIdentity,
    /// When it was read, seconds since 1970-01-01 UTC.
    read_at: u64,
    /// The readable records, the newest first.
    known: Vec<Known>,
    /// Files that cannot be read are there too: the list alone does not answer.
    has_problems: bool,
    verdicts: Vec<String>,
}

/// A record of the list.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Known {
    /// The name of the file without ending.
    stem: String,
    identity: FileIdentity,
    /// Empty if it is `stem`.
    key: String,
    program: String,
    tasks: u64,
    recorded_at: u64,
}

impl Known {
    fn entry(self, directory: &Path) -> Entry {
        let key = if self.key.is_empty() { self.stem.clone() } else { self.key };
        Entry {
            key,
            path: directory.join(self.stem + ENDING),
            size: self.identity.size,
            program: self.program,
            tasks: self.tasks,
            recorded_at: self.recorded_at,
            problem: None,
        }
    }
}

/// A file of the store, read.
enum Read {
    /// As it is known, at this index.
    Same(usize),
    New(Known),
    Bad(Box<Entry>),
}

impl Store {
    /// Everything in the store, the newest first. A directory that does not exist is empty; files
    /// that cannot be read are listed with their problem, last.
    pub fn list(&self) -> Result<Vec<Entry>> {
        self.listing().map(|listing| listing.entries)
    }

    /// [`Self::list`], and which programs have verdicts.
    pub fn listing(&self) -> Result<Listing> {
        Listing::of(self.directory(), cache_folder().as_deref())
    }
}

impl Listing {
    /// Lists the records in a directory. A directory that does not exist is empty. `cache` is the folder of kept
    /// lists; `None` if nothing is to be kept.
    fn of(directory: &Path, cache: Option<&Path>) -> Result<Listing> {
        let failed = |e: std::io::Error| unreadable("cannot list the store", directory, &e);
        let before = match fs::metadata(directory) {
            Ok(meta) => identity(&meta),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Listing::default()),
            Err(e) => return Err(failed(e)),
        };
        let file = cache.map(|folder| folder.join(name_of(directory)));
        let kept = file.as_deref().and_then(read_kept).unwrap_or_default();
        let is_settled = before.is_settled(kept.read_at, SETTLED);
        if kept.directory == before && is_settled && !kept.has_problems {
            return Ok(Listing::from_kept(kept, directory));
        }
        let read_at = since_1970().as_secs();
        let mut stems = Vec::new();
        let mut verdicts = Vec::new();
        for found in fs::read_dir(directory).map_err(failed)? {
            let name = found.map_err(failed)?.file_name();
            let Some(name) = name.to_str().filter(|name| !name.starts_with('.')) else { continue };
            if let Some(stem) = name.strip_suffix(ENDING) {
                stems.push(stem.to_string());
            } else if let Some((stem, VERDICTS)) = name.rsplit_once('.') {
                verdicts.push(stem.to_string());
            }
        }
        let (known, problems) = read_all(directory, stems, kept.known);
        let kept = Kept {
            directory: before,
            read_at,
            known,
            has_problems: !problems.is_empty(),
            verdicts,
        };
        if let Some(file) = file.filter(|_| kept.known.len() >= FEWEST) {
            keep(&file, &kept);
        }
        let mut listing = Listing::from_kept(kept, directory);
        listing.entries.extend(problems);
        Ok(listing)
    }

    fn from_kept(kept: Kept, directory: &Path) -> Listing {
        let entries = kept.known.into_iter().map(|known| known.entry(directory)).collect();
        Listing { entries, verdicts: kept.verdicts.into_iter().collect() }
    }

    /// Whether the store has a file with verdicts whose name without ending is `stem`.
    pub(super) fn has_verdicts(&self, stem: &str) -> bool {
        self.verdicts.contains(stem)
    }
}

/// The records of these files, the newest first, and the files that cannot be read, by name. What is known of
/// files that have not changed is taken over.
fn read_all(
    directory: &Path,
    stems: Vec<String>,
    mut known: Vec<Known>,
) -> (Vec<Known>, Vec<Entry>) {
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(THREADS);
    let part = stems.len().div_ceil(threads).max(FEWEST);
    let index: HashMap<&str, usize> =
        known.iter().enumerate().map(|(k, known)| (known.stem.as_str(), k)).collect();
    let read = |stems: &[String]| -> Vec<Read> {
        let mut found = Vec::with_capacity(stems.len());
        for stem in stems {
            let at = index.get(stem.as_str()).copied();
            let same = at.filter(|&at| {
                let file = fs::symlink_metadata(directory.join(format!("{stem}{ENDING}")));
                file.is_ok_and(|now| now.is_file() && identity(&now) == known[at].identity)
            });
            found.extend(same.map(Read::Same).or_else(|| read_one(directory, stem)));
        }
        found
    };
    let parts: Vec<Vec<Read>> = std::thread::scope(|scope| {
        let started: Vec<_> = stems.chunks(part).map(|some| scope.spawn(|| read(some))).collect();
        started
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    });
    drop(index);
    let (mut good, mut bad) = (Vec::with_capacity(stems.len()), Vec::new());
    for read in parts.into_iter().flatten() {
        match read {
            Read::Same(at) => good.push(std::mem::take(&mut known[at])),
            Read::New(known) => good.push(known),
            Read::Bad(entry) => bad.push(*entry),
        }
    }
    good.sort_unstable_by(|a, b| {
        b.recorded_at.cmp(&a.recorded_at).then_with(|| a.stem.cmp(&b.stem))
    });
    bad.sort_by(|a, b| a.path.cmp(&b.path));
    (good, bad)
}

/// `None` if the file has disappeared.
fn read_one(directory: &Path, stem: &str) -> Option<Read> {
    let path = directory.join(format!("{stem}{ENDING}"));
    let now = identity(&fs::symlink_metadata(&path).ok()?);
    let entry = Entry::of(path, stem);
    Some(match &entry.problem {
        Some(_) => Read::Bad(Box::new(entry)),
        None => Read::New(Known {
            stem: stem.into(),
            identity: FileIdentity { size: entry.size, ..now },
            key: if entry.key == stem { String::new() } else { entry.key },
            program: entry.program,
            tasks: entry.tasks,
            recorded_at: entry.recorded_at,
        }),
    })
}

fn identity(meta: &fs::Metadata) -> FileIdentity {
    let changed = (meta.mtime(), meta.mtime_nsec() as u32);
    FileIdentity { size: meta.len(), changed, inode: meta.ino() }
}

/// The folder of kept lists, if the user has one.
fn cache_folder() -> Option<PathBuf> {
    let set = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = set("XDG_CACHE_HOME").or_else(|| set("HOME").map(|home| home.join(".cache")));
    cache.map(|cache| cache.join("rankweave/lists"))
}

/// The file of the kept list of a directory.
fn name_of(directory: &Path) -> String {
    let whole = fs::canonicalize(directory).unwrap_or_else(|_| directory.into());
    let bytes = whole.as_os_str().as_encoded_bytes();
    let low = crc32fast::hash(bytes);
    let high = crc32fast::hash(&[bytes, &low.to_le_bytes()].concat());
    format!("{high:08x}{low:08x}.list")
}

fn read_kept(file: &Path) -> Option<Kept> {
    if !is_own(file) {
        return None;
    }
    let bytes = read_sealed(file, MAGIC, LARGEST).ok()?;
    let (_, body) = open_sealed(&bytes, MAGIC, VERSION, "list").ok()?;
    postcard::from_bytes(body).ok()
}

/// Keeps a list. Where this is not possible, the next listing takes longer.
fn keep(file: &Path, kept: &Kept) {
    let Ok(body) = postcard::to_allocvec(kept) else { return };
    let Some(folder) = file.parent() else { return };
    let temporary = super::directory::temporary(file);
    let written = fs::create_dir_all(folder)
        .and_then(|()| fs::write(&temporary, seal(MAGIC, VERSION, &body)))
        .and_then(|()| fs::rename(&temporary, file));
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
}

#[cfg(test)]
#[path = "listing_tests.rs"]
mod tests;
