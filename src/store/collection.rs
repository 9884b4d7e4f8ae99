//! Removes records together with all that belongs to them, many at once.

use super::Store;
use super::access::{unreadable, unwritable};
use super::entry::Entry;
use super::file_name::ENDING;
use super::leftovers::{is_older, is_stale};
use super::others::check_folder;
use super::spill;
use crate::base::error::{Error, Result};
use crate::base::file::is_own;
use std::fs;
use std::time::Duration;

/// After so many days, the parts of a job that wait for those of its other nodes are removed.
const DAYS_OF_WAITING: u64 = 30;

/// What was removed of a store.
#[derive(Debug, Default)]
pub struct Collected {
    /// Records.
    pub records: usize,
    /// Their bytes.
    pub bytes: u64,
    /// Leftovers, rank orders of records that are no longer there, and parts of jobs that waited too long.
    pub leftovers: usize,
    /// Why records could not be removed, one for each of them.
    pub errors: Vec<Error>,
}

impl Store {
    /// Removes the records of these entries with their orders and other records, and leftovers: what an interrupted
    /// write left more than a day ago, rank orders of keys that have no record, and parts of jobs that have waited for
    /// 30 days. With `only_count`, nothing is removed, and the orders of the records that would be removed are not
    /// counted.
    ///
    /// A record that was replaced since it was listed stays. Other records of a key whose record is missing stay: the
    /// record may have been moved aside because it was damaged. The folder of orders is read once, and not once for each
    /// record.
    ///
    /// Errors: the store cannot be read. A record that cannot be removed is among [`Collected::errors`].
    pub fn collect(&self, entries: &[Entry], only_count: bool) -> Result<Collected> {
        let mut done = Collected::default();
        for entry in entries {
            match self.take_away(entry, only_count) {
                Ok(true) => {
                    done.records += 1;
                    done.bytes += entry.size;
                }
                Ok(false) => {}
                Err(error) => done.errors.push(error),
            }
        }
        let remove = |file: &fs::DirEntry| {
            let is_ours = is_own(&file.path());
            is_ours && (only_count || fs::remove_file(file.path()).is_ok())
        };
        let failed = |e: std::io::Error| unreadable("cannot read the store", self.directory(), &e);
        let files = match fs::read_dir(self.directory()) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(done),
            files => files.map_err(failed)?,
        };
        for file in files.flatten() {
            let name = file.file_name();
            let Some(name) = name.to_str() else { continue };
            let is_temporary = name.starts_with('.') && name.ends_with(".tmp");
            done.leftovers += usize::from(is_temporary && is_stale(&file) && remove(&file));
        }
        let orders = self.directory().join(super::kept_orders::FOLDER);
        let files = check_folder(&orders).ok().and_then(|()| fs::read_dir(&orders).ok());
        for file in files.into_iter().flatten().flatten() {
            let name = file.file_name();
            let stem = name.to_str().and_then(super::kept_orders::stem_of);
            let is_orphan = stem.is_some_and(|stem| !self.has_record(stem));
            done.leftovers += usize::from(is_orphan && remove(&file));
        }
        let waiting = spill::Waiting::of(self).directory().to_path_buf();
        let files = check_folder(&waiting).ok().and_then(|()| fs::read_dir(&waiting).ok());
        for file in files.into_iter().flatten().flatten() {
            let is_parts = file.file_name().as_encoded_bytes().ends_with(b".parts");
            let is_old = match is_parts {
                true => is_older(&file, Duration::from_secs(DAYS_OF_WAITING * 86_400)),
                false => is_stale(&file),
            };
            done.leftovers += usize::from(is_old && remove(&file));
        }
        Ok(done)
    }

    /// Removes the record of an entry. `false` if it is not there any more, or is another one.
    fn take_away(&self, entry: &Entry, only_count: bool) -> Result<bool> {
        let stem = entry.path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        let now = Entry::of(entry.path.clone(), stem);
        if now.problem.is_some() || now.recorded_at != entry.recorded_at {
            return Ok(false);
        }
        if only_count {
            return Ok(true);
        }
        let failed = |e| unwritable("cannot remove the record", &entry.path, &e);
        fs::remove_file(&entry.path).map_err(failed)?;
        self.forget_runs(&entry.path);
        Ok(true)
    }

    fn has_record(&self, stem: &str) -> bool {
        fs::symlink_metadata(self.directory().join(format!("{stem}{ENDING}"))).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::{CommMatrix, SparseMatrix};
    use crate::store::{KeptOrder, Record};

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
