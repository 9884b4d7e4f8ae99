//! Removes records together with all that belongs to them, many at once.

use super::Store;
use super::access::{unreadable, unwritable};
use super::entry::Entry;
use super::file_name::ENDING;
use super::footprint::{bytes_of_runs, record_with_runs};
use super::leftovers::{is_older, is_stale};
use super::others::check_folder;
use super::spill;
use crate::base::error::{Error, Result};
use crate::base::file::is_own;
use std::collections::HashSet;
use std::fs;
use std::time::Duration;

/// After so many days, the parts of a job that wait for those of its other nodes are removed.
const DAYS_OF_WAITING: u64 = 30;

/// What was removed of a store.
#[derive(Debug, Default)]
pub struct Collected {
    /// Records.
    pub records: usize,
    /// The bytes of their files.
    pub bytes: u64,
    /// The bytes of what went with them: their other records and their kept orders.
    pub bytes_beside: u64,
    /// Leftovers, rank orders of records that are no longer there, and parts of jobs that waited too long.
    pub leftovers: usize,
    /// Their bytes, without those that are in `bytes_beside`.
    pub leftover_bytes: u64,
    /// Why records could not be removed, one for each of them.
    pub errors: Vec<Error>,
}

impl Store {
    /// Removes the records of these entries with their orders and other records, and leftovers: what an interrupted
    /// write left more than a day ago, rank orders of keys that have no record, and parts of jobs that have waited for
    /// 30 days. With `only_count`, nothing is removed, and the orders of the records that would be removed are not
    /// among the leftovers. The bytes are the same with and without it. Then the entries are believed, which were listed just now:
    /// no record is opened, and no file is asked for but those of records with other records.
    ///
    /// A record that was replaced since it was listed stays. Other records of a key whose record is missing stay: the
    /// record may have been moved aside because it was damaged. The folder of orders is read once, and not once for each
    /// record.
    ///
    /// Errors: the store cannot be read. A record that cannot be removed is among [`Collected::errors`].
    pub fn collect(&self, entries: &[Entry], only_count: bool) -> Result<Collected> {
        let mut done = Collected::default();
        // The names of the records that go, without ending.
        let mut gone = HashSet::new();
        for entry in entries.iter().filter(|_| !only_count) {
            match self.take_away(entry) {
                Ok(Some(beside)) => drop(gone.insert(done.record(entry, beside))),
                Ok(None) => {}
                Err(error) => done.errors.push(error),
            }
        }
        let remove = |file: &fs::DirEntry| {
            let size = file.metadata().map_or(0, |meta| meta.len());
            let goes = is_own(&file.path()) && (only_count || fs::remove_file(file.path()).is_ok());
            goes.then_some(size)
        };
        let failed = |e: std::io::Error| unreadable("cannot read the store", self.directory(), &e);
        let files = match fs::read_dir(self.directory()) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(done),
            files => files.map_err(failed)?,
        };
        // The names of the records that have other records.
        let mut with_runs = HashSet::new();
        for file in files.flatten() {
            let name = file.file_name();
            let Some(name) = name.to_str() else { continue };
            let is_temporary = name.starts_with('.') && name.ends_with(".tmp");
            if is_temporary && is_stale(&file) {
                done.leftover(remove(&file));
            }
            let stem = record_with_runs(name).filter(|_| only_count);
            with_runs.extend(stem.map(str::to_string));
        }
        for entry in entries.iter().filter(|entry| only_count && entry.problem.is_none()) {
            let has_runs = with_runs.contains(stem_of(entry));
            let beside = if has_runs { bytes_of_runs(&entry.path) } else { 0 };
            gone.insert(done.record(entry, beside));
        }
        let orders = self.directory().join(super::kept_orders::FOLDER);
        let files = check_folder(&orders).ok().and_then(|()| fs::read_dir(&orders).ok());
        for file in files.into_iter().flatten().flatten() {
            let name = file.file_name();
            let Some(stem) = name.to_str().and_then(super::kept_orders::stem_of) else { continue };
            match gone.contains(stem) {
                true if only_count => done.bytes_beside += remove(&file).unwrap_or(0),
                true if !self.has_record(stem) => {
                    let removed = remove(&file);
                    done.leftovers += usize::from(removed.is_some());
                    done.bytes_beside += removed.unwrap_or(0);
                }
                false if !self.has_record(stem) => done.leftover(remove(&file)),
                _ => {}
            }
        }
        let waiting = spill::Waiting::of(self).directory().to_path_buf();
        let files = check_folder(&waiting).ok().and_then(|()| fs::read_dir(&waiting).ok());
        for file in files.into_iter().flatten().flatten() {
            let is_parts = file.file_name().as_encoded_bytes().ends_with(b".parts");
            let is_old = match is_parts {
                true => is_older(&file, Duration::from_secs(DAYS_OF_WAITING * 86_400)),
                false => is_stale(&file),
            };
            if is_old {
                done.leftover(remove(&file));
            }
        }
        Ok(done)
    }

    /// Removes the record of an entry with its other records, and gives the bytes of these. `None` if it is not there any
    /// more, or is another one.
    fn take_away(&self, entry: &Entry) -> Result<Option<u64>> {
        let now = Entry::of(entry.path.clone(), stem_of(entry));
        if now.problem.is_some() || now.recorded_at != entry.recorded_at {
            return Ok(None);
        }
        let beside = bytes_of_runs(&entry.path);
        let failed = |e| unwritable("cannot remove the record", &entry.path, &e);
        fs::remove_file(&entry.path).map_err(failed)?;
        self.forget_runs(&entry.path);
        Ok(Some(beside.saturating_sub(bytes_of_runs(&entry.path))))
    }

    fn has_record(&self, stem: &str) -> bool {
        fs::symlink_metadata(self.directory().join(format!("{stem}{ENDING}"))).is_ok()
    }
}

impl Collected {
    /// All bytes that were removed.
    pub fn all_bytes(&self) -> u64 {
        self.bytes + self.bytes_beside + self.leftover_bytes
    }

    /// Counts a record that was removed, and so many bytes that went with it. Returns the name of its file without ending.
    fn record<'a>(&mut self, entry: &'a Entry, beside: u64) -> &'a str {
        self.records += 1;
        self.bytes += entry.size;
        self.bytes_beside += beside;
        stem_of(entry)
    }

    /// Counts a leftover that had so many bytes, if it was removed.
    fn leftover(&mut self, removed: Option<u64>) {
        self.leftovers += usize::from(removed.is_some());
        self.leftover_bytes += removed.unwrap_or(0);
    }
}

/// The name of the file of an entry, without ending.
fn stem_of(entry: &Entry) -> &str {
    entry.path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::{CommMatrix, SparseMatrix};
    use crate::store::{KeptOrder, Record};

    #[test]
    fn all_bytes_that_go_are_counted() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path());
        for key in ["a", "b"] {
            let matrix = CommMatrix::from_point_to_point(SparseMatrix::from_entries(2, &[]));
            store.save(&Record { recorded_at: 1, ..Record::of_matrix(key, matrix) }).unwrap();
            let order = KeptOrder { tasks: 2, process_of_task: vec![1, 0], ..KeptOrder::default() };
            store.keep_order(key, &order).unwrap();
        }
        let runs = dir.path().join("a.runs");
        fs::create_dir_all(&runs).unwrap();
        fs::write(runs.join("other"), [0; 100]).unwrap();
        let same = runs.join("same");
        fs::hard_link(store.path_of("a"), same).unwrap();
        // The record of another order is not there any more.
        fs::remove_file(store.path_of("b")).unwrap();
        let _ = fs::remove_dir_all(dir.path().join("b.runs"));
        let sizes: Vec<u64> = fs::read_dir(dir.path().join("orders"))
            .unwrap()
            .map(|file| file.unwrap().metadata().unwrap().len())
            .collect();
        let mut all = 0;
        for only_count in [true, false] {
            let entries = store.list().unwrap();
            let done = store.collect(&entries, only_count).unwrap();
            assert_eq!((done.records, done.leftovers), (1, if only_count { 1 } else { 2 }));
            assert_eq!(done.bytes, entries[0].size);
            assert_eq!(done.bytes_beside, 100 + sizes[0]);
            assert_eq!(done.leftover_bytes, sizes[1]);
            assert!(all == 0 || all == done.bytes + done.bytes_beside + done.leftover_bytes);
            all = done.bytes + done.bytes_beside + done.leftover_bytes;
        }
        assert!(!runs.exists());
        assert_eq!(fs::read_dir(dir.path().join("orders")).unwrap().count(), 0);
    }

    #[test]
    fn what_belongs_to_a_record_goes_with_it() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path());
        for key in ["a.b", "c"] {
            let matrix = CommMatrix::from_point_to_point(SparseMatrix::from_entries(2, &[]));
            store.save(&Record { recorded_at: 1, ..Record::of_matrix(key, matrix) }).unwrap();
            let order = KeptOrder { tasks: 2, process_of_task: vec![1, 0], ..KeptOrder::default() };
            store.keep_order(key, &order).unwrap();
        }
        let orders = || fs::read_dir(dir.path().join("orders")).unwrap().count();
        let count = |entries: &[Entry], only_count| {
            let done = store.collect(entries, only_count).unwrap();
            assert!(done.errors.is_empty());
            (done.records, done.leftovers)
        };
        assert_eq!(count(&[], false), (0, 0));
        assert_eq!(orders(), 2);
        let entries: Vec<_> =
            store.list().unwrap().into_iter().filter(|e| e.key == "a.b").collect();
        let replaced = Entry { recorded_at: 2, ..entries[0].clone() };
        assert_eq!(count(&[replaced], false), (0, 0), "another launch has replaced it");
        assert_eq!(count(&entries, true), (1, 0));
        assert_eq!(store.list().unwrap().len(), 2);
        assert_eq!(count(&entries, false), (1, 1));
        assert_eq!((orders(), store.list().unwrap().len()), (1, 1));
        let stale = dir.path().join(".c.rkw.1-1-1.tmp");
        fs::write(&stale, b"x").unwrap();
        assert_eq!(count(&[], false), (0, 0), "a write may be under way");
        let long_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(3 * 86_400);
        fs::File::options().write(true).open(&stale).unwrap().set_modified(long_ago).unwrap();
        assert_eq!(count(&[], false), (0, 1));
        let waiting = dir.path().join("unfinished");
        fs::create_dir(&waiting).unwrap();
        for (name, days) in [("7.n1.4.parts", 29), ("8.n1.4.parts", 31), ("8.joining", 2)] {
            fs::write(waiting.join(name), b"x").unwrap();
            let then = std::time::SystemTime::now() - Duration::from_secs(days * 86_400);
            let file = fs::File::options().write(true).open(waiting.join(name)).unwrap();
            file.set_modified(then).unwrap();
        }
        assert_eq!(count(&[], false), (0, 2));
        assert!(waiting.join("7.n1.4.parts").exists());
        // The record was moved aside, because it was damaged. Its other records are not lost.
        let runs = dir.path().join("c.runs");
        fs::create_dir(&runs).unwrap();
        fs::rename(dir.path().join("c.rkw"), dir.path().join("c.rkw.corrupt")).unwrap();
        fs::File::open(&runs).unwrap().set_modified(long_ago).unwrap();
        count(&[], false);
        assert!(runs.exists());
    }
}
