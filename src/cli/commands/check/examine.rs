//! The runs of a check and what is concluded from them.
//!
//! 1. The program runs plain, and once more recorded: what differs between these varies by itself. If
//!    they agree only as sorted lines, lines are compared sorted from here on; if not even so, a third
//!    plain run tells whether the program varies or minds the library.
//! 2. It runs once for each seed with permuted ranks. The store tells that they were: a launch whose
//!    ranks were not permuted proves nothing.
//! 3. Before a difference counts, the program runs plain again: a program that varies once in a while
//!    is not one that minds its ranks.

use super::files::Files;
use super::text::{Difference, Filter, Order};
use crate::base::error::Result;
use crate::cli::trial::{End, Outcome, Scratch, Series, Streams};
use crate::store::{Finding, LaunchMode, Record};
use std::time::Duration;

/// Plain runs that are added to see whether the order of lines varies by itself.
const MORE_FOR_ORDER: usize = 3;
/// How much longer than a plain run one with permuted ranks may take, unless a limit is given.
const LONGER: f64 = 10.0;
/// The same limit for short programs, in seconds.
const LEAST: f64 = 60.0;

/// What a run left: its output, and the files that were asked for.
#[derive(Debug, Clone)]
struct Run {
    outcome: Outcome,
    files: Vec<Option<Vec<u8>>>,
}

/// Which of its outputs differs, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Where {
    /// `end`, `standard output`, `standard error` or the path of a file.
    pub(super) what: String,
    /// The first difference.
    pub(super) difference: Difference,
    /// The lines are the same, in another order.
    pub(super) only_order: bool,
}

/// What was found.
#[derive(Debug)]
pub(super) struct Found {
    /// The conclusion.
    pub(super) finding: Finding,
    /// Why, in one sentence without an end; empty for a safe program.
    pub(super) reason: String,
    /// The difference, if that is why.
    pub(super) difference: Option<Where>,
    /// Options of `rankweave run` that show the difference again.
    pub(super) again: Vec<String>,
    /// The order in which lines were compared.
    pub(super) order: Order,
    /// Plain runs.
    pub(super) plain_runs: usize,
    /// Seeds that permuted the ranks.
    pub(super) seeds: Vec<u64>,
    /// Of a recorded run; `None` if the library recorded nothing.
    pub(super) record: Option<Record>,
    /// Lines of standard output that were compared.
    pub(super) lines: usize,
}

/// A check under way.
pub(super) struct Examination<'a> {
    pub(super) series: Series,
    pub(super) scratch: &'a Scratch,
    pub(super) streams: &'a Streams,
    pub(super) files: &'a Files,
    pub(super) filter: Filter,
    pub(super) order: Order,
    pub(super) with_stderr: bool,
    pub(super) least_plain: usize,
    pub(super) seeds: &'a [u32],
    pub(super) fix: Option<String>,
    /// Says what goes on.
    pub(super) tell: fn(&str),
}

impl Examination<'_> {
    /// Does all runs.
    pub(super) fn conclude(mut self) -> Result<Found> {
        let mut found = Found {
            finding: Finding::NotComparable,
            reason: String::new(),
            difference: None,
            again: Vec::new(),
            order: self.order,
            plain_runs: 0,
            seeds: Vec::new(),
            record: None,
            lines: 0,
        };
        let mut plain: Vec<Run> = Vec::new();
        for _ in 1..self.least_plain {
            let run = self.plain(&mut found)?;
            if let Some(reason) = failed(&run) {
                found.reason = format!("the program fails by itself: {reason}");
                return Ok(found);
            }
            plain.push(run);
        }
        let first = plain[0].clone();
        found.lines = first.outcome.out.split(|&b| b == b'\n').filter(|l| !l.is_empty()).count();
        if let Some(path) = missing(self.files, &first) {
            found.reason = format!("the program does not write {path}");
            return Ok(found);
        }
        if self.series.timeout.is_none() {
            let limit = (LONGER * first.outcome.seconds).max(LEAST);
            self.series.timeout = Some(Duration::from_secs_f64(limit));
        }
        let recorded = self.with_library("record", None)?;
        found.plain_runs += 1;
        found.record = self.scratch.take()?;
        (self.tell)(&format!("plain run {}, recorded: {}", found.plain_runs, said(&recorded)));
        let Some(record) = &found.record else {
            found.reason =
                "the library recorded nothing: the program does not reach MPI_Finalize, \
                            has one rank, or is no MPI program ('rankweave doctor' tells more)"
                    .into();
            return Ok(found);
        };
        self.filter.ignore_nodes(&record.launch.placement.node_names);
        plain.push(recorded);
        // What varies by itself?
        if !self.agree(&plain, &mut found) {
            let another = self.plain(&mut found)?;
            if self.differ(&first, &another, Order::Sorted).is_none()
                && let Some(place) = self.differ(&first, &plain[plain.len() - 1], self.order)
            {
                found.finding = Finding::Differs;
                found.reason = format!("recorded in the launcher's order, {}", sentence(&place));
                found.difference = Some(place);
                found.again = vec!["--mode".into(), "record".into()];
                return Ok(found);
            }
            plain.push(another);
            let place =
                plain.iter().skip(1).find_map(|run| self.differ(&first, run, Order::Sorted));
            found.reason = "plain runs differ among themselves".into();
            found.difference = place;
            return Ok(found);
        }
        for &seed in self.seeds {
            let permuted = self.with_library("shuffle", Some(seed))?;
            let record = self.scratch.take()?;
            let moved = record.as_ref().is_some_and(|r| r.launch.is_reordered());
            let fine = plain.iter().any(|run| self.differ(run, &permuted, self.order).is_none());
            let note = if moved || !fine { "" } else { " (its ranks were not permuted)" };
            (self.tell)(&format!("permuted with seed {seed}: {}{note}", said(&permuted)));
            if fine {
                if moved {
                    found.seeds.push(u64::from(seed));
                } else if let Some(r) = record.filter(|r| r.launch.mode != LaunchMode::Shuffle) {
                    found.reason = r.launch.decision;
                }
                continue;
            }
            let Some(place) = self.differ(&first, &permuted, self.order) else { continue };
            // Is it the program that varies?
            let more = if place.only_order { MORE_FOR_ORDER } else { 1 };
            for _ in 0..more {
                let run = self.plain(&mut found)?;
                plain.push(run);
                if !self.agree(&plain, &mut found) {
                    found.reason = "plain runs differ among themselves once in a while".into();
                    found.difference =
                        plain.iter().skip(1).find_map(|run| self.differ(&first, run, self.order));
                    return Ok(found);
                }
                if plain.iter().any(|run| self.differ(run, &permuted, self.order).is_none()) {
                    break;
                }
            }
            if plain.iter().any(|run| self.differ(run, &permuted, self.order).is_none()) {
                if moved {
                    found.seeds.push(u64::from(seed));
                }
                continue;
            }
            found.seeds.push(u64::from(seed));
            found.finding = Finding::Differs;
            found.reason = format!("with permuted ranks (seed {seed}), {}", sentence(&place));
            found.difference = Some(place);
            found.again = ["--mode", "shuffle", "--seed"].map(String::from).to_vec();
            found.again.push(seed.to_string());
            if let Some(fix) = &self.fix {
                found.again.extend(["--fix".into(), fix.clone()]);
            }
            return Ok(found);
        }
        if found.seeds.is_empty() {
            let why = match found.reason.as_str() {
                "" => "too few of them are free to move (more ranks, other --seeds or --fix none)",
                known => known,
            };
            found.reason = format!("the ranks could not be permuted: {why}");
            return Ok(found);
        }
        found.finding = Finding::Safe;
        found.reason.clear();
        Ok(found)
    }

    fn plain(&self, found: &mut Found) -> Result<Run> {
        self.files.put_back()?;
        let outcome = self.series.plain(self.streams)?;
        found.plain_runs += 1;
        let run = Run { outcome, files: self.files.read()? };
        (self.tell)(&format!("plain run {}: {}", found.plain_runs, said(&run)));
        Ok(run)
    }

    fn with_library(&self, mode: &str, seed: Option<u32>) -> Result<Run> {
        self.files.put_back()?;
        let mut settings = vec![
            ("RANKWEAVE_MODE", Some(mode.to_string())),
            ("RANKWEAVE_STORE", Some(self.scratch.path())),
            // The record names the program itself, whatever its key.
            ("RANKWEAVE_KEY", None),
            ("RANKWEAVE_FLUSH", None),
        ];
        if let Some(seed) = seed {
            settings.push(("RANKWEAVE_SEED", Some(seed.to_string())));
        }
        if let Some(fix) = &self.fix {
            settings.push(("RANKWEAVE_FIX", Some(fix.clone())));
        }
        let outcome = self.series.with(&settings, self.streams)?;
        Ok(Run { outcome, files: self.files.read()? })
    }

    /// Whether runs without permuted ranks agree; turns to sorted lines if they agree only so.
    fn agree(&mut self, plain: &[Run], found: &mut Found) -> bool {
        let all = |order| plain[1..].iter().all(|run| self.differ(&plain[0], run, order).is_none());
        if all(self.order) {
            return true;
        }
        if all(Order::Sorted) {
            self.order = Order::Sorted;
            found.order = Order::Sorted;
            return true;
        }
        false
    }

    /// The first difference between two runs.
    fn differ(&self, plain: &Run, other: &Run, order: Order) -> Option<Where> {
        let (a, b) = (&plain.outcome, &other.outcome);
        let words = |end: End| Some((1, end.words()));
        if a.end != b.end {
            let difference = Difference { plain: words(a.end), other: words(b.end) };
            return Some(Where { what: "end".into(), difference, only_order: false });
        }
        let mut texts = vec![("standard output".to_string(), a.out.as_slice(), b.out.as_slice())];
        if self.with_stderr {
            texts.push(("standard error".into(), &a.err, &b.err));
        }
        for (what, plain, other) in texts {
            if let Some(difference) = self.filter.compare(plain, other, order) {
                let only_order = order == Order::Printed
                    && self.filter.compare(plain, other, Order::Sorted).is_none();
                return Some(Where { what, difference, only_order });
            }
        }
        // Files have an order: one rank writes each part of them.
        let pairs = plain.files.iter().zip(&other.files).zip(self.files.paths());
        pairs.into_iter().find_map(|((a, b), path)| {
            let there = |file: &Option<Vec<u8>>| file.is_none().then(|| (1, "no file".to_string()));
            let difference = match (a, b) {
                (Some(a), Some(b)) => self.filter.compare(a, b, Order::Printed)?,
                (None, None) => return None,
                (a, b) => Difference { plain: there(a), other: there(b) },
            };
            let what = path.display().to_string();
            Some(Where { what, difference, only_order: false })
        })
    }
}

/// Why a run cannot be compared with others.
fn failed(run: &Run) -> Option<String> {
    match run.outcome.end {
        End::Code(0) => None,
        end => {
            let err = String::from_utf8_lossy(&run.outcome.err);
            let last = err.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
            let last = crate::report::units::printable(last.trim());
            Some(if last.is_empty() { end.words() } else { format!("{} ({last})", end.words()) })
        }
    }
}

/// A file that is not there after a plain run.
fn missing(files: &Files, run: &Run) -> Option<String> {
    let mut both = files.paths().zip(&run.files);
    both.find(|(_, content)| content.is_none()).map(|(path, _)| path.display().to_string())
}

fn said(run: &Run) -> String {
    format!("{} in {:.2} s", run.outcome.end.words(), run.outcome.seconds)
}

/// What differs, for the end of a sentence.
fn sentence(place: &Where) -> String {
    let line = |side: &Option<(usize, String)>| side.as_ref().map(|s| s.0);
    match (place.what.as_str(), &place.difference.other) {
        ("end", Some((_, text))) if *text == End::TimedOut.words() => {
            "it does not end within the time limit".into()
        }
        ("end", Some((_, text))) => format!("it ends with {text}"),
        (what, _) if place.only_order => {
            format!("{what} has the same lines in another order")
        }
        (what, _) => {
            let at = line(&place.difference.plain).or(line(&place.difference.other)).unwrap_or(1);
            format!("{what} differs in line {at}")
        }
    }
}
