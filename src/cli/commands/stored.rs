//! `rankweave use` and `rankweave rm`: the choice of a record, and its removal.

use crate::base::error::{Error, ErrorKind, Result};
use crate::cli::arguments::selection::StoreArgs;
use crate::cli::console::Exit;

/// Remove records from the store
#[derive(Debug, clap::Args)]
pub struct RemoveArgs {
    /// Keys of 'rankweave list', unique beginnings of keys, or KEY@RUN of 'rankweave list --all'
    ///
    /// A key removes its record in use, its other records, and the rank orders that were kept for them.
    /// KEY@RUN removes this record only.
    #[arg(value_name = "SELECTOR", required = true)]
    selectors: Vec<String>,

    #[command(flatten)]
    store: StoreArgs,
}

impl RemoveArgs {
    pub(in crate::cli) fn execute(self) -> Result<Exit> {
        let store = self.store.open()?;
        // All selectors are looked up first, so that nothing is removed if one of them is wrong.
        for selector in &self.selectors {
            store.find_stored(selector)?;
        }
        for selector in &self.selectors {
            let path = store.remove(selector)?;
            eprintln!("rankweave: removed {}", path.display());
        }
        Ok(Exit::Done)
    }
}

/// Choose the record that launches of a program use
///
/// Without a choice, a launch uses a record with the same arguments and the same MPI library: the newest
/// one, or the richest one if the newest has less than half of its bytes or pairs. If there is none, the
/// launch uses the record that 'rankweave list' shows, or the richest of all by the same rule.
#[derive(Debug, clap::Args)]
pub struct UseArgs {
    /// KEY@RUN of 'rankweave list --all' chooses this record; KEY alone cancels the choice
    #[arg(value_name = "SELECTOR")]
    selector: String,

    #[command(flatten)]
    store: StoreArgs,
}

impl UseArgs {
    pub(in crate::cli) fn execute(self) -> Result<Exit> {
        let store = self.store.open()?;
        let unknown = || {
            Error::new(ErrorKind::NotFound, format!("there is no record '{}'", self.selector))
                .at(store.directory().display())
                .advise("take a name from 'rankweave list --all'")
        };
        let is_key = |key: &str| store.path_of(key).exists() || !store.runs(key).is_empty();
        if is_key(&self.selector) {
            store.choose_run(&self.selector, None)?;
            eprintln!(
                "rankweave: no record is chosen for {}: each launch uses the one that fits its arguments",
                self.selector
            );
            return Ok(Exit::Done);
        }
        let (key, run) = self.selector.rsplit_once('@').ok_or_else(unknown)?;
        if !is_key(key) {
            return Err(unknown());
        }
        store.choose_run(key, Some(run))?;
        eprintln!(
            "rankweave: all launches of {key} use this record; 'rankweave use {key}' cancels this choice"
        );
        Ok(Exit::Done)
    }
}
