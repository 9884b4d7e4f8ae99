//! `rankweave list`, `rankweave use` and `rankweave rm`: the records in the store.

use crate::base::error::{Error, ErrorKind, Result};
use crate::cli::arguments::selection::StoreArgs;
use crate::cli::console::{Exit, output};
use crate::matrix::Kind;
use crate::report::units;
use crate::store::{self, Entry, Finding, Run, Store, program_of_key};
use serde_json::json;

/// List the records in the store, the newest first
#[derive(Debug, clap::Args)]
pub struct ListArgs {
    #[command(flatten)]
    store: StoreArgs,

    /// Also list the records that are not in use
    ///
    /// Launches with other arguments or with another MPI library are another kind of run. For each kind of
    /// run, the store keeps the record with the most traffic and the newest one. A launch uses a record
    /// of its own kind. Other commands accept these records by the name KEY@RUN.
    #[arg(long)]
    all: bool,

    /// Print the list as JSON
    #[arg(long)]
    json: bool,
}

impl ListArgs {
    pub(in crate::cli) fn execute(self) -> Result<Exit> {
        let store = self.store.open()?;
        let entries = store.list()?;
        if self.json {
            let records: Vec<_> = entries.iter().map(|e| entry_json(&store, e, self.all)).collect();
            let place = store.directory().display().to_string();
            output::print_json(&json!({ "schema": 1, "store": place, "records": records }))?;
        } else if entries.is_empty() {
            eprintln!("rankweave: the store is empty (in {})", store.directory().display());
        } else {
            output::print(&table(&store, &entries))?;
            if self.all {
                output::print(&runs_table(&store, &entries))?;
            }
        }
        Ok(if entries.is_empty() { Exit::Nothing } else { Exit::Done })
    }
}

/// The finding of the verdict that counts for the program of a record. A difference counts before mixed ranks, and
/// mixed ranks before the newest verdict. `None` if there is no verdict, or if the key does not identify the program.
fn verdict(store: &Store, entry: &Entry) -> Option<&'static str> {
    let verdicts = store.verdicts(program_of_key(&entry.key)?).ok()?;
    // A difference with any number of tasks counts for all numbers of tasks, as it does for 'rankweave run'.
    let newest = |finding| verdicts.iter().rfind(|v| v.finding == finding);
    let against = newest(Finding::Differs).or_else(|| newest(Finding::MixesRanks));
    against.or(verdicts.last()).map(|v| v.finding.name())
}

fn entry_json(store: &Store, entry: &Entry, all: bool) -> serde_json::Value {
    let mut value = json!({
        "key": entry.key,
        "program": entry.program,
        "tasks": entry.tasks,
        "recorded_at": entry.recorded_at,
        "file": entry.path.display().to_string(),
        "size_bytes": entry.size,
        "verdict": verdict(store, entry),
        "problem": entry.problem.as_ref().map(ToString::to_string),
    });
    if all {
        let runs: Vec<_> = ListedRun::of(store, &entry.key).iter().map(ListedRun::json).collect();
        value["runs"] = runs.into();
    }
    value
}

/// A record that is not the record in use of its key.
struct ListedRun {
    selector: String,
    run: Run,
    arguments: String,
    /// The bytes of collective calls, which were computed from a model.
    modelled: u64,
    chosen: bool,
}

impl ListedRun {
    /// The records of a key that are not in use, the newest first.
    fn of(store: &Store, key: &str) -> Vec<ListedRun> {
        let (runs, chosen) = (store.runs(key), store.chosen_run(key));
        let listed = |run: &Run| {
            let name = run.name(&runs);
            let (arguments, modelled) = match store::read_file(&run.path) {
                Ok(record) => (
                    record.command.get(1..).unwrap_or_default().join(" "),
                    record.matrix.layer(Kind::Collective).total().bytes,
                ),
                Err(error) => (format!("unreadable: {error}"), 0),
            };
            let (run, chosen) = (run.clone(), chosen.as_ref() == Some(run));
            ListedRun { selector: format!("{key}@{name}"), run, arguments, modelled, chosen }
        };
        runs.iter().map(listed).collect()
    }

    fn json(&self) -> serde_json::Value {
        let standing = self.run.standing;
        json!({
            "selector": self.selector,
            "file": self.run.path.display().to_string(),
            "recorded_at": standing.recorded_at,
            "total_bytes": standing.bytes,
            "modelled_bytes": self.modelled,
            "pairs": standing.pairs,
            "state": standing.completeness.name(),
            "arguments": self.arguments,
            "chosen": self.chosen,
        })
    }
}

/// The table of the records that are not in use; empty if there are none.
fn runs_table(store: &Store, entries: &[Entry]) -> String {
    let runs: Vec<ListedRun> = entries.iter().flat_map(|e| ListedRun::of(store, &e.key)).collect();
    if runs.is_empty() {
        return String::new();
    }
    let selector = |run: &ListedRun| units::printable(&run.selector);
    let wide = runs.iter().map(|run| selector(run).chars().count()).max().unwrap_or(0);
    let mut out = String::from(
        "\nOther records: used by launches with these arguments, or by all if one is chosen (→):\n",
    );
    let mut line = |[selector, sent, state, recorded, arguments]: [&str; 5]| {
        out.push_str(&format!(
            "{selector:<wide$}  {sent:>10}  {state:<11}  {recorded:<20}  {arguments}\n"
        ));
    };
    line(["KEY@RUN", "SENT ", "STATE", "RECORDED", "ARGUMENTS"]);
    for run in &runs {
        let standing = run.run.standing;
        let mark = if run.modelled > 0 { "*" } else { " " };
        let sent = units::bytes(standing.bytes) + mark;
        let arrow = if run.chosen { "→ " } else { "" };
        let arguments = format!("{arrow}{}", units::printable(&run.arguments));
        let (state, recorded) = (standing.completeness.name(), units::time(standing.recorded_at));
        line([&selector(run), &sent, state, &recorded, &arguments]);
    }
    if runs.iter().any(|run| run.modelled > 0) {
        out.push_str("  * in part modelled: what algorithms for collective calls send\n");
    }
    out
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
