//! What happens with a stored record if its program fails afterwards. The record is stored in MPI_Finalize, and
//! the exit code is known only at the end of the process.
//!
//! The common case is a Python program that ends with a traceback: the traceback is printed, then the
//! interpreter finalises MPI, then it exits with code 1. Its matrix may lack most of the work. The record
//! therefore becomes an interrupted one, an earlier whole record is put in use again, and the time of the
//! launch is not compared with that of others.
//!
//! Each process that ends in this way makes a mark, the file `KEY.runs/failed-LAUNCH-CODE`. The first process
//! also changes the record. A launcher that kills all processes as soon as one has failed may kill this process
//! before the change is complete. The mark is still there then, and the next reader of the record completes the
//! change.

use super::others::{check_folder, read_stored};
use super::record_format::encode_with;
use super::sharing::{share, share_folder};
use super::standing::{Completeness, Standing};
use super::{Record, Run, Store, Unfinished};
use crate::base::error::{Error, Result};
use crate::base::sorting::Arrange;
use std::fs;
use std::path::{Path, PathBuf};

/// The record that a launch has stored, so that it can be changed if the launch fails afterwards.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredRun {
    store: Store,
    key: String,
    /// The random number of the launch.
    launch: u64,
}

/// The beginning of the names of marks.
const MARK: &str = "failed-";

impl StoredRun {
    /// The record of the launch with this random number, in the store of a directory.
    pub fn new(directory: impl AsRef<Path>, key: &str, launch: u64) -> StoredRun {
        StoredRun { store: Store::open(directory.as_ref()), key: key.into(), launch }
    }

    /// Notes that a process of the launch ended with an exit code that means failure. Any number of
    /// processes may do so.
    ///
    /// Errors: I/O errors. The record is then still there, as one of a whole run.
    pub fn mark_failed(&self, code: i32) -> Result<()> {
        let folder = self.store.runs_folder(&self.key);
        let mark = folder.join(format!("{MARK}{:x}-{code}", self.launch));
        let failed = |e: &std::io::Error| Error::io("cannot mark the record as failed", &mark, e);
        check_folder(&folder)?;
        // A reader may remove the folder if it is empty.
        let make = || {
            match fs::create_dir(&folder) {
                Err(e) if e.kind() != std::io::ErrorKind::AlreadyExists => return Err(e),
                _ => share_folder(&folder),
            }
            fs::File::create_new(&mark).map(|file| share(&file, &mark))
        };
        match make()
            .or_else(|e| if e.kind() == std::io::ErrorKind::NotFound { make() } else { Err(e) })
        {
            // Another process of the launch made the mark first.
            Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => return Ok(()),
            made => made.map_err(|e| failed(&e))?,
        };
        self.store.apply_failures(&self.key);
        Ok(())
    }

    /// Changes the record of the launch, if it is still there.
    fn apply(&self, code: i32) -> Result<()> {
        let (store, key) = (&self.store, self.key.as_str());
        let in_use = read_stored(&store.path_of(key)).ok().filter(|record| self.is(record));
        let is_in_use = in_use.is_some();
        let mut beside = store.runs(key);
        let read = |run: &Run| read_stored(&run.path).ok().filter(|record| self.is(record));
        beside.retain(|run| read(run).is_some());
        // Another launch may have removed the record, because it was not worth keeping.
        let found = in_use.or_else(|| beside.first().and_then(read));
        let Some(mut record) = found else { return Ok(()) };
        record.history.retain(|past| past.id != self.launch);
        record.unfinished.get_or_insert_with(|| Unfinished {
            how: format!("the program ended with exit code {code}"),
            ..Unfinished::default()
        });
        // Another launch may put its record in use at the same time.
        let is_replaced = || {
            let in_use = read_stored(&store.path_of(key));
            in_use.is_ok_and(|record| !self.is(&record))
        };
        let standing = Standing::of(&record);
        let bytes = encode_with(&record, &record.history)?;
        match is_in_use.then(|| self.successor(standing.kind, record.matrix.tasks())).flatten() {
            Some(mut successor) => {
                store.keep_run(key, &standing, &bytes, false)?;
                successor.history = record.history;
                let bytes = encode_with(&successor, &successor.history)?;
                store.write(&store.path_of(key), &bytes, false, &is_replaced)?;
            }
            None if is_in_use => {
                store.write(&store.path_of(key), &bytes, false, &is_replaced)?;
            }
            None => {
                store.keep_run(key, &standing, &bytes, false)?;
            }
        }
        let is_chosen = |chosen: &Run| beside.iter().any(|run| run.path == chosen.path);
        if store.chosen_run(key).is_some_and(|chosen| is_chosen(&chosen)) {
            let kept = store.keep_run(key, &standing, &bytes, false)?;
            store.choose_file(key, &kept)?;
        }
        for run in beside {
            // If another launch has removed the file, nothing is left to do.
            let _ = fs::remove_file(&run.path);
        }
        store.trim_runs(key);
        Ok(())
    }

    /// Whether a record is that of this launch, and not of another one that ended in the same second.
    fn is(&self, record: &Record) -> bool {
        let launch = &record.launch;
        record.history.iter().any(|past| {
            past.id == self.launch
                && past.ended_at == record.recorded_at
                && past.wall_seconds == launch.wall_seconds
                && past.total_bytes == launch.total_bytes
                && past.work == Standing::of(record).kind
        })
    }

    /// The record of a whole run that was in use before, or that would be in use without the failed one: the
    /// newest of this kind, unless it is much poorer than the richest of this kind, or else the richest of all.
    fn successor(&self, kind: u32, tasks: usize) -> Option<Record> {
        let mut runs = self.store.runs(&self.key);
        runs.retain(|run| run.standing.completeness == Completeness::Whole);
        let is_like = |run: &Run| run.standing.kind == kind;
        let alike = runs.iter().filter(|run| is_like(run)).map(|run| run.standing);
        let most = alike.max_by_key(Standing::richness);
        runs.arrange_by_key(|run| {
            let is_fair =
                is_like(run) && most.is_some_and(|most| !run.standing.is_poorer_than(&most));
            let newest = if is_fair { run.standing.recorded_at } else { 0 };
            std::cmp::Reverse((is_like(run), is_fair, newest, run.standing.richness()))
        });
        let mut read = runs.iter().filter_map(|run| read_stored(&run.path).ok());
        read.find(|record| record.matrix.tasks() == tasks && !self.is(record))
    }
}

impl Store {
    /// Changes the records of launches that failed after they had been stored, as their marks say.
    pub fn apply_failures(&self, key: &str) {
        let folder = self.runs_folder(key);
        let is_usable = check_folder(&folder).is_ok();
        let Some(files) = fs::read_dir(&folder).ok().filter(|_| is_usable) else { return };
        // The folder is closed before another one is opened: closing it may fail, which is a panic in std, and
        // two of them at once would end the process.
        let files: Vec<PathBuf> = files.flatten().map(|file| file.path()).collect();
        let mut had_marks = false;
        for file in files {
            let name = file.file_name().and_then(|name| name.to_str());
            let mark = name.and_then(|name| name.strip_prefix(MARK)?.split_once('-'));
            let Some((launch, code)) = mark else { continue };
            let (launch, code) = (u64::from_str_radix(launch, 16), code.parse());
            if let (Ok(launch), Ok(code)) = (launch, code)
                && StoredRun::new(self.directory(), key, launch).apply(code).is_err()
            {
                // The next reader tries again.
                continue;
            }
            had_marks |= fs::remove_file(file).is_ok();
        }
        if had_marks {
            // The folder stays if it has other files.
            let _ = fs::remove_dir(&folder);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::runs::tests::{run, store, used};
    use crate::store::{Fit, Past};

    const KEY: &str = "app-n4";

    fn whole(argument: &str, bytes: u64, at: u64) -> Record {
        let mut record = run(argument, bytes, Completeness::Whole, at);
        record.launch.wall_seconds = 1.0 + at as f64;
        let (work, wall_seconds) = (Standing::of(&record).kind, record.launch.wall_seconds);
        record.history = vec![Past { id: at, ended_at: at, work, wall_seconds, ..Past::default() }];
        record
    }

    fn stored(store: &Store, record: &Record) -> StoredRun {
        store.save_soon(record).unwrap();
        StoredRun::new(store.directory(), KEY, record.recorded_at)
    }

    fn launches(store: &Store) -> Vec<u64> {
        store.load(KEY).unwrap().unwrap().history.iter().map(|past| past.id).collect()
    }

    #[test]
    fn the_whole_record_of_before_is_in_use_again() {
        let (_dir, store) = store();
        stored(&store, &whole("in", 4000, 1));
        // As rich as the one before: it took its place.
        let failed = stored(&store, &whole("in", 4004, 2));
        assert_eq!(store.load(KEY).unwrap().unwrap().recorded_at, 2);
        failed.mark_failed(1).unwrap();
        assert_eq!(store.load(KEY).unwrap().unwrap().recorded_at, 1);
        assert_eq!(used(&store, "in"), Some((4000, Fit::SameKind)));
        assert_eq!(launches(&store), [1], "its time is not compared");
        let kept = store.runs(KEY).into_iter().find(|run| run.standing.bytes == 4004).unwrap();
        assert_eq!(kept.standing.completeness, Completeness::Interrupted);
        let folder = store.runs_folder(KEY);
        let marks = || {
            fs::read_dir(&folder)
                .unwrap()
                .flatten()
                .filter(|file| file.file_name().to_string_lossy().starts_with(MARK))
        };
        assert_eq!(marks().count(), 0);
        // Once more changes nothing.
        failed.mark_failed(1).unwrap();
        assert_eq!(store.load(KEY).unwrap().unwrap().recorded_at, 1);
    }

    #[test]
    fn a_program_that_always_fails_keeps_its_record() {
        let (_dir, store) = store();
        for at in 1..4 {
            stored(&store, &whole("in", 4000 + at * 4, at)).mark_failed(3).unwrap();
            let record = store.load(KEY).unwrap().unwrap();
            assert_eq!(record.recorded_at, at);
            assert_eq!(record.unfinished.unwrap().how, "the program ended with exit code 3");
            assert_eq!(used(&store, "in"), Some((4000 + at * 4, Fit::SameKind)));
        }
        stored(&store, &whole("in", 4000, 9));
        assert_eq!(used(&store, "in"), Some((4000, Fit::SameKind)));
        assert_eq!(store.load(KEY).unwrap().unwrap().recorded_at, 9);
    }

    #[test]
    fn a_failed_run_that_is_not_in_use_is_marked_among_the_runs() {
        let (_dir, store) = store();
        stored(&store, &whole("in", 4000, 1));
        stored(&store, &whole("other", 40, 2)).mark_failed(1).unwrap();
        assert_eq!(store.load(KEY).unwrap().unwrap().recorded_at, 1);
        let runs = store.runs(KEY);
        assert_eq!(runs.len(), 1, "{runs:?}");
        assert_eq!(runs[0].standing.completeness, Completeness::Interrupted);
        // The user removed everything meanwhile.
        let last = stored(&store, &whole("third", 40, 3));
        store.remove(KEY).unwrap();
        last.mark_failed(1).unwrap();
        assert!(store.load(KEY).unwrap().is_none() && store.runs(KEY).is_empty());
    }

    #[test]
    fn a_mark_whose_process_was_killed_is_applied_by_the_next_reader() {
        let (_dir, store) = store();
        stored(&store, &whole("in", 4000, 1));
        stored(&store, &whole("in", 4004, 2));
        let folder = store.runs_folder(KEY);
        fs::write(folder.join(format!("{MARK}2-1")), b"").unwrap();
        fs::write(folder.join(format!("{MARK}77-1")), b"").unwrap();
        fs::write(folder.join(format!("{MARK}x-y")), b"").unwrap();
        assert_eq!(store.load(KEY).unwrap().unwrap().recorded_at, 1);
        let left = store.runs(KEY).len();
        assert_eq!(fs::read_dir(&folder).unwrap().count(), left, "the marks are gone");
    }
    #[test]
    fn a_selector_means_what_the_marks_leave() {
        let marked = |selector: Option<&str>| {
            let (_dir, store) = store();
            stored(&store, &whole("in", 4000, 1));
            stored(&store, &whole("in", 4004, 2));
            fs::write(store.runs_folder(KEY).join(format!("{MARK}2-1")), b"").unwrap();
            let kind = Standing::of(&whole("in", 1, 1)).kind;
            let selector = selector.map(|name| name.replace("KIND", &format!("{kind:08x}")));
            let found = store.find(selector.as_deref()).unwrap();
            let newer = store.newer_run(&found).map(|(name, run)| (name, run.standing.bytes));
            (found.recorded_at, found.unfinished.map(|unfinished| unfinished.how), newer)
        };
        let newer = |marked: (u64, Option<String>, Option<(String, u64)>)| {
            let (selector, bytes) = marked.2.unwrap();
            assert!(selector.starts_with("app-n4@") && selector.ends_with(".newest"), "{selector}");
            (marked.0, marked.1, bytes)
        };
        for selector in [None, Some("app"), Some(KEY)] {
            assert_eq!(newer(marked(selector)), (1, None, 4004), "{selector:?}");
        }
        let how = Some("the program ended with exit code 1".to_string());
        assert_eq!(marked(Some("app-n4@KIND.newest")), (2, how, None));
    }
}
