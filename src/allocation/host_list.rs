//! Lists of hosts on a command line: `a:2,b` of Open MPI and of hydra, and lists with ranges as Slurm writes them.

use super::{Allocation, HostEntry, count, push, wrong};
use crate::base::error::Result;
use crate::topology::expand_hostlist;

/// Reads the hosts of Open MPI's `--host`. A host takes one rank for each time that it is named, or the number behind
/// the colon. `:*` and `:auto` leave the number to the launcher.
///
/// Errors: a name that is none, a host that is left out or given relative to an allocation.
pub fn with_counts(list: &str, source: &str) -> Result<Allocation> {
    let mut entries = Vec::new();
    for part in list.split(',').filter(|part| !part.is_empty()) {
        let word = part.rsplit_once('@').map_or(part, |(_, host)| host);
        let (name, ranks) = match word.split_once(':') {
            None => (word, Some(1)),
            Some((name, "*" | "auto" | "-1")) => (name, None),
            Some((name, ranks)) => (name, Some(count(ranks).map_err(|e| e.at(source))?)),
        };
        push(&mut entries, name, ranks).map_err(|e| e.at(source))?;
    }
    allocation(entries, source)
}

/// Reads the hosts of hydra's `-hosts`. Without a colon the number is left to the launcher: MPICH takes 1.
///
/// Errors: a name that is none, a number of ranks that is none.
pub fn of_hydra(list: &str, source: &str) -> Result<Allocation> {
    let mut entries = Vec::new();
    for word in list.split(',').filter(|word| !word.is_empty()) {
        let (name, ranks) = match word.split_once(':') {
            None => (word, None),
            Some((name, ranks)) => (name, Some(count(ranks).map_err(|e| e.at(source))?)),
        };
        push(&mut entries, name, ranks).map_err(|e| e.at(source))?;
    }
    allocation(entries, source)
}

/// Reads a list of Slurm, such as `n[0-3,8]`, which does not say how many ranks a host takes.
///
/// Errors: brackets that do not match, a name that is none.
pub fn of_slurm(list: &str, source: &str) -> Result<Allocation> {
    let mut entries = Vec::new();
    for name in expand_hostlist(list).map_err(|e| e.at(source))? {
        push(&mut entries, &name, None).map_err(|e| e.at(source))?;
    }
    allocation(entries, source)
}

fn allocation(entries: Vec<HostEntry>, source: &str) -> Result<Allocation> {
    match entries.is_empty() {
        true => Err(wrong("the list names no host").at(source)),
        false => Ok(Allocation { entries, source: source.into(), has_limits: false }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn hosts_with_and_without_numbers() {
        let of = |list: &str| -> Vec<(String, Option<u32>)> {
            let entries = with_counts(list, "--host").unwrap().entries;
            entries.into_iter().map(|e| (e.name, e.ranks)).collect()
        };
        assert_eq!(of("a:2,b"), [("a".into(), Some(2)), ("b".into(), Some(1))]);
        assert_eq!(of("me@a:*,a:auto"), [("a".into(), None), ("a".into(), None)]);
        for bad in ["", "+n0", "a:x", "a:0", "a b"] {
            assert!(with_counts(bad, "--host").is_err(), "{bad}");
        }
        let hydra = of_hydra("a:2,b", "-hosts").unwrap();
        assert_eq!((hydra.entries[0].ranks, hydra.entries[1].ranks), (Some(2), None));
        let slurm = of_slurm("n[0-1],m", "-w").unwrap().hosts().unwrap();
        assert_eq!((slurm.names.join(" "), slurm.totals()), ("n0 n1 m".into(), None));
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in "[a-c0-9:,*@+\\[\\]-]{0,40}") {
            let _ = (with_counts(&text, "x"), of_hydra(&text, "x"), of_slurm(&text, "x"));
        }
    }
}
