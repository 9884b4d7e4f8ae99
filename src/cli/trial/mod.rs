//! Launches that the commands `check` and `compare` start themselves, several in a row.
//!
//! A [`Series`] is a launch that can be started plain, or with the library and settings of its own.
//! [`execute()`] runs one and waits for it. The records of these launches go to a [`Scratch`] store, so
//! the user's records stay as they are. It is a folder inside the user's store, because the node of rank 0
//! has to see it.

mod execute;
mod node_probe;

pub(super) use node_probe::{
    ProbedNode, STAY as PROBE_STAY, USUAL_LIMIT as PROBE_LIMIT, answer as probe_answer, nodes_of,
};

pub(super) use execute::{End, Streams, TrialRun, execute};

use crate::base::error::{Error, Result};
use crate::cli::arguments::settings::SettingsArgs;
use crate::cli::preload::command::{LaunchCommand, Prepared};
use crate::options::TABLE;
use crate::store::{Past, Record, Store, joined};
use std::cell::RefCell;
use std::collections::HashSet;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Variables of a single launch. They are not passed on from the user's environment.
const OWN: [&str; 2] = ["RANKWEAVE_MODE", "RANKWEAVE_VERBOSE"];

/// A launch that is started several times.
#[derive(Debug)]
pub(super) struct Series {
    launch: Vec<String>,
    /// The launcher, the library, and the variables of the user's environment.
    prepared: Prepared,
    /// Standard input of every run.
    pub(super) stdin: Option<PathBuf>,
    /// Time after which a run is ended.
    pub(super) timeout: Option<Duration>,
}

impl Series {
    /// Errors: there is no such launcher, the library cannot be found, a variable is wrong.
    pub(super) fn new(
        launch: &[String],
        stdin: Option<PathBuf>,
        timeout: Option<Duration>,
    ) -> Result<Series> {
        let mut prepared =
            Prepared::new(launch, &SettingsArgs::default())?.with_what_programs_need(launch);
        prepared.variables.retain(|v| !OWN.contains(&v.0.as_str()));
        let stdin = stdin.or_else(regular_stdin);
        Ok(Series { launch: launch.to_vec(), prepared, stdin, timeout })
    }

    /// Runs it without the library.
    pub(super) fn plain(&self, streams: &Streams) -> Result<TrialRun> {
        // This switches off a library that the user's environment preloads.
        let environment = vec![("RANKWEAVE_MODE".to_string(), "off".to_string())];
        let plan = LaunchCommand { command: self.launch.clone(), environment };
        execute(&plan, &[], self.stdin.as_deref(), streams, self.timeout)
    }

    /// Runs it with the library and these settings. `None` removes a variable.
    pub(super) fn with(
        &self,
        settings: &[(&str, Option<String>)],
        streams: &Streams,
    ) -> Result<TrialRun> {
        let mut variables = self.prepared.variables.clone();
        variables.retain(|v| settings.iter().all(|s| s.0 != v.0));
        let set = settings.iter().filter_map(|(n, v)| Some((n.to_string(), v.clone()?)));
        variables.extend(set);
        let plan = self.prepared.command(&self.launch, &variables)?;
        // The processes of this node would inherit the variables of this process.
        let removed: Vec<&str> = TABLE.iter().map(|option| option.env).collect();
        execute(&plan, &removed, self.stdin.as_deref(), streams, self.timeout)
    }
}

/// Standard input if it is a file, which every run then reads from its start.
fn regular_stdin() -> Option<PathBuf> {
    let link = Path::new("/proc/self/fd/0");
    let is_file = std::fs::metadata(link).is_ok_and(|m| m.is_file());
    if is_file { std::fs::read_link(link).ok() } else { None }
}

/// A store for a few launches, removed at the end.
///
/// A launch puts its record into use or beside the one in use, so the newest record of the store need not be its own.
/// [`Scratch::begin`] remembers the files before a launch, and [`Scratch::newest`] looks for the file that is new.
#[derive(Debug)]
pub(super) struct Scratch {
    directory: tempfile::TempDir,
    /// The files of records before the last launch.
    before: RefCell<HashSet<Stamp>>,
    /// How the launches went whose records were read.
    history: RefCell<Vec<Past>>,
}

/// What tells two versions of a file apart: its path, number, size, and time of change in seconds and nanoseconds.
type Stamp = (PathBuf, u64, u64, i64, i64);

fn stamp(path: &Path) -> Option<Stamp> {
    let meta = std::fs::symlink_metadata(path).ok()?;
    Some((path.into(), meta.ino(), meta.size(), meta.mtime(), meta.mtime_nsec()))
}

impl Scratch {
    /// Makes the store as a directory inside `store`. Errors: the directory cannot be made.
    pub(super) fn inside(store: &Store) -> Result<Scratch> {
        let parent = store.directory();
        std::fs::create_dir_all(parent)
            .and_then(|()| tempfile::Builder::new().prefix(".trial-").tempdir_in(parent))
            .map(|directory| Scratch {
                directory,
                before: RefCell::default(),
                history: RefCell::default(),
            })
            .map_err(|e| {
                Error::io("cannot create a store for these runs", parent, &e)
                    .advise("use --store DIR with a directory you can write to")
            })
    }

    /// The store.
    pub(super) fn store(&self) -> Store {
        Store::open(self.directory.path())
    }

    /// The absolute path, as the value of a variable.
    pub(super) fn path(&self) -> String {
        let path = self.directory.path();
        std::path::absolute(path).unwrap_or_else(|_| path.into()).to_string_lossy().into_owned()
    }

    /// Remembers the records that are there before a launch starts.
    pub(super) fn begin(&self) -> Result<()> {
        let files = self.files()?;
        let stamps = files.iter().flatten().filter_map(|path| stamp(path)).collect();
        self.before.replace(stamps);
        Ok(())
    }

    /// The files of the records in use, and those of the records beside them, each group with the newest first.
    fn files(&self) -> Result<[Vec<PathBuf>; 2]> {
        let store = self.store();
        let entries = store.list()?;
        let beside = entries.iter().flat_map(|entry| store.runs(&entry.key));
        let beside = beside.map(|run| run.path).collect();
        Ok([entries.into_iter().map(|entry| entry.path).collect(), beside])
    }

    /// The record that the launch since [`Self::begin`] left, if it left one. Errors: it cannot be read.
    pub(super) fn newest(&self) -> Result<Option<Record>> {
        let before = self.before.borrow();
        // If a launch replaces the record in use, it may also write the replaced one beside it.
        let files = self.files()?;
        let is_new = |path: &&PathBuf| stamp(path).is_none_or(|stamp| !before.contains(&stamp));
        let Some(path) = files.iter().flatten().find(is_new) else { return Ok(None) };
        let record = crate::store::read_file(path)?;
        let history = joined(&self.history.borrow(), &record.history);
        self.history.replace(history);
        Ok(Some(record))
    }

    /// How the launches went whose records were read, the oldest first.
    pub(super) fn history(&self) -> Vec<Past> {
        self.history.borrow().clone()
    }

    /// Replaces all records by one, which every launch uses. With `chosen` a launch uses it even after launches with
    /// the same arguments have stored theirs.
    pub(super) fn put(&self, record: &Record, chosen: bool) -> Result<()> {
        self.clear()?;
        let store = self.store();
        store.save(record)?;
        if chosen { store.choose_imported(record) } else { Ok(()) }
    }

    fn clear(&self) -> Result<()> {
        for path in self.files()?.into_iter().flatten() {
            // If a file stays, the next launch still replaces it or leaves a newer one.
            let _ = std::fs::remove_file(path);
        }
        Ok(())
    }

    /// Removes all records and returns [`Scratch::newest`], so that it is not taken for the record of the next
    /// launch.
    pub(super) fn take(&self) -> Result<Option<Record>> {
        let record = self.newest()?;
        self.clear()?;
        Ok(record)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::{CommMatrix, SparseMatrix, Traffic};

    /// A record of a program that sends `bytes` from rank 0 to rank 1, with this number as its argument.
    fn sent(bytes: u64) -> Record {
        let entry = (0, 1, Traffic { bytes, messages: 1 });
        let matrix = SparseMatrix::from_entries(2, &[entry]);
        let matrix = CommMatrix::from_point_to_point(matrix);
        let command = vec!["./app".to_string(), bytes.to_string()];
        Record { command, recorded_at: 5, ..Record::of_matrix("app", matrix) }
    }

    #[test]
    fn the_record_of_a_launch_is_its_own_even_if_another_stays_in_use() {
        let dir = tempfile::tempdir().unwrap();
        let scratch = Scratch::inside(&Store::open(dir.path())).unwrap();
        assert_eq!(scratch.newest().unwrap(), None);
        scratch.put(&sent(1_000_000), false).unwrap();
        scratch.begin().unwrap();
        assert_eq!(scratch.newest().unwrap(), None, "no launch was made");
        // The poorer record is stored beside the one in use, and the richer one replaces it.
        for bytes in [1000, 2_000_000] {
            scratch.begin().unwrap();
            scratch.store().save_soon(&sent(bytes)).unwrap();
            assert_eq!(scratch.newest().unwrap().unwrap().command, sent(bytes).command);
        }
        assert_eq!(scratch.take().unwrap().unwrap().command, sent(2_000_000).command);
        assert_eq!(scratch.newest().unwrap(), None, "all are removed");
    }
}
