//! How many bytes go with a record if it is removed: those of its other runs and of its kept orders.
//!
//! The names in the store and in its folder of orders are read once. The folder of the runs of a record is read only when
//! somebody asks for this record.

use super::file_name::ENDING;
use super::others::check_folder;
use super::{Store, kept_orders, runs};
use std::collections::{HashMap, HashSet};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// What belongs to the records of a store beside their files.
#[derive(Debug, Default)]
pub struct Footprints {
    /// Names without ending of the records that have a folder of runs.
    with_runs: HashSet<String>,
    /// The kept orders of each record, by its name without ending.
    orders: HashMap<String, Vec<PathBuf>>,
}

impl Store {
    /// What belongs to the records. What cannot be read counts nothing.
    pub fn footprints(&self) -> Footprints {
        let mut all = Footprints::default();
        for file in fs::read_dir(self.directory()).into_iter().flatten().flatten() {
            let name = file.file_name();
            let stem = name.to_str().and_then(record_with_runs);
            all.with_runs.extend(stem.map(str::to_string));
        }
        let orders = self.directory().join(kept_orders::FOLDER);
        let files = check_folder(&orders).ok().and_then(|()| fs::read_dir(&orders).ok());
        for file in files.into_iter().flatten().flatten() {
            let name = file.file_name();
            if let Some(stem) = name.to_str().and_then(kept_orders::stem_of) {
                all.orders.entry(stem.to_string()).or_default().push(file.path());
            }
        }
        all
    }
}

impl Footprints {
    /// The bytes of what goes with the record in this file. A run that is the same file as the record counts nothing.
    pub fn beside(&self, record: &Path) -> u64 {
        let name = record.file_name().and_then(|name| name.to_str());
        let Some(stem) = name.and_then(|name| name.strip_suffix(ENDING)) else { return 0 };
        let orders = self.orders.get(stem).into_iter().flatten();
        let orders: u64 = orders.filter_map(|path| file_of(path)).map(|meta| meta.len()).sum();
        let runs = if self.with_runs.contains(stem) { bytes_of_runs(record) } else { 0 };
        orders + runs
    }
}

/// The name without ending of the record whose other records are in a folder with this name.
pub(super) fn record_with_runs(folder: &str) -> Option<&str> {
    folder.strip_suffix(runs::FOLDER)?.strip_suffix('.')
}

/// The bytes of the other records of the record in this file. One that is the same file as the record counts nothing.
pub(super) fn bytes_of_runs(record: &Path) -> u64 {
    let folder = record.with_extension(runs::FOLDER);
    if check_folder(&folder).is_err() {
        return 0;
    }
    let place = |meta: &fs::Metadata| (meta.dev(), meta.ino());
    let own = file_of(record).as_ref().map(place);
    let files = fs::read_dir(&folder).into_iter().flatten().flatten();
    let files = files.filter_map(|file| file_of(&file.path()));
    files.filter(|meta| Some(place(meta)) != own).map(|meta| meta.len()).sum()
}

/// What is known of a file; `None` if there is no such file.
fn file_of(path: &Path) -> Option<fs::Metadata> {
    fs::symlink_metadata(path).ok().filter(fs::Metadata::is_file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::{CommMatrix, SparseMatrix};
    use crate::store::{KeptOrder, Record};

    #[test]
    fn runs_and_orders_count() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path());
        for key in ["a.b", "c"] {
            let matrix = CommMatrix::from_point_to_point(SparseMatrix::from_entries(2, &[]));
            store.save(&Record { recorded_at: 1, ..Record::of_matrix(key, matrix) }).unwrap();
        }
        let path = store.path_of("a.b");
        assert_eq!(store.footprints().beside(&path), 0);
        let order = KeptOrder { tasks: 2, process_of_task: vec![1, 0], ..KeptOrder::default() };
        store.keep_order("a.b", &order).unwrap();
        let file = fs::read_dir(dir.path().join("orders")).unwrap().flatten().next().unwrap();
        let of_order = file.metadata().unwrap().len();
        assert_eq!(store.footprints().beside(&path), of_order);
        let runs = dir.path().join("a.b.runs");
        fs::create_dir(&runs).unwrap();
        fs::write(runs.join("one"), [0; 100]).unwrap();
        fs::hard_link(&path, runs.join("same")).unwrap();
        assert_eq!(store.footprints().beside(&path), of_order + 100);
        assert_eq!(store.footprints().beside(&store.path_of("c")), 0);
        assert_eq!(store.footprints().beside(&store.path_of("none")), 0);
    }
}
