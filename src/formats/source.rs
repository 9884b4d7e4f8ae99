//! The content of a file for readers: its lines with their numbers, errors that name file and line,
//! and the shapes of content that several formats share.

use crate::base::error::{Error, ErrorKind, Result};
use crate::base::nouns::counted;
use crate::matrix::{CommMatrix, SparseMatrix, Traffic};
use std::str::FromStr;

/// The largest number of tasks that a file may have. A limit is needed, because a single number in
/// a text file decides the size of the matrix. No machine has as many cores.
pub const MAX_TASKS: usize = 1 << 22;

/// A cell of a table (line, column, value) or an edge of a graph (vertex, neighbour, weight).
pub(super) type Weighted = (u32, u32, u64);

/// A number of bytes, and whether there is half a byte more.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Amount {
    pub(super) whole: u64,
    pub(super) half: bool,
}

/// Row, column, and the number of bytes between the two.
type Cell = (u32, u32, Amount);

impl Amount {
    /// The number with half a byte rounded up.
    pub(super) fn rounded(self) -> u64 {
        self.whole.saturating_add(self.half.into())
    }
}

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
        let mut end = 0;
        body.split(|&b| b == b'\n').take(if none { 0 } else { usize::MAX }).enumerate().map(
            move |(k, raw)| {
                end = (end + raw.len() + 1).min(source.bytes.len());
                let raw = raw.strip_suffix(b"\r").unwrap_or(raw);
                let raw =
                    if k == 0 { raw.strip_prefix(b"\xef\xbb\xbf").unwrap_or(raw) } else { raw };
                let text = std::str::from_utf8(raw).unwrap_or("\u{fffd}");
                Line { source, number: k + 1, text, end }
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
    ) -> Result<(usize, Vec<Cell>)> {
        let mut cells = Vec::new();
        let (mut tasks, mut rows) = (0, 0);
        for line in self.content_lines("#") {
            let mut columns = 0;
            for field in fields(line.text) {
                let value = line.amount(field, "a number of bytes")?;
                if columns >= MAX_TASKS || rows >= MAX_TASKS {
                    return Err(line.error(format!("more than {MAX_TASKS} tasks"), expected));
                }
                if value != Amount::default() {
                    cells.push((rows as u32, columns as u32, value));
                }
                columns += 1;
            }
            if rows == 0 {
                tasks = columns;
            } else if columns != tasks {
                let what = format!(
                    "the line has {}, but the first line has {tasks}",
                    counted(columns, "number")
                );
                return Err(line.error(what, expected));
            }
            rows += 1;
        }
        if rows != tasks {
            let what = format!(
                "the file has {}, but {} on each line",
                counted(rows, "line"),
                counted(tasks, "number")
            );
            return Err(self.error(what, expected));
        }
        Ok((tasks, cells))
    }

    /// The matrix of an undirected graph whose file lists every edge at both its ends. `arcs` are vertex,
    /// neighbour and weight. Half of the weight goes in each direction. If a weight is odd, the matrix counts
    /// halves of bytes.
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
        let halves = arcs.iter().any(|&(_, _, w)| w % 2 == 1);
        let one_way = |(i, j, w)| (i, j, counted_once(if halves { w } else { w / 2 }));
        let entries: Vec<_> = arcs.into_iter().map(one_way).collect();
        let layer = SparseMatrix::from_entries(tasks, &entries);
        let layer = if halves { layer.counted_in_halves() } else { layer };
        Ok(CommMatrix::from_point_to_point(layer))
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
    /// The bytes of the file up to the end of this line.
    end: usize,
}

impl<'a> Line<'a> {
    /// The bytes of the file behind this line.
    pub(super) fn rest(&self) -> &'a [u8] {
        &self.source.bytes[self.end..]
    }

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
        self.amount(field, expected).map(Amount::rounded)
    }

    /// The number of bytes in a field of this line. Half a byte is kept; other real numbers are rounded, and
    /// negative numbers are errors.
    pub(super) fn amount(&self, field: &str, expected: &str) -> Result<Amount> {
        let field = field.trim();
        amount(field).ok_or_else(|| match field.parse::<f64>() {
            Ok(real) if real >= TOO_MANY => {
                let what = format!("the value '{}' is larger than {}", short(field), u64::MAX);
                self.error(what, "smaller values: divide all of them by the same number")
            }
            _ => self.error(format!("the value is '{}'", short(field)), expected),
        })
    }
}

/// The first number of bytes that does not fit.
const TOO_MANY: f64 = 18_446_744_073_709_551_616.0;

/// The number of bytes in a field. `None` if it is not a number, negative or too large.
pub(super) fn amount(field: &str) -> Option<Amount> {
    if let Ok(whole) = field.parse::<u64>() {
        return Some(Amount { whole, half: false });
    }
    let real: f64 = field.parse().ok()?;
    let half = real.fract() == 0.5;
    let whole = if half { real.trunc() } else { real.round() } as u64;
    (0.0..TOO_MANY).contains(&real).then_some(Amount { whole, half })
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

/// The entries of a file in which every entry has a direction.
#[derive(Default)]
pub(super) struct Entries {
    /// Sender, receiver, traffic in whole bytes.
    list: Vec<(u32, u32, Traffic)>,
    /// Which of them have half a byte more. Few files have any.
    halves: Vec<usize>,
}

impl Entries {
    /// Adds an entry. Without a number of messages, it is one if there are bytes.
    pub(super) fn push(&mut self, pair: (u32, u32), amount: Amount, messages: Option<u64>) {
        if amount.half {
            self.halves.push(self.list.len());
        }
        let messages = messages.unwrap_or(u64::from(amount != Amount::default()));
        self.list.push((pair.0, pair.1, Traffic { bytes: amount.whole, messages }));
    }

    /// All entries of several lists, in their order.
    pub(super) fn joined(parts: Vec<Entries>) -> Entries {
        let mut joined = Entries::default();
        joined.list.reserve_exact(parts.iter().map(|part| part.list.len()).sum());
        for part in parts {
            let before = joined.list.len();
            joined.halves.extend(part.halves.iter().map(|&k| before + k));
            joined.list.extend(part.list);
        }
        joined
    }

    /// Number of entries.
    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    /// Adds each entry once more in the other direction; those of the diagonal stay single.
    pub(super) fn mirror(&mut self) {
        let mut next = self.halves.clone().into_iter().peekable();
        for k in 0..self.list.len() {
            let (i, j, traffic) = self.list[k];
            let half = next.next_if_eq(&k).is_some();
            if i != j {
                self.push((j, i), Amount { whole: traffic.bytes, half }, Some(traffic.messages));
            }
        }
    }

    /// The matrix of these entries, with room for the highest task and at least for `least` tasks.
    pub(super) fn matrix(mut self, least: usize) -> CommMatrix {
        if !self.halves.is_empty() {
            let doubled =
                |entry: &mut (u32, u32, Traffic)| entry.2.bytes = entry.2.bytes.saturating_mul(2);
            self.list.iter_mut().for_each(doubled);
            for &k in &self.halves {
                self.list[k].2.bytes = self.list[k].2.bytes.saturating_add(1);
            }
        }
        let highest = self.list.iter().map(|e| e.0.max(e.1) as usize + 1).max().unwrap_or(0);
        let layer = SparseMatrix::from_entries(highest.max(least), &self.list);
        let counted = if self.halves.is_empty() { layer } else { layer.counted_in_halves() };
        CommMatrix::from_point_to_point(counted)
    }
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
        assert_eq!((line.weight("2.6", "x"), line.weight("2.5", "x")), (Ok(3), Ok(3)));
        assert_eq!(line.amount("2.5", "x").unwrap(), Amount { whole: 2, half: true });
        assert_eq!(line.amount("2.4", "x").unwrap(), Amount { whole: 2, half: false });
        assert!(line.weight("-1", "x").is_err() && line.weight("nan", "x").is_err());
        assert_eq!(line.amount("18446744073709551615", "x").unwrap().whole, u64::MAX);
        for large in ["18446744073709551616", "1e300", "inf"] {
            let error = line.amount(large, "x").unwrap_err().to_string();
            assert!(
                error.contains(&format!("'{large}' is larger than 18446744073709551615")),
                "{error}"
            );
        }
    }
}
