//! The list of the records in a store, also of a store with a million of them.
//!
//! The heads of all records are read once, and kept in an index ([`Index`]) in the user's cache folder
//! (`$XDG_CACHE_HOME/rankweave/lists`, else `~/.cache/rankweave/lists`). If the directory has not changed since, the
//! index is the answer. If it has, the names of its files are read again, and only the records whose files are
//! not those of the index are opened and added to it. Records are replaced by renaming, which changes the directory.
//!
//! Which files are not those of the index follows from the numbers that come with the names, and from the marks that
//! writers leave ([`super::change_marks`]). Every file is asked for size and time where there are no marks, if the last such list
//! was more than [`ALL_AGAIN`] seconds ago, and if nothing shows why the directory was changed.
//!
//! An index that is damaged, of another version or of another user counts as absent. Small stores have none.

use super::access::unreadable;
use super::change_marks::{Marks, SLOTS};
use super::directory::Store;
use super::directory_scan::{Asked, Found, scan};
use super::entry::Entry;
use super::file_name::ENDING;
use super::list_index::{self, Index, State};
use super::record_heads::{Unread, identity, read_heads};
use crate::base::clock::since_1970;
use crate::base::error::{Error, Result};
use crate::base::file::user;
use std::borrow::Cow;
use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Stores with fewer records are read anew each time.
const FEWEST: usize = 256;
/// A directory that changed less than so many seconds before it was read may change again without another time.
const SETTLED: i64 = 2;
/// After so many seconds, all files are asked for size and time again.
const ALL_AGAIN: u64 = 3600;
/// If more than this part of the names are not where the index says, it is written anew.
const DISORDER: usize = 16;
/// For so many seconds after a mark was seen, its records are asked. So long, a network file system may give old names.
const LATELY: u64 = 120;

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
    /// Records that were asked for size and time.
    asked: usize,
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
            let unread = |stem: &String| Unread { stem: stem.clone(), ..Unread::default() };
            index.state.unreadable.iter().map(unread).collect()
        } else {
            cost.names = true;
            let is_other = index.state.directory != before;
            index.state.read_at = since_1970().as_secs();
            index.state.directory = before;
            let found = compare(directory, &mut index, is_other).map_err(failed)?;
            cost.asked = found.asked;
            found.fresh
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

    /// Whether the store has any file with verdicts.
    pub(super) fn has_any_verdicts(&self) -> bool {
        !self.verdicts.is_empty()
    }

    /// Whether the store has a file with verdicts whose name without ending is `stem`.
    pub(super) fn has_verdicts(&self, stem: &str) -> bool {
        self.verdicts.contains(stem)
    }
}

/// Compares the directory with the index, and removes the rows whose files are no longer the same. `is_other` says that the
/// directory was changed since the last time. The files that have to be read are in [`Found::fresh`].
fn compare(directory: &Path, index: &mut Index, is_other: bool) -> std::io::Result<Found> {
    let mut users = index.state.users.clone();
    users.push(user());
    users.sort_unstable();
    users.dedup();
    // The marks have to be older than what is compared.
    let mut marks = Marks::read(directory, &users);
    let mut asked = index.state.asked(&marks);
    let mut found = scan(directory, index, &asked)?;
    let is_new = found.users.iter().any(|user| !users.contains(user));
    if asked != Asked::All && (is_new || is_other && !found.shows_change) {
        asked = Asked::All;
        marks = Marks::read(directory, if is_new { &found.users } else { &users });
        found = scan(directory, index, &asked)?;
    }
    for (row, _) in found.same.iter().enumerate().filter(|(_, same)| !**same) {
        index.remove(row as u32);
    }
    index.positions = std::mem::take(&mut found.positions);
    // Such a list takes long anyway, and comes once an hour. Where names have no order, each change would write the whole index.
    index.renew = asked == Asked::All && found.elsewhere > index.rows() / DISORDER;
    let state = &mut index.state;
    state.verdicts = std::mem::take(&mut found.verdicts);
    // The marks of users who were found only now are new for the next list.
    state.users = std::mem::take(&mut found.users);
    state.note_marks(marks, asked == Asked::All);
    Ok(found)
}

impl State {
    /// The records that have to be asked, if the marks are these by now.
    fn asked(&self, marks: &Marks) -> Asked {
        let is_late =
            self.read_at.checked_sub(self.all_asked_at).is_none_or(|age| age >= ALL_AGAIN);
        if is_late || !marks.are_known {
            return Asked::All;
        }
        let mut slots = vec![false; SLOTS];
        let lately = self.recent.iter().map(|&(slot, _)| slot);
        for slot in marks.differences(&self.marks).into_iter().chain(lately) {
            slots[usize::from(slot) % SLOTS] = true;
        }
        Asked::InSlots(slots)
    }

    /// Remembers the marks, and which of them have changed.
    fn note_marks(&mut self, marks: Marks, all_were_asked: bool) {
        let now = self.read_at;
        let changed = marks.differences(&self.marks);
        self.recent.retain(|&(slot, seen_at)| {
            now.checked_sub(seen_at).is_some_and(|age| age < LATELY) && !changed.contains(&slot)
        });
        // The first list knows no other marks.
        if self.all_asked_at > 0 {
            self.recent.extend(changed.into_iter().map(|slot| (slot, now)));
        }
        self.marks = marks;
        if all_were_asked {
            self.all_asked_at = now;
        }
    }
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
    format!("{high:08x}{low:08x}{}", list_index::ENDING)
}

#[cfg(test)]
#[path = "listing_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "marked_listing_tests.rs"]
mod marked_tests;
