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
//! In memory, the index is the bytes of the file and the position of each row in them. Nothing is
//! allocated for a single record.
//!
//! Limit: 4 GiB, about 30 million records. Of a larger store, no index is kept.

use super::change_marks::{Marks, SLOTS};
use super::directory_order::{behind, in_order};
use super::leftovers::sweep;
use super::list_row::{POSITION, Row, length_of_row, little, rows_in};
use super::record_format::HEADER;
use crate::base::file::{FileIdentity, user};
use crate::base::memory;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Read, Result, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

/// First bytes of an index.
const MAGIC: [u8; 8] = *b"RKLIST\n\0";
/// Ending of the names of indexes.
pub(super) const ENDING: &str = ".list";
/// Version of the format.
const VERSION: u32 = 4;
/// First bytes of a part that was added.
const ADDED: [u8; 8] = *b"RKADDED\n";
/// Bytes in front of a part that was added: first bytes, position, checksum of the beginning, length, checksum.
const ADDED_HEADER: usize = 32;
/// The largest file.
const LARGEST: u64 = 4 << 30;
/// The added parts may have so many bytes, whatever the length of the beginning is.
const FREE: usize = 64 << 10;
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
    /// The users who had tables of marks, ascending.
    pub users: Vec<u32>,
    /// The tables of marks, as they were before the directory was read.
    #[serde(skip)]
    pub marks: Marks,
    /// Slots in which marks have changed lately, and when a list saw this, seconds since 1970-01-01 UTC.
    pub recent: Vec<(u16, u64)>,
    /// When all files were asked for the last time, seconds since 1970-01-01 UTC.
    pub all_asked_at: u64,
}

/// What stands in front of the rows of a part.
#[derive(Debug, Serialize, Deserialize)]
struct PartHead {
    state: State,
    /// The verdicts are those of the part before.
    same_verdicts: bool,
    /// The slots whose marks are not those of the part before, and the new ones.
    marks: Vec<(u16, u64)>,
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
    /// The first so many rows say at which place their names stood. The others say behind which row ([`in_order`]).
    base_rows: usize,
    /// At which place the name of each row stands by now. Empty if this was not seen.
    pub positions: Vec<u32>,
    /// Whether the next change writes the whole file again, because many names do not stand where the rows say.
    pub renew: bool,
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
        memory::advise(&mut bytes);
        (&mut file).take(LARGEST).read_to_end(&mut bytes).ok()?;
        let mut index = Index { bytes, ..Index::default() };
        let (base, checksum) = index.read_base()?;
        index.base_rows = index.rows.len();
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
        if rows.len() != head.rows as usize
            || head.removed.iter().any(|&row| row as usize >= known)
            || head.marks.iter().any(|&(slot, _)| usize::from(slot) >= SLOTS)
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
        self.state.marks = before.marks;
        self.state.marks.sums.resize(SLOTS, 0);
        for (slot, sum) in head.marks {
            self.state.marks.sums[usize::from(slot)] = sum;
        }
        Some(())
    }

    /// Number of rows, with those that are no longer there.
    pub(super) fn rows(&self) -> usize {
        self.rows.len()
    }

    pub(super) fn row(&self, row: u32) -> Row<'_> {
        // Every row was checked when it was added.
        let at = self.rows.get(row as usize).map_or(usize::MAX, |&at| at as usize);
        Row::of(self.bytes.get(at..).unwrap_or_default())
    }

    /// Makes the processor load a row that is needed soon.
    pub(super) fn ask_for(&self, row: u32) {
        let at = self.rows.get(row as usize).map_or(usize::MAX, |&at| at as usize);
        let bytes = self.bytes.get(at..).unwrap_or_default();
        memory::ask_for(bytes);
        // The name stands behind the numbers, mostly in another line of the cache.
        memory::ask_for(bytes.get(64..).unwrap_or_default());
    }

    /// The rows that are still there, the newest record first.
    pub(super) fn newest_first(&self) -> Vec<u32> {
        let mut order = Vec::with_capacity(self.rows.len());
        order.extend((0..self.rows.len() as u32).filter(|&row| !self.gone[row as usize]));
        // The beginning of the file has this order, so that the sort costs hardly more than the comparisons.
        order.sort_by(|&a, &b| {
            let (a, b) = (self.row(a), self.row(b));
            b.recorded_at().cmp(&a.recorded_at()).then_with(|| a.stem().cmp(b.stem()))
        });
        order
    }

    /// The rows that are still there, in the order in which their names stood in the directory.
    pub(super) fn by_position(&self) -> Vec<u32> {
        let position = |row| self.row(row).position();
        let mut order = in_order(self.base_rows, self.rows.len(), position);
        order.retain(|&row| !self.gone[row as usize]);
        order
    }

    /// Removes a row.
    pub(super) fn remove(&mut self, row: u32) {
        if !std::mem::replace(&mut self.gone[row as usize], true)
            && (row as usize) < self.rows_of_file
        {
            self.removed.push(row);
        }
    }

    /// Adds rows that [`NewRow::put`](super::list_row::NewRow::put) made. Those that are no longer there have to be removed before.
    pub(super) fn add(&mut self, rows: Vec<u8>) {
        let more = rows_in(&rows, 0).unwrap_or_default();
        if self.bytes.is_empty() {
            (self.base_rows, self.bytes, self.rows) = (more.len(), rows, more);
            self.positions =
                (0..self.rows.len() as u32).map(|row| self.row(row).position()).collect();
        } else {
            self.add_behind(&rows, more);
        }
        self.gone.resize(self.rows.len(), false);
    }

    /// Adds rows to others. `more` says where they begin.
    fn add_behind(&mut self, rows: &[u8], more: Vec<u64>) {
        let ends = more.iter().skip(1).copied().chain([rows.len() as u64]);
        let piece = |(begin, end): (&u64, u64)| &rows[*begin as usize..end as usize];
        let mut pieces: Vec<(u32, &[u8])> =
            more.iter().zip(ends).map(piece).map(|row| (Row::of(row).position(), row)).collect();
        pieces.sort_unstable();
        let places: Vec<u32> = pieces.iter().map(|&(place, _)| place).collect();
        let known = (0..).zip(self.positions.iter().copied());
        let known = known.filter(|&(row, _)| !self.gone[row as usize]);
        let behind = behind(&places, self.rows.len() as u32, known);
        for ((_, row), behind) in pieces.into_iter().zip(behind) {
            let begin = self.bytes.len();
            self.rows.push(begin as u64);
            self.bytes.extend_from_slice(row);
            self.bytes[begin + POSITION..begin + POSITION + 4]
                .copy_from_slice(&behind.to_le_bytes());
        }
        if !self.positions.is_empty() {
            self.positions.extend(places);
        }
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
        let open = self.file.as_ref().filter(|open| !open.has_more && !self.renew)?;
        let rows = self.bytes.get(open.length..)?;
        let same_verdicts = open.state.verdicts == self.state.verdicts;
        let mut state = self.state.clone();
        if same_verdicts {
            state.verdicts.clear();
        }
        let count = (self.rows.len() - self.rows_of_file) as u32;
        let marks = self.marks_since(&open.state.marks);
        let removed = self.removed.clone();
        let head = PartHead { state, same_verdicts, marks, removed, rows: count };
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
        sweep(folder, |name| name.contains(ENDING));
        let temporary = super::unique_names::temporary(path);
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
            marks: self.marks_since(&Marks::default()),
            removed: Vec::new(),
            rows: order.len() as u32,
        };
        let head = postcard::to_allocvec(&head).map_err(std::io::Error::other)?;
        // The length and the checksum stand in front: the rows are gone through twice, and not copied.
        let mut checksum = crc32fast::Hasher::new();
        checksum.update(&head);
        let mut length = head.len();
        let places = self.places();
        for &row in order {
            for piece in self.whole_row(row, &places).pieces() {
                length += piece.len();
                checksum.update(piece);
            }
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
            for piece in self.whole_row(row, &places).pieces() {
                out.write_all(piece)?;
            }
        }
        out.flush()?;
        Ok(HEADER + length)
    }

    /// The slots whose marks are not those of another time, and what they are now.
    fn marks_since(&self, before: &Marks) -> Vec<(u16, u64)> {
        let slots = before.differences(&self.state.marks).into_iter();
        let now = |slot: u16| self.state.marks.sums.get(usize::from(slot)).copied().unwrap_or(0);
        slots.map(|slot| (slot, now(slot))).collect()
    }

    /// At which place the name of each row stands, as far as this is known.
    fn places(&self) -> Cow<'_, [u32]> {
        if self.positions.len() == self.rows.len() {
            return Cow::Borrowed(&self.positions);
        }
        let mut places = vec![0; self.rows.len()];
        for (place, row) in (0..).zip(self.by_position()) {
            places[row as usize] = place;
        }
        Cow::Owned(places)
    }

    /// The bytes of a row for the beginning of a file.
    fn whole_row(&self, row: u32, places: &[u32]) -> RowBytes<'_> {
        let rest = self.rows.get(row as usize).and_then(|&at| self.bytes.get(at as usize..));
        let rest = rest.unwrap_or_default();
        let whole = length_of_row(rest).and_then(|length| rest.get(..length)).unwrap_or_default();
        let (front, behind) = whole.split_at(POSITION.min(whole.len()));
        let position = places.get(row as usize).copied().unwrap_or_default().to_le_bytes();
        RowBytes { front, position, texts: behind.get(4..).unwrap_or_default() }
    }
}

/// The bytes of a row, with the position that its name has by now.
struct RowBytes<'a> {
    front: &'a [u8],
    position: [u8; 4],
    texts: &'a [u8],
}

impl RowBytes<'_> {
    fn pieces(&self) -> [&[u8]; 3] {
        [self.front, &self.position, self.texts]
    }
}
