//! Host lists as Slurm writes them: `dev[0-5,8],login[01-03]`.

use super::usage;
use crate::Result;

/// More hosts than this in one list are refused.
const MAX_HOSTS: usize = 1 << 22;

/// The hosts of a list of names with commas between them, in the order of the list. A name may have any number
/// of brackets with ranges. It stands for all combinations of their numbers, and the last bracket varies
/// fastest. Numbers keep their leading zeros.
///
/// Errors: brackets that do not match, a text in brackets that is not a range, an empty name, more than
/// 4 million hosts.
pub fn expand(list: &str) -> Result<Vec<String>> {
    expand_at_most(list, MAX_HOSTS)
}

/// As [`expand`], with another limit for the number of hosts.
pub(super) fn expand_at_most(list: &str, most: usize) -> Result<Vec<String>> {
    let mut hosts = Vec::new();
    let (mut depth, mut start) = (0, 0);
    let list = list.trim();
    for (at, c) in list.char_indices().chain([(list.len(), ',')]) {
        match c {
            '[' => depth += 1,
            ']' => depth -= 1,
            ',' if depth == 0 || at == list.len() => {
                expand_one(list[start..at].trim(), most, &mut hosts)?;
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
fn expand_one(pattern: &str, most: usize, hosts: &mut Vec<String>) -> Result<()> {
    if pattern.is_empty() {
        return Err(usage("a host list has an empty name"));
    }
    let mut names = vec![String::new()];
    let mut rest = pattern;
    while let Some((head, tail)) = rest.split_once('[') {
        let Some((ranges, after)) = tail.split_once(']') else {
            return Err(usage(format!("'[' without ']' in the host list '{pattern}'")));
        };
        let mut numbers = Vec::new();
        for range in ranges.split(',') {
            expand_range(range.trim(), most, &mut numbers)?;
        }
        if names.len().saturating_mul(numbers.len()) > most {
            return Err(usage(format!("'{pattern}' names more than {most} hosts")));
        }
        names = names
            .iter()
            .flat_map(|name| numbers.iter().map(move |number| format!("{name}{head}{number}")))
            .collect();
        rest = after;
    }
    if hosts.len() + names.len() > most {
        return Err(usage(format!("a host list names more than {most} hosts")));
    }
    hosts.extend(names.into_iter().map(|name| name + rest));
    Ok(())
}

/// `7`, `007` or `01-16`.
fn expand_range(range: &str, most: usize, numbers: &mut Vec<String>) -> Result<()> {
    let bad = || usage(format!("'{range}' is not a range such as 01-16"));
    let digits = |word: &str| !word.is_empty() && word.bytes().all(|b| b.is_ascii_digit());
    let (first, last) = range.split_once('-').unwrap_or((range, range));
    if !digits(first) || !digits(last) {
        return Err(bad());
    }
    let (from, to): (u64, u64) =
        (first.parse().map_err(|_| bad())?, last.parse().map_err(|_| bad())?);
    if from > to || numbers.len() as u64 + (to - from) >= most as u64 {
        return Err(bad());
    }
    let width = first.len();
    numbers.extend((from..=to).map(|n| format!("{n:0width$}")));
    Ok(())
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
    }
}
