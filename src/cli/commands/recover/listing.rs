//! The list of the files and records that can be recovered.

use super::Remains;
use super::held_records::problem;
use super::jobs::id;
use crate::report::units;
use crate::store::spill::{LeftoverJob, Stray};
use serde_json::{Value, json};

/// The list for scripts.
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
    let stray =
        |s: &Stray| json!({ "file": s.path.display().to_string(), "problem": s.error.to_string() });
    let strays: Vec<_> = found.strays.iter().map(stray).collect();
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

/// The list for people.
pub(super) fn table(found: &Remains) -> String {
    let Remains { jobs, strays, held: waiting, .. } = found;
    let key = |job: &LeftoverJob| units::printable(&job.job.key);
    let wide = jobs.iter().map(key).chain(waiting.iter().map(|h| units::printable(&h.entry.key)));
    let wide = wide.map(|k| k.chars().count()).max().unwrap_or(0).max(3);
    let mut out = String::new();
    let mut line = |[job, key, tasks, size, started, program]: [&str; 6]| {
        out.push_str(&format!(
            "{job:<16}  {key:<wide$}  {tasks:>11}  {size:>9}  {started:<20}  {program}\n"
        ));
    };
    line(["JOB", "KEY", "TASKS", "SIZE", "STARTED", "THE PROGRAM"]);
    for job in jobs {
        let tasks = format!("{} of {}", job.found(), job.job.tasks);
        let (size, started) = (units::bytes(job.size), units::time(job.job.started_at));
        line([&id(job), &key(job), &tasks, &size, &started, job.how()]);
    }
    for held in waiting {
        let entry = &held.entry;
        // The head of a damaged file does not have the time.
        let ended = match entry.recorded_at {
            0 => String::new(),
            at => format!("ended {}; ", units::time(at)),
        };
        let what = match (problem(held), held.store()) {
            (None, Ok(store)) => format!(": {}", store.directory().display()),
            (Some(error), _) | (None, Err(error)) => format!("; problem: {error}"),
        };
        let what = format!("{ended}its store refused the record{what}");
        let (tasks, size) = (entry.tasks.to_string(), units::bytes(entry.size));
        // The head of the file does not have the time at which the program started.
        line(["", &units::printable(&entry.key), &tasks, &size, "", &what]);
    }
    for stray in strays {
        out.push_str(&format!("unreadable: {}\n", stray.error));
    }
    out
}
