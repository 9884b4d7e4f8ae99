//! A row of the index of a store: what a list says of one record. Numbers of fixed length, and three texts behind them.

use crate::base::file::FileIdentity;

/// Bytes of the numbers of a row.
const NUMBERS: usize = 60;
/// Where the place in the directory stands in them.
pub(super) const POSITION: usize = 56;

/// What an index says of one record.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row<'a> {
    numbers: &'a [u8],
    texts: &'a [u8],
}

impl<'a> Row<'a> {
    /// The row at the beginning of these bytes.
    pub(super) fn of(bytes: &'a [u8]) -> Row<'a> {
        let (numbers, texts) = bytes.split_at_checked(NUMBERS).unwrap_or((&[0; NUMBERS], &[]));
        Row { numbers, texts }
    }

    fn number(&self, at: usize) -> u64 {
        little(self.numbers, at, 8)
    }

    /// The `k`-th text.
    fn text(&self, k: usize) -> &'a str {
        str::from_utf8(self.text_bytes(k)).unwrap_or_default()
    }

    fn text_bytes(&self, k: usize) -> &'a [u8] {
        let length = |k: usize| little(self.numbers, 44 + 4 * k, 4) as usize;
        let begin: usize = (0..k).map(length).sum();
        self.texts.get(begin..begin + length(k)).unwrap_or_default()
    }

    /// [`Self::stem`] as it is on the disk. It costs less.
    pub(super) fn stem_bytes(&self) -> &'a [u8] {
        self.text_bytes(0)
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

    /// Where its name stood in the directory, counted in records; of a row that was added to others, behind which row it stood
    /// ([`super::directory_order`]).
    pub(super) fn position(&self) -> u32 {
        little(self.numbers, POSITION, 4) as u32
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
    /// Where its name stands in the directory, counted in records.
    pub position: u32,
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
        out.extend_from_slice(&self.position.to_le_bytes());
        texts.iter().for_each(|text| out.extend_from_slice(text.as_bytes()));
    }
}

/// Where the rows in these bytes begin, if the first of them stands at `begin`. `None` if the last one is cut short.
pub(super) fn rows_in(bytes: &[u8], begin: usize) -> Option<Vec<u64>> {
    let mut rows = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        rows.push((begin + at) as u64);
        at += length_of_row(&bytes[at..]).filter(|&length| length <= bytes.len() - at)?;
    }
    Some(rows)
}

pub(super) fn length_of_row(bytes: &[u8]) -> Option<usize> {
    let numbers = bytes.get(..NUMBERS)?;
    let texts = (0..3).map(|k| little(numbers, 44 + 4 * k, 4) as usize);
    Some(NUMBERS + texts.sum::<usize>())
}

/// The little-endian number of `length` bytes at `start`; 0 if it is not there.
#[inline]
pub(super) fn little(bytes: &[u8], start: usize, length: usize) -> u64 {
    let field = bytes.get(start..start + length).unwrap_or_default();
    field.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte))
}
