//! What readers read: the content of a file with its name, line by line, and errors that say where.

use crate::base::error::{Error, ErrorKind, Result};
use crate::matrix::{CommMatrix, SparseMatrix, Traffic};
use std::str::FromStr;

/// Most tasks that a file may name. A single number in a text file decides the size of the matrix,
/// so there has to be a limit; no machine has as many cores.
pub const MAX_TASKS: usize = 1 << 22;

/// The content of a file.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    name: &'a str,
    bytes: &'a [u8],
}

impl<'a> Source<'a> {
    /// A content; `name` is shown in errors.
    pub fn new(name: &'a str, bytes: &'a [u8]) -> Self {
        Source { name, bytes }
    }

    /// The name of the file.
    pub fn name(&self) -> &'a str {
        self.name
    }

    /// The content.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// All lines, numbered from 1, without their ends. Bytes that are not UTF-8 make a line empty
    /// of meaning: it comes as `\u{fffd}`.
    pub fn lines(&self) -> impl Iterator<Item = Line<'a>> + use<'a> {
        let source = *self;
        let body = self.bytes.strip_suffix(b"\n").unwrap_or(self.bytes);
        let none = self.bytes.is_empty();
        body.split(|&b| b == b'\n').take(if none { 0 } else { usize::MAX }).enumerate().map(
            move |(k, raw)| {
                let raw = raw.strip_suffix(b"\r").unwrap_or(raw);
                let raw =
                    if k == 0 { raw.strip_prefix(b"\xef\xbb\xbf").unwrap_or(raw) } else { raw };
                Line { source, number: k + 1, text: std::str::from_utf8(raw).unwrap_or("\u{fffd}") }
            },
        )
    }

    /// Lines that are neither blank nor start with one of the `comment` characters.
    pub fn content_lines(&self, comment: &'static str) -> impl Iterator<Item = Line<'a>> + use<'a> {
        self.lines().filter(move |line| {
            line.text.trim_start().chars().next().is_some_and(|c| !comment.contains(c))
        })
    }

    /// An error in this file as a whole.
    pub fn error(&self, what: impl Into<String>, expected: &str) -> Error {
        Error::new(ErrorKind::Format, what).at(self.name).advise(format!("expected {expected}"))
    }
}

/// One line of a file.
#[derive(Debug, Clone, Copy)]
pub struct Line<'a> {
    source: Source<'a>,
    /// Its number, from 1.
    pub number: usize,
    /// Its text.
    pub text: &'a str,
}

impl Line<'_> {
    /// An error in this line.
    pub fn error(&self, what: impl Into<String>, expected: &str) -> Error {
        Error::new(ErrorKind::Format, what)
            .at(format_args!("{}:{}", self.source.name, self.number))
            .advise(format!("expected {expected}"))
    }

    /// Reads a number out of a field of this line.
    pub fn number<T: FromStr>(&self, field: &str, what: &str, expected: &str) -> Result<T> {
        let field = field.trim();
        field.parse().map_err(|_| self.error(format!("{what} is '{}'", short(field)), expected))
    }

    /// Reads a task, which must be below [`MAX_TASKS`].
    pub fn task(&self, field: &str, what: &str, expected: &str) -> Result<u32> {
        let task: u64 = self.number(field, what, expected)?;
        match u32::try_from(task) {
            Ok(t) if (t as usize) < MAX_TASKS => Ok(t),
            _ => {
                Err(self.error(format!("{what} is {task}, more than {MAX_TASKS} tasks"), expected))
            }
        }
    }

    /// A weight that may be written as a real number; negative ones are refused, fractions rounded.
    pub fn weight(&self, field: &str, expected: &str) -> Result<u64> {
        let field = field.trim();
        if let Ok(whole) = field.parse::<u64>() {
            return Ok(whole);
        }
        match field.parse::<f64>() {
            Ok(real) if real >= 0.0 && real.is_finite() => Ok(real.round() as u64),
            _ => Err(self.error(format!("the value is '{}'", short(field)), expected)),
        }
    }
}

/// The beginning of a text, for messages.
pub(super) fn short(text: &str) -> String {
    const SHOWN: usize = 40;
    let mut shown: String =
        text.chars().map(|c| if c.is_control() { '?' } else { c }).take(SHOWN).collect();
    if text.chars().nth(SHOWN).is_some() {
        shown.push('…');
    }
    shown
}

/// Traffic of a format without message counts: one message where there are bytes.
pub(super) fn counted_once(bytes: u64) -> Traffic {
    Traffic { bytes, messages: u64::from(bytes > 0) }
}

/// A matrix as large as its highest task demands, but at least `least`.
pub(super) fn matrix_of(least: usize, entries: &[(u32, u32, Traffic)]) -> CommMatrix {
    let highest = entries.iter().map(|e| e.0.max(e.1) as usize + 1).max().unwrap_or(0);
    CommMatrix::from_point_to_point(SparseMatrix::from_entries(highest.max(least), entries))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_every_kind() {
        let texts = |bytes: &[u8]| -> Vec<(usize, String)> {
            Source::new("f", bytes).lines().map(|l| (l.number, l.text.to_string())).collect()
        };
        assert_eq!(texts(b""), []);
        assert_eq!(texts(b"\n"), [(1, "".into())]);
        assert_eq!(
            texts(b"\xef\xbb\xbfa\r\n\nb"),
            [(1, "a".into()), (2, "".into()), (3, "b".into())]
        );
        assert_eq!(texts(b"a\xff\n"), [(1, "\u{fffd}".into())]);
        let source = Source::new("f", b"# x\n\n  % y\n 1\n");
        let numbers: Vec<usize> = source.content_lines("#%").map(|l| l.number).collect();
        assert_eq!(numbers, [4]);
    }

    #[test]
    fn errors_name_file_and_line() {
        let source = Source::new("a.csv", b"1\nx\n");
        let line = source.lines().nth(1).unwrap();
        let error = line.number::<u32>("x", "the sender", "a number").unwrap_err().to_string();
        assert_eq!(error, "the sender is 'x' (in a.csv:2); try: expected a number");
        assert!(line.task("99999999999", "t", "x").is_err());
        assert_eq!(line.weight("2.6", "x").unwrap(), 3);
        assert!(line.weight("-1", "x").is_err() && line.weight("nan", "x").is_err());
    }
}
