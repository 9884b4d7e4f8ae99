//! Removes records together with all that belongs to them, many at once.

use super::Store;
use super::directory::{ENDING, is_stale};
use super::others::check_folder;
use crate::base::error::Result;
use crate::base::file::is_own;
use std::fs;
use std::path::Path;

impl Store {
    /// Removes the records of these entries with their orders and other records, and leftovers: what an interrupted
    /// write left more than a day ago, and what belongs to keys that no longer exist. Returns the number of leftovers.
    /// With `only_count`, nothing is removed, and only leftovers that are there without the removal are counted.
    ///
    /// What another process removes at the same time, or what may not be removed, is passed over. The folders of
    /// orders and runs are read once, and not once for each record.
    pub fn collect(&self, entries: &[super::Entry], only_count: bool) -> Result<usize> {
        if !only_count {
            for entry in entries.iter().filter(|e| e.path.parent() == Some(self.directory())) {
                if fs::remove_file(&entry.path).is_ok() {
                    self.forget_runs(&entry.path);
                }
            }
        }
        let mut leftovers = 0;
        let mut remove = |path: &Path, is_folder: bool| {
            let removed = || match is_folder {
                true => fs::remove_dir_all(path).is_ok(),
                false => fs::remove_file(path).is_ok(),
            };
            leftovers += usize::from(only_count || removed());
        };
        let Ok(files) = fs::read_dir(self.directory()) else { return Ok(0) };
        for file in files.flatten() {
            let name = file.file_name();
            let Some(name) = name.to_str() else { continue };
            let is_temporary = name.starts_with('.') && name.ends_with(".tmp");
            if is_temporary && is_stale(&file) && is_own(&file.path()) {
                remove(&file.path(), false);
            } else if let Some(stem) = name.strip_suffix(".runs")
                && !self.has_record(stem)
                && is_stale(&file)
                && is_own(&file.path())
            {
                remove(&file.path(), true);
            }
        }
        let orders = self.directory().join(super::kept_orders::FOLDER);
        let files = check_folder(&orders).ok().and_then(|()| fs::read_dir(&orders).ok());
        for file in files.into_iter().flatten().flatten() {
            let name = file.file_name();
            let Some(name) = name.to_str() else { continue };
            // KEY.NUMBER.order
            let stem = name.strip_suffix(".order").and_then(|name| name.rsplit_once('.'));
            if let Some((stem, _)) = stem
                && !self.has_record(stem)
                && is_own(&file.path())
            {
                remove(&file.path(), false);
            }
        }
        Ok(leftovers)
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
        assert_eq!(store.collect(&[], false).unwrap(), 0);
        assert_eq!(orders(), 2);
        let entries: Vec<_> =
            store.list().unwrap().into_iter().filter(|e| e.key == "a.b").collect();
        assert_eq!(store.collect(&entries, true).unwrap(), 0);
        assert_eq!(store.list().unwrap().len(), 2);
        assert_eq!(store.collect(&entries, false).unwrap(), 1);
        assert_eq!((orders(), store.list().unwrap().len()), (1, 1));
        let stale = dir.path().join(".c.rkw.1-1-1.tmp");
        fs::write(&stale, b"x").unwrap();
        assert_eq!(store.collect(&[], false).unwrap(), 0, "a write may be under way");
        let long_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(3 * 86_400);
        fs::File::options().write(true).open(&stale).unwrap().set_modified(long_ago).unwrap();
        assert_eq!(store.collect(&[], false).unwrap(), 1);
    }
}
