//! The runs of a check, and the conclusion from them.
//!
//! 1. The program runs plain, and once more recorded. A difference between these runs is a variation of the
//!    program itself. If the runs agree only when their lines are sorted, lines are compared sorted from here
//!    on. If they do not agree even then, one more plain run tells whether the program varies by itself or
//!    gives other results with the library.
//! 2. The program runs once for each seed with permuted ranks. The record of the run tells whether its
//!    ranks were permuted: a run whose ranks were not permuted proves nothing.
//! 3. Before a difference counts, the program runs plain again, because a program that varies only now
//!    and then must not be reported as one whose results depend on the rank order.

use super::files::Files;
use super::text::{Difference, Filter, LineOrder};
use crate::base::error::Result;
use crate::base::quantity::seconds;
use crate::cli::trial::{End, Scratch, Series, Streams, TrialRun};
use crate::store::{Finding, LaunchMode, Record};
use std::time::Duration;

/// The largest number of plain runs that are added to find out whether the order of lines varies by itself.
const MORE_FOR_ORDER: usize = 3;
/// How many times longer than a plain run a later run may take, unless the user gives a limit.
const LONGER: f64 = 10.0;
/// The shortest time limit that is set so, in seconds.
const LEAST: f64 = 60.0;

/// The results of a run: its output, and the content of the files that are compared too.
#[derive(Debug, Clone)]
struct Run {
    outcome: TrialRun,
    files: Vec<Option<Vec<u8>>>,
}

/// The output in which a run differs from another run, and the place in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RunDifference {
    /// `end`, `standard output`, `standard error` or the path of a file.
    pub(super) what: String,
    /// The first difference.
    pub(super) difference: Difference,
    /// True if the lines are the same, in another order.
    pub(super) only_order: bool,
}

/// The result of a check.
#[derive(Debug, Default)]
pub(super) struct Conclusion {
    /// Whether the program is safe.
    pub(super) finding: Finding,
    /// The reason, as a sentence without a full stop; empty for a safe program.
    pub(super) reason: String,
    /// The difference, if it is the reason.
    pub(super) difference: Option<RunDifference>,
    /// Options of `rankweave run` that show the difference again.
    pub(super) again: Vec<String>,
    /// The order in which lines were compared.
    pub(super) order: LineOrder,
    /// The number of plain runs.
    pub(super) plain_runs: usize,
    /// Seeds that permuted the ranks.
    pub(super) seeds: Vec<u64>,
    /// The record of the recorded run; `None` if the library recorded nothing.
    pub(super) record: Option<Record>,
    /// The number of lines of standard output that were compared.
    pub(super) lines: usize,
}

/// A check under way.
pub(super) struct Examination<'a> {
    pub(super) series: Series,
    pub(super) scratch: &'a Scratch,
    pub(super) streams: &'a Streams,
    pub(super) files: &'a Files,
    pub(super) filter: Filter,
    pub(super) order: LineOrder,
    pub(super) with_stderr: bool,
    pub(super) least_plain: usize,
    pub(super) seeds: &'a [u32],
    pub(super) fix: Option<String>,
}

impl Examination<'_> {
    /// Does all runs.
    pub(super) fn conclude(mut self) -> Result<Conclusion> {
        let mut found = Conclusion { order: self.order, ..Conclusion::default() };
        let Some(mut plain) = self.first_runs(&mut found)? else { return Ok(found) };
        if self.series.timeout.is_none() {
            let limit = (LONGER * plain[0].outcome.seconds).max(LEAST);
            self.series.timeout = Some(Duration::from_secs_f64(limit));
        }
        let Some(recorded) = self.recorded_run(&mut found)? else { return Ok(found) };
        plain.push(recorded);
        if !self.agree(&plain, &mut found) {
            self.explain_variation(plain, &mut found)?;
            return Ok(found);
        }
        for &seed in self.seeds {
            if !self.permuted_run(seed, &mut plain, &mut found)? {
                return Ok(found);
            }
        }
        if found.seeds.is_empty() {
            if found.reason.is_empty() {
                found.reason =
                    "the seeds do not move any rank that is free to move; try: use more ranks, \
                                other --seeds, or --fix none"
                        .into();
            }
            found.reason.insert_str(0, "the ranks could not be permuted: ");
        } else {
            found.finding = Finding::Safe;
            found.reason.clear();
        }
        Ok(found)
    }

    /// The plain runs before the recorded one; `None` if the program cannot be compared at all.
    fn first_runs(&self, found: &mut Conclusion) -> Result<Option<Vec<Run>>> {
        let mut plain: Vec<Run> = Vec::new();
        for _ in 1..self.least_plain {
            let run = self.plain(found)?;
            if let Some(reason) = run.outcome.failure() {
                found.reason = format!("the program fails by itself: {reason}");
                return Ok(None);
            }
            plain.push(run);
        }
        let Some(first) = plain.first() else { return Ok(None) };
        found.lines = first.outcome.out.split(|&b| b == b'\n').filter(|l| !l.is_empty()).count();
        if let Some(path) = missing(self.files, first) {
            found.reason = format!("the program does not write {path}");
            return Ok(None);
        }
        Ok(Some(plain))
    }

    /// The run that the library records, in the launcher's order. `None` if the library recorded nothing.
    fn recorded_run(&mut self, found: &mut Conclusion) -> Result<Option<Run>> {
        let recorded = self.with_library("record", None)?;
        found.plain_runs += 1;
        found.record = self.scratch.take()?;
        eprintln!("rankweave: plain run {}, recorded: {}", found.plain_runs, said(&recorded));
        let Some(record) = &found.record else {
            let why = "the program does not reach MPI_Finalize, has one rank, or is no MPI program";
            found.reason =
                format!("the library recorded nothing: {why} ('rankweave doctor' tells more)");
            return Ok(None);
        };
        self.filter.ignore_nodes(&record.launch.placement.node_names);
        Ok(Some(recorded))
    }

    /// Explains why runs without permuted ranks do not agree. The last of them is the recorded run. One more
    /// plain run shows whether the program varies by itself or gives other results with the library.
    fn explain_variation(&self, mut plain: Vec<Run>, found: &mut Conclusion) -> Result<()> {
        let another = self.plain(found)?;
        let (first, recorded) = (&plain[0], &plain[plain.len() - 1]);
        if self.differ(first, &another, LineOrder::Sorted).is_none()
            && let Some(difference) = self.differ(first, recorded, self.order)
        {
            found.finding = Finding::Differs;
            found.reason = format!("recorded in the launcher's order, {}", sentence(&difference));
            found.difference = Some(difference);
            found.again = vec!["--mode".into(), "record".into()];
            return Ok(());
        }
        plain.push(another);
        found.reason = "plain runs differ among themselves".into();
        found.difference = self.first_variation(&plain, LineOrder::Sorted);
        Ok(())
    }

    /// The first difference between a plain run and the first plain run.
    fn first_variation(&self, plain: &[Run], order: LineOrder) -> Option<RunDifference> {
        plain.iter().skip(1).find_map(|run| self.differ(&plain[0], run, order))
    }

    /// Makes a run with permuted ranks. `false` if this run decides the verdict, so no further run is needed.
    fn permuted_run(
        &mut self,
        seed: u32,
        plain: &mut Vec<Run>,
        found: &mut Conclusion,
    ) -> Result<bool> {
        let permuted = self.with_library("shuffle", Some(seed))?;
        let record = self.scratch.take()?;
        let moved = record.as_ref().is_some_and(|r| r.launch.is_reordered());
        let fine = self.is_like_one(&permuted, plain);
        let note = if moved || !fine { "" } else { " (its ranks were not permuted)" };
        eprintln!("rankweave: permuted with seed {seed}: {}{note}", said(&permuted));
        if fine {
            if moved {
                found.seeds.push(u64::from(seed));
            } else if let Some(r) = record.filter(|r| r.launch.mode != LaunchMode::Shuffle) {
                found.reason = r.launch.decision;
            }
            return Ok(true);
        }
        let Some(difference) = self.differ(&plain[0], &permuted, self.order) else {
            return Ok(true);
        };
        // More plain runs show whether the program varies by itself.
        for _ in 0..if difference.only_order { MORE_FOR_ORDER } else { 1 } {
            let run = self.plain(found)?;
            plain.push(run);
            if !self.agree(plain, found) {
                found.reason = "plain runs sometimes differ among themselves".into();
                found.difference = self.first_variation(plain, self.order);
                return Ok(false);
            }
            if self.is_like_one(&permuted, plain) {
                break;
            }
        }
        let differs = !self.is_like_one(&permuted, plain);
        if moved || differs {
            found.seeds.push(u64::from(seed));
        }
        if differs {
            self.blame(seed, difference, found);
        }
        Ok(!differs)
    }

    /// True if a run has the same results as one of the plain runs.
    fn is_like_one(&self, run: &Run, plain: &[Run]) -> bool {
        plain.iter().any(|other| self.differ(other, run, self.order).is_none())
    }

    /// Concludes that permuted ranks change the results.
    fn blame(&self, seed: u32, difference: RunDifference, found: &mut Conclusion) {
        found.finding = Finding::Differs;
        found.reason = format!("with permuted ranks (seed {seed}), {}", sentence(&difference));
        found.difference = Some(difference);
        found.again = ["--mode", "shuffle", "--seed"].map(String::from).to_vec();
        found.again.push(seed.to_string());
        if let Some(fix) = &self.fix {
            found.again.extend(["--fix".into(), fix.clone()]);
        }
    }

    fn plain(&self, found: &mut Conclusion) -> Result<Run> {
        self.files.put_back()?;
        let outcome = self.series.plain(self.streams)?;
        found.plain_runs += 1;
        let run = Run { outcome, files: self.files.read()? };
        eprintln!("rankweave: plain run {}: {}", found.plain_runs, said(&run));
        Ok(run)
    }

    fn with_library(&self, mode: &str, seed: Option<u32>) -> Result<Run> {
        self.files.put_back()?;
        let mut settings = vec![
            ("RANKWEAVE_MODE", Some(mode.to_string())),
            ("RANKWEAVE_STORE", Some(self.scratch.path())),
            // The verdict is about the program, so its record must not be under a key of the user.
            ("RANKWEAVE_KEY", None),
            ("RANKWEAVE_FLUSH", None),
        ];
        settings.extend(seed.map(|seed| ("RANKWEAVE_SEED", Some(seed.to_string()))));
        settings.extend(self.fix.iter().map(|fix| ("RANKWEAVE_FIX", Some(fix.clone()))));
        let outcome = self.series.with(&settings, self.streams)?;
        Ok(Run { outcome, files: self.files.read()? })
    }

    /// True if runs without permuted ranks agree. If they agree only when lines are sorted, lines are compared
    /// sorted from here on.
    fn agree(&mut self, plain: &[Run], found: &mut Conclusion) -> bool {
        let all = |order| plain[1..].iter().all(|run| self.differ(&plain[0], run, order).is_none());
        if all(self.order) {
            return true;
        }
        let sorted = all(LineOrder::Sorted);
        if sorted {
            (self.order, found.order) = (LineOrder::Sorted, LineOrder::Sorted);
        }
        sorted
    }

    /// The first difference between two runs.
    fn differ(&self, plain: &Run, other: &Run, order: LineOrder) -> Option<RunDifference> {
        let (a, b) = (&plain.outcome, &other.outcome);
        let words = |end: End| Some((1, end.words()));
        if a.end != b.end {
            let difference = Difference { plain: words(a.end), other: words(b.end) };
            return Some(RunDifference { what: "end".into(), difference, only_order: false });
        }
        let mut texts = vec![("standard output".to_string(), a.out.as_slice(), b.out.as_slice())];
        if self.with_stderr {
            texts.push(("standard error".into(), &a.err, &b.err));
        }
        for (what, plain, other) in texts {
            if let Some(difference) = self.filter.compare(plain, other, order) {
                let only_order = order == LineOrder::Printed
                    && self.filter.compare(plain, other, LineOrder::Sorted).is_none();
                return Some(RunDifference { what, difference, only_order });
            }
        }
        // The lines of a file are never sorted, because each rank has its fixed place in a file.
        let pairs = plain.files.iter().zip(&other.files).zip(self.files.paths());
        pairs.into_iter().find_map(|((a, b), path)| {
            let there = |file: &Option<Vec<u8>>| file.is_none().then(|| (1, "no file".to_string()));
            let difference = match (a, b) {
                (Some(a), Some(b)) => self.filter.compare(a, b, LineOrder::Printed)?,
                (None, None) => return None,
                (a, b) => Difference { plain: there(a), other: there(b) },
            };
            let what = path.display().to_string();
            Some(RunDifference { what, difference, only_order: false })
        })
    }
}

/// The first file that does not exist after a plain run.
fn missing(files: &Files, run: &Run) -> Option<String> {
    let mut both = files.paths().zip(&run.files);
    both.find(|(_, content)| content.is_none()).map(|(path, _)| path.display().to_string())
}

fn said(run: &Run) -> String {
    format!("{} in {}", run.outcome.end.words(), seconds(run.outcome.seconds))
}

/// A difference in words, for the end of a sentence.
fn sentence(difference: &RunDifference) -> String {
    match (difference.what.as_str(), &difference.difference.other) {
        ("end", Some((_, text))) if *text == End::TimedOut.words() => {
            "it does not end within the time limit".into()
        }
        ("end", Some((_, text))) => format!("it ends with {text}"),
        (what, _) if difference.only_order => {
            format!("{what} has the same lines in another order")
        }
        (what, _) => {
            let Difference { plain, other } = &difference.difference;
            let at = plain.as_ref().or(other.as_ref()).map_or(1, |line| line.0);
            format!("{what} differs in line {at}")
        }
    }
}
