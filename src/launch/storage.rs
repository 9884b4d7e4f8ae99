//! Where the record of this launch goes, and what is stored there already.

use super::Message;
use crate::base::error::{ErrorKind, Result};
use crate::options::{Settings, Spill};
use crate::store::spill::candidates;
use crate::store::{Record, RefusedRecords, Store};

/// Where the record of a launch goes.
#[derive(Debug, Clone)]
pub enum Storage {
    /// Into the store.
    Store(Store),
    /// It waits on this node, because the record in its place cannot be read and stays: for this problem.
    Waits(Store, String),
    /// Nowhere, and that was said.
    Nowhere,
}

/// What is stored under the key of a launch.
#[derive(Debug)]
pub(super) struct StoreLookup {
    pub storage: Storage,
    /// The record, if it is of this number of tasks and has the rows of all of them.
    pub record: Option<Record>,
    /// What is wrong, for the user.
    pub message: Option<Message>,
}

impl StoreLookup {
    /// Looks for the record of `tasks` tasks under a key. `spill` says whether records may wait on the
    /// node.
    pub fn look(store: Result<Store>, key: &str, tasks: usize, spill: &Spill) -> StoreLookup {
        let found = |storage, record, message| StoreLookup { storage, record, message };
        let store = match store {
            Ok(store) => store,
            Err(error) => {
                let message = Message::new(error.to_string()).meaning("nothing is stored");
                return found(Storage::Nowhere, None, Some(message));
            }
        };
        match store.load(key) {
            Ok(None) => found(Storage::Store(store), None, None),
            Ok(Some(record)) if record.matrix.tasks() == tasks => {
                // Where rows are missing it is better to record anew.
                let record = Some(record).filter(Record::has_all_tasks);
                found(Storage::Store(store), record, None)
            }
            Ok(Some(record)) => {
                let message = Message::new(format!(
                    "the matrix stored under {key} (in {}) has {} tasks, but this job has {tasks}",
                    store.path_of(key).display(),
                    record.matrix.tasks()
                ))
                .meaning("this launch neither uses nor replaces it, and stores nothing")
                .advice("another key (RANKWEAVE_KEY), or the default key, without RANKWEAVE_KEY");
                found(Storage::Nowhere, None, Some(message))
            }
            Err(error) => {
                let stays = matches!(error.kind(), ErrorKind::NewerVersion | ErrorKind::Io);
                let (storage, meaning) = match spill {
                    _ if !stays => {
                        (Storage::Store(store), "it is kept aside and this launch records anew")
                    }
                    Spill::Off => (Storage::Nowhere, "nothing is stored in this launch"),
                    _ => (
                        Storage::Waits(store, error.to_string()),
                        "the record of this launch will wait on this node until 'rankweave recover' stores it",
                    ),
                };
                let message = Message::new(error.to_string()).meaning(meaning);
                found(storage, None, Some(message))
            }
        }
    }
}

impl Storage {
    /// The store of the settings, else the user's own.
    ///
    /// Errors: no place for it is known.
    pub fn open(settings: &Settings) -> Result<Store> {
        settings.store.clone().map_or_else(Store::default_dir, Ok).map(Store::open)
    }

    /// The store, where the record goes into it.
    pub fn store(&self) -> Option<&Store> {
        match self {
            Storage::Store(store) => Some(store),
            Storage::Waits(..) | Storage::Nowhere => None,
        }
    }

    /// The full path of the store; empty where the record does not go into one.
    pub fn directory(&self) -> String {
        let Some(path) = self.store().map(Store::directory) else { return String::new() };
        std::path::absolute(path).unwrap_or_else(|_| path.into()).to_string_lossy().into_owned()
    }

    /// Puts a record where it goes; what the store refuses waits on the node, where `spill` allows files
    /// of `user`. Says what did not work.
    pub fn keep(&self, record: &Record, spill: &Spill, user: u32) -> Option<Message> {
        match self {
            Storage::Store(store) => {
                let error = store.save_soon(record).err()?;
                Some(keep_on_node(record, store, &error.to_string(), (spill, user)))
            }
            Storage::Waits(store, problem) => {
                Some(keep_on_node(record, store, problem, (spill, user)))
            }
            Storage::Nowhere => None,
        }
    }
}

/// Keeps a record that the store refused for this problem on the node.
fn keep_on_node(
    record: &Record,
    store: &Store,
    problem: &str,
    (spill, user): (&Spill, u32),
) -> Message {
    let directories = match spill {
        Spill::Off => Vec::new(),
        _ => candidates(spill.directory()),
    };
    let mut reason = "RANKWEAVE_SPILL is off".to_string();
    for directory in directories {
        // For a command that is typed anywhere.
        let directory = std::path::absolute(&directory).unwrap_or(directory);
        match RefusedRecords::of(&directory, user).keep(record, store) {
            Ok(path) => {
                return Message::new(problem).meaning(format!(
                    "the matrix of this launch waits on this node, in {}; when the store can be \
                     written, run on this node: rankweave recover {}",
                    path.display(),
                    directory.display()
                ));
            }
            Err(error) => reason = error.to_string(),
        }
    }
    Message::new(problem).meaning(format!("the matrix of this launch is not stored ({reason})"))
}
