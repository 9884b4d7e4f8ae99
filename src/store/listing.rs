//! The list of the records in a store, also of a store with a million of them.
//!
//! The heads of all records are read once, and kept in an index ([`Index`]) in the user's cache folder
//! (`$XDG_CACHE_HOME/rankweave/lists`, else `~/.cache/rankweave/lists`). If the directory has not changed since, the
//! index is the answer. If it has, the names of its files are read again, and only the records whose files are
//! not those of the index are opened and added to it. Records are replaced by renaming, which changes the directory.
//!
//! An index that is damaged, of another version or of another user counts as absent. Small stores have none.

use super::access::unreadable;
use super::directory::Store;
use super::directory_scan::{identity, read_heads, scan};
use super::entry::Entry;
use super::file_name::ENDING;
use super::list_index::Index;
use crate::base::clock::since_1970;
use crate::base::error::{Error, Result};
use std::borrow::Cow;
use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Stores with fewer records are read anew each time.
const FEWEST: usize = 256;
/// A directory that changed less than so many seconds before it was read may change again without another time.
const SETTLED: i64 = 2;

/// The records of a store, and the programs that have verdicts.
#[derive(Debug, Default)]
pub struct Listing {
    directory: PathBuf,
    index: Index,
    /// The rows of the index, the newest first.
    order: Vec<u32>,
    /// Files that cannot be read, by name.
    problems: Vec<Entry>,
    /// Names of the files with verdicts, without ending.
    verdicts: HashSet<String>,
    /// What the listing has cost.
    #[cfg_attr(not(test), allow(dead_code, reason = "only tests ask for it"))]
    cost: Cost,
}

/// What a listing has cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Cost {
    /// Whether the names in the directory were read.
    names: bool,
    /// Records that were opened.
    opened: usize,
    /// Bytes of the index that were written.
    written: usize,
}

/// One record of a listing.
#[derive(Debug, Clone, Copy)]
pub struct Listed<'a> {
    /// See [`Entry::key`].
    pub key: &'a str,
    /// Path of the executable; empty when the file cannot be read.
    pub program: &'a str,
    /// Size of the file in bytes.
    pub size: u64,
    /// Number of tasks.
    pub tasks: u64,
    /// Seconds since 1970-01-01 UTC; 0 when the file cannot be read.
    pub recorded_at: u64,
    /// Why the file cannot be read. `None` if the file can be read.
    pub problem: Option<&'a Error>,
    place: Place<'a>,
}

/// Where the file of a record is.
#[derive(Debug, Clone, Copy)]
enum Place<'a> {
    /// Directory, and name without ending.
    In(&'a Path, &'a str),
    At(&'a Path),
}

impl<'a> Listed<'a> {
    /// The file.
    pub fn path(&self) -> Cow<'a, Path> {
        match self.place {
            Place::In(directory, stem) => Cow::Owned(directory.join(format!("{stem}{ENDING}"))),
            Place::At(path) => Cow::Borrowed(path),
        }
    }

    /// The record as a value of its own.
    pub fn entry(&self) -> Entry {
        Entry {
            key: self.key.into(),
            path: self.path().into_owned(),
            size: self.size,
            program: self.program.into(),
            tasks: self.tasks,
            recorded_at: self.recorded_at,
            problem: self.problem.cloned(),
        }
    }
}

impl<'a> From<&'a Entry> for Listed<'a> {
    fn from(entry: &'a Entry) -> Listed<'a> {
        Listed {
            key: &entry.key,
            program: &entry.program,
            size: entry.size,
            tasks: entry.tasks,
            recorded_at: entry.recorded_at,
            problem: entry.problem.as_ref(),
            place: Place::At(&entry.path),
        }
    }
}

impl Store {
    /// Everything in the store, the newest first. A directory that does not exist is empty; files
    /// that cannot be read are listed with their problem, last.
    pub fn list(&self) -> Result<Vec<Entry>> {
        self.listing().map(|listing| listing.records().map(|record| record.entry()).collect())
    }

    /// [`Self::list`], and which programs have verdicts. Nothing is allocated for a single record.
    pub fn listing(&self) -> Result<Listing> {
        Listing::of(self.directory(), cache_folder().as_deref())
    }
}

impl Listing {
    /// Number of records, with those that cannot be read.
    pub fn len(&self) -> usize {
        self.order.len() + self.problems.len()
    }

    /// Whether the store has no records.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The record at a position below [`Self::len`]: the newest first; files that cannot be read are last.
    pub fn record(&self, position: usize) -> Listed<'_> {
        let Some(&row) = self.order.get(position) else {
            return Listed::from(&self.problems[position - self.order.len()]);
        };
        let row = self.index.row(row);
        Listed {
            key: row.key(),
            program: row.program(),
            size: row.size(),
            tasks: row.tasks(),
            recorded_at: row.recorded_at(),
            problem: None,
            place: Place::In(&self.directory, row.stem()),
        }
    }

    /// All records in this order.
    pub fn records(&self) -> impl Iterator<Item = Listed<'_>> {
        (0..self.len()).map(|position| self.record(position))
    }

    /// Lists the records in a directory. A directory that does not exist is empty. `cache` is the folder of
    /// indexes; `None` if none is to be used.
    fn of(directory: &Path, cache: Option<&Path>) -> Result<Listing> {
        let failed = |e: std::io::Error| unreadable("cannot list the store", directory, &e);
        let before = match fs::metadata(directory) {
            Ok(meta) => identity(&meta),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Listing::default()),
            Err(e) => return Err(failed(e)),
        };
        let file = cache.map(|folder| folder.join(name_of(directory)));
        let mut index = file.as_deref().map(Index::read).unwrap_or_default();
        let mut cost = Cost::default();
        let is_same =
            index.state.directory == before && before.is_settled(index.state.read_at, SETTLED);
        let fresh = if is_same {
            // The file itself may have been changed since, or its permissions.
            index.state.unreadable.iter().map(|stem| (0, stem.clone())).collect()
        } else {
            cost.names = true;
            index.state.read_at = since_1970().as_secs();
            index.state.directory = before;
            compare(directory, &mut index).map_err(failed)?
        };
        cost.opened = fresh.len();
        let heads = read_heads(directory, fresh).map_err(failed)?;
        index.add(heads.rows);
        index.state.unreadable = heads.bad.iter().map(|entry| entry.key.clone()).collect();
        let order = index.newest_first();
        if let Some(file) = file.filter(|_| order.len() >= FEWEST) {
            cost.written = index.keep(&file, &order);
        }
        let verdicts = index.state.verdicts.iter().cloned().collect();
        let directory = directory.to_path_buf();
        Ok(Listing { directory, index, order, problems: heads.bad, verdicts, cost })
    }

    /// Whether the store has a file with verdicts whose name without ending is `stem`.
    pub(super) fn has_verdicts(&self, stem: &str) -> bool {
        self.verdicts.contains(stem)
    }
}

/// Removes the rows of the index whose files are no longer the same. Returns the files that have to be read, with their
/// numbers.
fn compare(directory: &Path, index: &mut Index) -> std::io::Result<Vec<(u64, String)>> {
    index.make_table();
    let found = scan(directory, index)?;
    for (row, _) in found.same.iter().enumerate().filter(|(_, same)| !**same) {
        index.remove(row as u32);
    }
    // A directory that changes while it is read can give the same name with an old and with a new file.
    for (_, stem) in &found.fresh {
        index.find(stem).iter().for_each(|&row| index.remove(row));
    }
    index.state.verdicts = found.verdicts;
    Ok(found.fresh)
}

/// The folder of indexes, if the user has one.
fn cache_folder() -> Option<PathBuf> {
    let set = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = set("XDG_CACHE_HOME").or_else(|| set("HOME").map(|home| home.join(".cache")));
    cache.map(|cache| cache.join("rankweave/lists"))
}

/// The file of the index of a directory.
fn name_of(directory: &Path) -> String {
    let whole = fs::canonicalize(directory).unwrap_or_else(|_| directory.into());
    let bytes = whole.as_os_str().as_encoded_bytes();
    let low = crc32fast::hash(bytes);
    let high = crc32fast::hash(&[bytes, &low.to_le_bytes()].concat());
    format!("{high:08x}{low:08x}.list")
}

#[cfg(test)]
#[path = "listing_tests.rs"]
mod tests;
