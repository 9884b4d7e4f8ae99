//! Checks where a launcher starts each rank, with a small program in place of the real one.
//!
//! The program is `sh`, which prints the rank that the launcher gave to it, and the name of its host. It needs no MPI
//! library and no file of rankweave on the nodes.

use crate::base::error::{Error, ErrorKind, Result};
use crate::base::nouns::counted;
use crate::cli::inspect::LaunchLine;
use crate::cli::launcher::LocatedLauncher;
use crate::cli::preload::command::LaunchCommand;
use crate::cli::trial::{Streams, execute};
use crate::launch::{PLACED, PlacedRanks, RanksFound};
use crate::options::TABLE;
use crate::store::{NOTE, Placement};
use std::time::Duration;

/// What `sh` runs on each rank. It stays for a moment after its answer: Open MPI 5 loses count of processes that end at
/// once, and does not end then.
const SCRIPT: &str = "echo rankweave-rank ${PMIX_RANK:-${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-\
    ${SLURM_PROCID:-none}}}} $(uname -n); sleep 0.3 2>/dev/null || sleep 1";
/// The time that the helper launch has.
const PATIENCE: Duration = Duration::from_secs(300);

/// The hosts of the ranks, as a helper launch found them: entry r is the host of rank r.
///
/// Errors: the launcher cannot be started or fails, or not every rank answers.
pub(in crate::cli) fn hosts(
    found: &LocatedLauncher,
    command: &[String],
    environment: &[(String, String)],
) -> Result<Vec<String>> {
    let launch = LaunchLine::of(found, command);
    let Some(&program) = launch.starts.first().filter(|_| launch.parts.len() == 1) else {
        return Err(Error::new(ErrorKind::Usage, "the launch has no program, or several")
            .advise("launch one program"));
    };
    let mut words = command[..program].to_vec();
    words.extend(["sh", "-c", SCRIPT].map(String::from));
    let plan = LaunchCommand { command: words, environment: environment.to_vec() };
    let mut removed: Vec<&str> = TABLE.iter().map(|option| option.env).collect();
    removed.extend(["LD_PRELOAD", PLACED, NOTE]);
    let run = execute(&plan, &removed, None, &Streams::new()?, Some(PATIENCE))?;
    if let Some(how) = run.failure() {
        let what = format!("the helper launch that asks each rank for its host failed: {how}");
        return Err(Error::new(ErrorKind::Io, what).advise("run the same command by hand"));
    }
    answers(&String::from_utf8_lossy(&run.out))
}

/// The hosts in the output of a helper launch. Errors: ranks are missing or answered twice.
fn answers(text: &str) -> Result<Vec<String>> {
    let mut found: Vec<(usize, String)> = Vec::new();
    for line in text.lines() {
        // Some launchers put the rank in front of each line.
        let Some((_, answer)) = line.split_once("rankweave-rank ") else { continue };
        if let Some((rank, host)) = answer.trim().split_once(' ')
            && let Ok(rank) = rank.parse()
        {
            found.push((rank, host.to_string()));
        }
    }
    found.sort();
    let is_whole = found.iter().enumerate().all(|(k, (rank, _))| k == *rank);
    if found.is_empty() || !is_whole {
        let what = format!("only some ranks told their hosts ({})", counted(found.len(), "answer"));
        return Err(Error::new(ErrorKind::Infeasible, what)
            .advise("leave --place out: the library finds the hosts by itself"));
    }
    Ok(found.into_iter().map(|(_, host)| host).collect())
}

/// Compares the hosts that were found with those of a placed launch.
pub(in crate::cli) fn compared(handed_over: &str, hosts: &[String]) -> Result<RanksFound> {
    let placed = PlacedRanks::parse(handed_over)?;
    if placed.ranks() != hosts.len() {
        let what = format!(
            "{} answered, but {} placed",
            counted(hosts.len(), "rank"),
            match placed.ranks() {
                1 => "1 was".to_string(),
                n => format!("{n} were"),
            }
        );
        return Err(Error::new(ErrorKind::Infeasible, what));
    }
    let (nodes, names) =
        crate::base::numbering::by_first_appearance(hosts.iter().map(String::as_str));
    let names = names.into_iter().map(str::to_string).collect();
    Ok(placed.compare(&Placement::of_nodes(nodes, names)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rank_has_to_answer_once() {
        let text = "noise\n[1] rankweave-rank 1 n1\nrankweave-rank 0 n0\n";
        assert_eq!(answers(text).unwrap(), ["n0", "n1"]);
        for bad in [
            "",
            "rankweave-rank 1 n1\n",
            "rankweave-rank none n1\n",
            "rankweave-rank 0 a\nrankweave-rank 0 b\n",
        ] {
            assert!(answers(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn hosts_are_compared_with_the_places() {
        let names: Vec<String> = ["n0", "n1"].map(String::from).to_vec();
        let placed = PlacedRanks::new(&[0, 2, 1, 3], &[0, 0, 1, 1], &names, (2, 1)).text();
        let at = |list: [&str; 4]| compared(&placed, &list.map(String::from)).unwrap();
        assert_eq!(at(["n0", "n1", "n0", "n1"]), RanksFound::AsMeant);
        assert!(matches!(at(["n0", "n0", "n1", "n1"]), RanksFound::Elsewhere { ranks: 2, .. }));
        assert!(compared(&placed, &names).is_err());
    }
}
