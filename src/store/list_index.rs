//! The index of a large store: what a list says of each record, in one file of the user's cache folder.
//!
//! The file begins with all records that there were when it was written. What changed later is added at its end, so that
//! an index of a million records is not written again for one new record. When the added parts have a quarter of the
//! bytes, or one of them is not sound, the next change writes the whole file again and renames it.
//!
//! Each part has a checksum, says at which byte it stands, and names the beginning by its checksum. A part that was cut short,
//! or that another process added meanwhile to what this one has not read, therefore ends the index before it. Nothing
//! follows from the parts behind. Where two processes write at the same time, the change of one of them is lost, and is
//! found again in the directory.
//!
//! In memory, the index is the bytes of the file and the position of each row in them. A row has numbers of fixed length, and
//! three texts behind them: nothing is allocated for a single record.
//!
//! Limit: 4 GiB, about 30 million records. Of a larger store, no index is kept.

use super::record_format::HEADER;
use crate::base::file::{FileIdentity, user};
use crate::base::hash::fnv1a;
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Read, Result, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

/// First bytes of an index.
const MAGIC: [u8; 8] = *b"RKLIST\n\0";
/// Version of the format.
const VERSION: u32 = 2;
/// First bytes of a part that was added.
const ADDED: [u8; 8] = *b"RKADDED\n";
/// Bytes in front of a part that was added: first bytes, position, checksum of the beginning, length, checksum.
const ADDED_HEADER: usize = 32;
/// The largest file.
const LARGEST: u64 = 4 << 30;
/// The added parts may have so many bytes, whatever the length of the beginning is.
const FREE: usize = 64 << 10;
/// Bytes of the numbers of a row.
const NUMBERS: usize = 56;
/// No row, in the table of names.
const NONE: u64 = u64::MAX;
/// The part of an entry of the table that is from the hash of the name. The other part is the row.
const HIGH: u64 = 0xffff_ffff << 32;

/// What an index says of one record.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row<'a> {
    numbers: &'a [u8],
    texts: &'a [u8],
}

impl<'a> Row<'a> {
    fn number(&self, at: usize) -> u64 {
        little(self.numbers, at, 8)
    }

    /// The `k`-th text.
    fn text(&self, k: usize) -> &'a str {
        let length = |k: usize| little(self.numbers, 44 + 4 * k, 4) as usize;
        let begin: usize = (0..k).map(length).sum();
        let bytes = self.texts.get(begin..begin + length(k)).unwrap_or_default();
        str::from_utf8(bytes).unwrap_or_default()
    }

    /// The identity of its file.
    pub(super) fn identity(&self) -> FileIdentity {
        let changed = (self.number(8) as i64, little(self.numbers, 40, 4) as u32);
        FileIdentity { size: self.number(0), changed, inode: self.number(16) }
    }

    /// Bytes of its file.
    pub(super) fn size(&self) -> u64 {
        self.number(0)
    }

    pub(super) fn tasks(&self) -> u64 {
        self.number(24)
    }

    pub(super) fn recorded_at(&self) -> u64 {
        self.number(32)
    }

    /// The name of its file without ending.
    pub(super) fn stem(&self) -> &'a str {
        self.text(0)
    }

    pub(super) fn key(&self) -> &'a str {
        let key = self.text(1);
        if key.is_empty() { self.stem() } else { key }
    }

    pub(super) fn program(&self) -> &'a str {
        self.text(2)
    }
}

/// The values of a row.
#[derive(Debug, Clone, Copy)]
pub(super) struct NewRow<'a> {
    pub stem: &'a str,
    pub key: &'a str,
    pub program: &'a str,
    pub identity: FileIdentity,
    pub tasks: u64,
    pub recorded_at: u64,
}

impl NewRow<'_> {
    /// Adds the bytes of the row.
    pub(super) fn put(&self, out: &mut Vec<u8>) {
        let FileIdentity { size, changed, inode } = self.identity;
        let key = if self.key == self.stem { "" } else { self.key };
        for number in [size, changed.0 as u64, inode, self.tasks, self.recorded_at] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        let texts = [self.stem, key, self.program];
        out.extend_from_slice(&changed.1.to_le_bytes());
        for text in texts {
            // A head of a record has at most as many bytes as a file, and those are fewer than 2³².
            out.extend_from_slice(&(text.len() as u32).to_le_bytes());
        }
        texts.iter().for_each(|text| out.extend_from_slice(text.as_bytes()));
    }
}

/// What an index says of the store beside its records.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct State {
    /// The directory, as it was before it was read.
    pub directory: FileIdentity,
    /// When it was read, seconds since 1970-01-01 UTC.
    pub read_at: u64,
    /// Names without ending of files that could not be read.
    pub unreadable: Vec<String>,
    /// Names without ending of the files with verdicts, ascending.
    pub verdicts: Vec<String>,
}

/// What stands in front of the rows of a part.
#[derive(Debug, Serialize, Deserialize)]
struct PartHead {
    state: State,
    /// The verdicts are those of the part before.
    same_verdicts: bool,
    /// Numbers of the rows that are no longer there, in the order in which the file has the rows.
    removed: Vec<u32>,
    rows: u32,
}

/// The index of a store.
#[derive(Debug, Default)]
pub(super) struct Index {
    pub state: State,
    bytes: Vec<u8>,
    /// Where each row begins. Rows of the file have the order of the file; those of this process are behind them.
    rows: Vec<u64>,
    /// Which rows are no longer there.
    gone: Vec<bool>,
    /// Half of the hash of each name, and its row, at a place that the other half gives.
    table: Vec<u64>,
    file: Option<OpenIndex>,
    /// Rows of the file.
    rows_of_file: usize,
    /// Rows of the file that were removed since it was read.
    removed: Vec<u32>,
}

/// The file of an index, as it was read.
#[derive(Debug)]
struct OpenIndex {
    file: File,
    /// Bytes that are sound.
    length: usize,
    /// Bytes of the first part.
    base: usize,
    /// Checksum of the first part.
    checksum: u32,
    /// Behind the sound bytes, there are others.
    has_more: bool,
    state: State,
}

impl Index {
    /// The index in a file. One that is absent, damaged, of another version, or of another user is empty.
    pub(super) fn read(path: &Path) -> Index {
        Index::open(path).unwrap_or_default()
    }

    fn open(path: &Path) -> Option<Index> {
        let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY;
        let with = |append: bool| {
            OpenOptions::new().read(true).append(append).custom_flags(flags).open(path)
        };
        // Where it cannot be changed, it can still be used.
        let mut file = with(true).or_else(|_| with(false)).ok()?;
        let meta = file.metadata().ok()?;
        if !meta.is_file() || meta.uid() != user() || meta.len() > LARGEST {
            return None;
        }
        let mut bytes = Vec::new();
        // Room for what changed, so that the bytes need not be moved.
        bytes.try_reserve(meta.len() as usize + FREE).ok()?;
        (&mut file).take(LARGEST).read_to_end(&mut bytes).ok()?;
        let mut index = Index { bytes, ..Index::default() };
        let (base, checksum) = index.read_base()?;
        let mut length = base;
        while let Some(end) = index.read_added(length, checksum) {
            length = end;
        }
        let has_more = length < index.bytes.len();
        index.bytes.truncate(length);
        index.rows_of_file = index.rows.len();
        let state = index.state.clone();
        index.file = Some(OpenIndex { file, length, base, checksum, has_more, state });
        Some(index)
    }

    /// Reads the first part. Returns its length and its checksum.
    fn read_base(&mut self) -> Option<(usize, u32)> {
        let head = self.bytes.get(..HEADER)?;
        let length = little(head, 12, 8);
        let end = HEADER.checked_add(usize::try_from(length).ok()?)?;
        let checksum = little(head, 20, 4) as u32;
        if head[..8] != MAGIC || little(head, 8, 4) != u64::from(VERSION) {
            return None;
        }
        self.read_part(HEADER, end, checksum)?;
        Some((end, checksum))
    }

    /// Reads a part that was added at this position. Returns its end.
    fn read_added(&mut self, begin: usize, base: u32) -> Option<usize> {
        let head = self.bytes.get(begin..begin + ADDED_HEADER)?;
        let fits = head[..8] == ADDED
            && little(head, 8, 8) == begin as u64
            && little(head, 16, 4) == u64::from(base);
        let (length, checksum) = (little(head, 20, 8), little(head, 28, 4) as u32);
        let begin = begin + ADDED_HEADER;
        let end = begin.checked_add(usize::try_from(length).ok()?)?;
        if !fits {
            return None;
        }
        self.read_part(begin, end, checksum)?;
        Some(end)
    }

    /// Reads the body of a part. Nothing is changed if it is not sound.
    fn read_part(&mut self, begin: usize, end: usize, checksum: u32) -> Option<()> {
        let body = self.bytes.get(begin..end)?;
        if crc32fast::hash(body) != checksum {
            return None;
        }
        let (head, rest) = postcard::take_from_bytes::<PartHead>(body).ok()?;
        let rows = rows_in(rest, end - rest.len())?;
        let known = self.rows.len();
        if rows.len() != head.rows as usize || head.removed.iter().any(|&row| row as usize >= known)
        {
            return None;
        }
        for row in head.removed {
            self.gone[row as usize] = true;
        }
        self.rows.extend(rows);
        self.gone.resize(self.rows.len(), false);
        let before = std::mem::replace(&mut self.state, head.state);
        if head.same_verdicts {
            self.state.verdicts = before.verdicts;
        }
        Some(())
    }

    /// Number of rows, with those that are no longer there.
    pub(super) fn rows(&self) -> usize {
        self.rows.len()
    }

    pub(super) fn row(&self, row: u32) -> Row<'_> {
        let rest = self.rows.get(row as usize).and_then(|&at| self.bytes.get(at as usize..));
        // Every row was checked when it was added.
        let (numbers, texts) =
            rest.and_then(|rest| rest.split_at_checked(NUMBERS)).unwrap_or((&[0; NUMBERS], &[]));
        Row { numbers, texts }
    }

    /// The rows that are still there, the newest record first.
    pub(super) fn newest_first(&self) -> Vec<u32> {
        let mut order: Vec<u32> =
            (0..self.rows.len() as u32).filter(|&row| !self.gone[row as usize]).collect();
        // The beginning of the file has this order, so that the sort costs hardly more than the comparisons.
        order.sort_by(|&a, &b| {
            let (a, b) = (self.row(a), self.row(b));
            b.recorded_at().cmp(&a.recorded_at()).then_with(|| a.stem().cmp(b.stem()))
        });
        order
    }

    /// Prepares [`Index::find`].
    pub(super) fn make_table(&mut self) {
        let size = (2 * self.rows.len() + 2).next_power_of_two();
        self.table = vec![NONE; size];
        for row in 0..self.rows.len() as u32 {
            if !self.gone[row as usize] {
                let stem = self.row(row).stem();
                let hash = hash_of(stem);
                let place = self.place(stem, hash);
                self.table[place] = hash & HIGH | u64::from(row);
            }
        }
    }

    /// The row of a file that is still there. [`Index::make_table`] has to be called before.
    pub(super) fn find(&self, stem: &str) -> Option<u32> {
        let entry = self.table.get(self.place(stem, hash_of(stem))).copied()?;
        (entry != NONE).then_some(entry as u32)
    }

    /// The place of a name in the table: where it is, or where it would be put.
    fn place(&self, stem: &str, hash: u64) -> usize {
        let mask = self.table.len().wrapping_sub(1);
        let mut place = hash as usize & mask;
        while let Some(&entry) = self.table.get(place) {
            // A look at a row takes much longer than one at the table.
            let may_be = entry & HIGH == hash & HIGH;
            if entry == NONE || may_be && self.row(entry as u32).stem() == stem {
                return place;
            }
            place = (place + 1) & mask;
        }
        place
    }

    /// Removes a row.
    pub(super) fn remove(&mut self, row: u32) {
        if !std::mem::replace(&mut self.gone[row as usize], true)
            && (row as usize) < self.rows_of_file
        {
            self.removed.push(row);
        }
    }

    /// Adds rows that [`NewRow::put`] made.
    pub(super) fn add(&mut self, rows: Vec<u8>) {
        let more = rows_in(&rows, self.bytes.len()).unwrap_or_default();
        match self.bytes.is_empty() {
            true => self.bytes = rows,
            false => self.bytes.extend_from_slice(&rows),
        }
        self.rows.extend(more);
        self.gone.resize(self.rows.len(), false);
    }

    /// Keeps what has changed. Returns the bytes that were written. Where nothing can be written, the next listing takes
    /// longer.
    pub(super) fn keep(&mut self, path: &Path, order: &[u32]) -> usize {
        let is_new = self.rows.len() > self.rows_of_file || !self.removed.is_empty();
        match &self.file {
            Some(open) if !is_new && open.state == self.state => 0,
            Some(_) => self.append().unwrap_or_else(|| self.write(path, order).unwrap_or(0)),
            None => self.write(path, order).unwrap_or(0),
        }
    }

    /// Adds what has changed to the file. `None` if the file has to be written anew.
    fn append(&self) -> Option<usize> {
        let open = self.file.as_ref().filter(|open| !open.has_more)?;
        let rows = self.bytes.get(open.length..)?;
        let same_verdicts = open.state.verdicts == self.state.verdicts;
        let mut state = self.state.clone();
        if same_verdicts {
            state.verdicts.clear();
        }
        let count = (self.rows.len() - self.rows_of_file) as u32;
        let head = PartHead { state, same_verdicts, removed: self.removed.clone(), rows: count };
        let mut body = postcard::to_allocvec(&head).ok()?;
        body.extend_from_slice(rows);
        let mut part = Vec::with_capacity(ADDED_HEADER + body.len());
        part.extend_from_slice(&ADDED);
        part.extend_from_slice(&(open.length as u64).to_le_bytes());
        part.extend_from_slice(&open.checksum.to_le_bytes());
        part.extend_from_slice(&(body.len() as u64).to_le_bytes());
        part.extend_from_slice(&crc32fast::hash(&body).to_le_bytes());
        part.extend_from_slice(&body);
        let added = open.length - open.base + part.len();
        if added > FREE.max(open.base / 4) {
            return None;
        }
        // One call, so that the parts of two processes are not mixed. A part that is cut short ends the index.
        let written = (&open.file).write(&part).ok()?;
        (written == part.len()).then_some(written)
    }

    /// Writes the whole file anew, with the rows in this order.
    fn write(&self, path: &Path, order: &[u32]) -> Result<usize> {
        let folder = path.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(folder)?;
        let temporary = super::directory::temporary(path);
        let written = self.write_to(&temporary, order).and_then(|written| {
            std::fs::rename(&temporary, path)?;
            Ok(written)
        });
        if written.is_err() {
            let _ = std::fs::remove_file(&temporary);
        }
        written
    }

    fn write_to(&self, path: &Path, order: &[u32]) -> Result<usize> {
        let head = PartHead {
            state: self.state.clone(),
            same_verdicts: false,
            removed: Vec::new(),
            rows: order.len() as u32,
        };
        let head = postcard::to_allocvec(&head).map_err(std::io::Error::other)?;
        // The length and the checksum stand in front: the rows are gone through twice, and not copied.
        let mut checksum = crc32fast::Hasher::new();
        checksum.update(&head);
        let mut length = head.len();
        for &row in order {
            let row = self.whole_row(row);
            length += row.len();
            checksum.update(row);
        }
        if (HEADER + length) as u64 > LARGEST {
            return Err(std::io::Error::from(std::io::ErrorKind::FileTooLarge));
        }
        let file = OpenOptions::new().write(true).create_new(true).open(path)?;
        let mut out = BufWriter::with_capacity(1 << 20, file);
        out.write_all(&MAGIC)?;
        out.write_all(&VERSION.to_le_bytes())?;
        out.write_all(&(length as u64).to_le_bytes())?;
        out.write_all(&checksum.finalize().to_le_bytes())?;
        out.write_all(&head)?;
        for &row in order {
            out.write_all(self.whole_row(row))?;
        }
        out.flush()?;
        Ok(HEADER + length)
    }

    /// The bytes of a row.
    fn whole_row(&self, row: u32) -> &[u8] {
        let rest = self.rows.get(row as usize).and_then(|&at| self.bytes.get(at as usize..));
        let rest = rest.unwrap_or_default();
        length_of_row(rest).and_then(|length| rest.get(..length)).unwrap_or_default()
    }
}

/// The hash of a name, in which every bit depends on all characters. Names of a store are often much alike.
fn hash_of(stem: &str) -> u64 {
    let hash = fnv1a(stem.as_bytes());
    let mixed = (hash ^ hash >> 32).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed ^ mixed >> 29
}

/// Where the rows in these bytes begin, if the first of them stands at `begin`. `None` if the last one is cut short.
fn rows_in(bytes: &[u8], begin: usize) -> Option<Vec<u64>> {
    let mut rows = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        rows.push((begin + at) as u64);
        at += length_of_row(&bytes[at..]).filter(|&length| length <= bytes.len() - at)?;
    }
    Some(rows)
}

fn length_of_row(bytes: &[u8]) -> Option<usize> {
    let numbers = bytes.get(..NUMBERS)?;
    let texts = (0..3).map(|k| little(numbers, 44 + 4 * k, 4) as usize);
    Some(NUMBERS + texts.sum::<usize>())
}

/// The little-endian number of `length` bytes at `start`; 0 if it is not there.
#[inline]
fn little(bytes: &[u8], start: usize, length: usize) -> u64 {
    let field = bytes.get(start..start + length).unwrap_or_default();
    field.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte))
}
