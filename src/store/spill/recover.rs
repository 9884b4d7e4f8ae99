//! Jobs that did not reach MPI_Finalize: finds their spill files and parts, and puts their matrices into the
//! store.

use super::description::JobDescription;
use super::directory::{SpillFile, State, scan};
use super::joined_record::{best_of, join};
use super::part::Part;
use super::waiting_parts::{Waiting, remove_all};
use crate::base::error::{Error, Result};
use crate::base::sorting::Arrange;
use crate::store::{LaunchMode, Past, Record, Store};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

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
    /// One part for each task, those that waited in the store included.
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

/// The outcome of recovering a job.
#[derive(Debug)]
pub struct Recovery {
    /// The record; its `unfinished` says what is missing.
    pub record: Record,
    /// The file in which the record was saved. `None` if the store has a better record already.
    pub saved: Option<PathBuf>,
    /// The parts that wait in the store for those of other nodes.
    pub waiting: Option<PathBuf>,
    /// Why a spill file could not be removed, if so; the next recovery finds it again.
    pub left: Option<Error>,
}

/// Finds what is left of jobs of `user` in `directories` and in the store. Returns the jobs by the time
/// they started, the files that cannot be read, and the errors of directories that cannot be read.
pub fn collect(
    directories: &[PathBuf],
    store: Option<&Store>,
    user: u32,
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
    for store in &stores {
        let waiting = Waiting::of(store);
        for (id, path) in waiting.files(None) {
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
    /// node (`host`) also wait in the store for the others. Then the spill files are removed, unless
    /// the job still runs or the choice says otherwise.
    ///
    /// A record in the store stays if it is whole and the recovered one is not, or if it was recorded after
    /// this job had started. The recovered record is then kept beside it if it is of another kind. Otherwise
    /// the spill files stay as well, unless the parts wait in the store.
    ///
    /// The nodes of a job may do this at the same time. Each node puts its own parts into the store before it reads those
    /// of the others, so the last one has all of them.
    pub fn recover(&self, store: &Store, host: &str, choice: Choice, now: u64) -> Result<Recovery> {
        let mut record = join(&self.parts, self.how(), now)?.record;
        let waiting = Waiting::of(store);
        let kept = (!record.has_all_tasks() && !self.local.is_empty())
            .then(|| waiting.keep(host, &self.local));
        if kept.is_some() {
            record = join(&self.with_waiting(&waiting), self.how(), now)?.record;
        }
        let before = store.load(&record.key).unwrap_or_default();
        let baseline = match before {
            Some(before) if before.launch.is_reordered() => before.baseline,
            before => before.map(|before| before.launch),
        };
        record.baseline = baseline.filter(|baseline| {
            record.launch.mode != LaunchMode::Record
                && baseline.inconsistency(record.matrix.tasks()).is_none()
        });
        let saved = match choice.force {
            true => Some(store.save(&record)?),
            // The job may store its own record while this one is written.
            false => store.save_unless(&record, |before| self.loses_to(&record, before))?,
        };
        let whole = record.has_all_tasks();
        let kept = kept.transpose()?.filter(|_| !whole);
        let mut left = None;
        if self.running == 0 && !choice.keep && (saved.is_some() || kept.is_some()) {
            left = self.remove_files().err();
            if whole {
                // What stays is found again.
                let _ = waiting.remove(self.job.id);
            }
        }
        Ok(Recovery { record, saved, waiting: kept, left })
    }

    /// One part for each task, of this job's parts and of those that wait in the store by now. Files that cannot be read
    /// are left out.
    fn with_waiting(&self, waiting: &Waiting) -> Vec<Part> {
        let others = waiting
            .files(Some(self.job.id))
            .into_iter()
            .flat_map(|(_, path)| waiting.load(&path, self.user).unwrap_or_default().into_iter());
        let others = others.filter(|part| part.about.job == self.job);
        best_of(self.parts.iter().cloned().chain(others).collect())
    }

    /// True if the record in the store is to stay.
    fn loses_to(&self, record: &Record, before: &Record) -> bool {
        let same_job = before.unfinished.is_some() && before.recorded_at >= self.job.started_at;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::Traffic;
    use crate::store::spill::{About, layout};

    const ME: &str = "n1";

    fn user() -> u32 {
        // SAFETY: no preconditions.
        unsafe { libc::geteuid() }
    }

    /// Writes the spill file of one task, which sent `messages` to the next.
    fn spill(directory: &Path, id: u64, task: u32, messages: u64) -> PathBuf {
        let job = JobDescription {
            id,
            tasks: 3,
            key: "k".into(),
            mode: LaunchMode::Record,
            model: "logical".into(),
            started_at: 100,
            ..JobDescription::default()
        };
        let about = About { job, task, process: task, host: ME.into(), ..About::default() };
        let mut bytes = layout::header(&about.encode());
        bytes.resize(bytes.len().next_multiple_of(layout::ALIGN), 0);
        let head = layout::Head { tag: 1, length: 128, count: 4, ..Default::default() };
        bytes.extend(head.to_bytes());
        let mut cells = [[0u64; 2]; 4];
        cells[(task as usize + 1) % 3] = [8 * messages, messages];
        bytes.extend(cells.iter().flatten().flat_map(|n| n.to_ne_bytes()));
        let path = directory.join(layout::file_name(user(), id, task, 1));
        std::fs::write(&path, bytes).unwrap();
        path
    }

    struct Place {
        _dir: tempfile::TempDir,
        spills: PathBuf,
        store: Store,
    }

    impl Place {
        fn new() -> Place {
            let dir = tempfile::tempdir().unwrap();
            let spills = dir.path().join("spills");
            std::fs::create_dir(&spills).unwrap();
            Place { spills, store: Store::open(dir.path().join("store")), _dir: dir }
        }

        fn one(&self) -> LeftoverJob {
            let (mut jobs, strays, errors) =
                collect(std::slice::from_ref(&self.spills), Some(&self.store), user());
            assert!(strays.is_empty() && errors.is_empty(), "{strays:?} {errors:?}");
            assert_eq!(jobs.len(), 1);
            jobs.remove(0)
        }

        fn left(&self) -> usize {
            std::fs::read_dir(&self.spills).unwrap().count()
        }
    }

    #[test]
    fn a_whole_job_becomes_a_record_and_its_files_go() {
        let place = Place::new();
        for task in 0..3 {
            spill(&place.spills, 7, task, 5);
        }
        let kept = Choice { keep: true, ..Choice::default() };
        place.one().recover(&place.store, ME, kept, 200).unwrap();
        assert_eq!(place.left(), 3);
        let outcome = place.one().recover(&place.store, ME, Choice::default(), 200).unwrap();
        assert!(outcome.saved.is_some() && outcome.waiting.is_none());
        let record = place.store.load("k").unwrap().unwrap();
        assert_eq!(record, outcome.record);
        assert_eq!(record.matrix.sum().get(2, 0), Traffic { bytes: 40, messages: 5 });
        assert_eq!(place.left(), 0);
    }

    #[test]
    fn parts_of_other_nodes_wait_in_the_store() {
        let place = Place::new();
        spill(&place.spills, 7, 0, 5);
        let outcome = place.one().recover(&place.store, "a", Choice::default(), 200).unwrap();
        assert!(outcome.saved.is_some() && outcome.waiting.is_some());
        assert!(!place.store.load("k").unwrap().unwrap().has_all_tasks());
        assert_eq!(place.left(), 0);
        spill(&place.spills, 7, 1, 5);
        spill(&place.spills, 7, 2, 5);
        let job = place.one();
        assert_eq!((job.found(), job.files.len()), (3, 2));
        job.recover(&place.store, "b", Choice::default(), 201).unwrap();
        let record = place.store.load("k").unwrap().unwrap();
        assert!(record.has_all_tasks());
        assert_eq!(record.matrix.sum().pairs(), 3);
        assert!(Waiting::of(&place.store).files(None).is_empty());
    }

    #[test]
    fn nodes_that_recover_a_job_at_the_same_time_have_all_of_it() {
        let place = Place::new();
        // Each has looked before the other one kept its parts.
        let jobs: Vec<LeftoverJob> = [vec![0], vec![1, 2]]
            .into_iter()
            .map(|tasks| {
                let files: Vec<PathBuf> =
                    tasks.into_iter().map(|task| spill(&place.spills, 7, task, 5)).collect();
                let job = place.one();
                files.iter().for_each(|file| std::fs::remove_file(file).unwrap());
                job
            })
            .collect();
        assert_eq!(jobs.iter().map(LeftoverJob::found).collect::<Vec<_>>(), [1, 2]);
        for (job, host) in jobs.iter().zip(["a", "b"]) {
            job.recover(&place.store, host, Choice::default(), 200).unwrap();
        }
        assert!(place.store.load("k").unwrap().unwrap().has_all_tasks());
        assert!(Waiting::of(&place.store).files(None).is_empty());
    }

    #[test]
    fn a_bad_file_of_parts_stops_nothing_and_names_no_store() {
        let place = Place::new();
        spill(&place.spills, 7, 0, 5);
        place.one().recover(&place.store, "a", Choice::default(), 200).unwrap();
        let waiting = Waiting::of(&place.store);
        let good = waiting.load(&waiting.files(Some(7))[0].1, user()).unwrap().remove(0);
        let mut outside = good.clone();
        (outside.about.job.id, outside.about.process) = (8, 99);
        let bad = waiting.keep("b", &[outside]).unwrap();
        let mut elsewhere = good;
        elsewhere.about.job.id = 9;
        elsewhere.about.job.store = "/elsewhere".into();
        waiting.keep("c", &[elsewhere]).unwrap();
        let (jobs, strays, _) = collect(&[], Some(&place.store), user());
        assert_eq!(strays.iter().map(|s| &s.path).collect::<Vec<_>>(), [&bad]);
        assert_eq!(jobs.iter().map(|j| j.job.id).collect::<Vec<_>>(), [7, 9]);
        assert_eq!(jobs[1].store(None).unwrap().directory(), place.store.directory());
        for job in &jobs {
            job.recover(&place.store, "a", Choice::default(), 300).unwrap();
        }
        let (jobs, strays, _) = collect(&[], Some(&place.store), user() + 1);
        assert!(jobs.is_empty());
        assert_eq!(strays.len(), 3, "files of another user");
    }

    #[test]
    fn better_records_stay() {
        let place = Place::new();
        for task in 0..3 {
            spill(&place.spills, 7, task, 5);
        }
        // A whole record of before the job is replaced, one of after it is not.
        let mut other =
            place.one().recover(&place.store, ME, Choice::default(), 50).unwrap().record;
        other.unfinished = None;
        place.store.save(&other).unwrap();
        spill(&place.spills, 8, 0, 1);
        let outcome = place.one().recover(&place.store, ME, Choice::default(), 200).unwrap();
        assert!(outcome.saved.is_none() && outcome.waiting.is_some());
        assert!(place.store.load("k").unwrap().unwrap().unfinished.is_none());
        spill(&place.spills, 8, 1, 1);
        spill(&place.spills, 8, 2, 1);
        // Of the second in which the job began: stored at its own end, or by the job before it?
        for (wall, stays) in [(0.4, true), (2.5, false)] {
            other.recorded_at = place.one().job.started_at;
            other.launch.wall_seconds = wall;
            place.store.save(&other).unwrap();
            let keep = Choice { keep: true, ..Choice::default() };
            let outcome = place.one().recover(&place.store, ME, keep, 200).unwrap();
            assert_eq!(outcome.saved.is_none(), stays, "{wall}");
        }
        // The history says that another job stored it.
        other.launch.wall_seconds = 0.4;
        other.history = vec![Past { id: 9, ended_at: other.recorded_at, ..Past::default() }];
        place.store.save(&other).unwrap();
        let keep = Choice { keep: true, ..Choice::default() };
        let outcome = place.one().recover(&place.store, ME, keep, 200).unwrap();
        assert!(outcome.saved.is_some());
        other.recorded_at = 150;
        place.store.save(&other).unwrap();
        let outcome = place.one().recover(&place.store, ME, Choice::default(), 200).unwrap();
        assert!(outcome.saved.is_none());
        assert_eq!(place.left(), 2, "what is not in the store stays");
        let force = Choice { force: true, ..Choice::default() };
        assert!(place.one().recover(&place.store, ME, force, 200).unwrap().saved.is_some());
        assert_eq!(place.left(), 0);
    }

    #[test]
    fn a_killed_run_of_another_kind_is_kept_beside_a_newer_record() {
        let place = Place::new();
        for task in 0..3 {
            spill(&place.spills, 7, task, 5);
        }
        let keep = Choice { keep: true, ..Choice::default() };
        let other = place.one().recover(&place.store, ME, keep, 200).unwrap().record;
        let mut newer = Record { unfinished: None, recorded_at: 300, ..other };
        newer.command = vec!["app".into(), "other".into()];
        place.store.remove("k").unwrap();
        place.store.save(&newer).unwrap();
        let outcome = place.one().recover(&place.store, ME, Choice::default(), 200).unwrap();
        assert_eq!(crate::store::read_file(&outcome.saved.unwrap()).unwrap(), outcome.record);
        assert_eq!(place.store.load("k").unwrap().unwrap().recorded_at, 300);
        assert_eq!((place.store.runs("k").len(), place.left()), (1, 0));
    }

    #[test]
    fn discarding_removes_everything() {
        let place = Place::new();
        spill(&place.spills, 7, 0, 5);
        let keep = Choice { keep: true, ..Choice::default() };
        place.one().recover(&place.store, ME, keep, 200).unwrap();
        place.one().discard(&place.store).unwrap();
        let (jobs, ..) = collect(std::slice::from_ref(&place.spills), Some(&place.store), user());
        assert!(jobs.is_empty() && place.left() == 0);
    }
}
