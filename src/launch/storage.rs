//! Where the record of this launch is stored, and what is stored there already.

use super::Message;
use crate::base::error::{Error, ErrorKind, Result};
use crate::base::nouns::counted;
use crate::options::{Settings, Spill};
use crate::store::spill::candidates;
use crate::store::{Fitting, Record, RefusedRecords, Store};
use std::time::Duration;

/// Where the record of a launch is stored.
#[derive(Debug, Clone)]
pub enum Storage {
    /// In the store.
    Store(Store),
    /// It waits on this node, because the record in the store cannot be read and must not be replaced. The
    /// error is the reason.
    Waits(Store, Error),
    /// Nowhere. The user was told so.
    Nowhere,
}

/// What is stored under the key of a launch.
#[derive(Debug)]
pub(super) struct StoreLookup {
    pub storage: Storage,
    /// The record, if it is of this number of tasks and has the rows of all of them, and why it fits.
    pub fitting: Option<Fitting>,
    /// What is wrong, for the user.
    pub message: Option<Message>,
}

/// What it means that there is no store.
const NOTHING_STORED: &str =
    "this launch has no matrix for a new rank order, and its record is not stored";

impl StoreLookup {
    /// Looks for the record of a job of `tasks` tasks under a key that fits a launch of this `kind` (the hash
    /// of its arguments and MPI library). `spill` says whether records may wait
    /// on the node.
    pub fn look(
        store: Result<Store>,
        key: &str,
        tasks: usize,
        kind: u32,
        spill: &Spill,
    ) -> StoreLookup {
        let found = |storage, fitting, message| StoreLookup { storage, fitting, message };
        let store = match store {
            Ok(store) => store,
            Err(error) => {
                let message = Message::from(&error).meaning(NOTHING_STORED);
                return found(Storage::Nowhere, None, Some(message));
            }
        };
        match store.load(key) {
            Ok(Some(record)) if record.matrix.tasks() != tasks => {
                let message = Message::new(format!(
                    "the matrix stored under {key} (in {}) has {}, but this job has {tasks}",
                    store.path_of(key).display(),
                    counted(record.matrix.tasks(), "task")
                ))
                .meaning("this launch neither uses nor replaces it, and stores nothing")
                .advice(
                    "use another key (--key or RANKWEAVE_KEY), or neither of them for the default key",
                );
                found(Storage::Nowhere, None, Some(message))
            }
            Ok(in_use) => {
                // Without a record that has all rows this launch only records.
                let fitting =
                    in_use.and_then(|record| store.fitting_beside(key, tasks, kind, Some(record)));
                found(Storage::Store(store), fitting, None)
            }
            Err(error) => {
                // The advice of a reader is for people who read the file. Here it is moved out of the way.
                let message = match error.kind() {
                    ErrorKind::Format => Message::new(error.problem()),
                    _ => Message::from(&error),
                };
                let stays = matches!(error.kind(), ErrorKind::NewerVersion | ErrorKind::Io);
                let fitting = store.fitting_beside(key, tasks, kind, None);
                let (storage, meaning) = match spill {
                    _ if !stays && fitting.is_some() => {
                        (Storage::Store(store), "the damaged file is kept under another name")
                    }
                    _ if !stays => (
                        Storage::Store(store),
                        "the damaged file is kept under another name, and this launch records a new matrix",
                    ),
                    Spill::Off => (Storage::Nowhere, "the record of this launch is not stored"),
                    _ => (
                        Storage::Waits(store, error),
                        "the record of this launch will wait on this node until 'rankweave recover' \
                         stores it",
                    ),
                };
                let used = match fitting {
                    Some(_) => "this launch uses the matrix of another stored launch; ",
                    None if stays => "this launch has no matrix for a new rank order; ",
                    None => "",
                };
                let meaning = format!("{used}{meaning}");
                found(storage, fitting, Some(message.meaning(meaning)))
            }
        }
    }
}

impl Storage {
    /// The store of the settings, else the default one of the user.
    ///
    /// Errors: no directory for it is known.
    pub fn open(settings: &Settings) -> Result<Store> {
        settings.store.clone().map_or_else(Store::default_dir, Ok).map(Store::open)
    }

    /// The store, if the record goes into it.
    pub fn store(&self) -> Option<&Store> {
        match self {
            Storage::Store(store) => Some(store),
            Storage::Waits(..) | Storage::Nowhere => None,
        }
    }

    /// The full path of the store; empty if the record does not go into one.
    pub fn directory(&self) -> String {
        let Some(path) = self.store().map(Store::directory) else { return String::new() };
        std::path::absolute(path).unwrap_or_else(|_| path.into()).to_string_lossy().into_owned()
    }

    /// Whether a launch leaves no record, because it ran for less than `shortest` and is the first one of its key.
    pub(super) fn leaves_out(&self, record: &Record, shortest: Option<Duration>) -> bool {
        let Some(shortest) = shortest else { return false };
        let is_new = |store: &Store| !store.path_of(&record.key).exists();
        record.launch.wall_seconds < shortest.as_secs_f64() && self.store().is_some_and(is_new)
    }

    /// Stores a record. A record that the store refuses waits on the node, if `spill` allows files there; they
    /// belong to `user`. Returns a message if the record is not in the store, and whether it is stored or
    /// waits, so that the counters of the processes are not needed any more.
    pub fn keep(&self, record: &Record, spill: &Spill, user: u32) -> (Option<Message>, bool) {
        let (store, problem) = match self {
            Storage::Store(store) => match store.save_soon(record) {
                Ok(_) => return (None, true),
                Err(problem) => (store, problem),
            },
            Storage::Waits(store, problem) => (store, problem.clone()),
            Storage::Nowhere => return (None, true),
        };
        let kept = keep_on_node(record, store, spill, user);
        let waits = kept.is_ok();
        let (Ok(meaning) | Err(meaning)) = kept;
        (Some(Message::from(&problem).meaning(meaning)), waits)
    }
}

/// Keeps a record that the store refused on the node. Returns what becomes of it, for a message; as an error if
/// it is kept nowhere.
fn keep_on_node(
    record: &Record,
    store: &Store,
    spill: &Spill,
    user: u32,
) -> std::result::Result<String, String> {
    let directories = match spill {
        Spill::Off => Vec::new(),
        _ => candidates(spill.directory()),
    };
    let mut reason = None;
    for directory in directories {
        // The user may type the command in any directory.
        let directory = std::path::absolute(&directory).unwrap_or(directory);
        match RefusedRecords::of(&directory, user).keep(record, store) {
            Ok(path) => {
                return Ok(format!(
                    "the matrix of this launch waits on this node, in {}, until it is stored from \
                     here with: rankweave recover {}",
                    path.display(),
                    directory.display()
                ));
            }
            Err(error) => reason = Some(error.problem()),
        }
    }
    let what = "the matrix of this launch is not stored";
    Err(match (spill, reason) {
        (Spill::Off, _) => {
            format!("{what}, and it cannot wait on this node, because --spill is off")
        }
        (_, reason) => {
            let reason = reason.map(|reason| format!(" ({reason})")).unwrap_or_default();
            format!(
                "{what}, and it cannot wait on this node{reason}; the spill files of its processes stay on their \
                 nodes until 'rankweave recover' stores them"
            )
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::{CommMatrix, SparseMatrix, Traffic};
    use crate::store::Fit;

    fn record(argument: &str, at: u64) -> Record {
        let entries = [(0, 1, Traffic { bytes: 4000, messages: 1 })];
        let matrix = CommMatrix::from_point_to_point(SparseMatrix::from_entries(2, &entries));
        let mut record = Record::of_matrix("k", matrix);
        record.command = vec!["app".into(), argument.into()];
        record.recorded_at = at;
        record
    }

    #[test]
    fn a_launch_whose_record_is_damaged_uses_another_one_and_says_so() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path());
        for at in 1..4 {
            store.save_soon(&record("a", at)).unwrap();
        }
        std::fs::write(store.path_of("k"), "damaged").unwrap();
        let kind = crate::store::Standing::of(&record("a", 0)).kind;
        let look = || StoreLookup::look(Ok(store.clone()), "k", 2, kind, &Spill::Off);
        let found = look();
        assert_eq!(found.fitting.map(|f| (f.fit, f.record.recorded_at)), Some((Fit::SameKind, 2)));
        let said = found.message.unwrap().to_string();
        assert!(said.contains("this launch uses the matrix of another stored launch"), "{said}");
        for run in store.runs("k") {
            std::fs::write(run.path, "damaged").unwrap();
        }
        let found = look();
        assert!(found.fitting.is_none());
        let said = found.message.unwrap().to_string();
        assert!(said.contains("this launch records a new matrix"), "{said}");
    }
}
