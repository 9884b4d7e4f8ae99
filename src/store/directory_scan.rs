//! Reads the names in the directory of a store, and compares them with an index, also if there are a million of them.
//!
//! A record is the same if its file has the same number as in the index, and if no mark says that it may have changed
//! ([`super::change_marks`] says why this is enough). All others, or all if [`Asked::All`] says so, are asked for size, time
//! and number (`fstatat`) by several threads. Where a directory gives other numbers than its files have (overlays,
//! mount points), all files are asked.
//!
//! One thread reads the names in large pieces. Another compares them in the same order with the rows of the index, which stand in
//! the order of the last time ([`super::directory_order`]). In most file systems this is the order of now, so that no name is
//! searched for. A name that does not follow soon is searched for, and the comparison goes on behind its row. So it does not matter
//! how many rows between are of removed records. If there are many such names, they are found in a table ([`NameTable`]).

use super::change_marks::{SLOTS, slot_of, user_of};
use super::file_name::ENDING;
use super::list_index::Index;
use super::name_table::NameTable;
use super::record_heads::Unread;
use crate::base::file::FileIdentity;
use crate::base::threads::in_threads;
use std::collections::{HashMap, HashSet};
use std::ffi::{CStr, CString};
use std::fs::{File, OpenOptions};
use std::io::{Error, Result};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::sync_channel;

/// Bytes of names that are read at once.
const PIECE: usize = 128 << 10;
/// Pieces that wait for the thread that compares them.
const WAITING: usize = 64;
/// Threads that ask for files. They wait for a server, if they wait.
const ASKING: usize = 8;
/// Files that a thread takes at once.
const TAKEN: usize = 256;
/// So many rows behind the last one are compared with a name: those between were removed, or have moved.
const NEAR: usize = 8;
/// So many names that do not follow soon wait for the end. If there are more, the table is made, which costs as much as a
/// few hundred thousand comparisons.
const PATIENCE: usize = 64;
/// The row so many rows ahead is asked for: the rows are not in this order in memory.
const AHEAD: usize = 12;
/// No position.
const NOWHERE: u32 = u32::MAX;
/// Ending of the files with verdicts.
const VERDICTS: &str = ".verdict";
/// Where the kind of a file and its name stand in an entry of a directory.
const KIND: usize = 18;
const BEFORE_NAME: usize = 19;

/// The records that are asked for size and time, whatever their numbers are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Asked {
    All,
    /// Those whose names are in these slots. There are [`super::change_marks::SLOTS`].
    InSlots(Vec<bool>),
}

impl Asked {
    fn has(&self, stem: &[u8]) -> bool {
        match self {
            Asked::All => true,
            Asked::InSlots(slots) => slots.get(slot_of(stem)).copied().unwrap_or(true),
        }
    }
}

/// What is in a directory, compared with an index.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// Whether the file of each row is there and is the same.
    pub same: Vec<bool>,
    /// Where the name of each row stands, counted in records. Of a row that is not there, this is no position.
    pub positions: Vec<u32>,
    /// Each record that is not in the index, or is another file than there.
    pub fresh: Vec<Unread>,
    /// Names without ending of the files with verdicts, ascending.
    pub verdicts: Vec<String>,
    /// Users who have tables of marks, ascending.
    pub users: Vec<u32>,
    /// Records that were asked for size and time.
    pub asked: usize,
    /// Rows whose names did not follow soon after the name before.
    pub elsewhere: usize,
    /// Whether anything shows why the directory was changed: a row that is not there, a name that has none, or a record
    /// that is another file. That a record had to be asked shows nothing: those with marks are asked for some time.
    pub shows_change: bool,
}

impl Found {
    /// A directory may give a name twice, with an old and with a new file: one that changes while it is read, and those of some file
    /// systems at any time. The record is then only that of the new file.
    fn forget_given_twice(&mut self, index: &Index) {
        if self.fresh.is_empty() {
            return;
        }
        // Nearly all rows are in other slots than the few new names, and cost no search.
        let mut slots = vec![false; SLOTS];
        self.fresh.iter().for_each(|file| slots[slot_of(file.stem.as_bytes())] = true);
        let fresh: HashSet<&[u8]> = self.fresh.iter().map(|file| file.stem.as_bytes()).collect();
        for (row, same) in self.same.iter_mut().enumerate().filter(|(_, same)| **same) {
            let stem = index.row(row as u32).stem_bytes();
            *same = !(slots[slot_of(stem)] && fresh.contains(stem));
        }
    }
}

/// The names of a directory, compared one after another with the rows of an index.
struct Walk<'a> {
    index: &'a Index,
    asked: &'a Asked,
    /// The rows in the order of their names.
    order: Vec<u32>,
    /// How many of them are behind.
    at: usize,
    /// Records so far.
    records: u32,
    found: Found,
    /// Rows whose file has to be asked, with the number that the directory gave.
    unsure: Vec<(u32, u64)>,
    /// Names that did not follow soon. There are at most [`PATIENCE`].
    missed: Vec<(Unread, bool)>,
    /// All rows by their names, and their places in `order`, if there were more of them.
    table: Option<(NameTable, Vec<u32>)>,
}

/// Compares the files of a directory with an index.
///
/// Errors: the directory cannot be read.
pub(super) fn scan(directory: &Path, index: &Index, asked: &Asked) -> Result<Found> {
    let open = OpenOptions::new().read(true).custom_flags(libc::O_DIRECTORY).open(directory)?;
    let mut walk = Walk::new(index, asked);
    std::thread::scope(|scope| {
        let (send, receive) = sync_channel::<Vec<u8>>(WAITING);
        let reader = std::thread::Builder::new().spawn_scoped(scope, {
            let open = &open;
            move || read_names(open, |piece| send.send(piece).is_ok())
        });
        match reader {
            Ok(reader) => {
                receive.iter().for_each(|piece| walk.compare(&piece));
                reader.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            }
            // No further thread can be made.
            Err(_) => read_names(&open, |piece| {
                walk.compare(&piece);
                true
            }),
        }
    })?;
    walk.find_missed();
    walk.ask(&open);
    let Walk { mut found, .. } = walk;
    found.forget_given_twice(index);
    found.verdicts.sort_unstable();
    found.verdicts.dedup();
    found.users.sort_unstable();
    found.users.dedup();
    // Files that cannot be read have no rows. They were found before, and are no change.
    let unreadable: HashSet<&str> = index.state.unreadable.iter().map(String::as_str).collect();
    found.shows_change |= found.fresh.iter().any(|file| !unreadable.contains(file.stem.as_str()))
        || found.verdicts != index.state.verdicts;
    Ok(found)
}

impl Walk<'_> {
    fn new<'a>(index: &'a Index, asked: &'a Asked) -> Walk<'a> {
        let order = index.by_position();
        let found = Found {
            same: vec![false; index.rows()],
            positions: vec![NOWHERE; index.rows()],
            ..Found::default()
        };
        let (unsure, missed) = (Vec::new(), Vec::new());
        Walk { index, asked, order, at: 0, records: 0, found, unsure, missed, table: None }
    }

    /// Compares the files of the next piece.
    fn compare(&mut self, piece: &[u8]) {
        let mut rest = piece;
        while let Some((entry, behind)) = first_entry(rest) {
            rest = behind;
            let name = entry.name.to_bytes();
            let text = || entry.name.to_str().ok();
            if name.starts_with(b".") {
                self.found.users.extend(text().and_then(user_of));
            } else if let Some(stem) = name.strip_suffix(ENDING.as_bytes()) {
                self.compare_record(&entry, stem);
            } else if let Some(stem) = text().and_then(|text| text.strip_suffix(VERDICTS)) {
                self.found.verdicts.push(stem.to_string());
            }
        }
    }

    /// Compares the file of a record with the row of its name.
    fn compare_record(&mut self, entry: &DirectoryEntry, stem: &[u8]) {
        let position = self.records;
        self.records = position.saturating_add(1);
        let soon = self.order.get(self.at + AHEAD).copied();
        soon.iter().for_each(|&row| self.index.ask_for(row));
        // With the table, it costs less to search for a name than to look at many rows.
        let near = if self.table.is_some() { 1 } else { NEAR };
        let near = self.order.iter().skip(self.at).take(near);
        let place = near.into_iter().position(|&row| self.is_row_of(row, stem));
        if let Some(k) = place {
            let row = self.order[self.at + k];
            self.at += k + 1;
            self.judge(row, (entry.number, entry.may_be_file, position));
        } else if let Ok(stem) = str::from_utf8(stem) {
            let file = Unread { number: entry.number, stem: stem.into(), position };
            self.search(file, entry.may_be_file);
        }
    }

    /// Whether a row has this name, and no file was compared with it. A directory that changes can give a name twice.
    fn is_row_of(&self, row: u32, stem: &[u8]) -> bool {
        self.index.row(row).stem_bytes() == stem && self.found.positions[row as usize] == NOWHERE
    }

    /// Searches for a name that does not follow soon: at the end, or in the table.
    fn search(&mut self, file: Unread, may_be_file: bool) {
        if self.table.is_none() {
            if self.missed.len() < PATIENCE {
                self.missed.push((file, may_be_file));
                return;
            }
            self.table = Some(self.table());
            for (file, may_be_file) in std::mem::take(&mut self.missed) {
                self.look_up(file, may_be_file);
            }
        }
        self.look_up(file, may_be_file);
    }

    /// The table of all names, and the place of each row in `order`.
    fn table(&self) -> (NameTable, Vec<u32>) {
        let mut places = vec![NOWHERE; self.index.rows()];
        for (place, &row) in (0..).zip(&self.order) {
            places[row as usize] = place;
        }
        // In this order, the rows are behind each other in memory.
        let rows = (0..).zip(&places).filter(|&(_, &place)| place != NOWHERE).map(|(row, _)| row);
        let index = self.index;
        let table = NameTable::new(self.order.len(), rows, |row| index.row(row).stem_bytes());
        (table, places)
    }

    /// Searches for a name in the table. If it is there, the comparison goes on behind its row.
    fn look_up(&mut self, file: Unread, may_be_file: bool) {
        let (stem, index) = (file.stem.as_bytes(), self.index);
        let row = self.table.as_ref().and_then(|(table, places)| {
            let row = table.find(stem, |row| index.row(row).stem_bytes())?;
            Some((row, places[row as usize]))
        });
        match row.filter(|&(row, _)| self.found.positions[row as usize] == NOWHERE) {
            Some((row, place)) => {
                self.at = place as usize + 1;
                self.found.elsewhere += 1;
                self.judge(row, (file.number, may_be_file, file.position));
            }
            None => self.found.fresh.push(file),
        }
    }

    /// Compares a file with the row of its name.
    fn judge(&mut self, row: u32, (number, may_be_file, position): (u64, bool, u32)) {
        let place = row as usize;
        self.found.positions[place] = position;
        let known = self.index.row(row);
        let has_number = may_be_file && number == known.identity().inode;
        match has_number && !self.asked.has(known.stem_bytes()) {
            true => self.found.same[place] = true,
            false => self.unsure.push((row, number)),
        }
    }

    /// Searches for the names that wait, among the rows that are left.
    fn find_missed(&mut self) {
        let missed = std::mem::take(&mut self.missed);
        let index = self.index;
        let is_left = |found: &Found, row: u32| found.positions[row as usize] == NOWHERE;
        let mut rows: HashMap<String, u32> = HashMap::new();
        if !missed.is_empty() {
            let names: HashSet<&str> = missed.iter().map(|(file, _)| file.stem.as_str()).collect();
            let left = self.order.iter().filter(|&&row| is_left(&self.found, row));
            let left = left.map(|&row| (index.row(row).stem(), row));
            let wanted = left.filter(|(stem, _)| names.contains(stem));
            rows.extend(wanted.map(|(stem, row)| (stem.to_string(), row)));
        }
        for (file, may_be_file) in missed {
            match rows.remove(&file.stem) {
                Some(row) => {
                    self.found.elsewhere += 1;
                    self.judge(row, (file.number, may_be_file, file.position));
                }
                None => self.found.fresh.push(file),
            }
        }
        self.found.shows_change = self.order.iter().any(|&row| is_left(&self.found, row));
    }

    /// Asks the files that may be others than those of their rows.
    fn ask(&mut self, directory: &File) {
        let (unsure, index) = (std::mem::take(&mut self.unsure), self.index);
        let next = AtomicUsize::new(0);
        let ask = || {
            let mut same = Vec::new();
            loop {
                let from = next.fetch_add(TAKEN, Ordering::Relaxed).min(unsure.len());
                let some = &unsure[from..unsure.len().min(from + TAKEN)];
                if some.is_empty() {
                    return same;
                }
                same.extend(some.iter().filter_map(|&(row, _)| {
                    let known = index.row(row);
                    let name = CString::new(format!("{}{ENDING}", known.stem())).ok()?;
                    (identity_of(directory, &name) == Some(known.identity())).then_some(row)
                }));
            }
        };
        let threads = unsure.len().div_ceil(TAKEN).min(ASKING);
        for row in in_threads(threads, ask).concat() {
            self.found.same[row as usize] = true;
        }
        self.found.asked = unsure.len();
        for (row, number) in unsure {
            if !self.found.same[row as usize] {
                let position = self.found.positions[row as usize];
                let stem = index.row(row).stem().to_string();
                self.found.fresh.push(Unread { number, stem, position });
            }
        }
    }
}

/// Reads the entries of a directory in pieces, as long as they are taken.
fn read_names(directory: &File, mut take: impl FnMut(Vec<u8>) -> bool) -> Result<()> {
    loop {
        let mut piece = vec![0u8; PIECE];
        // SAFETY: the descriptor is open, and the buffer has as many bytes as the call is told.
        let length = unsafe {
            let (fd, buffer) = (directory.as_raw_fd(), piece.as_mut_ptr());
            libc::syscall(libc::SYS_getdents64, fd, buffer, piece.len())
        };
        match usize::try_from(length) {
            Err(_) => {
                let error = Error::last_os_error();
                if error.kind() != std::io::ErrorKind::Interrupted {
                    return Err(error);
                }
            }
            Ok(0) => return Ok(()),
            Ok(length) => {
                piece.truncate(length);
                if !take(piece) {
                    return Ok(());
                }
            }
        }
    }
}

/// An entry of a directory.
struct DirectoryEntry<'a> {
    number: u64,
    /// Whether it is a regular file, or this is not known.
    may_be_file: bool,
    name: &'a CStr,
}

/// The first entry in these bytes, and the bytes behind it.
fn first_entry(bytes: &[u8]) -> Option<(DirectoryEntry<'_>, &[u8])> {
    let number = u64::from_ne_bytes(bytes.get(..8)?.try_into().ok()?);
    let length = u16::from_ne_bytes(bytes.get(16..18)?.try_into().ok()?);
    let (entry, behind) = bytes.split_at_checked(usize::from(length))?;
    let may_be_file = [libc::DT_REG, libc::DT_UNKNOWN].contains(entry.get(KIND)?);
    let name = CStr::from_bytes_until_nul(entry.get(BEFORE_NAME..)?).ok()?;
    Some((DirectoryEntry { number, may_be_file, name }, behind))
}

/// The identity of the regular file with this name; `None` for everything else.
fn identity_of(directory: &File, name: &CStr) -> Option<FileIdentity> {
    let flags = libc::AT_SYMLINK_NOFOLLOW;
    // SAFETY: an open descriptor, a C string, and a struct of the right type, for which all zeros are a valid value.
    let (code, stat) = unsafe {
        let mut stat: libc::stat = std::mem::zeroed();
        (libc::fstatat(directory.as_raw_fd(), name.as_ptr(), &raw mut stat, flags), stat)
    };
    let is_file = code == 0 && stat.st_mode & libc::S_IFMT == libc::S_IFREG;
    let changed = (stat.st_mtime, stat.st_mtime_nsec as u32);
    is_file.then_some(FileIdentity { size: stat.st_size as u64, changed, inode: stat.st_ino })
}

#[cfg(test)]
#[path = "directory_scan_tests.rs"]
mod tests;
