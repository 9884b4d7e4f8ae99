//! The record that all launches of a key use, because the user chose it with `rankweave use` or imported it.
//!
//! The file `KEY.runs/chosen` has the name of the file of the run. Without it each launch uses the record that
//! fits. An empty file means the same. It also means that an imported matrix in use is not preferred any more.

use super::access::unwritable;
use super::others::check_folder;
use super::sharing::create_folder;
use super::{LaunchMode, Record, Run, Standing, Store};
use crate::base::error::{Error, ErrorKind, Result};
use std::fs;
use std::path::{Path, PathBuf};

/// The file in the folder of runs.
const CHOSEN: &str = "chosen";
/// The most bytes in it.
const LONGEST: u64 = 256;

impl Store {
    fn choice_path(&self, key: &str) -> PathBuf {
        self.runs_folder(key).join(CHOSEN)
    }

    /// The content of the file of the choice. It is empty if the user cancelled the choice. `None` if there is no
    /// file, or if the file cannot be read.
    fn choice(&self, key: &str) -> Option<String> {
        check_folder(&self.runs_folder(key)).ok()?;
        let bytes = crate::base::file::read(&self.choice_path(key), LONGEST).ok()?;
        String::from_utf8(bytes).ok()
    }

    /// The run that launches use because the user chose or imported it.
    pub fn chosen_run(&self, key: &str) -> Option<Run> {
        let stem = self.choice(key)?;
        self.runs(key).into_iter().find(|run| run.stem() == stem)
    }

    /// Whether the user has chosen a record, or cancelled a choice.
    pub(super) fn was_asked(&self, key: &str) -> bool {
        self.choice(key).is_some()
    }

    /// Chooses the run that launches use. With the name `None`, each launch chooses for itself.
    ///
    /// Errors: there is no such run; I/O errors.
    pub fn choose_run(&self, key: &str, name: Option<&str>) -> Result<()> {
        check_folder(&self.runs_folder(key))?;
        let Some(name) = name else { return self.cancel_choice(key) };
        let Some(run) = self.run_named(key, name) else {
            return Err(Error::new(ErrorKind::NotFound, format!("{key} has no run '{name}'"))
                .at(self.directory().display())
                .advise("give a run of 'rankweave list --all'"));
        };
        self.choose_file(key, &run.path)
    }

    fn cancel_choice(&self, key: &str) -> Result<()> {
        let path = self.choice_path(key);
        let in_use = self.load(key).ok().flatten();
        if in_use.is_some_and(|record| record.launch.mode == LaunchMode::Import) {
            let folder = self.runs_folder(key);
            create_folder(&folder)
                .map_err(|e| unwritable("cannot create the folder of runs", &folder, &e))?;
            return self.write(&path, b"", true, &|| false).map(|_| ());
        }
        match fs::remove_file(&path) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                Err(unwritable("cannot remove the choice", &path, &e))
            }
            _ => Ok(()),
        }
    }

    /// Cancels the choice of a run that the user has removed: the same record may come back under the same name.
    pub(super) fn forget_choice(&self, selector: &str, run: &Path) {
        let key = selector.rsplit_once('@').map_or(selector, |(key, _)| key);
        let is_chosen = |stem: String| run.file_stem().is_some_and(|own| *own == *stem);
        if self.choice(key).is_some_and(is_chosen) {
            // If the choice cannot be cancelled, it names a run that does not exist, which has no effect.
            let _ = self.cancel_choice(key);
        }
    }

    /// Chooses the run in a file of the folder.
    pub(super) fn choose_file(&self, key: &str, run: &Path) -> Result<()> {
        let stem = run.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        self.write(&self.choice_path(key), stem.as_bytes(), true, &|| false).map(|_| ())
    }

    /// Keeps an imported record among the runs of its key and chooses it.
    ///
    /// Errors: I/O errors; each launch then uses the record that fits.
    pub fn choose_imported(&self, record: &Record) -> Result<()> {
        let bytes = super::encode(record)?;
        let run = self.keep_run(&record.key, &Standing::of(record), &bytes, true)?;
        self.choose_file(&record.key, &run)
    }
}
