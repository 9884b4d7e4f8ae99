//! `rankweave recover`: records of programs that did not reach MPI_Finalize.

use super::select::StoreArgs;
use super::{Exit, output};
use crate::error::{Error, ErrorKind, Result};
use crate::options::Spill;
use crate::report::units;
use crate::store::spill::{Choice, Outcome, Stray, Unfinished, candidates, collect};
use crate::store::{Entry, Record, Store, Unstored, read_file};
use serde_json::json;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How long processes that live are waited for.
const PATIENCE: Duration = Duration::from_secs(2);

const EXAMPLES: &str = "\
Examples:
  rankweave recover --list                       what jobs left on this node
  rankweave recover                              records of all that have ended
  srun -N 4 --ntasks-per-node 1 rankweave recover   on every node of an allocation
  rankweave recover --running --job 5f0c         a job that still runs, up to now
  rankweave recover /dev/shm /scratch/node       look in these directories";

const LONG: &str = "\
Makes records of programs that did not reach MPI_Finalize: they exited, called MPI_Abort, crashed, or \
were killed. While a program runs, each of its processes counts in a small file in a directory of its \
node (RANKWEAVE_SPILL), which outlives the process.

The files of a job are joined and stored under the key that the job would have used, and removed. If \
the job ran on several nodes, run this on each of them, with the same store: what is found waits \
there until all tasks are together. The record says what is missing; a launch reorders by it only \
when no task is.

A record that its store refused at the end of a program (no space, no permission) waits in the same \
directories, and is stored, too.

Jobs whose processes live are left alone. A record that is newer than the job is not replaced, nor \
is a whole record by one with tasks missing.

Exit codes: 0 something was recovered or listed; 1 nothing was found; 2 an error.";

/// Recover matrices of programs that were killed or exited early
#[derive(Debug, clap::Args)]
#[command(before_long_help = EXAMPLES, long_about = LONG)]
pub struct Args {
    /// Directories to look in
    ///
    /// [default: RANKWEAVE_SPILL, else /dev/shm, $TMPDIR and /tmp]
    #[arg(value_name = "DIR")]
    directories: Vec<PathBuf>,

    /// Only show what is there
    #[arg(long, conflicts_with_all = ["keep", "running", "discard", "force"])]
    list: bool,

    /// Leave the files where they are
    #[arg(long)]
    keep: bool,

    /// Take jobs that still run as well; their files stay
    #[arg(long)]
    running: bool,

    /// Only the job whose number begins so
    #[arg(long, value_name = "ID")]
    job: Option<String>,

    /// Remove the files of jobs that have ended, without making records
    ///
    /// Files that cannot be read are removed too.
    #[arg(long, conflicts_with_all = ["keep", "running", "force"])]
    discard: bool,

    /// Replace records that are newer, or whole where tasks are missing here
    #[arg(long)]
    force: bool,

    #[command(flatten)]
    store: StoreArgs,

    /// Print what was done as JSON
    #[arg(long)]
    json: bool,
}

impl Args {
    pub(super) fn execute(self) -> Result<Exit> {
        let asked = self.store.given();
        // SAFETY: no preconditions.
        let user = unsafe { libc::geteuid() };
        let directories = self.directories()?;
        let look = || collect(&directories, asked.as_ref(), user);
        let (mut jobs, mut strays, mut errors) = look();
        // Launchers return while the last of their processes still end.
        let patient = !self.list && !self.running;
        let since = Instant::now();
        while patient && jobs.iter().any(|j| j.running > 0) && since.elapsed() < PATIENCE {
            std::thread::sleep(PATIENCE / 10);
            (jobs, strays, errors) = look();
        }
        let waiting = self.waiting(&directories, user, &mut errors);
        if let Some(wanted) = &self.job {
            let wanted = wanted.to_lowercase();
            jobs.retain(|job| id(job).starts_with(&wanted));
            strays.clear();
        }
        let mut failures: Vec<String> = errors.iter().map(ToString::to_string).collect();
        failures.iter().for_each(|failure| eprintln!("rankweave: {failure}"));
        if self.list {
            return self.show(&jobs, &strays, &waiting);
        }
        let mut results = Vec::new();
        for job in &jobs {
            if job.running > 0 && !self.running {
                let key = units::printable(&job.job.key);
                eprintln!("rankweave: {key} (job {}) still runs; try: --running", id(job));
                continue;
            }
            match self.one(job, asked.as_ref()) {
                Ok(result) => results.push(result),
                Err(error) => {
                    eprintln!("rankweave: job {}: {error}", id(job));
                    failures.push(error.to_string());
                }
            }
        }
        for (place, entry) in &waiting {
            match self.stored(place, entry, asked.as_ref()) {
                Ok(result) => results.push(result),
                Err(error) => {
                    eprintln!("rankweave: {error}");
                    failures.push(error.to_string());
                }
            }
        }
        for stray in strays.iter().filter(|s| !s.running) {
            // What somebody else keeps in a common store is not ours to remove.
            let is_ours = std::fs::symlink_metadata(&stray.path).is_ok_and(|m| m.uid() == user);
            if self.discard && is_ours {
                let _ = std::fs::remove_file(&stray.path);
                eprintln!("rankweave: removed {}", stray.path.display());
                results.push(json!({ "removed": stray.path.display().to_string() }));
            } else {
                eprintln!("rankweave: {}", stray.error);
                failures.push(stray.error.to_string());
            }
        }
        if self.json {
            let failures = failures.clone();
            output::print_json(&json!({ "schema": 1, "jobs": results, "errors": failures }))?;
        } else if jobs.is_empty() && strays.is_empty() && waiting.is_empty() {
            eprintln!("rankweave: nothing is left of any job in the directories looked at");
        }
        if !failures.is_empty() {
            // All of them were said above.
            return Err(Error::new(
                ErrorKind::Io,
                match failures.len() {
                    1 => "one problem, see above".into(),
                    more => format!("{more} problems, see above"),
                },
            )
            .advise("rankweave recover --list"));
        }
        Ok(if results.is_empty() { Exit::Nothing } else { Exit::Done })
    }

    fn directories(&self) -> Result<Vec<PathBuf>> {
        if !self.directories.is_empty() {
            return Ok(self.directories.clone());
        }
        let (settings, _) = crate::options::Settings::from_process_env();
        Ok(match &settings.spill {
            Spill::Directory(directory) => {
                let mut all = candidates(Some(directory));
                all.extend(candidates(None));
                all
            }
            _ => candidates(None),
        })
    }

    /// Records in these directories that their store refused; none of them if one job is asked for, since
    /// they say nothing of their job.
    fn waiting(
        &self,
        directories: &[PathBuf],
        user: u32,
        errors: &mut Vec<Error>,
    ) -> Vec<(Unstored, Entry)> {
        let mut found = Vec::new();
        for directory in directories.iter().filter(|_| self.job.is_none()) {
            let place = Unstored::of(directory, user);
            match place.list() {
                Ok(entries) => found.extend(entries.into_iter().map(|e| (place.clone(), e))),
                Err(error) => errors.push(error),
            }
        }
        found
    }

    /// Stores a record that its store had refused, unless a newer one is there.
    fn stored(
        &self,
        place: &Unstored,
        entry: &Entry,
        asked: Option<&Store>,
    ) -> Result<serde_json::Value> {
        let key = units::printable(&entry.key);
        if self.discard {
            place.remove(entry);
            eprintln!("rankweave: removed {}", entry.path.display());
            return Ok(json!({ "key": entry.key, "discarded": true }));
        }
        let record = read_file(&entry.path)?;
        let store = match asked {
            Some(store) => store.clone(),
            None => Store::open(Store::default_dir()?),
        };
        if place.is(&store) {
            return Err(Error::new(ErrorKind::Usage, format!("the record {key} is there already"))
                .at(entry.path.display())
                .advise("--store with the directory where it is to go"));
        }
        let newer = |before: &Record| before.recorded_at > record.recorded_at;
        let saved = match self.force {
            true => Some(store.save(&record)?),
            false => store.save_unless(&record, newer)?,
        };
        let sent = units::bytes(record.launch.total_bytes);
        let of = format!("{key} ({} tasks, {sent} sent)", record.matrix.tasks());
        match &saved {
            Some(_) => eprintln!("rankweave: stored {of}, which its store had refused"),
            None => eprintln!(
                "rankweave: not stored: {of}; a newer record is in the store and stays, unless --force"
            ),
        }
        if saved.is_some() && !self.keep {
            place.remove(entry);
        }
        Ok(json!({
            "key": record.key,
            "tasks": record.matrix.tasks(),
            "found": record.matrix.tasks(),
            "saved": saved.map(|p| p.display().to_string()),
        }))
    }

    fn one(&self, job: &Unfinished, asked: Option<&Store>) -> Result<serde_json::Value> {
        let store = job.store(asked)?;
        let key = units::printable(&job.job.key);
        if self.discard {
            job.discard(&store);
            eprintln!("rankweave: removed what was left of {key} (job {})", id(job));
            return Ok(json!({ "job": id(job), "key": job.job.key, "discarded": true }));
        }
        let choice = Choice { keep: self.keep, force: self.force };
        let now = std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .map_or(0, |d| d.as_secs());
        let outcome = job.recover(&store, &host(), choice, now)?;
        eprintln!("rankweave: {}", sentence(job, &outcome));
        let unfinished = outcome.record.unfinished.unwrap_or_default();
        Ok(json!({
            "job": id(job),
            "key": job.job.key,
            "tasks": job.job.tasks,
            "found": job.found(),
            "how": unfinished.how,
            "missing": unfinished.missing,
            "lacks": unfinished.lacks,
            "saved": outcome.saved.map(|p| p.display().to_string()),
            "waiting": outcome.waiting.map(|p| p.display().to_string()),
        }))
    }

    fn show(
        &self,
        jobs: &[Unfinished],
        strays: &[Stray],
        waiting: &[(Unstored, Entry)],
    ) -> Result<Exit> {
        if self.json {
            let jobs: Vec<_> = jobs
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
            let strays: Vec<_> = strays
                .iter()
                .map(|s| json!({ "file": s.path.display().to_string(), "problem": s.error.to_string() }))
                .collect();
            let unstored: Vec<_> = waiting
                .iter()
                .map(|(_, entry)| {
                    json!({
                        "key": entry.key,
                        "program": entry.program,
                        "tasks": entry.tasks,
                        "recorded_at": entry.recorded_at,
                        "size_bytes": entry.size,
                        "file": entry.path.display().to_string(),
                    })
                })
                .collect();
            output::print_json(&json!({
                "schema": 1, "jobs": jobs, "unreadable": strays, "unstored": unstored,
            }))?;
        } else if !jobs.is_empty() || !strays.is_empty() || !waiting.is_empty() {
            output::print(&table(jobs, strays, waiting))?;
        }
        Ok(if jobs.is_empty() && strays.is_empty() && waiting.is_empty() {
            Exit::Nothing
        } else {
            Exit::Done
        })
    }
}

fn id(job: &Unfinished) -> String {
    format!("{:016x}", job.job.id)
}

fn host() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let name = name.trim();
    if name.is_empty() { "node".into() } else { name.into() }
}

/// What came of a job, in one line.
fn sentence(job: &Unfinished, outcome: &Outcome) -> String {
    let record = &outcome.record;
    let unfinished = record.unfinished.clone().unwrap_or_default();
    let total: u64 = record.launch.total_bytes;
    let mut text = format!(
        "{} {} (job {}): {} of {} tasks, {} sent; the program {}",
        if outcome.saved.is_some() { "recovered" } else { "not stored:" },
        units::printable(&record.key),
        id(job),
        job.found(),
        job.job.tasks,
        units::bytes(total),
        unfinished.how,
    );
    if !unfinished.lacks.is_empty() {
        text.push_str(&format!("; missing: {}", unfinished.lacks.join(", ")));
    }
    if !unfinished.missing.is_empty() {
        text.push_str(&format!(" ({}); run this on their nodes too", ranges(&unfinished.missing)));
    }
    if outcome.saved.is_none() {
        text.push_str("; a newer or whole record is in the store and stays, unless --force");
    }
    text
}

/// `0-2, 5` of a few numbers, and how many more.
fn ranges(numbers: &[u32]) -> String {
    const MOST: usize = 8;
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for &n in numbers {
        match runs.last_mut() {
            Some(last) if last.1 + 1 == n => last.1 = n,
            _ => runs.push((n, n)),
        }
    }
    let mut words: Vec<String> = runs
        .iter()
        .take(MOST)
        .map(|&(a, b)| if a == b { a.to_string() } else { format!("{a}-{b}") })
        .collect();
    if runs.len() > MOST {
        words.push("…".into());
    }
    words.join(", ")
}

fn table(jobs: &[Unfinished], strays: &[Stray], waiting: &[(Unstored, Entry)]) -> String {
    let key = |job: &Unfinished| units::printable(&job.job.key);
    let wide = jobs.iter().map(key).chain(waiting.iter().map(|(_, e)| units::printable(&e.key)));
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
    for (_, entry) in waiting {
        out.push_str(&format!(
            "{:<16}  {:<wide$}  {:>11}  {:>9}  {:<20}  ended {}; its store refused the record\n",
            "",
            units::printable(&entry.key),
            entry.tasks,
            units::bytes(entry.size),
            // When it started is not in the head of the file.
            "",
            units::time(entry.recorded_at)
        ));
    }
    for stray in strays {
        out.push_str(&format!("unreadable: {}\n", stray.error));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_tasks_are_written_as_ranges() {
        assert_eq!(ranges(&[0, 1, 2, 5, 7, 8]), "0-2, 5, 7-8");
        let many: Vec<u32> = (0..40).map(|n| 2 * n).collect();
        assert!(ranges(&many).ends_with("14, …"));
    }
}
