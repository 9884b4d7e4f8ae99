//! The hosts of a launch as launchers and batch systems describe them, before there is a process.
//!
//! An [`Allocation`] is the list of hosts in the order of the description, each with the number of ranks that it
//! takes, where the description says so. [`filling`] computes from it on which host the launcher starts each rank.
//! Limit: what only the launcher finds out when it starts (the number of cores of a host) is not known here.

pub mod batch_system;
pub mod filling;
pub mod host_file;
pub mod host_list;

pub use crate::base::host_name::short_name;

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
    /// Some host has a largest number of ranks beside its usual one (`max_slots`).
    pub has_limits: bool,
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

impl Allocation {
    /// Each host once.
    ///
    /// Errors: two hosts have the same short name and different domains. Everything else tells hosts apart by their
    /// short names, and would take the two for one.
    pub fn hosts(&self) -> Result<Hosts> {
        let mut hosts = Hosts::default();
        let mut known: HashMap<String, usize> = HashMap::new();
        // The first name with a domain of each host.
        let mut with_domain: HashMap<usize, &str> = HashMap::new();
        for entry in &self.entries {
            let name = entry.name.as_str();
            let short = short_name(name);
            let next = hosts.names.len();
            let host = *known.entry(short.clone()).or_insert(next);
            if host == next {
                hosts.names.push(name.to_string());
            }
            if short.len() < name.len() {
                let before = *with_domain.entry(host).or_insert(name);
                if !before.eq_ignore_ascii_case(name) {
                    return Err(called_alike(&short, before, name).at(&self.source));
                }
            }
            hosts.entries.push((host, entry.ranks));
        }
        Ok(hosts)
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
    ///
    /// Errors: those of [`Self::hosts`].
    pub fn with_ranks_per_host(&self, ranks: u32) -> Result<Allocation> {
        let names = self.hosts()?.names.into_iter();
        let entries = names.map(|name| HostEntry { name, ranks: Some(ranks) }).collect();
        Ok(Allocation { entries, source: self.source.clone(), has_limits: self.has_limits })
    }
}

/// The error of two hosts with the same short name.
fn called_alike(short: &str, one: &str, other: &str) -> Error {
    wrong(format!("two hosts are called {short} ({one} and {other}), so they cannot be told apart"))
        .advise("use --place library, which finds the hosts inside the launch")
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
        let allocation = Allocation { entries, ..Allocation::default() };
        let hosts = allocation.hosts().unwrap();
        assert_eq!(hosts.names, ["a.site", "b"]);
        assert_eq!(hosts.totals(), Some(vec![5, 1]));
        let even = allocation.with_ranks_per_host(4).unwrap().hosts().unwrap();
        assert_eq!(even.totals(), Some(vec![4, 4]));
        let open = Allocation { entries: vec![entry("a", None)], ..Allocation::default() };
        assert_eq!(open.hosts().unwrap().totals(), None);
    }

    #[test]
    fn hosts_of_two_domains_with_one_short_name_are_not_merged() {
        let of = |names: &[&str]| {
            let entry = |name: &&str| HostEntry { name: (*name).into(), ranks: Some(2) };
            let entries = names.iter().map(entry).collect();
            Allocation { entries, source: "--host".into(), has_limits: false }.hosts()
        };
        for names in [&["n0.east", "n0.west", "b"][..], &["n0", "n0.east", "b", "n0.west"]] {
            let said = of(names).unwrap_err().to_string();
            assert!(said.contains("two hosts are called n0 (n0.east and n0.west)"), "{said}");
        }
        for names in [&["n0.east", "N0.East", "n0"][..], &["n0.east", "n1.west"]] {
            assert!(of(names).is_ok(), "{names:?}");
        }
        assert_eq!(of(&["10.0.0.1", "10.0.0.2"]).unwrap().names.len(), 2);
    }
}
