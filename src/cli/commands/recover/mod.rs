//! `rankweave recover`: records of programs that did not reach MPI_Finalize.

use crate::base::error::{Error, ErrorKind, Result};
use crate::cli::arguments::selection::StoreArgs;
use crate::cli::console::{Exit, output};
use crate::options::Spill;
use crate::report::units;
use crate::store::spill::{Choice, Outcome, Stray, Unfinished, candidates, collect};
use crate::store::{Held, Record, RefusedRecords, Store, in_order};
use clap::parser::ValueSource;
use serde_json::json;
use std::cell::Cell;
use std::collections::HashSet;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How long processes that live are waited for.
const PATIENCE: Duration = Duration::from_secs(2);

/// Ranges of missing tasks that are listed.
const MOST_RANGES: usize = 8;

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
directories. It goes into that store, whatever RANKWEAVE_STORE says now, or into the one of --store.

Jobs whose processes live are left alone. A record that is newer than the job is not replaced, nor \
is a whole record by one with tasks missing, nor by one that waited and has another number of tasks.

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

    /// Replace records that are newer, or whole where tasks are missing here, or of other tasks
    #[arg(long)]
    force: bool,

    #[command(flatten)]
    store: AskedStore,

    /// Print what was done as JSON
    #[arg(long)]
    json: bool,
}

/// The store that is asked for.
#[derive(Debug)]
struct AskedStore {
    store: StoreArgs,
    /// By the option, not by a variable that is set for all that is launched.
    typed: bool,
}

impl clap::FromArgMatches for AskedStore {
    fn from_arg_matches(matches: &clap::ArgMatches) -> std::result::Result<Self, clap::Error> {
        let typed = matches.value_source("store") == Some(ValueSource::CommandLine);
        Ok(AskedStore { store: StoreArgs::from_arg_matches(matches)?, typed })
    }

    fn update_from_arg_matches(
        &mut self,
        matches: &clap::ArgMatches,
    ) -> std::result::Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl clap::Args for AskedStore {
    fn augment_args(command: clap::Command) -> clap::Command {
        StoreArgs::augment_args(command)
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        StoreArgs::augment_args_for_update(command)
    }
}

/// Says what went wrong, and keeps it for the end.
fn fail(failures: &mut Vec<String>, whose: &str, error: &Error) {
    eprintln!("rankweave: {whose}{error}");
    failures.push(error.to_string());
}

impl Args {
    pub(in crate::cli) fn execute(self) -> Result<Exit> {
        let asked = self.store.store.given();
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
        let mut failures: Vec<String> = Vec::new();
        errors.iter().for_each(|error| fail(&mut failures, "", error));
        if self.list {
            let shown = self.show(&jobs, &strays, &waiting, &failures)?;
            return problems(&failures).map_or(Ok(shown), Err);
        }
        let mut results = Vec::new();
        for job in &jobs {
            if job.running > 0 && !self.running {
                let key = units::printable(&job.job.key);
                eprintln!("rankweave: {key} (job {}) still runs; try: --running", id(job));
                continue;
            }
            let whose = format!("job {}: ", id(job));
            match self.one(job, asked.as_ref()) {
                Ok((result, left)) => {
                    results.push(result);
                    left.iter().for_each(|error| fail(&mut failures, &whose, error));
                }
                Err(error) => fail(&mut failures, &whose, &error),
            }
        }
        let typed = asked.as_ref().filter(|_| self.store.typed);
        for held in &waiting {
            match self.stored(held, typed) {
                Ok((result, left)) => {
                    results.push(result);
                    left.iter().for_each(|error| fail(&mut failures, "", error));
                }
                Err(error) => fail(&mut failures, "", &error),
            }
        }
        for stray in strays.iter().filter(|s| !s.running) {
            // What somebody else keeps in a common store is not ours to remove.
            let is_ours = std::fs::symlink_metadata(&stray.path).is_ok_and(|m| m.uid() == user);
            if self.discard && is_ours {
                match std::fs::remove_file(&stray.path) {
                    Ok(()) => {
                        eprintln!("rankweave: removed {}", stray.path.display());
                        results.push(json!({ "removed": stray.path.display().to_string() }));
                    }
                    Err(e) => {
                        let error = Error::io("cannot remove the file", &stray.path, &e);
                        fail(&mut failures, "", &error);
                    }
                }
            } else {
                fail(&mut failures, "", &stray.error);
            }
        }
        if self.json {
            let failures = failures.clone();
            output::print_json(&json!({ "schema": 1, "jobs": results, "errors": failures }))?;
        } else if jobs.is_empty() && strays.is_empty() && waiting.is_empty() && failures.is_empty()
        {
            eprintln!("rankweave: nothing is left of any job in the directories looked at");
        }
        if let Some(error) = problems(&failures) {
            return Err(error.advise("rankweave recover --list"));
        }
        Ok(if results.is_empty() { Exit::Nothing } else { Exit::Done })
    }

    /// The directories to look in, each once, by whatever names.
    fn directories(&self) -> Result<Vec<PathBuf>> {
        let mut all = self.directories.clone();
        if all.is_empty() {
            let (settings, _) = crate::options::Settings::from_process_env();
            if let Spill::Directory(directory) = &settings.spill {
                all.extend(candidates(Some(directory)));
            }
            all.extend(candidates(None));
        }
        let mut seen = HashSet::new();
        // What cannot be found has a name of its own.
        all.retain(|d| seen.insert(std::fs::canonicalize(d).unwrap_or_else(|_| d.clone())));
        Ok(all)
    }

    /// Records in these directories that their store refused, the oldest first; none of them if one job
    /// is asked for, since they say nothing of their job.
    fn waiting(&self, directories: &[PathBuf], user: u32, errors: &mut Vec<Error>) -> Vec<Held> {
        let mut found = Vec::new();
        for directory in directories.iter().filter(|_| self.job.is_none()) {
            let (held, failed) = RefusedRecords::of(directory, user).list();
            found.extend(held);
            errors.extend(failed);
        }
        in_order(&mut found);
        found
    }

    /// Stores a record that its store had refused, unless a newer one is there or one of another number
    /// of tasks. Also gives why its file could not be removed, if so.
    fn stored(
        &self,
        held: &Held,
        asked: Option<&Store>,
    ) -> Result<(serde_json::Value, Option<Error>)> {
        let entry = &held.entry;
        let key = units::printable(&entry.key);
        let meanwhile = || eprintln!("rankweave: a newer record of {key} waits now, and stays");
        if self.discard {
            let removed = held.remove(None)?;
            match removed {
                true => eprintln!("rankweave: removed {}", entry.path.display()),
                false => meanwhile(),
            }
            return Ok((json!({ "key": entry.key, "discarded": removed }), None));
        }
        let (record, file) = held.read()?;
        let store = asked.map_or_else(|| held.store(), |store| Ok(store.clone()))?;
        if held.waits_in(&store) {
            return Err(Error::new(ErrorKind::Usage, format!("the record {key} is there already"))
                .at(entry.path.display())
                .advise("--store with the directory where it is to go"));
        }
        let why = Cell::new("");
        let stays = |before: &Record| {
            why.set(if before.matrix.tasks() != record.matrix.tasks() {
                "one of another number of tasks"
            } else if before.recorded_at > record.recorded_at {
                "a newer record"
            } else {
                return false;
            });
            true
        };
        let saved = match self.force {
            true => Some(store.save(&record)?),
            false => store.save_unless(&record, stays)?,
        };
        let sent = units::bytes(record.launch.total_bytes);
        let of = format!("{key} ({} tasks, {sent} sent)", record.matrix.tasks());
        match &saved {
            Some(path) => eprintln!(
                "rankweave: stored {of}, which its store had refused, in {}",
                path.display()
            ),
            None => eprintln!(
                "rankweave: not stored: {of}; {} is in the store and stays, unless --force",
                why.get()
            ),
        }
        let mut left = None;
        if saved.is_some() && !self.keep {
            match held.remove(Some(&file)) {
                Ok(true) => {}
                Ok(false) => meanwhile(),
                Err(error) => left = Some(error),
            }
        }
        let result = json!({
            "key": record.key,
            "tasks": record.matrix.tasks(),
            "found": record.matrix.tasks(),
            "saved": saved.map(|p| p.display().to_string()),
        });
        Ok((result, left))
    }

    /// Also gives why a file of the job could not be removed, if so.
    fn one(
        &self,
        job: &Unfinished,
        asked: Option<&Store>,
    ) -> Result<(serde_json::Value, Option<Error>)> {
        let store = job.store(asked)?;
        let key = units::printable(&job.job.key);
        if self.discard {
            job.discard(&store)?;
            eprintln!("rankweave: removed what was left of {key} (job {})", id(job));
            return Ok((json!({ "job": id(job), "key": job.job.key, "discarded": true }), None));
        }
        let choice = Choice { keep: self.keep, force: self.force };
        let now = std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .map_or(0, |d| d.as_secs());
        let outcome = job.recover(&store, &host(), choice, now)?;
        eprintln!("rankweave: {}", sentence(job, &outcome));
        let unfinished = outcome.record.unfinished.unwrap_or_default();
        let result = json!({
            "job": id(job),
            "key": job.job.key,
            "tasks": job.job.tasks,
            "found": job.found(),
            "how": unfinished.how,
            "missing": unfinished.missing,
            "lacks": unfinished.lacks,
            "saved": outcome.saved.map(|p| p.display().to_string()),
            "waiting": outcome.waiting.map(|p| p.display().to_string()),
        });
        Ok((result, outcome.left))
    }

    fn show(
        &self,
        jobs: &[Unfinished],
        strays: &[Stray],
        waiting: &[Held],
        failures: &[String],
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
            output::print_json(&json!({
                "schema": 1, "jobs": jobs, "unreadable": strays, "unstored": unstored,
                "errors": failures,
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

/// What to say at the end; all of it was said before.
fn problems(failures: &[String]) -> Option<Error> {
    let what = match failures.len() {
        0 => return None,
        1 => "one problem, see above".into(),
        more => format!("{more} problems, see above"),
    };
    Some(Error::new(ErrorKind::Io, what))
}

/// Why a record that waits could not be stored where it belongs: it is damaged, or names no store.
fn problem(held: &Held) -> Option<Error> {
    held.read().err().or_else(|| held.store().err())
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
        let missing = unfinished.missing.iter().map(|&task| task as usize);
        let missing = units::ranges(missing, MOST_RANGES);
        text.push_str(&format!(" ({}); run this on their nodes too", missing));
    }
    if outcome.saved.is_none() {
        text.push_str("; a newer or whole record is in the store and stays, unless --force");
    }
    text
}

fn table(jobs: &[Unfinished], strays: &[Stray], waiting: &[Held]) -> String {
    let key = |job: &Unfinished| units::printable(&job.job.key);
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
