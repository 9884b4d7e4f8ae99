//! The hosts that a batch system gave to this batch job, from its environment variables.
//!
//! | batch system | variables |
//! |---|---|
//! | Slurm | `SLURM_JOB_NODELIST` (`n[0-3]`) and `SLURM_TASKS_PER_NODE` (`4(x3),2`) |
//! | PBS, Torque | `PBS_NODEFILE`, a file with a line for each rank |
//! | LSF | `LSB_MCPU_HOSTS` (`n0 4 n1 4`) |

use super::{Allocation, HostEntry, MOST, count, host_file, host_list, push, wrong};
use crate::base::error::{Error, Result};
use crate::base::file;
use crate::base::nouns::counted;
use std::path::Path;

/// The largest file of nodes that is read.
pub const LARGEST: u64 = 64 << 20;

/// The hosts of this batch job; `None` outside of one. `variable` looks a variable up.
///
/// Errors: a variable or file that cannot be understood.
pub fn allocation(variable: impl Fn(&str) -> Option<String>) -> Option<Result<Allocation>> {
    let set = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
    if let Some(list) = set("SLURM_JOB_NODELIST") {
        return Some(slurm(&list, set("SLURM_TASKS_PER_NODE").as_deref()));
    }
    if let Some(path) = set("PBS_NODEFILE") {
        let read = file::read(Path::new(&path), LARGEST)
            .map_err(|e| Error::io("cannot read the nodes of the batch job", Path::new(&path), &e));
        return Some(read.and_then(|bytes| {
            host_file::node_file(&String::from_utf8_lossy(&bytes), "PBS_NODEFILE")
        }));
    }
    set("LSB_MCPU_HOSTS").map(|list| lsf(&list))
}

/// The hosts of a batch job of Slurm.
///
/// Errors: a list that cannot be read, numbers of ranks for another number of hosts.
pub fn slurm(list: &str, tasks_per_node: Option<&str>) -> Result<Allocation> {
    let mut allocation = host_list::of_slurm(list, "SLURM_JOB_NODELIST")?;
    if let Some(text) = tasks_per_node {
        let ranks = repeated(text).map_err(|e| e.at("SLURM_TASKS_PER_NODE"))?;
        if ranks.len() != allocation.entries.len() {
            let (hosts, numbers) = (allocation.entries.len(), ranks.len());
            return Err(wrong(format!(
                "numbers of ranks for {} and not for {hosts}",
                counted(numbers, "host")
            ))
            .at("SLURM_TASKS_PER_NODE"));
        }
        for (entry, ranks) in allocation.entries.iter_mut().zip(ranks) {
            entry.ranks = Some(ranks);
        }
    }
    Ok(allocation)
}

/// A list of numbers as Slurm writes it: `4(x3),2` is 4, 4, 4, 2.
fn repeated(text: &str) -> Result<Vec<u32>> {
    let mut list = Vec::new();
    for part in text.split(',') {
        let (number, times) = match part.split_once("(x") {
            Some((number, times)) => (number, count(times.trim_end_matches(')'))? as usize),
            None => (part, 1),
        };
        if times > MOST - list.len() {
            return Err(wrong("the list is too long"));
        }
        list.extend(std::iter::repeat_n(count(number.trim())?, times));
    }
    Ok(list)
}

/// The hosts of a batch job of LSF: names and numbers in turn.
fn lsf(list: &str) -> Result<Allocation> {
    let at = |e: Error| e.at("LSB_MCPU_HOSTS");
    let words: Vec<&str> = list.split_whitespace().collect();
    let mut entries: Vec<HostEntry> = Vec::new();
    for pair in words.chunks(2) {
        let [name, ranks] = pair else { return Err(at(wrong("a host has no number of ranks"))) };
        push(&mut entries, name, Some(count(ranks).map_err(at)?)).map_err(at)?;
    }
    Ok(Allocation { entries, source: "LSB_MCPU_HOSTS".into(), has_limits: false })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Hosts with their numbers of ranks.
    type Found = Vec<(String, Option<u32>)>;

    fn of(variables: &[(&str, &str)]) -> Option<Result<Found>> {
        let value = |name: &str| variables.iter().find(|v| v.0 == name).map(|v| v.1.to_string());
        let found = allocation(value)?;
        Some(found.map(|a| a.entries.into_iter().map(|e| (e.name, e.ranks)).collect()))
    }

    #[test]
    fn variables_of_batch_systems() {
        assert!(of(&[("HOME", "/")]).is_none());
        let wanted =
            vec![("n0".to_string(), Some(4)), ("n1".into(), Some(4)), ("x".into(), Some(2))];
        let list = ("SLURM_JOB_NODELIST", "n[0-1],x");
        assert_eq!(of(&[list, ("SLURM_TASKS_PER_NODE", "4(x2),2")]).unwrap().unwrap(), wanted);
        assert_eq!(of(&[("LSB_MCPU_HOSTS", "n0 4 n1 4 x 2")]).unwrap().unwrap(), wanted);
        assert_eq!(of(&[list]).unwrap().unwrap()[0].1, None);
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("nodes");
        std::fs::write(&path, "n0\nn0\nn1\n").unwrap();
        let path = path.display().to_string();
        assert_eq!(of(&[("PBS_NODEFILE", &path)]).unwrap().unwrap().len(), 3);
        for bad in [
            vec![list, ("SLURM_TASKS_PER_NODE", "4(x2)")],
            vec![list, ("SLURM_TASKS_PER_NODE", "4(x99999999),4")],
            vec![list, ("SLURM_TASKS_PER_NODE", "zero")],
            vec![("SLURM_JOB_NODELIST", "n[0-")],
            vec![("PBS_NODEFILE", "/no/such/file")],
            vec![("LSB_MCPU_HOSTS", "n0 4 n1")],
        ] {
            assert!(of(&bad).unwrap().is_err(), "{bad:?}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_survived(list in "[a-c0-9,\\[\\]-]{0,20}", tasks in "[0-9x(),]{0,20}") {
            let _ = slurm(&list, Some(&tasks));
            let _ = lsf(&tasks);
        }
    }
}
