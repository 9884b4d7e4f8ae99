//! Compares the output of two runs of a program.
//!
//! Two texts are equal if their lines are equal: words and whole numbers exactly, other numbers within the
//! tolerance. Lines that the user ignores are left out of both texts. Times, rates, dates, addresses and the
//! names of the job's nodes differ from run to run by their nature. Lines that are equal without these are
//! equal ([`Filter::masked`]). If the ranks of a program print in no fixed order, lines are compared sorted.
//!
//! Limits: output that is not text is compared byte by byte.

use crate::base::error::Result;
use crate::base::nouns::counted;
use crate::cli::arguments::regular_expression;
use regex::Regex;
use std::collections::HashMap;

/// A number, whole or not.
const NUMBER: &str = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eEdD][-+]?\d+)?";

/// Expressions for texts that differ from run to run by their nature. `N` stands for a number.
const BY_NATURE: [&str; 9] = [
    // 12:30:05, 2026-11-21T12:30:05Z, 11/21/2026, Sat Nov 21 12:30:05 2026
    r"\b\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?\b",
    r"\b\d{4}[-/]\d{2}[-/]\d{2}(?:T[\d:.]+Z?)?",
    r"\b\d{1,2}[./]\d{1,2}[./]\d{4}\b",
    r"(?i)\b(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*,? +)?(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]* +\d{1,2}\b(?:,? +\d{4}\b)?",
    // 0.35 s, 12 ms, 1.5e3 MB/s, 20 Gflop/s, 31.1 steps/s
    r"(?i)N ?(?:s|secs?|seconds?|ms|msecs?|us|µs|usecs?|ns|minutes?|mins|hours?)\b",
    r"(?i)N ?[a-z]+ ?/ ?(?:s|sec|second)\b|N ?[kmgtp]?flops\b|N ?[a-z]+ per second",
    // Time in seconds = 0.35; Loop time of 0.35; elapsed: 0.35; Mop/s total = 20.5
    r"(?i)\b(?:\w*times?|elapsed|duration|wall\w*|seconds|secs)\b[^0-9=:]{0,40}[=:] *N|\btime of +N",
    r"(?i)\b(?:performance|throughput|bandwidth|[kmgtp]?flops?(?:/s)?|mop/s)\b[^0-9=:]{0,40}[=:] *N",
    r"(?i)\b0x[0-9a-f]{6,16}\b|\bpid *[=:]? *\d+",
];

/// How much numbers that are not whole may differ.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Tolerance {
    /// Relative to the larger of the two numbers.
    pub(super) relative: f64,
    /// Absolute.
    pub(super) absolute: f64,
}

impl Tolerance {
    /// Reads `REL` or `REL,ABS`.
    pub(super) fn parse(text: &str) -> std::result::Result<Tolerance, String> {
        let wrong =
            || format!("'{text}' is not a tolerance: a number from 0, or two such as 1e-6,1e-12");
        let mut parts = text.split(',').map(|part| {
            let value = part.trim().parse::<f64>().ok();
            value.filter(|v| v.is_finite() && *v >= 0.0).ok_or_else(wrong)
        });
        let relative = parts.next().unwrap_or_else(|| Err(wrong()))?;
        let absolute = parts.next().unwrap_or(Ok(0.0))?;
        if parts.next().is_some() {
            return Err(wrong());
        }
        Ok(Tolerance { relative, absolute })
    }

    fn same(self, a: &str, b: &str) -> bool {
        if a == b {
            return true;
        }
        let is_whole = |text: &str| text.bytes().all(|c| c.is_ascii_digit() || b"+-".contains(&c));
        if is_whole(a) && is_whole(b) {
            return false;
        }
        // Fortran writes exponents with a D.
        let value = |text: &str| text.replace(['d', 'D'], "e").parse::<f64>().ok();
        let Some((a, b)) = value(a).zip(value(b)) else { return false };
        let distance = (a - b).abs();
        distance <= self.absolute || distance <= self.relative * a.abs().max(b.abs())
    }
}

/// In which order lines are compared.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum LineOrder {
    /// As they were printed.
    #[default]
    Printed,
    /// Sorted.
    Sorted,
}

/// Where two texts differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Difference {
    /// The number of the line in the plain run, from 1, and the line; `None` if there is no such line.
    pub(super) plain: Option<(usize, String)>,
    /// The number of the line in the other run, and the line.
    pub(super) other: Option<(usize, String)>,
}

/// The rules by which texts are compared.
#[derive(Debug)]
pub(super) struct Filter {
    tolerance: Tolerance,
    ignored: Vec<Regex>,
    by_nature: Vec<Regex>,
    number: Regex,
}

impl Filter {
    /// Compiles the expressions. Errors: an expression cannot be read.
    pub(super) fn new(tolerance: Tolerance, ignored: &[String]) -> Result<Filter> {
        let compile = |text: &str| regular_expression(text, "--ignore");
        let number = compile(NUMBER)?;
        let nature = |text: &&str| compile(&text.replace('N', NUMBER));
        Ok(Filter {
            tolerance,
            ignored: ignored.iter().map(|text| compile(text)).collect::<Result<_>>()?,
            by_nature: BY_NATURE.iter().map(nature).collect::<Result<_>>()?,
            number,
        })
    }

    /// Adds names of nodes to the texts that differ by their nature.
    pub(super) fn ignore_nodes(&mut self, names: &[String]) {
        let mut names: Vec<&str> = names
            .iter()
            .flat_map(|name| [name.as_str(), name.split('.').next().unwrap_or_default()])
            .filter(|name| name.len() > 1)
            .collect();
        names.sort_by_key(|name| std::cmp::Reverse(name.len()));
        let words: Vec<String> = names.iter().map(|name| regex::escape(name)).collect();
        if !words.is_empty()
            && let Ok(regex) = Regex::new(&format!(r"\b(?:{})\b", words.join("|")))
        {
            self.by_nature.push(regex);
        }
    }

    /// The first difference; `None` if there is none.
    pub(super) fn compare(
        &self,
        plain: &[u8],
        other: &[u8],
        order: LineOrder,
    ) -> Option<Difference> {
        if plain == other {
            return None;
        }
        let (Ok(a), Ok(b)) = (std::str::from_utf8(plain), std::str::from_utf8(other)) else {
            return bytes(plain, other);
        };
        if a.contains('\0') || b.contains('\0') {
            return bytes(plain, other);
        }
        let (mut a, mut b) = (self.lines(a), self.lines(b));
        if order == LineOrder::Printed {
            return self.first_difference(&a, &b);
        }
        self.sort(&mut a);
        self.sort(&mut b);
        self.first_difference(&a, &b)?;
        // Sorting cannot tell numbers that are nearly equal. Lines that both texts have are the same in any order.
        remove_common(&mut a, &mut b);
        self.first_difference(&a, &b)
    }

    /// The first difference of lines that are in the same order.
    fn first_difference(&self, a: &[(usize, &str)], b: &[(usize, &str)]) -> Option<Difference> {
        let own = |line: &(usize, &str)| (line.0, line.1.to_string());
        for k in 0..a.len().max(b.len()) {
            match (a.get(k), b.get(k)) {
                (Some(x), Some(y)) if self.same_line(x.1, y.1) => {}
                (x, y) => return Some(Difference { plain: x.map(own), other: y.map(own) }),
            }
        }
        None
    }

    /// The lines that are compared, with their numbers.
    fn lines<'a>(&self, text: &'a str) -> Vec<(usize, &'a str)> {
        let all = text.lines().enumerate().map(|(k, line)| (k + 1, line.trim_end()));
        all.filter(|(_, line)| !self.ignored.iter().any(|i| i.is_match(line))).collect()
    }

    /// Sorts lines by their texts without numbers, then by their numbers.
    fn sort(&self, lines: &mut [(usize, &str)]) {
        lines.sort_by_cached_key(|(_, line)| {
            let masked = self.masked(line);
            let skeleton = self.number.replace_all(&masked, "#").into_owned();
            let numbers: Vec<i64> = self
                .number
                .find_iter(&masked)
                .map(|n| {
                    let value = n.as_str().parse::<f64>().unwrap_or(0.0);
                    // The steps are coarser than the usual tolerance. Equal lines keep their order.
                    (value * 1e3).round() as i64
                })
                .collect();
            (skeleton, numbers)
        });
    }

    /// A line without the texts that differ by their nature.
    fn masked(&self, line: &str) -> String {
        let mut text = line.to_string();
        for regex in &self.by_nature {
            text = regex.replace_all(&text, "<>").into_owned();
        }
        text
    }

    fn same_line(&self, a: &str, b: &str) -> bool {
        self.same_words(a, b) || self.same_words(&self.masked(a), &self.masked(b))
    }

    /// True if two lines are equal, apart from blanks and from numbers within the tolerance.
    fn same_words(&self, a: &str, b: &str) -> bool {
        let (mut a_at, mut b_at) = (0, 0);
        let (mut a_numbers, mut b_numbers) = (self.number.find_iter(a), self.number.find_iter(b));
        loop {
            let (x, y) = (a_numbers.next(), b_numbers.next());
            let a_text = &a[a_at..x.map_or(a.len(), |n| n.start())];
            let b_text = &b[b_at..y.map_or(b.len(), |n| n.start())];
            if !a_text.split_whitespace().eq(b_text.split_whitespace()) {
                return false;
            }
            match (x, y) {
                (None, None) => return true,
                (Some(x), Some(y)) if self.tolerance.same(x.as_str(), y.as_str()) => {
                    (a_at, b_at) = (x.end(), y.end());
                }
                _ => return false,
            }
        }
    }
}

/// Removes the lines that both texts have, as often as both have them. What remains is compared in the order
/// of its numbers, which cannot tell `1` from `01` or 0.0001 from 0.0002.
fn remove_common(a: &mut Vec<(usize, &str)>, b: &mut Vec<(usize, &str)>) {
    let mut left: HashMap<&str, usize> = HashMap::new();
    for (_, line) in b.iter() {
        *left.entry(line).or_default() += 1;
    }
    let mut common: HashMap<&str, usize> = HashMap::new();
    a.retain(|(_, line)| match left.get_mut(line) {
        Some(count) if *count > 0 => {
            *count -= 1;
            *common.entry(line).or_default() += 1;
            false
        }
        _ => true,
    });
    b.retain(|(_, line)| match common.get_mut(line) {
        Some(count) if *count > 0 => {
            *count -= 1;
            false
        }
        _ => true,
    });
}

/// The place where two byte strings differ, in words.
fn bytes(a: &[u8], b: &[u8]) -> Option<Difference> {
    let at = a.iter().zip(b).position(|(x, y)| x != y).unwrap_or(a.len().min(b.len()));
    let from = |bytes: &[u8]| {
        let shown: Vec<String> =
            bytes.iter().skip(at).take(8).map(|x| format!("{x:02x}")).collect();
        Some((
            1,
            format!("{}, from byte {at} on {}", counted(bytes.len(), "byte"), shown.join(" ")),
        ))
    };
    Some(Difference { plain: from(a), other: from(b) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn filter(ignored: &[&str]) -> Filter {
        let ignored: Vec<String> = ignored.iter().map(|s| s.to_string()).collect();
        Filter::new(Tolerance { relative: 1e-6, absolute: 0.0 }, &ignored).unwrap()
    }

    fn same(a: &str, b: &str) -> bool {
        filter(&[]).compare(a.as_bytes(), b.as_bytes(), LineOrder::Printed).is_none()
    }

    #[test]
    fn numbers() {
        assert!(same("x = 1.0000001", "x = 1.0000002"));
        assert!(same("e  9.9999999", "e 10.000000"));
        assert!(same("1.5D-03", "1.50000001D-03"));
        assert!(!same("x = 1.0001", "x = 1.0002"));
        assert!(!same("rank 1000000", "rank 1000001"), "whole numbers are exact");
        assert!(!same("x = 1e-17", "x = 2e-17"));
        assert!(!same("nan", "1.0") && !same("a 1.0", "b 1.0") && !same("1.0", "1.0 2.0"));
        let loose = Filter::new(Tolerance::parse("0,1e-12").unwrap(), &[]).unwrap();
        assert!(loose.compare(b"x = 1e-17", b"x = 2e-17", LineOrder::Printed).is_none());
        assert!(loose.compare(b"x = 1.0", b"x = 1.0000001", LineOrder::Printed).is_some());
        for bad in ["", "x", "-1", "1,2,3", "nan", "1,"] {
            assert!(Tolerance::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn times_differ_by_their_nature() {
        for (a, b) in [
            ("solved in 0.35 s", "solved in 12.1 s"),
            ("Loop time of 0.52 on 4 procs", "Loop time of 0.61 on 4 procs"),
            (" Time in seconds =        0.01", " Time in seconds =       10.22"),
            (" Mop/s total     =      900.5", " Mop/s total     =      1900.5"),
            ("elapsed (wall): 3", "elapsed (wall): 4"),
            ("2026-11-21 12:00:01 start", "2026-11-22 23:59:59 start"),
            ("Sat Nov 21 12:00:01 2026", "Sun Nov 22 13:00:01 2026"),
            ("1.2 GB/s, 31 steps/s", "1.9 GB/s, 30 steps/s"),
            ("at 0x7ffd1234abcd", "at 0x7ffe00000010"),
        ] {
            assert!(same(a, b), "{a}");
        }
        for (a, b) in [
            ("solved in 0.35 s, residual 1.5", "solved in 0.36 s, residual 1.6"),
            ("time step 5: energy 3.2", "time step 5: energy 3.3"),
            ("Loop time of 0.52 on 4 procs", "Loop time of 0.52 on 8 procs"),
            ("rank 3", "rank 4"),
        ] {
            assert!(!same(a, b), "{a}");
        }
    }

    #[test]
    fn ignored_lines_and_nodes() {
        let mut filter = filter(&["^seed"]);
        let of = |filter: &Filter, a: &str, b: &str| {
            filter.compare(a.as_bytes(), b.as_bytes(), LineOrder::Printed)
        };
        assert_eq!(of(&filter, "seed 5\nx 1\n", "x 1\nseed 6\n"), None);
        let found = of(&filter, "seed 5\nx 1\n", "x 2\n").unwrap();
        assert_eq!(found.plain, Some((2, "x 1".into())));
        assert_eq!(found.other, Some((1, "x 2".into())));
        assert!(of(&filter, "0 on n17", "0 on n18").is_some());
        filter.ignore_nodes(&["n17.cluster".into(), "n18.cluster".into()]);
        assert_eq!(of(&filter, "0 on n17", "0 on n18"), None);
        assert!(of(&filter, "0 on n17", "1 on n18").is_some());
        assert!(Filter::new(Tolerance::parse("0").unwrap(), &["(".into()]).is_err());
    }

    #[test]
    fn sorted_lines() {
        let filter = filter(&[]);
        let of = |a: &str, b: &str, order| filter.compare(a.as_bytes(), b.as_bytes(), order);
        let (a, b) = ("rank 0: 1.5\nrank 1: 2.5\n", "rank 1: 2.5000001\nrank 0: 1.5\n");
        assert!(of(a, b, LineOrder::Printed).is_some());
        assert_eq!(of(a, b, LineOrder::Sorted), None);
        let missing = of(a, "rank 1: 2.5\n", LineOrder::Sorted).unwrap();
        assert_eq!(missing.plain, Some((1, "rank 0: 1.5".into())));
        // Times do not decide the order.
        assert_eq!(of("b 3 s\na 9 s\n", "a 1 s\nb 8 s\n", LineOrder::Sorted), None);
    }

    #[test]
    fn sorted_lines_whose_numbers_are_nearly_equal() {
        let filter = filter(&[]);
        let of = |a: &str, b: &str| filter.compare(a.as_bytes(), b.as_bytes(), LineOrder::Sorted);
        assert_eq!(of("01\n1\n", "1\n01\n"), None);
        assert_eq!(of("x 0.0001\nx 0.0002\n", "x 0.0002\nx 0.0001\n"), None);
        assert_eq!(of("1\n01\n2.5\n", "2.50000001\n01\n1\n"), None);
        assert!(of("1\n1\n01\n", "1\n01\n01\n").is_some(), "a line counts as often as it is there");
        // Without the line that both have, the others would differ by more than the tolerance.
        assert_eq!(of("1.0\n1.0000009\n", "0.9999991\n1.0\n"), None);
    }

    #[test]
    fn what_is_no_text() {
        let filter = filter(&[]);
        let found = filter.compare(b"\0\x01\x02", b"\0\x01\x03\x04", LineOrder::Printed).unwrap();
        assert_eq!(found.plain.unwrap().1, "3 bytes, from byte 2 on 02");
        assert_eq!(found.other.unwrap().1, "4 bytes, from byte 2 on 03 04");
    }

    proptest! {
        #[test]
        fn a_text_equals_itself_and_its_shuffle(
            mut lines in prop::collection::vec("[a-c0-9. ]{0,9}", 0..9), seed in any::<u64>()
        ) {
            let filter = filter(&[]);
            let text = lines.join("\n");
            prop_assert_eq!(filter.compare(text.as_bytes(), text.as_bytes(), LineOrder::Printed), None);
            let by = seed as usize % lines.len().max(1);
            lines.rotate_left(by);
            let other = lines.join("\n");
            // A last empty line is none.
            if !text.ends_with('\n') && !other.ends_with('\n') && !text.is_empty() && !other.is_empty() {
                let found = filter.compare(text.as_bytes(), other.as_bytes(), LineOrder::Sorted);
                prop_assert_eq!(found, None);
            }
        }

        #[test]
        fn any_bytes_are_survived(a in prop::collection::vec(any::<u8>(), 0..40), b in ".{0,40}") {
            let filter = filter(&["x+"]);
            for order in [LineOrder::Printed, LineOrder::Sorted] {
                let found = filter.compare(&a, b.as_bytes(), order);
                prop_assert!(found.is_none() || a != b.as_bytes());
                let _ = filter.compare(b.as_bytes(), b.as_bytes(), order);
            }
        }
    }
}
