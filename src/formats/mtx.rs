//! MatrixMarket (NIST): the interchange format of sparse linear algebra, for scipy, Julia, Matlab
//! and R.
//!
//! Rows are senders, columns are receivers, and values are bytes. The reader takes the layouts `coordinate`
//! and `array`, the types `integer`, `unsigned-integer`, `real`, `double` and `pattern`, and the symmetries
//! `general` and `symmetric` (both directions get the value). A value may end in `.5`; other real numbers are
//! rounded. The writer writes `coordinate integer general`, or `coordinate real general` if values have halves of
//! bytes.

use super::cursor::Cursor;
use super::pieces;
use super::source::{Amount, Entries, Line, MAX_TASKS, Source, short};
use super::{Export, Format, bytes_of, write_error};
use crate::base::error::Result;
use crate::base::nouns::counted;
use crate::matrix::CommMatrix;
use std::io::Write;

/// The format.
pub const FORMAT: Format =
    Format::new("mtx", "MatrixMarket coordinate matrix of bytes for scipy, Julia, Matlab, R")
        .read_by(detects, read)
        .written_by(write);

const MARK: &str = "%%matrixmarket";
const HEADER: &str = "'%%MatrixMarket matrix coordinate integer general'";
const SIZE: &str = "the line 'rows columns entries' with as many rows as columns";
const ENTRY: &str = "'row column value' with row and column from 1 to the size";

/// The content of the first line.
struct Header {
    /// The file lists all values column by column, rather than entries with their indices.
    dense: bool,
    /// The entries have no values.
    pattern: bool,
    /// The file holds only the diagonal and the part below it.
    symmetric: bool,
}

impl Header {
    fn read(source: &Source<'_>) -> Result<Header> {
        let Some(first) = source.lines().next() else {
            return Err(source.error("the file is empty", HEADER));
        };
        let lower = first.text.to_ascii_lowercase();
        let words: Vec<&str> = lower.split_whitespace().collect();
        let [MARK, "matrix", layout, field, symmetry] = words.as_slice() else {
            return Err(first.error(format!("odd header '{}'", short(first.text)), HEADER));
        };
        let dense = match *layout {
            "coordinate" => false,
            "array" => true,
            other => return Err(first.error(format!("unknown layout '{}'", short(other)), HEADER)),
        };
        let pattern = match *field {
            "integer" | "real" | "double" | "unsigned-integer" => false,
            "pattern" if !dense => true,
            other => return Err(first.error(format!("values of type '{}'", short(other)), HEADER)),
        };
        let symmetric = match *symmetry {
            "general" => false,
            "symmetric" => true,
            other => return Err(first.error(format!("symmetry '{}'", short(other)), HEADER)),
        };
        Ok(Header { dense, pattern, symmetric })
    }
}

/// The entries of an array, whose values are listed column by column. In a symmetric array each column
/// begins at the diagonal.
fn dense<'a>(
    source: &Source<'_>,
    lines: impl Iterator<Item = Line<'a>>,
    tasks: usize,
    symmetric: bool,
) -> Result<Entries> {
    let mut entries = Entries::default();
    let (mut i, mut j) = (0, 0);
    for line in lines {
        for field in line.text.split_whitespace() {
            if j >= tasks {
                return Err(line.error("more values than the size says", SIZE));
            }
            entries.push((i as u32, j as u32), line.amount(field, "a number of bytes")?, None);
            i += 1;
            if i == tasks {
                j += 1;
                i = if symmetric { j } else { 0 };
            }
        }
    }
    if j < tasks {
        return Err(source.error("the file ends before the last value", SIZE));
    }
    Ok(entries)
}

/// The entries of a coordinate matrix. The entries of a pattern have no value and count as one byte.
fn sparse<'a>(
    source: &Source<'_>,
    lines: impl Iterator<Item = Line<'a>>,
    tasks: usize,
    count: u64,
    pattern: bool,
) -> Result<Entries> {
    let mut entries = Entries::default();
    let mut seen = 0u64;
    for line in lines {
        let fields: Vec<&str> = line.text.split_whitespace().take(4).collect();
        let (i, j, bytes) = match (pattern, fields.as_slice()) {
            (false, [i, j, v]) => (i, j, line.amount(v, ENTRY)?),
            (true, [i, j]) => (i, j, Amount { whole: 1, half: false }),
            _ => return Err(line.error("an entry has too few or too many numbers", ENTRY)),
        };
        let index = |field: &str| -> Result<u32> {
            let k: usize = line.number(field, "an index", ENTRY)?;
            if k == 0 || k > tasks {
                let what = format!("index {k} is not within 1 to {tasks}");
                return Err(line.error(what, ENTRY));
            }
            Ok(k as u32 - 1)
        };
        entries.push((index(i)?, index(j)?), bytes, None);
        seen += 1;
    }
    if seen != count {
        let what = format!("the file has {}, but its size says {count}", counted(seen, "entry"));
        return Err(source.error(what, SIZE));
    }
    Ok(entries)
}

/// The entries of a coordinate matrix whose lines are all plain; `None` if the careful reader is needed.
fn plain(text: &[u8], tasks: usize, count: u64, pattern: bool) -> Option<Entries> {
    let index = |cursor: &mut Cursor<'_>| {
        let k = cursor.number()?;
        (k > 0 && k <= tasks as u64).then(|| k as u32 - 1)
    };
    let of_piece = |piece: &[u8]| {
        let mut entries = Entries::default();
        let mut cursor = Cursor::new(piece);
        while !cursor.is_done() {
            if cursor.line_end() {
                continue;
            }
            if cursor.meets(b'%') {
                cursor.skip_line()?;
                continue;
            }
            let pair = (index(&mut cursor)?, index(&mut cursor)?);
            let bytes = if pattern { Amount { whole: 1, half: false } } else { cursor.amount()? };
            entries.push(pair, bytes, None);
            cursor.line_end().then_some(())?;
        }
        Some(entries)
    };
    let entries = Entries::joined(pieces::parsed(text, of_piece)?);
    (entries.len() as u64 == count).then_some(entries)
}

fn detects(source: &Source<'_>) -> bool {
    source.bytes().get(..MARK.len()).is_some_and(|b| b.eq_ignore_ascii_case(MARK.as_bytes()))
}

fn read(source: &Source<'_>) -> Result<CommMatrix> {
    let header = Header::read(source)?;
    let mut lines = source.content_lines("%");
    let Some(line) = lines.next() else {
        return Err(source.error("the file ends before the size", SIZE));
    };
    let sizes: Vec<&str> = line.text.split_whitespace().collect();
    let (rows, columns, count) = match (header.dense, sizes.as_slice()) {
        (false, [r, c, n]) => (*r, *c, line.number::<u64>(n, "the number of entries", SIZE)?),
        (true, [r, c]) => (*r, *c, 0),
        _ => return Err(line.error("the size has too few or too many numbers", SIZE)),
    };
    let tasks: usize = line.number(rows, "the number of rows", SIZE)?;
    if tasks != line.number::<usize>(columns, "the number of columns", SIZE)? {
        return Err(line.error(format!("the matrix is not square: {rows} × {columns}"), SIZE));
    }
    if tasks > MAX_TASKS {
        return Err(line.error(format!("{tasks} rows are more than {MAX_TASKS} tasks"), SIZE));
    }
    let mut entries = match header.dense {
        true => dense(source, lines, tasks, header.symmetric)?,
        false => match plain(line.rest(), tasks, count, header.pattern) {
            Some(entries) => entries,
            None => sparse(source, lines, tasks, count, header.pattern)?,
        },
    };
    if header.symmetric {
        entries.mirror();
    }
    Ok(entries.matrix(tasks))
}

fn write(export: &Export<'_>, out: &mut dyn Write) -> Result<()> {
    let matrix = &export.matrix;
    let with_bytes = matrix.entries().filter(|e| e.2.bytes > 0);
    let text = || {
        let values = if matrix.counts_halves() { "real" } else { "integer" };
        writeln!(out, "%%MatrixMarket matrix coordinate {values} general")?;
        writeln!(out, "% bytes; row = sender, column = receiver, tasks from 1")?;
        let count = matrix.entries().filter(|e| e.2.bytes > 0).count();
        writeln!(out, "{0} {0} {count}", matrix.tasks())?;
        for (i, j, t) in with_bytes {
            writeln!(out, "{} {} {}", i + 1, j + 1, bytes_of(matrix, t))?;
        }
        Ok(())
    };
    text().map_err(write_error)
}
