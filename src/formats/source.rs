//! The content of a file for readers: its lines with their numbers, errors that name file and line,
//! and the shapes of content that several formats share.

use crate::base::error::{Error, ErrorKind, Result};
use crate::matrix::{CommMatrix, SparseMatrix, Traffic};
use std::str::FromStr;

/// The largest number of tasks that a file may have. A limit is needed, because a single number in
/// a text file decides the size of the matrix. No machine has as many cores.
pub const MAX_TASKS: usize = 1 << 22;

/// A cell of a table (line, column, value) or an edge of a graph (vertex, neighbour, weight).
pub(super) type Weighted = (u32, u32, u64);

/// The content of a file.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    name: &'a str,
    bytes: &'a [u8],
}

impl<'a> Source<'a> {
    /// Makes a source; errors show `name`.
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

    /// All lines, numbered from 1, without line ends. A line that is not UTF-8 is replaced by the
    /// single character `\u{fffd}`.
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

    /// The number of lines of a square table, and its cells above 0: line and column from 0, value. The
    /// table has as many numbers in every line as there are lines.
    pub(super) fn square<'f, I: Iterator<Item = &'f str>>(
        &self,
        fields: fn(&'a str) -> I,
        expected: &str,
    ) -> Result<(usize, Vec<Weighted>)> {
        let mut cells = Vec::new();
        let (mut tasks, mut rows) = (0, 0);
        for line in self.content_lines("#") {
            let mut columns = 0;
            for field in fields(line.text) {
                let value = line.weight(field, "a number of bytes")?;
                if columns >= MAX_TASKS || rows >= MAX_TASKS {
                    return Err(line.error(format!("more than {MAX_TASKS} tasks"), expected));
                }
                if value > 0 {
                    cells.push((rows as u32, columns as u32, value));
                }
                columns += 1;
            }
            if rows == 0 {
                tasks = columns;
            } else if columns != tasks {
                let what =
                    format!("the line has {columns} numbers, but the first line has {tasks}");
                return Err(line.error(what, expected));
            }
            rows += 1;
        }
        if rows != tasks {
            let what = format!("the file has {rows} lines, but {tasks} numbers on each line");
            return Err(self.error(what, expected));
        }
        Ok((tasks, cells))
    }

    /// The matrix of an undirected graph whose file lists every edge at both its ends. `arcs` are vertex,
    /// neighbour and weight. The weight is split into halves; the odd byte goes from the lower task to the
    /// higher task.
    ///
    /// Errors: an edge is not listed exactly once at each of its ends with the same weight.
    pub(super) fn undirected(
        &self,
        tasks: usize,
        mut arcs: Vec<Weighted>,
        expected: &str,
    ) -> Result<CommMatrix> {
        arcs.sort_unstable_by_key(|&(i, j, _)| (i.min(j), i.max(j), i));
        let alike =
            |pair: &&[Weighted]| matches!(pair, [a, b] if (a.0, a.1, a.2) == (b.1, b.0, b.2));
        if let Some(pair) = arcs.chunks(2).find(|pair| !alike(pair)) {
            let (i, j, _) = pair[0];
            let what = format!(
                "the edge between tasks {i} and {j} (from 0) is not listed exactly once at both \
                 tasks with the same weight"
            );
            return Err(self.error(what, expected));
        }
        let half = |(i, j, w)| (i, j, counted_once(if i < j { w - w / 2 } else { w / 2 }));
        let entries: Vec<_> = arcs.into_iter().map(half).collect();
        Ok(CommMatrix::from_point_to_point(SparseMatrix::from_entries(tasks, &entries)))
    }

    /// An error that concerns the file as a whole. `expected` is the right content, which the advice names.
    pub fn error(&self, what: impl Into<String>, expected: &str) -> Error {
        Error::new(ErrorKind::Format, what).at(self.name).advise(format!("write {expected}"))
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
    /// An error in this line. `expected` is the right content, which the advice names.
    pub fn error(&self, what: impl Into<String>, expected: &str) -> Error {
        Error::new(ErrorKind::Format, what)
            .at(format_args!("{}:{}", self.source.name, self.number))
            .advise(format!("write {expected}"))
    }

    /// The number in a field of this line.
    pub fn number<T: FromStr>(&self, field: &str, what: &str, expected: &str) -> Result<T> {
        let field = field.trim();
        field.parse().map_err(|_| self.error(format!("{what} is '{}'", short(field)), expected))
    }

    /// The task in a field of this line; it must be below [`MAX_TASKS`].
    pub fn task(&self, field: &str, what: &str, expected: &str) -> Result<u32> {
        let task: u64 = self.number(field, what, expected)?;
        if task >= MAX_TASKS as u64 {
            let what = format!("{what} is {task}, more than {MAX_TASKS} tasks");
            return Err(self.error(what, expected));
        }
        Ok(task as u32)
    }

    /// The weight in a field of this line. Real numbers are rounded, and negative numbers are errors.
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

/// Traffic of a format without message counts: one message if there are bytes.
pub(super) fn counted_once(bytes: u64) -> Traffic {
    Traffic { bytes, messages: u64::from(bytes > 0) }
}

/// A matrix with room for the highest task of `entries`, and at least for `least` tasks.
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
        assert_eq!(error, "the sender is 'x' (in a.csv:2); try: write a number");
        assert!(line.task("99999999999", "t", "x").is_err());
        assert_eq!(line.weight("2.6", "x").unwrap(), 3);
        assert!(line.weight("-1", "x").is_err() && line.weight("nan", "x").is_err());
    }
}
