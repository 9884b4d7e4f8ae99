//! `rankweave recover`: records of programs that did not reach MPI_Finalize.
//!
//! [`jobs`] joins what processes left, [`held_records`] stores records that their store had refused,
//! [`listing`] shows both.

mod held_records;
mod jobs;
mod listing;

use crate::base::error::{Error, ErrorKind, Result};
use crate::base::file;
use crate::cli::arguments::selection::StoreArgs;
use crate::cli::console::{Exit, output};
use crate::report::units;
use crate::store::spill::{Choice, LeftoverJob, Reach, Stray, candidates, collect};
use crate::store::{Held, RefusedRecords, in_order};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How long the command waits for processes that still run.
const PATIENCE: Duration = Duration::from_secs(2);

const EXAMPLES: &str = "\
Examples:
  rankweave recover --list                       list the files of jobs on this node
  rankweave recover                              make records of all jobs that have ended
  srun -N 4 --ntasks-per-node 1 rankweave recover --here   the jobs of each node of an allocation
  rankweave recover --running --job 5f0c         make a record of a job that still runs
  rankweave recover /dev/shm /scratch/node       search these directories";

const LONG: &str = "\
Makes records of programs that did not reach MPI_Finalize because they exited, called MPI_Abort, \
crashed, or were killed. While a program runs, each of its processes counts in a small file, in a \
directory of its node (RANKWEAVE_SPILL). This file outlives the process.

The files of a job are joined into a record, which is stored under the key of the job. Then they \
are removed. If the job ran on several nodes, run this command on each of them, with the same \
store: the counts of a node wait in the store for those of the others. The record says which \
tasks are missing. A launch uses it to reorder only if no task is missing.

Only one node at a time makes the record, from all counts that wait in the store. If there are more than 32 \
nodes, most nodes only store their counts. The node that stores the last counts always makes the record.

If a store refused a record at the end of a program (no space, no permission), the record waits \
in the same directories. It is then stored in the store that refused it, even if RANKWEAVE_STORE \
names another one. --store overrides this.

The files of running jobs stay as they are. A record in the store is not replaced in three cases: \
it is newer than the job; it has all tasks, and some are missing in the new one; or the new one waited \
on the node and has another number of tasks.

Exit codes: 0 something was recovered or listed; 1 nothing was found; 2 an error.";

/// Recover matrices of programs that were killed or exited early
#[derive(Debug, clap::Args)]
#[command(before_long_help = EXAMPLES, long_about = LONG)]
pub struct Args {
    /// Directories to search
    ///
    /// Without them, only the directory that RANKWEAVE_SPILL names is searched. If it names none (auto, off), /dev/shm,
    /// $TMPDIR and /tmp are searched.
    ///
    /// [default: RANKWEAVE_SPILL, else /dev/shm, $TMPDIR and /tmp]
    #[arg(value_name = "DIR")]
    directories: Vec<PathBuf>,

    /// List the files and records that can be recovered, and change nothing
    #[arg(long, conflicts_with_all = ["keep", "running", "discard", "force"])]
    list: bool,

    /// Make records, and do not remove the files
    #[arg(long)]
    keep: bool,

    /// Also make records of jobs that still run; their files are not removed
    #[arg(long)]
    running: bool,

    /// Only jobs that have left files on this node
    ///
    /// Without it, the command also makes records of the counts of other jobs that wait in the store. On many nodes at
    /// the same time, each would do so.
    #[arg(long, conflicts_with = "list")]
    here: bool,

    /// Only the job whose number (hexadecimal) begins with ID
    #[arg(long, value_name = "ID")]
    job: Option<String>,

    /// Remove the files of jobs that have ended, without making records
    ///
    /// Files that cannot be read are removed too.
    #[arg(long, conflicts_with_all = ["keep", "running", "force"])]
    discard: bool,

    /// Replace the record in the store even if it is newer, more complete, or has more or fewer tasks
    #[arg(long)]
    force: bool,

    #[command(flatten)]
    store: StoreArgs,

    /// Print what was done as JSON
    #[arg(long)]
    json: bool,
}

impl Args {
    pub(in crate::cli) fn execute(self) -> Result<Exit> {
        let found = self.look()?;
        let mut outcome = Tally::default();
        found.errors.iter().for_each(|error| outcome.fail("", error));
        if self.list {
            return self.show(&found, &outcome);
        }
        let asked = self.store.given();
        let choice = Choice { keep: self.keep, force: self.force };
        let action = if self.discard { Action::Discard } else { Action::Recover(choice) };
        for job in &found.jobs {
            if job.running > 0 && !self.running {
                let key = units::printable(&job.job.key);
                eprintln!(
                    "rankweave: {key} (job {}) still runs; try: use --running",
                    jobs::id(job)
                );
                continue;
            }
            let whose = format!("job {}: ", jobs::id(job));
            outcome.add(&whose, jobs::settle(job, asked.as_ref(), action));
        }
        // A record that waits names its own store. Only the option --store overrides it, not the variable.
        let typed = self.store.typed();
        for held in &found.held {
            outcome.add("", held_records::settle(held, typed.as_ref(), action));
        }
        for stray in found.strays.iter().filter(|s| !s.running) {
            outcome.add("", self.settle_stray(stray));
        }
        if self.json {
            let Tally { results, failures } = &outcome;
            output::print_json(&json!({ "schema": 1, "jobs": results, "errors": failures }))?;
        } else if found.is_empty() && outcome.failures.is_empty() {
            eprintln!(
                "rankweave: no files of jobs were found in the directories that were searched"
            );
        }
        if let Some(error) = outcome.error() {
            return Err(error.advise("run 'rankweave recover --list'"));
        }
        Ok(if outcome.results.is_empty() { Exit::Nothing } else { Exit::Done })
    }

    /// Finds the files that jobs left in the directories.
    fn look(&self) -> Result<Remains> {
        let asked = self.store.given();
        let user = file::user();
        let directories = self.directories()?;
        let reach = match (self.list, self.here) {
            (true, _) => Reach::AllParts,
            (false, true) => Reach::Node,
            (false, false) => Reach::OtherJobs,
        };
        let look = || collect(&directories, asked.as_ref(), user, reach);
        let (mut jobs, mut strays, mut errors) = look();
        // A launcher may return before the last of its processes has ended.
        let patient = !self.list && !self.running;
        let since = Instant::now();
        while patient && jobs.iter().any(|j| j.running > 0) && since.elapsed() < PATIENCE {
            std::thread::sleep(PATIENCE / 10);
            (jobs, strays, errors) = look();
        }
        let held = self.held(&directories, user, &mut errors);
        if let Some(wanted) = &self.job {
            let wanted = wanted.to_lowercase();
            jobs.retain(|job| jobs::id(job).starts_with(&wanted));
            strays.clear();
        }
        Ok(Remains { jobs, strays, held, errors })
    }

    /// Shows the files and records that were found, and changes nothing.
    fn show(&self, found: &Remains, outcome: &Tally) -> Result<Exit> {
        if self.json {
            output::print_json(&listing::json(found, &outcome.failures))?;
        } else if !found.is_empty() {
            output::print(&listing::table(found))?;
        }
        match outcome.error() {
            Some(error) => Err(error),
            None if found.is_empty() => Ok(Exit::Nothing),
            None => Ok(Exit::Done),
        }
    }

    /// Removes a file that cannot be read, if the user asked for this and owns the file.
    fn settle_stray(&self, stray: &Stray) -> Result<Settled> {
        // Files of other users in a common store stay.
        if !self.discard || !file::is_own(&stray.path) {
            return Err(stray.error.clone());
        }
        let path = stray.path.display().to_string();
        std::fs::remove_file(&stray.path)
            .map_err(|e| Error::io("cannot remove the file", &stray.path, &e))?;
        eprintln!("rankweave: removed {path}");
        Ok(Settled { result: json!({ "removed": path }), left: None })
    }

    /// The directories to search. A directory with several names is searched once.
    fn directories(&self) -> Result<Vec<PathBuf>> {
        let mut all = self.directories.clone();
        if all.is_empty() {
            let (settings, _) = crate::options::Settings::from_process_env();
            // The library puts files into no other directory than the one that the user names. Files elsewhere are of
            // launches with other settings, and the user did not ask for them.
            all.extend(candidates(settings.spill.directory()));
        }
        let mut seen = HashSet::new();
        // A directory that does not exist is known by its name only.
        all.retain(|d| seen.insert(std::fs::canonicalize(d).unwrap_or_else(|_| d.clone())));
        Ok(all)
    }

    /// Records in these directories that their store refused, the oldest first. The list is empty if the user asked
    /// for one job, because these records do not say of which job they are.
    fn held(&self, directories: &[PathBuf], user: u32, errors: &mut Vec<Error>) -> Vec<Held> {
        let mut found = Vec::new();
        for directory in directories.iter().filter(|_| self.job.is_none()) {
            let (held, failed) = RefusedRecords::of(directory, user).list();
            found.extend(held);
            errors.extend(failed);
        }
        in_order(&mut found);
        found
    }
}

/// The files of jobs that did not reach MPI_Finalize, or whose store refused the record.
struct Remains {
    /// Jobs, from the files of their processes.
    jobs: Vec<LeftoverJob>,
    /// Files that cannot be read.
    strays: Vec<Stray>,
    /// Records that their store refused.
    held: Vec<Held>,
    /// The errors of the search.
    errors: Vec<Error>,
}

impl Remains {
    fn is_empty(&self) -> bool {
        self.jobs.is_empty() && self.strays.is_empty() && self.held.is_empty()
    }
}

/// The action on the files of a job, and on a record that waits.
#[derive(Clone, Copy)]
enum Action {
    /// The files are removed.
    Discard,
    /// The job becomes a record, or the record is stored.
    Recover(Choice),
}

/// The result of an action on a job or a record, as JSON, and the error if a file could not be removed.
struct Settled {
    result: Value,
    left: Option<Error>,
}

/// The results and the errors of all jobs and records.
#[derive(Default)]
struct Tally {
    results: Vec<Value>,
    failures: Vec<String>,
}

impl Tally {
    /// Prints an error, and keeps it for the end.
    fn fail(&mut self, whose: &str, error: &Error) {
        eprintln!("rankweave: {whose}{error}");
        self.failures.push(error.to_string());
    }

    fn add(&mut self, whose: &str, settled: Result<Settled>) {
        match settled {
            Ok(settled) => {
                self.results.push(settled.result);
                settled.left.iter().for_each(|error| self.fail(whose, error));
            }
            Err(error) => self.fail(whose, &error),
        }
    }

    /// The error with which the command ends. Its parts were printed before.
    fn error(&self) -> Option<Error> {
        let what = match self.failures.len() {
            0 => return None,
            1 => "one problem, see above".into(),
            more => format!("{more} problems, see above"),
        };
        Some(Error::new(ErrorKind::Io, what))
    }
}
