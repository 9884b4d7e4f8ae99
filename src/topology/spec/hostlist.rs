//! Host lists as Slurm writes them: `dev[0-5,8],login[01-03]`.

use super::usage;
use crate::Result;
use std::cell::Cell;
use std::fmt::Write;
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

/// A name with more bytes than this counts as several hosts, one for each begun multiple. So a limit of hosts is also
/// a limit of the memory for their names.
const BYTES_OF_A_HOST: usize = 32;

/// The host lists of one file, which are bounded together.
pub(super) struct HostLists {
    /// How many hosts further lists may name.
    left: Cell<usize>,
}

impl HostLists {
    /// No list was read yet.
    pub(super) fn new() -> HostLists {
        HostLists { left: Cell::new(MAX_HOSTS) }
    }

    /// The hosts of one more list.
    pub(super) fn expand(&self, list: &str) -> Result<Vec<String>> {
        let mut room = Room { most: MAX_HOSTS, left: self.left.get() };
        let hosts = expand_into(&mut room, list)?;
        self.left.set(room.left);
        Ok(hosts)
    }
}

/// How many hosts may be named.
struct Room {
    /// By all lists together.
    most: usize,
    /// By what was not read yet.
    left: usize,
}

impl Room {
    /// Whether there is room for so many names, of which none is longer than `bytes`.
    fn has(&self, names: u64, bytes: usize) -> bool {
        names.saturating_mul(hosts_of(bytes) as u64) <= self.left as u64
    }

    /// Takes the room of the names. It must be there.
    fn take(&mut self, names: &[String]) {
        let hosts: usize = names.iter().map(|name| hosts_of(name.len())).sum();
        self.left = self.left.saturating_sub(hosts);
    }
}

/// As how many hosts a name of so many bytes counts.
fn hosts_of(bytes: usize) -> usize {
    bytes.div_ceil(BYTES_OF_A_HOST).max(1)
}

/// The hosts of a list of names with commas between them, in the order of the list. A name may have several
/// brackets with ranges. It stands for all combinations of their numbers, and the last bracket varies
/// fastest. Numbers keep their leading zeros.
///
/// Errors: brackets that do not match, a text in brackets that is not a range, an empty name, a name with more
/// than 16 brackets or more than 1024 bytes outside of them, more than 524 288 hosts (a name of more than 32 bytes
/// counts as several).
pub fn expand(list: &str) -> Result<Vec<String>> {
    expand_at_most(list, MAX_HOSTS)
}

/// As [`expand`], with another limit for the number of hosts.
pub(super) fn expand_at_most(list: &str, most: usize) -> Result<Vec<String>> {
    expand_into(&mut Room { most, left: most }, list)
}

/// The hosts of a list, which take their part of the room.
fn expand_into(room: &mut Room, list: &str) -> Result<Vec<String>> {
    let mut hosts = Vec::new();
    let (mut depth, mut start) = (0, 0);
    let list = list.trim();
    for (at, c) in list.char_indices().chain([(list.len(), ',')]) {
        match c {
            '[' => depth += 1,
            ']' => depth -= 1,
            ',' if depth == 0 || at == list.len() => {
                let mut names = expand_one(room, list[start..at].trim())?;
                room.take(&names);
                hosts.append(&mut names);
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

/// The hosts of one name with its brackets, for which there is room.
fn expand_one(room: &Room, pattern: &str) -> Result<Vec<String>> {
    if pattern.is_empty() {
        return Err(usage("a host list has an empty name"));
    }
    let too_many = || {
        usage(format!(
            "the host lists name more than {} hosts with '{pattern}'; a name of more than {BYTES_OF_A_HOST} bytes \
             counts as several",
            room.most
        ))
    };
    let too_long = || usage(format!("a name in the host list has more than {MAX_LETTERS} letters"));
    let mut names = vec![String::new()];
    let (mut rest, mut longest) = (pattern, 0);
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
        longest += head.len()
            + ranges.iter().map(|(all, width)| digits(*all.end()).max(*width)).max().unwrap_or(0);
        if !room.has(count.saturating_mul(names.len() as u64), longest) {
            return Err(too_many());
        }
        // The numbers are written into the names, and not kept.
        let mut longer = Vec::with_capacity(names.len() * count as usize);
        for name in &names {
            for (all, width) in &ranges {
                longer.extend(all.clone().map(|n| {
                    let mut longer = String::with_capacity(longest);
                    let _ = write!(longer, "{name}{head}{n:0width$}");
                    longer
                }));
            }
        }
        names = longer;
        rest = after;
    }
    if !room.has(names.len() as u64, longest + rest.len()) {
        return Err(too_many());
    }
    if letters + rest.len() > MAX_LETTERS {
        return Err(too_long());
    }
    for name in names.iter_mut().filter(|_| !rest.is_empty()) {
        name.reserve_exact(rest.len());
        name.push_str(rest);
    }
    Ok(names)
}

/// How many digits a number has.
fn digits(number: u64) -> usize {
    number.checked_ilog10().unwrap_or(0) as usize + 1
}

/// The numbers of `7`, `007` or `01-16`, and how many digits they have at least.
fn range(text: &str) -> Result<(RangeInclusive<u64>, usize)> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let is_number = |word: &str| !word.is_empty() && word.bytes().all(|b| b.is_ascii_digit());
    let numbers = || Some((first.parse().ok()?, last.parse().ok()?));
    numbers()
        .filter(|(from, to)| is_number(first) && is_number(last) && from <= to)
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

    #[test]
    fn long_names_count_as_several_hosts() {
        let head = |bytes: usize| "a".repeat(bytes - 3);
        for (bytes, most) in [(32, 100), (33, 50), (64, 50), (65, 33)] {
            let names = |count| format!("{}[100-{}]", head(bytes), 99 + count);
            assert_eq!(expand_at_most(&names(most), 100).unwrap().len(), most, "{bytes} bytes");
            let refused = expand_at_most(&names(most + 1), 100).unwrap_err();
            assert!(
                refused.to_string().contains("more than 100 hosts"),
                "{bytes} bytes: {refused}"
            );
        }
        // Letters behind the brackets, names without brackets, and several lists count as well.
        assert!(expand_at_most(&format!("[1-51]{}", head(40)), 100).is_err());
        let list = vec!["b".repeat(33); 51].join(",");
        assert!(expand_at_most(&list, 100).is_err());
        let lists = HostLists::new();
        assert!(lists.expand(&format!("{}[100000-200000]", head(100))).is_ok());
        assert!(lists.expand(&format!("{}[100000-200000]", head(100))).is_err());
    }
}
