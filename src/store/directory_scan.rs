//! Reads the names in the directory of a store, and compares them with an index, also if there are a million of them.
//!
//! A record is the same if its file has the same number as in the index, and if no mark says that it may have changed
//! ([`super::change_marks`] says why this is enough). All others, or all if [`Asked::All`] says so, are asked for size, time
//! and number (`fstatat`) by several threads. Where a directory gives other numbers than its files have (overlays,
//! mount points), all files are asked.
//!
//! One thread reads the names in large pieces. Another compares them in the same order with the rows of the index, which stand in
//! the order of the last time. In most file systems this is the order of now, so that no name is searched for. Names that
//! are not found in this way are searched for among the rows that are left.

use super::change_marks::{slot_of, user_of};
use super::file_name::ENDING;
use super::list_index::Index;
use super::record_heads::{Unread, identity};
use crate::base::clock::since_1970;
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
    /// Whether anything shows why the directory was changed: a row that is not there, a name that has none, or a record
    /// that is another file. That a record had to be asked shows nothing: those with marks are asked for some time.
    pub shows_change: bool,
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
    /// Names that are not near the last one.
    missed: Vec<(Unread, bool)>,
}

/// Compares the files of a directory with an index.
///
/// Errors: the directory cannot be read.
pub(super) fn scan(directory: &Path, index: &Index, asked: &Asked) -> Result<Found> {
    let open = OpenOptions::new().read(true).custom_flags(libc::O_DIRECTORY).open(directory)?;
    let before = identity(&open.metadata()?);
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
    // The same name may have been given with an old and with a new file.
    let is_quiet =
        identity(&open.metadata()?) == before && before.is_settled(since_1970().as_secs(), 2);
    let Walk { mut found, .. } = walk;
    if !is_quiet && !found.fresh.is_empty() {
        let fresh: HashSet<&str> = found.fresh.iter().map(|file| file.stem.as_str()).collect();
        for (row, same) in found.same.iter_mut().enumerate().filter(|(_, same)| **same) {
            *same = !fresh.contains(index.row(row as u32).stem());
        }
    }
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
        Walk { index, asked, order, at: 0, records: 0, found, unsure, missed }
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

    /// Compares the file of a record with the row of its name, if it is one of the next ones.
    fn compare_record(&mut self, entry: &DirectoryEntry, stem: &[u8]) {
        let position = self.records;
        self.records = position.saturating_add(1);
        let soon = self.order.get(self.at + AHEAD).copied();
        soon.iter().for_each(|&row| self.index.ask_for(row));
        let near = self.order.iter().skip(self.at).take(NEAR).copied();
        match near.into_iter().position(|row| self.index.row(row).stem_bytes() == stem) {
            Some(k) => {
                let row = self.order[self.at + k];
                self.at += k + 1;
                self.judge(row, (entry.number, entry.may_be_file, position));
            }
            None => {
                if let Ok(stem) = str::from_utf8(stem) {
                    let file = Unread { number: entry.number, stem: stem.into(), position };
                    self.missed.push((file, entry.may_be_file));
                }
            }
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

    /// Looks for the names that were not near the last one.
    fn find_missed(&mut self) {
        let missed = std::mem::take(&mut self.missed);
        let left = self.order.iter().copied();
        let left: Vec<u32> =
            left.filter(|&row| self.found.positions[row as usize] == NOWHERE).collect();
        let mut rows: HashMap<&str, u32> =
            left.iter().map(|&row| (self.index.row(row).stem(), row)).collect();
        for (file, may_be_file) in missed {
            match rows.remove(file.stem.as_str()) {
                Some(row) => self.judge(row, (file.number, may_be_file, file.position)),
                None => self.found.fresh.push(file),
            }
        }
        self.found.shows_change = !rows.is_empty();
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
