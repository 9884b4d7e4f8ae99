//! Jobs that did not reach MPI_Finalize: finds their spill files and parts, and puts their matrices into the
//! store.

use super::description::JobDescription;
use super::directory::{SpillFile, State, scan};
use super::joined_record::{best_of, join};
use super::joining_turn::{Census, Turn};
use super::part::Part;
use super::waiting_parts::{Waiting, remove_all, tasks_in};
use crate::base::error::{Error, ErrorKind, Result};
use crate::base::sorting::Arrange;
use crate::store::{LaunchMode, Past, Record, Store};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long the node with the last parts waits for another one to make the record. An epilog has 20 seconds.
const PATIENCE: Duration = Duration::from_secs(if cfg!(test) { 1 } else { 8 });
/// After so long, a node leaves joining to others, unless all parts are there.
const LONG_ENOUGH: Duration = Duration::from_secs(5);
/// How long it waits before it looks again.
const PAUSE: Duration = Duration::from_millis(300);

/// A job that left spill files or waiting parts.
#[derive(Debug, Default)]
pub struct LeftoverJob {
    /// The job.
    pub job: JobDescription,
    /// Spill files on this node.
    pub files: Vec<PathBuf>,
    /// Their size in bytes.
    pub size: u64,
    /// Parts read from these files.
    local: Vec<Part>,
    /// One part for each task, those that waited in the store included if [`Reach`] includes them.
    parts: Vec<Part>,
    /// Number of processes that are still running.
    pub running: usize,
    /// The store in which parts were found, for a job without spill files.
    lies_in: Option<Store>,
    /// Whose files count.
    user: u32,
}

/// A file that cannot be read.
#[derive(Debug)]
pub struct Stray {
    /// Where it is.
    pub path: PathBuf,
    /// Why.
    pub error: Error,
    /// Whether its process lives.
    pub running: bool,
}

/// Choices of the user for [`LeftoverJob::recover`].
#[derive(Debug, Clone, Copy, Default)]
pub struct Choice {
    /// Leave the files where they are.
    pub keep: bool,
    /// Put the record into the store even if it replaces a better one.
    pub force: bool,
}

/// What [`collect`] looks at, besides the spill files of this node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// Nothing else.
    Node,
    /// The waiting parts of jobs that left no spill files here.
    OtherJobs,
    /// All waiting parts.
    AllParts,
}

/// The outcome of recovering a job.
#[derive(Debug)]
pub struct Recovery {
    /// The record; its `unfinished` says what is missing.
    pub record: Record,
    /// The file in which the record was saved. `None` if the store has a better record already, or if the record is left
    /// to other nodes.
    pub saved: Option<PathBuf>,
    /// The parts of this node wait, and another node makes the record. The record here has these parts only.
    pub left_to_others: bool,
    /// The parts that wait in the store for those of other nodes.
    pub waiting: Option<PathBuf>,
    /// Why a spill file could not be removed, or waiting parts not be read, if so; the next recovery finds them again.
    pub left: Option<Error>,
}

impl Recovery {
    /// Number of tasks of the job that the record has the counts of.
    pub fn tasks_found(&self) -> usize {
        let missing =
            self.record.unfinished.as_ref().map_or(0, |unfinished| unfinished.missing.len());
        self.record.matrix.tasks().saturating_sub(missing)
    }
}

/// Finds what is left of jobs of `user` in `directories` and, as `reach` says, in the store. Returns the jobs by the time
/// they started, the files that cannot be read, and the errors of directories that cannot be read.
pub fn collect(
    directories: &[PathBuf],
    store: Option<&Store>,
    user: u32,
    reach: Reach,
) -> (Vec<LeftoverJob>, Vec<Stray>, Vec<Error>) {
    let mut jobs: BTreeMap<u64, LeftoverJob> = BTreeMap::new();
    let (mut strays, mut errors) = (Vec::new(), Vec::new());
    for directory in directories {
        match scan(directory, user) {
            Ok(found) => found.into_iter().for_each(|file| add(&mut jobs, &mut strays, file)),
            Err(error) => errors.push(error),
        }
    }
    // The job's own store has what other nodes left, unless another was asked for.
    let stores: Vec<Store> = match store {
        Some(store) => vec![store.clone()],
        None => {
            let paths: BTreeSet<&str> = jobs.values().map(|j| j.job.store.as_str()).collect();
            let own = Store::default_dir().ok().map(Store::open);
            paths.into_iter().filter(|p| !p.is_empty()).map(Store::open).chain(own).collect()
        }
    };
    let is_left_here: BTreeSet<u64> = jobs.keys().copied().collect();
    let is_asked = |id: &u64| reach == Reach::AllParts || !is_left_here.contains(id);
    for store in stores.iter().filter(|_| reach != Reach::Node) {
        let waiting = Waiting::of(store);
        for (id, path) in waiting.files(None).into_iter().filter(|(id, _)| is_asked(id)) {
            match waiting.load(&path, user) {
                Ok(parts) => {
                    for part in parts.into_iter().filter(|p| p.about.job.id == id) {
                        let job = entry(&mut jobs, &part.about.job);
                        if job.local.is_empty() {
                            job.lies_in.get_or_insert_with(|| store.clone());
                        }
                        job.parts.push(part);
                    }
                }
                // Another node may have joined and removed it.
                Err(_) if path.symlink_metadata().is_err() => {}
                Err(error) => strays.push(Stray { path, error, running: false }),
            }
        }
    }
    let mut jobs: Vec<LeftoverJob> = jobs.into_values().collect();
    for job in &mut jobs {
        let mut parts = std::mem::take(&mut job.parts);
        parts.extend(job.local.iter().cloned());
        parts.retain(|p| p.about.job == job.job);
        job.parts = best_of(parts);
        job.user = user;
    }
    jobs.arrange_by_key(|j| (j.job.started_at, j.job.id));
    (jobs, strays, errors)
}

fn entry<'j>(
    jobs: &'j mut BTreeMap<u64, LeftoverJob>,
    job: &JobDescription,
) -> &'j mut LeftoverJob {
    let new = || LeftoverJob { job: job.clone(), ..LeftoverJob::default() };
    jobs.entry(job.id).or_insert_with(new)
}

fn add(jobs: &mut BTreeMap<u64, LeftoverJob>, strays: &mut Vec<Stray>, file: SpillFile) {
    let running = file.state == State::Running;
    match file.part {
        Err(error) => strays.push(Stray { path: file.path, error, running }),
        Ok(part) => {
            let job = entry(jobs, &part.about.job);
            job.running += usize::from(running);
            job.files.push(file.path);
            job.size += file.size;
            job.local.push(part);
        }
    }
}

impl LeftoverJob {
    /// Number of tasks with a part.
    pub fn found(&self) -> usize {
        self.parts.len()
    }

    /// How the job ended, for a sentence whose subject is the program.
    pub fn how(&self) -> &'static str {
        if self.running > 0 {
            "was still running"
        } else if self.local.is_empty() {
            "did not reach MPI_Finalize"
        } else {
            match self.local.iter().filter(|p| p.said_end).count() {
                0 => "was killed or aborted",
                all if all == self.local.len() => "exited without MPI_Finalize",
                _ => "exited in some processes without MPI_Finalize, and was killed in others",
            }
        }
    }

    /// Makes a record of the parts and puts it into `store`. If tasks are missing, the parts of this
    /// node (`host`) wait in the store for the others. Then the spill files are removed, unless
    /// the job still runs or the choice says otherwise.
    ///
    /// A record in the store stays if it is whole and the recovered one is not, or if it was recorded after
    /// this job had started. The recovered record is then kept beside it if it is of another kind. Otherwise
    /// the spill files stay as well, unless the parts wait in the store.
    ///
    /// The nodes of a job may do this at the same time. Each node puts its own parts into the store before it looks for
    /// those of the others, so the last one has all of them. Of many nodes, not each one makes a record.
    pub fn recover(&self, store: &Store, host: &str, choice: Choice, now: u64) -> Result<Recovery> {
        let record = join(&self.parts, self.how(), now)?.record;
        if record.has_all_tasks() || self.local.is_empty() {
            return self.put(store, record, choice, None);
        }
        let waiting = Waiting::of(store);
        let kept = match waiting.keep(host, &self.local, self.running == 0) {
            Ok(path) if !choice.force => path,
            kept => {
                let record = join(&self.with_waiting(&waiting).0, self.how(), now)?.record;
                return self.put(store, record, choice, Some(kept));
            }
        };
        let (mut outcome, since) = (None, Instant::now());
        while let Some((turn, before)) = self.await_turn(&waiting, &kept) {
            let made = self.joined(&waiting, now).and_then(|(record, unread)| {
                let made = self.put(store, record, choice, Some(Ok(kept.clone())))?;
                Ok(Recovery { left: made.left.or(unread), ..made })
            });
            drop(turn);
            outcome = match (made, outcome) {
                (Ok(made), _) => Some(made),
                (Err(error), None) => return Err(error),
                (Err(error), Some(earlier)) => {
                    return Ok(Recovery { left: Some(error), ..earlier });
                }
            };
            // Nodes that came meanwhile have left the rest to this one.
            let after = waiting.census(self.job.id);
            if !joins_again([&before, &after], since.elapsed(), self.tasks()) {
                break;
            }
        }
        if let Some(outcome) = outcome {
            return Ok(outcome);
        }
        let is_done = self.running == 0 && !choice.keep;
        let left = is_done.then(|| self.remove_files().err()).flatten();
        let waiting = Some(kept).filter(|kept| kept.exists());
        Ok(Recovery { record, saved: None, left_to_others: true, waiting, left })
    }

    fn tasks(&self) -> usize {
        self.job.tasks as usize
    }

    /// The turn to join all parts; `None` if it is another node's, or if the parts in `kept` were joined.
    fn await_turn(&self, waiting: &Waiting, kept: &Path) -> Option<(Turn, Census)> {
        let since = Instant::now();
        loop {
            let census = waiting.census(self.job.id);
            if !census.is_turn(self.tasks()) || !kept.exists() {
                return None;
            }
            if let Some(turn) = waiting.begin_joining(self.job.id) {
                // Another node may have joined all parts just before.
                return kept.exists().then_some((turn, census));
            }
            // The node that joins sees what came meanwhile. It may be killed before: so the last one waits for it.
            if !census.has_all(self.tasks()) {
                return None;
            }
            if since.elapsed() > PATIENCE {
                return Some((Turn::unseen(), census));
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// The record of this job's parts and of those that wait, and why one of these could not be read.
    fn joined(&self, waiting: &Waiting, now: u64) -> Result<(Record, Option<Error>)> {
        let (mut parts, mut unread) = self.with_waiting(waiting);
        if unread.is_some() {
            // A node may just have replaced its file.
            std::thread::sleep(PAUSE);
            (parts, unread) = self.with_waiting(waiting);
        }
        Ok((join(&parts, self.how(), now)?.record, unread))
    }

    /// Puts a record into `store`, and removes what is not needed after that. `kept` is the file of parts that wait.
    fn put(
        &self,
        store: &Store,
        mut record: Record,
        choice: Choice,
        kept: Option<Result<PathBuf>>,
    ) -> Result<Recovery> {
        let before = store.load(&record.key).unwrap_or_default();
        let is_worse = !record.has_all_tasks()
            && before.as_ref().is_some_and(|b| self.is_of_job(b) && b.has_all_tasks());
        let baseline = match before {
            Some(before) if before.launch.is_reordered() => before.baseline,
            before => before.map(|before| before.launch),
        };
        record.baseline = baseline.filter(|baseline| {
            record.launch.mode != LaunchMode::Record
                && baseline.inconsistency(record.matrix.tasks()).is_none()
        });
        let saved = match choice.force {
            // Another node made the whole record.
            true if is_worse => None,
            true => Some(store.save(&record)?),
            // The job may store its own record while this one is written.
            false => store.save_unless(&record, |before| self.loses_to(&record, before))?,
        };
        let whole = record.has_all_tasks();
        let waiting = kept.transpose()?.filter(|_| !whole);
        let mut left = None;
        if self.running == 0 && !choice.keep && (saved.is_some() || waiting.is_some()) {
            left = self.remove_files().err();
            if whole {
                // What stays is found again.
                let _ = Waiting::of(store).remove(self.job.id);
            }
        }
        Ok(Recovery { record, saved, left_to_others: false, waiting, left })
    }

    /// One part for each task, of this job's parts and of those that wait in the store by now, and why one of the files
    /// could not be read. Damaged files are left out, and parts of processes that ran then, unless others still run.
    fn with_waiting(&self, waiting: &Waiting) -> (Vec<Part>, Option<Error>) {
        let (mut parts, mut unread) = (self.parts.clone(), None);
        for (_, path) in waiting.files(Some(self.job.id)) {
            if self.running == 0 && tasks_in(&path) == Some(0) {
                continue;
            }
            match waiting.load(&path, self.user) {
                Ok(others) => parts.extend(others.into_iter().filter(|p| p.about.job == self.job)),
                Err(error) if error.kind() == ErrorKind::Io => unread = Some(error),
                Err(_) => {}
            }
        }
        (best_of(parts), unread)
    }

    /// Whether a record was recovered since this job started.
    fn is_of_job(&self, record: &Record) -> bool {
        record.unfinished.is_some() && record.recorded_at >= self.job.started_at
    }

    /// True if the record in the store is to stay.
    fn loses_to(&self, record: &Record, before: &Record) -> bool {
        let same_job = self.is_of_job(before);
        // Times are whole seconds. A record from the second in which this job began can be the job's own
        // record: stored at its end while its files were read here, if the launch took less than a second.
        // The history of a record has the number of its job, unless its time could not be measured.
        let ended = |past: &&Past| past.ended_at == before.recorded_at;
        let (mut own, mut ended) = (
            before.history.iter().filter(|past| past.id == self.job.id),
            before.history.iter().filter(ended),
        );
        let of_another = own.next().is_none() && ended.next().is_some();
        let own_end = before.recorded_at == self.job.started_at
            && before.unfinished.is_none()
            && before.launch.wall_seconds < 1.0
            && !of_another;
        let newer = own_end || before.recorded_at > self.job.started_at && !same_job;
        newer || (!record.has_all_tasks() && before.has_all_tasks())
    }

    /// Removes the spill files.
    ///
    /// Errors: the first that cannot be removed; it is found again.
    pub fn remove_files(&self) -> Result<()> {
        remove_all(self.files.iter().map(PathBuf::as_path))
    }

    /// Removes everything that is left of the job, here and in the store.
    ///
    /// Errors: the first file that cannot be removed, after the others are.
    pub fn discard(&self, store: &Store) -> Result<()> {
        let here = self.remove_files();
        Waiting::of(store).remove(self.job.id).and(here)
    }

    /// The store that the user named, else the one in which the parts were found, else the one that the job
    /// used according to its spill files. The description in a part does not decide where something is written.
    pub fn store(&self, asked: Option<&Store>) -> Result<Store> {
        match asked.or(self.lies_in.as_ref()) {
            Some(store) => Ok(store.clone()),
            None if !self.job.store.is_empty() => Ok(Store::open(Path::new(&self.job.store))),
            None => Store::default_dir().map(Store::open),
        }
    }
}

/// Whether a node that has joined all parts joins them again, because others came meanwhile: the censuses before and
/// after, how long the node has been joining, and the number of tasks.
fn joins_again([before, after]: [&Census; 2], spent: Duration, tasks: usize) -> bool {
    after != before && (spent <= LONG_ENOUGH || after.has_all(tasks))
}

#[cfg(test)]
#[path = "recover_tests.rs"]
mod tests;
