//! Jobs that did not reach MPI_Finalize. Their files become a record.

use super::{Action, Settled};
use crate::base::clock::since_1970;
use crate::base::error::Result;
use crate::base::hash::fnv1a;
use crate::base::nouns::counted;
use crate::cli::console;
use crate::report::units;
use crate::store::Store;
use crate::store::spill::{LeftoverJob, Recovery};
use serde_json::json;

/// The largest number of ranges of missing tasks that are listed.
const MOST_RANGES: usize = 8;

/// Makes a record of the files of a job, or removes the files.
///
/// Errors: the files cannot be read, or the store cannot be written.
pub(super) fn settle(job: &LeftoverJob, asked: Option<&Store>, action: Action) -> Result<Settled> {
    let store = job.store(asked)?;
    let key = units::printable(&job.job.key);
    let choice = match action {
        Action::Recover(choice) => choice,
        Action::Discard => {
            job.discard(&store)?;
            eprintln!("rankweave: removed what was left of {key} (job {})", id(job));
            let result = json!({ "job": id(job), "key": job.job.key, "discarded": true });
            return Ok(Settled { result, left: None });
        }
    };
    let outcome = job.recover(&store, &node_name(), choice, since_1970().as_secs())?;
    eprintln!("rankweave: {}", sentence(job, &outcome, choice.force));
    let found = outcome.tasks_found();
    let unfinished = outcome.record.unfinished.unwrap_or_default();
    let result = json!({
        "job": id(job),
        "key": job.job.key,
        "tasks": job.job.tasks,
        "found": found,
        "left_to_others": outcome.left_to_others,
        "how": unfinished.how,
        "missing": unfinished.missing,
        "lacks": unfinished.lacks,
        "saved": outcome.saved.map(|p| p.display().to_string()),
        "waiting": outcome.waiting.map(|p| p.display().to_string()),
    });
    Ok(Settled { result, left: outcome.left })
}

/// A name that no other node has: the host name, and a number from it and from the start of the system. The names of
/// hosts may be alike (localhost), or alike as far as a file name can have them.
fn node_name() -> String {
    let host = console::host_name();
    let start = std::fs::read("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let number = fnv1a(host.as_bytes().iter().chain(&start)) as u32;
    let host: String = host.chars().take(48).collect();
    format!("{}-{number:08x}", if host.is_empty() { "node" } else { &host })
}

/// The number of a job, as listings show it and as --job takes it.
pub(super) fn id(job: &LeftoverJob) -> String {
    format!("{:016x}", job.job.id)
}

/// The outcome of a job, in one line. `forced`: the user wants an older record to be replaced.
fn sentence(job: &LeftoverJob, outcome: &Recovery, forced: bool) -> String {
    let record = &outcome.record;
    let unfinished = record.unfinished.clone().unwrap_or_default();
    let total: u64 = record.launch.total_bytes;
    let mut text = format!(
        "{} {} (job {}): {} of {}, {} sent; the program {}",
        match (outcome.left_to_others, &outcome.saved) {
            (true, _) => "stored for the record of all nodes:",
            (false, Some(_)) => "recovered",
            (false, None) => "not stored:",
        },
        units::printable(&record.key),
        id(job),
        outcome.tasks_found(),
        counted(job.job.tasks, "task"),
        units::bytes(total),
        unfinished.how,
    );
    if outcome.left_to_others {
        text.push_str(
            "; another node of the job makes the record; if 'rankweave list' does not show it later, try: \
             rankweave recover (without --here)",
        );
        return text;
    }
    if !unfinished.lacks.is_empty() {
        text.push_str(&format!("; missing: {}", unfinished.lacks.join(", ")));
    }
    if !unfinished.missing.is_empty() {
        let missing = unfinished.missing.iter().map(|&task| task as usize);
        let missing = units::ranges(missing, MOST_RANGES);
        text.push_str(&format!(" ({}); try: run 'rankweave recover' on their nodes, too", missing));
    }
    if outcome.saved.is_none() {
        text.push_str(match forced {
            true => {
                "; the store has a record of this job with all tasks, which one with fewer never replaces; try: \
                 rankweave list"
            }
            false => {
                "; the store has a newer or more complete record, which was not replaced; try: use --force"
            }
        });
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::{CommMatrix, SparseMatrix, Traffic};
    use crate::store::{Launch, Record, Unfinished};
    use std::path::PathBuf;

    /// A job of four tasks that was killed, with these tasks missing, and where its record was saved.
    fn told(missing: &[u32], saved: bool, forced: bool) -> String {
        let mut job = LeftoverJob::default();
        job.job.id = 0x5f0c;
        job.job.tasks = 4;
        let matrix = SparseMatrix::from_entries(4, &[(0, 1, Traffic { bytes: 2000, messages: 2 })]);
        let unfinished =
            Unfinished { how: "was killed".into(), missing: missing.to_vec(), lacks: Vec::new() };
        let record = Record {
            key: "app".into(),
            program: "/opt/app".into(),
            command: vec!["./app".into()],
            mpi: "Open MPI v4.1.4".into(),
            recorded_at: 1_700_000_000,
            matrix: CommMatrix::from_point_to_point(matrix),
            launch: Launch { total_bytes: 2000, ..Launch::default() },
            baseline: None,
            unfinished: Some(unfinished),
            identity: String::new(),
            history: Vec::new(),
            constructed: Vec::new(),
        };
        let outcome = Recovery {
            record,
            saved: saved.then(|| PathBuf::from("/store/app")),
            left_to_others: false,
            waiting: None,
            left: None,
        };
        sentence(&job, &outcome, forced)
    }

    #[test]
    fn a_record_that_was_not_stored_is_told_with_what_helps() {
        let whole = told(&[], true, false);
        assert!(whole.starts_with("recovered app (job 0000000000005f0c): 4 of 4 tasks"), "{whole}");
        assert!(whole.ends_with("the program was killed"), "{whole}");
        let refused = told(&[2, 3], false, false);
        assert!(refused.starts_with("not stored: app "), "{refused}");
        assert!(refused.contains("2 of 4 tasks") && refused.contains("(2-3)"), "{refused}");
        assert!(refused.ends_with("was not replaced; try: use --force"), "{refused}");
    }

    /// The option was given already, so it is no help.
    #[test]
    fn a_forced_record_that_is_not_stored_does_not_advise_the_same_option() {
        let refused = told(&[3], false, true);
        assert!(refused.contains("a record of this job with all tasks"), "{refused}");
        assert!(
            refused.ends_with("try: rankweave list") && !refused.contains("--force"),
            "{refused}"
        );
    }
}
