//! `rankweave list`: the records in the store.

use crate::base::error::{Error, ErrorKind, Result};
use crate::base::nouns::counted;
use crate::cli::arguments::record_filter::RecordFilter;
use crate::cli::arguments::selection::StoreArgs;
use crate::cli::console::{Exit, output};
use crate::matrix::Kind;
use crate::report::units;
use crate::store::{self, Entry, Finding, Listing, Run, Store, program_of_key};
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

    #[command(flatten)]
    filter: RecordFilter,

    /// At most so many records, the newest
    #[arg(long, value_name = "NUMBER")]
    most: Option<usize>,

    /// Read the records to their end, and list only those that cannot be read
    ///
    /// Without this option only the beginning of each record is read. The exit code is 2 if a record cannot be read.
    #[arg(long, conflicts_with = "all")]
    verify: bool,

    /// Print the list as JSON
    #[arg(long)]
    json: bool,

    /// Print the list as CSV, one record on each line
    #[arg(long, conflicts_with_all = ["json", "all"])]
    csv: bool,
}

impl ListArgs {
    pub(in crate::cli) fn execute(self) -> Result<Exit> {
        let store = self.store.open()?;
        let mut listing = store.listing()?;
        let is_empty = listing.entries.is_empty();
        let mut entries = std::mem::take(&mut listing.entries);
        self.filter.retain(&mut entries);
        entries.truncate(self.most.unwrap_or(usize::MAX));
        let read = entries.len();
        if self.verify {
            entries = damaged(entries);
        }
        let all = Shown { store: &store, listing: &listing, entries: &entries };
        if self.json {
            output::print_json(&Document {
                records: Records { shown: &all, all: self.all },
                schema: 1,
                store: store.directory().display().to_string(),
            })?;
        } else if self.csv {
            output::print(&all.csv())?;
        } else if self.verify && entries.is_empty() && read > 0 {
            eprintln!("rankweave: {}", sound(read));
        } else if entries.is_empty() {
            let directory = store.directory();
            let (what, advice) = match directory.exists() {
                true if is_empty => ("the store is empty", ""),
                true => ("no record is of this kind", ""),
                false => (
                    "there is no store yet",
                    "; try: record a program first, or name another store with --store",
                ),
            };
            eprintln!("rankweave: {what} (in {}){advice}", directory.display());
        } else {
            output::print(&all.table())?;
            if self.all {
                output::print(&runs_table(&store, &entries))?;
            }
        }
        if self.verify && !entries.is_empty() {
            let what = format!("{} of {} cannot be read", entries.len(), counted(read, "record"));
            return Err(Error::new(ErrorKind::Format, what)
                .at(store.directory().display())
                .advise("remove them: rankweave rm KEY; the programs are then recorded anew"));
        }
        Ok(if read == 0 { Exit::Nothing } else { Exit::Done })
    }
}

fn sound(records: usize) -> String {
    match records {
        1 => "the record can be read to its end".into(),
        _ => format!("all {records} records can be read to their end"),
    }
}

/// The records that cannot be read to their end, with the reason. Several threads read.
fn damaged(entries: Vec<Entry>) -> Vec<Entry> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let part = entries.len().div_ceil(threads).max(1);
    let examine = |some: &[Entry]| -> Vec<Entry> {
        let problem = |entry: &Entry| match store::read_file(&entry.path) {
            Ok(_) => None,
            Err(error) => Some(Entry { problem: Some(error), ..entry.clone() }),
        };
        some.iter().filter_map(problem).collect()
    };
    std::thread::scope(|scope| {
        let started: Vec<_> =
            entries.chunks(part).map(|some| scope.spawn(move || examine(some))).collect();
        started
            .into_iter()
            .flat_map(|thread| {
                thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            })
            .collect()
    })
}

/// The records of a listing that are printed.
struct Shown<'a> {
    store: &'a Store,
    listing: &'a Listing,
    entries: &'a [Entry],
}

/// What `--json` prints, with its fields in alphabetical order, as in all documents of the command.
#[derive(serde::Serialize)]
struct Document<'a> {
    records: Records<'a>,
    schema: u32,
    store: String,
}

/// The records, each of which is made when it is written: a list of a million would take 2 GB.
struct Records<'a> {
    shown: &'a Shown<'a>,
    all: bool,
}

impl serde::Serialize for Records<'_> {
    fn serialize<S: serde::Serializer>(
        &self,
        serializer: S,
    ) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_seq(self.shown.entries.iter().map(|e| self.shown.json(e, self.all)))
    }
}

/// The finding of the verdict that counts for the program of a record. A difference counts before mixed ranks, and
/// mixed ranks before the newest verdict. `None` if there is no verdict, or if the key does not identify the program.
fn verdict(store: &Store, listing: &Listing, entry: &Entry) -> Option<&'static str> {
    let program = program_of_key(&entry.key)?;
    if !store.may_have_verdicts(listing, program) {
        return None;
    }
    let verdicts = store.verdicts(program).ok()?;
    // A difference with any number of tasks counts for all numbers of tasks, as it does for 'rankweave run'.
    let newest = |finding| verdicts.iter().rfind(|v| v.finding == finding);
    let against = newest(Finding::Differs).or_else(|| newest(Finding::MixesRanks));
    against.or(verdicts.last()).map(|v| v.finding.name())
}

impl Shown<'_> {
    fn json(&self, entry: &Entry, all: bool) -> serde_json::Value {
        let mut value = json!({
            "key": entry.key,
            "program": entry.program,
            "tasks": entry.tasks,
            "recorded_at": entry.recorded_at,
            "file": entry.path.display().to_string(),
            "size_bytes": entry.size,
            "verdict": verdict(self.store, self.listing, entry),
            "problem": entry.problem.as_ref().map(ToString::to_string),
        });
        if all {
            let runs: Vec<_> =
                ListedRun::of(self.store, &entry.key).iter().map(ListedRun::json).collect();
            value["runs"] = runs.into();
        }
        value
    }

    /// The same columns as in JSON.
    fn csv(&self) -> String {
        let mut out =
            String::from("key,program,tasks,recorded_at,file,size_bytes,verdict,problem\n");
        for entry in self.entries {
            let problem = entry.problem.as_ref().map(ToString::to_string).unwrap_or_default();
            let fields = [
                quoted(&entry.key),
                quoted(&entry.program),
                entry.tasks.to_string(),
                entry.recorded_at.to_string(),
                quoted(&entry.path.display().to_string()),
                entry.size.to_string(),
                verdict(self.store, self.listing, entry).unwrap_or_default().into(),
                quoted(&problem),
            ];
            out += &fields.join(",");
            out.push('\n');
        }
        out
    }

    fn table(&self) -> String {
        let key = |e: &Entry| units::printable(&e.key);
        let wide = self.entries.iter().map(|e| key(e).chars().count()).max().unwrap_or(0).max(3);
        let mut out = format!(
            "{:<wide$}  {:>7}  {:>9}  {:<20}  {:<14}  {}\n",
            "KEY", "TASKS", "SIZE", "RECORDED", "CHECK", "PROGRAM"
        );
        for entry in self.entries {
            let size = units::bytes(entry.size);
            out.push_str(&match &entry.problem {
                None => format!(
                    "{:<wide$}  {:>7}  {size:>9}  {:<20}  {:<14}  {}\n",
                    key(entry),
                    entry.tasks,
                    units::time(entry.recorded_at),
                    verdict(self.store, self.listing, entry).unwrap_or("–"),
                    units::printable(&entry.program)
                ),
                Some(problem) => {
                    format!("{:<wide$}  {:>7}  {size:>9}  unreadable: {problem}\n", key(entry), "?")
                }
            });
        }
        out
    }
}

/// A field of CSV (RFC 4180).
fn quoted(text: &str) -> String {
    match text.contains(['"', ',', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.into(),
    }
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
        store.apply_failures(key);
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
