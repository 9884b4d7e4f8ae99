//! `rankweave list` and `rankweave rm`: what is in the store.

use crate::base::error::Result;
use crate::cli::arguments::selection::StoreArgs;
use crate::cli::console::{Exit, output};
use crate::report::units;
use crate::store::{Entry, Finding, Store, program_of_key};
use serde_json::json;

/// List the records in the store, the newest first
#[derive(Debug, clap::Args)]
pub struct ListArgs {
    #[command(flatten)]
    store: StoreArgs,

    /// Print the list as JSON
    #[arg(long)]
    json: bool,
}

impl ListArgs {
    pub(in crate::cli) fn execute(self) -> Result<Exit> {
        let store = self.store.open()?;
        let entries = store.list()?;
        if self.json {
            let records: Vec<_> = entries.iter().map(|e| entry_json(&store, e)).collect();
            let place = store.directory().display().to_string();
            output::print_json(&json!({ "schema": 1, "store": place, "records": records }))?;
        } else if entries.is_empty() {
            eprintln!("rankweave: the store is empty (in {})", store.directory().display());
        } else {
            output::print(&table(&store, &entries))?;
        }
        Ok(if entries.is_empty() { Exit::Nothing } else { Exit::Done })
    }
}

/// What the newest check of the program of a record found, where its key tells which program that is.
fn verdict(store: &Store, entry: &Entry) -> Option<&'static str> {
    let verdicts = store.verdicts(program_of_key(&entry.key)?).ok()?;
    // One number of tasks that differs decides, as it does for 'rankweave run'; then one that mixes.
    let newest = |finding| verdicts.iter().rfind(|v| v.finding == finding);
    let against = newest(Finding::Differs).or_else(|| newest(Finding::MixesRanks));
    against.or(verdicts.last()).map(|v| v.finding.name())
}

fn entry_json(store: &Store, entry: &Entry) -> serde_json::Value {
    json!({
        "key": entry.key,
        "program": entry.program,
        "tasks": entry.tasks,
        "recorded_at": entry.recorded_at,
        "file": entry.path.display().to_string(),
        "size_bytes": entry.size,
        "verdict": verdict(store, entry),
        "problem": entry.problem.as_ref().map(ToString::to_string),
    })
}

fn table(store: &Store, entries: &[Entry]) -> String {
    let key = |e: &Entry| units::printable(&e.key);
    let wide = entries.iter().map(|e| key(e).chars().count()).max().unwrap_or(0).max(3);
    let mut out = format!(
        "{:<wide$}  {:>7}  {:>9}  {:<20}  {:<14}  {}\n",
        "KEY", "TASKS", "SIZE", "RECORDED", "CHECK", "PROGRAM"
    );
    for entry in entries {
        let size = units::bytes(entry.size);
        out.push_str(&match &entry.problem {
            None => format!(
                "{:<wide$}  {:>7}  {size:>9}  {:<20}  {:<14}  {}\n",
                key(entry),
                entry.tasks,
                units::time(entry.recorded_at),
                verdict(store, entry).unwrap_or("–"),
                units::printable(&entry.program)
            ),
            Some(problem) => {
                format!("{:<wide$}  {:>7}  {size:>9}  unreadable: {problem}\n", key(entry), "?")
            }
        });
    }
    out
}

/// Remove records from the store
#[derive(Debug, clap::Args)]
pub struct RemoveArgs {
    /// Keys of 'rankweave list', or their unique beginnings
    #[arg(value_name = "SELECTOR", required = true)]
    selectors: Vec<String>,

    #[command(flatten)]
    store: StoreArgs,
}

impl RemoveArgs {
    pub(in crate::cli) fn execute(self) -> Result<Exit> {
        let store = self.store.open()?;
        // All are looked up first, so that a slip in one of them removes nothing.
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
