//! CSV: header `src,dst,bytes,messages`, one line per ordered pair with traffic, tasks from 0.
//!
//! Spreadsheets, pandas and R read it. The reader also takes columns in any order, files without
//! `messages`, semicolons or tabs as separators, `#` comments, and `# tasks: N`, the number of
//! tasks. This comment is not written, because other tools expect the header in the first line.
//! Therefore a file does not name the tasks without traffic that come after the last task with traffic. JSON
//! and MatrixMarket keep these tasks. A number of bytes may end in `.5`; other real numbers are rounded.

use super::cursor::Cursor;
use super::pieces;
use super::source::{Amount, Entries, Line, MAX_TASKS, Source, short};
use super::{Export, Format, bytes_of, write_error};
use crate::base::error::Result;
use crate::matrix::CommMatrix;
use std::io::Write;

/// The format.
pub const FORMAT: Format = Format::new("csv", "src,dst,bytes,messages for spreadsheets, pandas, R")
    .read_by(detects, read)
    .written_by(write);

const EXPECTED: &str = "a header src,dst,bytes,messages and lines such as 0,1,4096,2";

/// The separator, and the columns of sender, receiver, bytes and messages.
type Header = (char, [Option<usize>; 4]);

/// The content of a header, if this is one.
fn header(text: &str) -> Option<Header> {
    columns(text).filter(|(_, columns)| columns[..3].iter().all(Option::is_some))
}

/// What is wrong with a line that is no header.
fn problem(text: &str) -> String {
    let known = columns(text).map(|(_, columns)| columns).unwrap_or_default();
    let names = ["sender (src)", "receiver (dst)", "bytes"];
    let missing = names.iter().zip(known).find(|(_, column)| column.is_none());
    match missing.filter(|_| known.iter().any(Option::is_some)) {
        Some((name, _)) => format!("the header has no column for the {name}: '{}'", short(text)),
        None => format!("no header: '{}'", short(text)),
    }
}

/// The separator and the known columns of a line.
fn columns(text: &str) -> Option<Header> {
    let separator = [',', ';', '\t'].into_iter().find(|&c| text.contains(c))?;
    let mut columns = [None; 4];
    for (k, name) in text.split(separator).enumerate() {
        let name = name.trim().trim_matches('"').to_ascii_lowercase();
        let which = match name.as_str() {
            "src" | "source" | "sender" | "from" => 0,
            "dst" | "dest" | "destination" | "target" | "receiver" | "to" => 1,
            "bytes" | "weight" | "volume" => 2,
            "messages" | "msgs" | "count" => 3,
            _ => continue,
        };
        columns[which].get_or_insert(k);
    }
    Some((separator, columns))
}

/// Two known names are enough, so that the error of a header with one unknown name says which names are known.
fn detects(source: &Source<'_>) -> bool {
    let known = |(_, columns): Header| columns.iter().flatten().count() >= 2;
    source.content_lines("#").next().is_some_and(|line| columns(line.text).is_some_and(known))
}

fn read(source: &Source<'_>) -> Result<CommMatrix> {
    let mut lines = source.lines();
    let mut least = 0;
    let mut found = None;
    for line in lines.by_ref() {
        if let Some(comment) = line.text.trim_start().strip_prefix('#') {
            if let Some(number) = comment.trim().strip_prefix("tasks:") {
                let last = line.number::<u64>(number, "the number of tasks", "a number")?;
                let highest = last.saturating_sub(1).to_string();
                let highest = line.task(&highest, "the last task", "a number")?;
                least = if last == 0 { 0 } else { highest as usize + 1 };
            }
        } else if !line.text.trim().is_empty() {
            let Some(header) = header(line.text) else {
                return Err(line.error(problem(line.text), EXPECTED));
            };
            found = Some((header, line.rest()));
            break;
        }
    }
    let Some((header, text)) = found else {
        return Err(source.error("the file has no header", EXPECTED));
    };
    let entries = match plain(text, header) {
        Some(entries) => entries,
        None => careful(lines, header)?,
    };
    Ok(entries.matrix(least))
}

/// The entries in the lines behind a header.
fn careful<'a>(
    lines: impl Iterator<Item = Line<'a>>,
    (separator, columns): Header,
) -> Result<Entries> {
    let mut entries = Entries::default();
    for line in lines {
        if line.text.trim().is_empty() || line.text.trim_start().starts_with('#') {
            continue;
        }
        let mut fields = [None; 4];
        for (k, field) in line.text.split(separator).enumerate() {
            for (which, column) in columns.iter().enumerate() {
                if *column == Some(k) {
                    fields[which] = Some(field.trim().trim_matches('"'));
                }
            }
        }
        let [Some(src), Some(dst), Some(bytes), messages] = fields else {
            return Err(line.error("the line has too few fields", EXPECTED));
        };
        let sender = line.task(src, "the sender", EXPECTED)?;
        let receiver = line.task(dst, "the receiver", EXPECTED)?;
        let bytes = line.amount(bytes, EXPECTED)?;
        let messages = match messages {
            Some(field) => Some(line.number(field, "the number of messages", EXPECTED)?),
            None if columns[3].is_some() => {
                return Err(line.error("the line has too few fields", EXPECTED));
            }
            None => None,
        };
        entries.push((sender, receiver), bytes, messages);
    }
    Ok(entries)
}

/// The entries of a text whose lines are all plain; `None` if the careful reader is needed.
fn plain(text: &[u8], (separator, columns): Header) -> Option<Entries> {
    let separator = u8::try_from(separator).ok()?;
    let last = columns.iter().flatten().max()?;
    let role = |k: usize| columns.iter().position(|&column| column == Some(k));
    let roles: Vec<Option<usize>> = (0..=*last).map(role).collect();
    let of_piece = |piece: &[u8]| {
        let mut entries = Entries::default();
        let mut cursor = Cursor::separated(piece, separator);
        while !cursor.is_done() {
            if cursor.line_end() {
                continue;
            }
            if cursor.meets(b'#') {
                cursor.skip_line()?;
                continue;
            }
            let (mut numbers, mut bytes) = ([0; 4], Amount::default());
            for (k, role) in roles.iter().enumerate() {
                if k > 0 {
                    cursor.separator()?;
                }
                match *role {
                    None => cursor.skip_field()?,
                    Some(2) => bytes = cursor.amount()?,
                    Some(which) => numbers[which] = cursor.number()?,
                }
            }
            if !cursor.line_end() {
                cursor.separator()?;
                cursor.skip_line()?;
            }
            let [sender, receiver, _, messages] = numbers;
            if sender.max(receiver) >= MAX_TASKS as u64 {
                return None;
            }
            let messages = columns[3].map(|_| messages);
            entries.push((sender as u32, receiver as u32), bytes, messages);
        }
        Some(entries)
    };
    Some(Entries::joined(pieces::parsed(text, of_piece)?))
}

fn write(export: &Export<'_>, out: &mut dyn Write) -> Result<()> {
    let matrix = &export.matrix;
    writeln!(out, "src,dst,bytes,messages").map_err(write_error)?;
    for (i, j, t) in matrix.entries() {
        writeln!(out, "{i},{j},{},{}", bytes_of(matrix, t), t.messages).map_err(write_error)?;
    }
    Ok(())
}
