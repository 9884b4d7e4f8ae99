//! The hosts of a launch as launchers and batch systems describe them, before there is a process.
//!
//! An [`Allocation`] is the list of hosts in the order of the description, each with the number of ranks that it
//! takes, where the description says so. [`filling`] computes from it on which host the launcher starts each rank.
//! Limit: what only the launcher finds out when it starts (the number of cores of a host) is not known here.

pub mod batch_system;
pub mod filling;
pub mod host_file;
pub mod host_list;

use crate::base::error::{Error, ErrorKind, Result};
use std::collections::HashMap;

/// More hosts or ranks than this are refused.
pub const MOST: usize = 1 << 19;

/// An entry of a list of hosts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostEntry {
    /// The name, as it is written there.
    pub name: String,
    /// How many ranks the host takes here; `None` if the description leaves it to the launcher.
    pub ranks: Option<u32>,
}

/// The hosts of a launch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Allocation {
    /// The entries in their order. A host can occur several times.
    pub entries: Vec<HostEntry>,
    /// The description that they are from, for messages, such as `--hostfile hosts`.
    pub source: String,
}

/// A list of hosts in which each occurs once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hosts {
    /// The names, in the order of first appearance.
    pub names: Vec<String>,
    /// The index in `names` of each entry of the allocation, and the number of its ranks.
    pub entries: Vec<(usize, Option<u32>)>,
}

impl Hosts {
    /// The number of ranks of each host, all entries added up; `None` if some entry does not say it.
    pub fn totals(&self) -> Option<Vec<u32>> {
        let mut totals = vec![0u32; self.names.len()];
        for &(host, ranks) in &self.entries {
            totals[host] = totals[host].saturating_add(ranks?);
        }
        Some(totals)
    }
}

/// The name of a host without its domain, in lower case: two hosts with the same short name are one host.
/// Addresses stay whole.
pub fn short_name(name: &str) -> String {
    let is_address = name.contains(':') || name.chars().all(|c| c.is_ascii_digit() || c == '.');
    let short = if is_address { name } else { name.split('.').next().unwrap_or(name) };
    short.to_ascii_lowercase()
}

impl Allocation {
    /// Each host once.
    pub fn hosts(&self) -> Hosts {
        let mut hosts = Hosts::default();
        let mut known: HashMap<String, usize> = HashMap::new();
        for entry in &self.entries {
            let next = hosts.names.len();
            let host = *known.entry(short_name(&entry.name)).or_insert(next);
            if host == next {
                hosts.names.push(entry.name.clone());
            }
            hosts.entries.push((host, entry.ranks));
        }
        hosts
    }

    /// The same hosts, with `ranks` for each entry that leaves the number to the launcher.
    #[must_use]
    pub fn with_default_ranks(mut self, ranks: u32) -> Allocation {
        for entry in &mut self.entries {
            entry.ranks = entry.ranks.or(Some(ranks));
        }
        self
    }

    /// The same hosts with `ranks` each, as options such as `-ppn` ask for. Repeated hosts count once.
    #[must_use]
    pub fn with_ranks_per_host(&self, ranks: u32) -> Allocation {
        let names = self.hosts().names.into_iter();
        let entries = names.map(|name| HostEntry { name, ranks: Some(ranks) }).collect();
        Allocation { entries, source: self.source.clone() }
    }
}

/// The error of a description that cannot be understood.
fn wrong(what: impl Into<String>) -> Error {
    Error::new(ErrorKind::Usage, what)
}

/// A host name or address that can be written to the files of all launchers. Errors: any other text.
fn checked_name(name: &str) -> Result<String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let first = name.chars().next().is_some_and(|c| c.is_ascii_alphanumeric());
    match first && name.len() <= 255 && name.chars().all(plain) {
        true => Ok(name.to_string()),
        false => Err(wrong(format!("'{name}' is not the name of a host"))),
    }
}

/// A number of ranks, from 1. Errors: any other text.
fn count(text: &str) -> Result<u32> {
    match text.parse::<u32>() {
        Ok(n) if n > 0 && n as usize <= MOST => Ok(n),
        _ => Err(wrong(format!("'{text}' is not a number of ranks"))),
    }
}

/// Adds an entry. Errors: there are too many.
fn push(entries: &mut Vec<HostEntry>, name: &str, ranks: Option<u32>) -> Result<()> {
    if entries.len() >= MOST {
        return Err(wrong(format!("more than {MOST} hosts")));
    }
    entries.push(HostEntry { name: checked_name(name)?, ranks });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_known_by_its_short_name() {
        let entry = |name: &str, ranks| HostEntry { name: name.into(), ranks };
        let entries = vec![entry("a.site", Some(2)), entry("b", Some(1)), entry("A", Some(3))];
        let allocation = Allocation { entries, source: String::new() };
        let hosts = allocation.hosts();
        assert_eq!(hosts.names, ["a.site", "b"]);
        assert_eq!(hosts.totals(), Some(vec![5, 1]));
        let even = allocation.with_ranks_per_host(4).hosts();
        assert_eq!(even.totals(), Some(vec![4, 4]));
        assert_eq!(short_name("10.1.2.3"), "10.1.2.3");
        let open = Allocation { entries: vec![entry("a", None)], source: String::new() };
        assert_eq!(open.hosts().totals(), None);
    }
}
