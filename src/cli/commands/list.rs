//! `rankweave list`: the records in the store.

use crate::base::error::{Error, ErrorKind, Result};
use crate::base::nouns::counted;
use crate::base::raw_words::shown;
use crate::base::threads::{in_order, in_threads};
use crate::cli::arguments::record_filter::RecordFilter;
use crate::cli::arguments::selection::StoreArgs;
use crate::cli::console::{Exit, output};
use crate::cli::diagnosis::unrecorded;
use crate::matrix::Kind;
use crate::report::units;
use crate::store::{self, Entry, Finding, Listed, Listing, Run, Store, program_of_key};
use serde::Serialize;
use serde_json::json;
use serde_json::ser::{Formatter, PrettyFormatter, Serializer};
use std::borrow::Cow;
use std::io::Write;
use std::sync::atomic::{AtomicUsize, Ordering};

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
        let listing = store.listing()?;
        let selects = self.filter.selects();
        let selected = (0..listing.len()).filter(|&position| selects(&listing.record(position)));
        let selected: Vec<usize> = selected.take(self.most.unwrap_or(usize::MAX)).collect();
        let read = selected.len();
        let damaged = if self.verify { damaged(&listing, &selected) } else { Vec::new() };
        let records = match self.verify {
            true => Shown::These(&damaged),
            false => Shown::Selected(&listing, &selected),
        };
        let all = Table { store: &store, listing: &listing, records };
        if self.json {
            output::write_to(None, |out| all.document(out, self.all))?;
        } else if self.csv {
            output::write_to(None, |out| all.csv(out))?;
        } else if self.verify && damaged.is_empty() && read > 0 {
            eprintln!("rankweave: {}", sound(read));
        } else if records.len() == 0 {
            let directory = store.directory();
            let (what, advice) = match directory.exists() {
                true if listing.is_empty() => ("the store is empty", ""),
                true => ("no record is of this kind", ""),
                false => (
                    "there is no store yet",
                    "; try: record a program first, or name another store with --store",
                ),
            };
            eprintln!("rankweave: {what} (in {}){advice}", directory.display());
        } else {
            output::write_to(None, |out| all.table(out))?;
            if self.all {
                output::print(&runs_table(&store, records))?;
            }
        }
        if !damaged.is_empty() {
            let what = format!("{} of {} cannot be read", damaged.len(), counted(read, "record"));
            return Err(Error::new(ErrorKind::Format, what)
                .at(store.directory().display())
                .advise("remove them: rankweave rm KEY; the programs are then recorded anew"));
        }
        // Scripts that read the list have no use for this message, and nobody would see it.
        let message = if self.json || self.csv { None } else { unrecorded(&store) };
        message.iter().for_each(|message| eprintln!("rankweave: {}", shown(message)));
        Ok(if read == 0 { Exit::Nothing } else { Exit::Done })
    }
}

fn sound(records: usize) -> String {
    match records {
        1 => "the record can be read to its end".into(),
        _ => format!("all {records} records can be read to their end"),
    }
}

/// Records that a thread examines at once.
const TAKEN: usize = 64;
/// Records whose texts a thread makes at once.
const PIECE: usize = 1024;

/// The records that cannot be read to their end, with the reason. Several threads read.
fn damaged(listing: &Listing, selected: &[usize]) -> Vec<Entry> {
    let problem = |&position: &usize| {
        let record = listing.record(position);
        let error = store::read_file(&record.path()).err()?;
        Some((position, Entry { problem: Some(error), ..record.entry() }))
    };
    let next = AtomicUsize::new(0);
    let examine = || {
        let mut found = Vec::new();
        while let Some(some) = selected.chunks(TAKEN).nth(next.fetch_add(1, Ordering::Relaxed)) {
            found.extend(some.iter().filter_map(problem));
        }
        found
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut found = in_threads(threads.min(selected.len().div_ceil(TAKEN)), examine).concat();
    // In the order of the list.
    found.sort_by_key(|&(position, _)| position);
    found.into_iter().map(|(_, entry)| entry).collect()
}

/// The records that are printed.
#[derive(Clone, Copy)]
enum Shown<'a> {
    /// Those at these positions of a listing.
    Selected(&'a Listing, &'a [usize]),
    These(&'a [Entry]),
}

impl<'a> Shown<'a> {
    fn len(self) -> usize {
        match self {
            Shown::Selected(_, positions) => positions.len(),
            Shown::These(entries) => entries.len(),
        }
    }

    fn at(self, k: usize) -> Listed<'a> {
        match self {
            Shown::Selected(listing, positions) => listing.record(positions[k]),
            Shown::These(entries) => Listed::from(&entries[k]),
        }
    }

    fn iter(self) -> impl Iterator<Item = Listed<'a>> {
        (0..self.len()).map(move |k| self.at(k))
    }
}

/// The records that are printed, with what their verdicts are found by. A list of a million records would take much memory as
/// a text, so each record is written by itself.
struct Table<'a> {
    store: &'a Store,
    listing: &'a Listing,
    records: Shown<'a>,
}

/// A record in JSON, with its fields in alphabetical order.
#[derive(Serialize)]
struct JsonRecord<'a> {
    file: String,
    key: &'a str,
    problem: Option<String>,
    program: &'a str,
    recorded_at: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    runs: Option<Vec<serde_json::Value>>,
    size_bytes: u64,
    tasks: u64,
    verdict: Option<&'static str>,
}

impl<'a> Table<'a> {
    /// The finding of the verdict that counts for the program of a record. A difference counts before mixed ranks, and
    /// mixed ranks before the newest verdict. `None` if there is no verdict, or if the key does not identify the program.
    fn verdict(&self, record: &Listed<'_>) -> Option<&'static str> {
        let program = program_of_key(record.key)?;
        if !self.store.may_have_verdicts(self.listing, program) {
            return None;
        }
        let verdicts = self.store.verdicts(program).ok()?;
        // A difference with any number of tasks counts for all numbers of tasks, as it does for 'rankweave run'.
        let newest = |finding| verdicts.iter().rfind(|v| v.finding == finding);
        let against = newest(Finding::Differs).or_else(|| newest(Finding::MixesRanks));
        against.or(verdicts.last()).map(|v| v.finding.name())
    }

    fn json(&self, record: &Listed<'a>, all: bool) -> JsonRecord<'a> {
        let runs = || ListedRun::of(self.store, record.key).iter().map(ListedRun::json).collect();
        JsonRecord {
            file: record.path().display().to_string(),
            key: record.key,
            problem: record.problem.map(ToString::to_string),
            program: record.program,
            recorded_at: record.recorded_at,
            runs: all.then(runs),
            size_bytes: record.size,
            tasks: record.tasks,
            verdict: self.verdict(record),
        }
    }

    /// Writes the texts of all records in their order. Several threads make them, each from the position of a record.
    fn write_records(
        &self,
        out: &mut dyn Write,
        text: impl Fn(usize, &Listed<'a>, &mut Vec<u8>) -> std::io::Result<()> + Sync,
    ) -> std::io::Result<()> {
        let (records, pieces) = (self.records, self.records.len().div_ceil(PIECE));
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let piece = |k: usize| {
            let mut piece = Vec::with_capacity(PIECE * 128);
            let mut some = k * PIECE..records.len().min((k + 1) * PIECE);
            let written = some.try_for_each(|at| text(at, &records.at(at), &mut piece));
            written.map(|()| piece)
        };
        in_order(threads, pieces, piece, |piece| out.write_all(&piece?))
    }

    /// What `--json` prints, with its fields in alphabetical order, as in all documents of the command.
    fn document(&self, out: &mut dyn Write, all: bool) -> Result<()> {
        let store = self.store.directory().display().to_string();
        let text = |position: usize, record: &Listed<'a>, out: &mut Vec<u8>| {
            out.extend_from_slice(if position == 0 { b"\n    " } else { b",\n    " });
            // The records stand in a list, and this stands in the document.
            let mut indented = PrettyFormatter::new();
            (0..2).try_for_each(|_| indented.begin_object(&mut std::io::sink()))?;
            self.json(record, all).serialize(&mut Serializer::with_formatter(out, indented))?;
            Ok(())
        };
        let written = (|| {
            write!(out, "{{\n  \"records\": [")?;
            self.write_records(out, text)?;
            let behind = if self.records.len() == 0 { "" } else { "\n  " };
            writeln!(out, "{behind}],")?;
            writeln!(out, "  \"schema\": 1,\n  \"store\": {}\n}}", json!(store))
        })();
        written.map_err(crate::formats::write_error)
    }

    /// The same columns as in JSON.
    fn csv(&self, out: &mut dyn Write) -> Result<()> {
        let text = |_, record: &Listed<'a>, out: &mut Vec<u8>| {
            let file = record.path();
            let problem = record.problem.map(ToString::to_string).unwrap_or_default();
            writeln!(
                out,
                "{},{},{},{},{},{},{},{}",
                quoted(record.key),
                quoted(record.program),
                record.tasks,
                record.recorded_at,
                quoted(&file.display().to_string()),
                record.size,
                self.verdict(record).unwrap_or_default(),
                quoted(&problem),
            )
        };
        let head = writeln!(out, "key,program,tasks,recorded_at,file,size_bytes,verdict,problem");
        head.and_then(|()| self.write_records(out, text)).map_err(crate::formats::write_error)
    }

    fn table(&self, out: &mut dyn Write) -> Result<()> {
        let width = |record: Listed<'_>| units::shown_text(record.key).chars().count();
        let wide = self.records.iter().map(width).max().unwrap_or(0).max(3);
        let text = |_, record: &Listed<'a>, out: &mut Vec<u8>| {
            let (key, size) = (units::shown_text(record.key), units::bytes(record.size));
            match record.problem {
                None => writeln!(
                    out,
                    "{key:<wide$}  {:>7}  {size:>9}  {:<20}  {:<14}  {}",
                    record.tasks,
                    units::time(record.recorded_at),
                    self.verdict(record).unwrap_or("–"),
                    units::shown_text(record.program)
                ),
                Some(problem) => {
                    writeln!(out, "{key:<wide$}  {:>7}  {size:>9}  unreadable: {problem}", "?")
                }
            }
        };
        let head = writeln!(
            out,
            "{:<wide$}  {:>7}  {:>9}  {:<20}  {:<14}  PROGRAM",
            "KEY", "TASKS", "SIZE", "RECORDED", "CHECK"
        );
        head.and_then(|()| self.write_records(out, text)).map_err(crate::formats::write_error)
    }
}

/// A field of CSV (RFC 4180).
fn quoted(text: &str) -> Cow<'_, str> {
    match text.contains(['"', ',', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")).into(),
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
fn runs_table(store: &Store, records: Shown<'_>) -> String {
    let runs: Vec<ListedRun> = records.iter().flat_map(|r| ListedRun::of(store, r.key)).collect();
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
