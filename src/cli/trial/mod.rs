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
use crate::store::{Record, Store};
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
    stdin: Option<PathBuf>,
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
#[derive(Debug)]
pub(super) struct Scratch {
    directory: tempfile::TempDir,
}

impl Scratch {
    /// Makes the store as a directory inside `store`. Errors: the directory cannot be made.
    pub(super) fn inside(store: &Store) -> Result<Scratch> {
        let parent = store.directory();
        std::fs::create_dir_all(parent)
            .and_then(|()| tempfile::Builder::new().prefix(".trial-").tempdir_in(parent))
            .map(|directory| Scratch { directory })
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

    /// The record that the last launch left, if it left one. Errors: it cannot be read.
    pub(super) fn newest(&self) -> Result<Option<Record>> {
        let entries = self.store().list()?;
        entries.first().map(|entry| crate::store::read_file(&entry.path)).transpose()
    }

    /// Removes all records and returns [`Scratch::newest`], so that it is not taken for the record of the next
    /// launch.
    pub(super) fn take(&self) -> Result<Option<Record>> {
        let record = self.newest()?;
        for entry in self.store().list()? {
            // If a file stays, the next launch still replaces it or leaves a newer one.
            let _ = std::fs::remove_file(&entry.path);
        }
        Ok(record)
    }
}
