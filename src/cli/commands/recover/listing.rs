//! What is left of jobs, shown without doing anything.

use super::Remains;
use super::held_records::problem;
use super::jobs::id;
use crate::report::units;
use crate::store::spill::LeftoverJob;
use serde_json::{Value, json};

/// What is there for scripts.
pub(super) fn json(found: &Remains, failures: &[String]) -> Value {
    let jobs: Vec<_> = found
        .jobs
        .iter()
        .map(|job| {
            let files: Vec<_> = job.files.iter().map(|f| f.display().to_string()).collect();
            json!({
                "job": id(job),
                "key": job.job.key,
                "program": job.job.program,
                "tasks": job.job.tasks,
                "found": job.found(),
                "running": job.running,
                "how": job.how(),
                "started_at": job.job.started_at,
                "size_bytes": job.size,
                "files": files,
            })
        })
        .collect();
    let strays: Vec<_> = found
        .strays
        .iter()
        .map(|s| json!({ "file": s.path.display().to_string(), "problem": s.error.to_string() }))
        .collect();
    let unstored: Vec<_> = found
        .held
        .iter()
        .map(|held| {
            let entry = &held.entry;
            json!({
                "key": entry.key,
                "program": entry.program,
                "tasks": entry.tasks,
                "recorded_at": entry.recorded_at,
                "size_bytes": entry.size,
                "file": entry.path.display().to_string(),
                "store": held.store().ok().map(|s| s.directory().display().to_string()),
                "problem": problem(held).map(|error| error.to_string()),
            })
        })
        .collect();
    json!({
        "schema": 1, "jobs": jobs, "unreadable": strays, "unstored": unstored, "errors": failures,
    })
}

/// What is there for people.
pub(super) fn table(found: &Remains) -> String {
    let Remains { jobs, strays, held: waiting, .. } = found;
    let key = |job: &LeftoverJob| units::printable(&job.job.key);
    let wide = jobs.iter().map(key).chain(waiting.iter().map(|h| units::printable(&h.entry.key)));
    let wide = wide.map(|k| k.chars().count()).max().unwrap_or(0).max(3);
    let mut out = format!(
        "{:<16}  {:<wide$}  {:>11}  {:>9}  {:<20}  {}\n",
        "JOB", "KEY", "TASKS", "SIZE", "STARTED", "THE PROGRAM"
    );
    for job in jobs {
        out.push_str(&format!(
            "{:<16}  {:<wide$}  {:>11}  {:>9}  {:<20}  {}\n",
            id(job),
            key(job),
            format!("{} of {}", job.found(), job.job.tasks),
            units::bytes(job.size),
            units::time(job.job.started_at),
            job.how()
        ));
    }
    for held in waiting {
        let entry = &held.entry;
        // A damaged file does not say when it was.
        let ended = match entry.recorded_at {
            0 => String::new(),
            at => format!("ended {}; ", units::time(at)),
        };
        let what = match (problem(held), held.store()) {
            (None, Ok(store)) => {
                format!("its store refused the record: {}", store.directory().display())
            }
            (Some(error), _) | (None, Err(error)) => {
                format!("its store refused the record; problem: {error}")
            }
        };
        out.push_str(&format!(
            "{:<16}  {:<wide$}  {:>11}  {:>9}  {:<20}  {ended}{what}\n",
            "",
            units::printable(&entry.key),
            entry.tasks,
            units::bytes(entry.size),
            // When it started is not in the head of the file.
            "",
        ));
    }
    for stray in strays {
        out.push_str(&format!("unreadable: {}\n", stray.error));
    }
    out
}
