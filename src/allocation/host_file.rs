//! Host files: those of Open MPI and PRRTE, of hydra (MPICH, Intel MPI), and lists with one node a line (PBS).
//!
//! ```text
//! Open MPI   node1 slots=4 max_slots=8      without slots: a host that is listed k > 1 times takes k ranks, and a
//!                                           host that is listed once takes as many as it has cores
//! hydra      node1:4                        without a number: one rank (MPICH), or as many as the launcher likes
//!                                           (Intel MPI)
//! PBS        node1                          one rank for each line
//! ```
//!
//! `#` begins a comment. Fields that say nothing about the number of ranks (users, ports, bindings) are skipped.
//! Sources: the manual pages of mpirun (Open MPI 4.1 and 5.0), of mpiexec (MPICH) and of pbs_mom.

use super::{Allocation, HostEntry, count, push, short_name, wrong};
use crate::base::error::Result;
use crate::base::nouns::counted;
use std::collections::HashMap;

/// The lines of a file without comments and without empty lines, with their numbers.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    (1..)
        .zip(text.lines())
        .map(|(number, line)| (number, line.split('#').next().unwrap_or("").trim()))
        .filter(|(_, line)| !line.is_empty())
}

/// Reads a file line by line. Errors name the line.
fn each_line(
    text: &str,
    source: &str,
    mut read: impl FnMut(&str, &mut Vec<HostEntry>) -> Result<()>,
) -> Result<Allocation> {
    let mut entries = Vec::new();
    for (number, line) in lines(text) {
        read(line, &mut entries).map_err(|e| e.at(format!("{source}, line {number}")))?;
    }
    match entries.is_empty() {
        true => Err(wrong("the file names no host").at(source)),
        false => Ok(Allocation { entries, source: source.into(), has_limits: false }),
    }
}

/// The name of a host without the user in front of it.
fn without_user(word: &str) -> &str {
    word.rsplit_once('@').map_or(word, |(_, host)| host)
}

/// Reads a host file of Open MPI or PRRTE. `source` is its name for messages.
///
/// Errors: no host, a name that is none, hosts that are left out (`^host`) or given relative to an allocation
/// (`+n1`), a number of slots that is none.
pub fn open_mpi(text: &str, source: &str) -> Result<Allocation> {
    let mut has_limits = false;
    let mut allocation = each_line(text, source, |line, entries| {
        let spaced = line.replace(['=', ','], " = ");
        let mut words = spaced.split_whitespace();
        let name = without_user(words.next().unwrap_or_default());
        let words: Vec<&str> = words.collect();
        let value = |wanted: &[&str]| {
            let at = words.iter().position(|word| wanted.contains(word))?;
            (words.get(at + 1) == Some(&"=")).then(|| words.get(at + 2).copied()).flatten()
        };
        let slots = value(&["slots", "count", "cpu", "cpus"]).map(count).transpose()?;
        let most = value(&["max_slots", "max-slots", "slots_max", "slots-max"]);
        let most = most.map(count).transpose()?;
        has_limits |= most.is_some();
        if let Some((slots, most)) = slots.zip(most).filter(|(slots, most)| slots > most) {
            return Err(wrong(format!(
                "{name} has {}, and max_slots is {most}",
                counted(slots, "slot")
            )));
        }
        push(entries, name, slots.or(most))
    })?;
    allocation.has_limits = has_limits;
    // A host that is listed several times without slots takes one rank for each line.
    let mut times: HashMap<String, usize> = HashMap::new();
    for entry in &allocation.entries {
        *times.entry(short_name(&entry.name)).or_insert(0) += 1;
    }
    for entry in &mut allocation.entries {
        if times.get(&short_name(&entry.name)).is_some_and(|&n| n > 1) {
            entry.ranks = entry.ranks.or(Some(1));
        }
    }
    Ok(allocation)
}

/// Reads a host file or machine file of hydra.
///
/// Errors: no host, a name that is none, a number of ranks that is none.
pub fn hydra(text: &str, source: &str) -> Result<Allocation> {
    each_line(text, source, |line, entries| {
        let word = without_user(line.split_whitespace().next().unwrap_or_default());
        let (name, ranks) = match word.split_once(':') {
            Some((name, ranks)) => (name, Some(count(ranks)?)),
            None => (word, None),
        };
        push(entries, name, ranks)
    })
}

/// Reads a list of nodes with one rank for each line, such as the file of `PBS_NODEFILE`.
///
/// Errors: no host, a name that is none.
pub fn node_file(text: &str, source: &str) -> Result<Allocation> {
    each_line(text, source, |line, entries| {
        push(entries, line.split_whitespace().next().unwrap_or_default(), Some(1))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(read: fn(&str, &str) -> Result<Allocation>, text: &str) -> Vec<(String, Option<u32>)> {
        let allocation = read(text, "hosts").unwrap();
        allocation.entries.into_iter().map(|e| (e.name, e.ranks)).collect()
    }

    #[test]
    fn files_of_open_mpi() {
        let text = "# two\nn0 slots=4 max_slots=8\n\nme@n1.site  slots = 2 # more\nn2\nn3\nn3\nn4 max-slots=3\n";
        let wanted = [("n0", Some(4)), ("n1.site", Some(2)), ("n2", None), ("n3", Some(1))];
        let got = of(open_mpi, text);
        assert_eq!(got[..4], wanted.map(|(n, s)| (n.to_string(), s)));
        assert_eq!(got[4..], [("n3".into(), Some(1)), ("n4".into(), Some(3))]);
        for (bad, line) in [
            ("", "hosts"),
            ("n0 slots=x", "line 1"),
            ("n0\n^n1", "line 2"),
            ("+n0", "line 1"),
            ("n0 slots=0", "line 1"),
            ("n1 slots=2\nn0 slots=4 max_slots=2", "line 2"),
        ] {
            let error = open_mpi(bad, "hosts").unwrap_err().to_string();
            assert!(error.contains(line), "{bad}: {error}");
        }
    }

    #[test]
    fn files_of_hydra_and_lists_of_nodes() {
        assert_eq!(
            of(hydra, "n0:2\nn1 binding=user:1\n# x\nn0:1"),
            [("n0".into(), Some(2)), ("n1".into(), None), ("n0".into(), Some(1))]
        );
        assert!(hydra("n0:two", "hosts").is_err());
        assert_eq!(of(node_file, "n0\nn0\nn1\n").len(), 3);
        assert!(node_file("a;b", "hosts").is_err());
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in "[a-z0-9:=@# \n_slots.,^+-]{0,80}") {
            for read in [open_mpi, hydra, node_file] {
                if let Ok(allocation) = read(&text, "x") {
                    prop_assert!(!allocation.entries.is_empty());
                    prop_assert!(allocation.entries.iter().all(|e| e.ranks != Some(0)));
                }
            }
        }
    }
}
