//! Host lists as Slurm writes them: `dev[0-5,8],login[01-03]`.

use super::usage;
use crate::Result;
use std::cell::Cell;
use std::ops::RangeInclusive;

/// More hosts than this in one list, or in all lists of a file together, are refused: three times the nodes of
/// the largest cluster that is known (Fugaku, 158 976).
const MAX_HOSTS: usize = 1 << 19;

/// More brackets than this in one name are refused.
const MAX_BRACKETS: usize = 16;

/// Names with more bytes than this outside of brackets are refused; names of hosts have at most 253.
const MAX_LETTERS: usize = 1024;

/// Numbers with more digits than this are refused. Without a limit, leading zeros would make long names from a short
/// text.
const MAX_DIGITS: usize = 20;

/// The host lists of one file, which are bounded together.
pub(super) struct HostLists {
    /// How many hosts the lists have named so far.
    named: Cell<usize>,
}

impl HostLists {
    /// No list was read yet.
    pub(super) fn new() -> HostLists {
        HostLists { named: Cell::new(0) }
    }

    /// The hosts of one more list.
    pub(super) fn expand(&self, list: &str) -> Result<Vec<String>> {
        let hosts = expand_after(self.named.get(), list, MAX_HOSTS)?;
        self.named.set(self.named.get() + hosts.len());
        Ok(hosts)
    }
}

/// The hosts of a list of names with commas between them, in the order of the list. A name may have several
/// brackets with ranges. It stands for all combinations of their numbers, and the last bracket varies
/// fastest. Numbers keep their leading zeros.
///
/// Errors: brackets that do not match, a text in brackets that is not a range, an empty name, a name with more
/// than 16 brackets or more than 1024 bytes outside of them, more than 524 288 hosts.
pub fn expand(list: &str) -> Result<Vec<String>> {
    expand_at_most(list, MAX_HOSTS)
}

/// As [`expand`], with another limit for the number of hosts.
pub(super) fn expand_at_most(list: &str, most: usize) -> Result<Vec<String>> {
    expand_after(0, list, most)
}

/// The hosts of a list, if other lists have named `before` hosts and all lists together may name `most`.
fn expand_after(before: usize, list: &str, most: usize) -> Result<Vec<String>> {
    let mut hosts = Vec::new();
    let (mut depth, mut start) = (0, 0);
    let list = list.trim();
    for (at, c) in list.char_indices().chain([(list.len(), ',')]) {
        match c {
            '[' => depth += 1,
            ']' => depth -= 1,
            ',' if depth == 0 || at == list.len() => {
                expand_one(before, list[start..at].trim(), most, &mut hosts)?;
                start = at + 1;
            }
            _ => {}
        }
        if !(0..=1).contains(&depth) {
            return Err(usage(format!("brackets do not match in the host list '{list}'")));
        }
    }
    match depth {
        0 => Ok(hosts),
        _ => Err(usage(format!("brackets do not match in the host list '{list}'"))),
    }
}

/// One name with its brackets.
fn expand_one(before: usize, pattern: &str, most: usize, hosts: &mut Vec<String>) -> Result<()> {
    if pattern.is_empty() {
        return Err(usage("a host list has an empty name"));
    }
    let too_many = || usage(format!("the host lists name more than {most} hosts with '{pattern}'"));
    let too_long = || usage(format!("a name in the host list has more than {MAX_LETTERS} letters"));
    let left = (most - before - hosts.len()) as u64;
    let mut names = vec![String::new()];
    let mut rest = pattern;
    let (mut brackets, mut letters) = (0, 0);
    while let Some((head, tail)) = rest.split_once('[') {
        let Some((list, after)) = tail.split_once(']') else {
            return Err(usage(format!("'[' without ']' in the host list '{pattern}'")));
        };
        brackets += 1;
        letters += head.len();
        if letters > MAX_LETTERS {
            return Err(too_long());
        }
        if brackets > MAX_BRACKETS {
            return Err(usage(format!("'{pattern}' has more than {MAX_BRACKETS} brackets")));
        }
        let ranges = list.split(',').map(|text| range(text.trim())).collect::<Result<Vec<_>>>()?;
        let numbers = ranges.iter().map(|(all, _)| all.end() - all.start());
        let count = numbers.fold(ranges.len() as u64, u64::saturating_add);
        if count.saturating_mul(names.len() as u64) > left {
            return Err(too_many());
        }
        // The numbers are written into the names, and not kept.
        let mut longer = Vec::with_capacity(names.len() * count as usize);
        for name in &names {
            for (all, width) in &ranges {
                longer.extend(all.clone().map(|n| format!("{name}{head}{n:0width$}")));
            }
        }
        names = longer;
        rest = after;
    }
    if names.len() as u64 > left {
        return Err(too_many());
    }
    if letters + rest.len() > MAX_LETTERS {
        return Err(too_long());
    }
    names.iter_mut().filter(|_| !rest.is_empty()).for_each(|name| name.push_str(rest));
    hosts.append(&mut names);
    Ok(())
}

/// The numbers of `7`, `007` or `01-16`, and how many digits they have at least.
fn range(text: &str) -> Result<(RangeInclusive<u64>, usize)> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let digits = |word: &str| !word.is_empty() && word.bytes().all(|b| b.is_ascii_digit());
    let numbers = || Some((first.parse().ok()?, last.parse().ok()?));
    numbers()
        .filter(|(from, to)| digits(first) && digits(last) && from <= to)
        .filter(|_| first.len() <= MAX_DIGITS)
        .map(|(from, to)| (from..=to, first.len()))
        .ok_or_else(|| usage(format!("'{text}' is not a range such as 01-16")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expands_ranges_in_order() {
        assert_eq!(expand("dev[0-2,8]").unwrap(), ["dev0", "dev1", "dev2", "dev8"]);
        assert_eq!(expand("a,b[09-11]-x, c").unwrap(), ["a", "b09-x", "b10-x", "b11-x", "c"]);
        assert_eq!(expand("r[1-2]n[1-2]").unwrap(), ["r1n1", "r1n2", "r2n1", "r2n2"]);
    }

    #[test]
    fn refuses_what_is_none() {
        for list in ["", "a,,b", "a[", "a]", "a[1-", "a[3-1]", "a[x]", "a[[1]]", "a[0-99999999]"] {
            assert!(expand(list).is_err(), "{list}");
        }
        assert!(expand(&"[1]".repeat(MAX_BRACKETS)).is_ok());
        let long = "a".repeat(MAX_LETTERS);
        assert!(expand(&long).is_ok());
        for list in ["[1]".repeat(MAX_BRACKETS + 1), format!("a[{:021}]", 1), long + "a[1-2]"] {
            assert!(expand(&list).is_err(), "{list}");
        }
    }

    #[test]
    fn the_lists_of_a_file_are_bounded_together() {
        let lists = HostLists::new();
        assert_eq!(lists.expand("a[1-524287]").unwrap().len(), MAX_HOSTS - 1);
        assert!(lists.expand("b[1-2]").is_err());
        assert_eq!(lists.expand("b1").unwrap(), ["b1"]);
        assert!(lists.expand("b2").is_err());
    }
}
