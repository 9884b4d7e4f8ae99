//! One run of a comparison, and the number that is compared.

use crate::base::error::{Error, ErrorKind, Result};
use crate::base::quantity::seconds;
use crate::cli::arguments::regular_expression;
use crate::cli::trial::{Scratch, Series, Streams, TrialRun};
use crate::store::Record;
use regex::Regex;

/// A number that the program prints.
#[derive(Debug)]
pub(super) struct PrintedNumber(Regex);

impl PrintedNumber {
    /// Compiles the expression. Errors: the expression cannot be read.
    pub(super) fn new(text: &str) -> Result<PrintedNumber> {
        regular_expression(text, "--figure").map(PrintedNumber)
    }

    /// The number in the last match in the output of a program.
    fn find(&self, text: &str) -> Option<f64> {
        let captures = self.0.captures_iter(text).last()?;
        let found = captures.get(1).or(captures.get(0))?.as_str();
        let value = found.trim().replace(['d', 'D'], "e").parse::<f64>().ok()?;
        (value.is_finite() && value > 0.0).then_some(value)
    }

    fn of(&self, outcome: &TrialRun) -> Result<f64> {
        let find = |bytes: &[u8]| self.find(&String::from_utf8_lossy(bytes));
        find(&outcome.out).or_else(|| find(&outcome.err)).ok_or_else(|| {
            let what = format!("no number above 0 in the program's output matches '{}'", self.0);
            Error::new(ErrorKind::Usage, what).at("--figure").advise(
                "give an expression with one group around the number, such as 'time: ([0-9.]+)'",
            )
        })
    }
}

/// One run.
#[derive(Debug, Clone)]
pub(super) struct MeasuredRun {
    /// The number that is compared.
    pub(super) value: f64,
    /// True if the ranks were in another order than the launcher's.
    pub(super) reordered: bool,
    /// Bytes between nodes; `None` if the run was not recorded.
    pub(super) internode_bytes: Option<u64>,
    /// Hop-bytes predicted for the launcher's order and for the order that was used.
    pub(super) predicted: (u128, u128),
    /// The decision about the ranks, in words; never empty for a run with the library.
    pub(super) decision: String,
}

/// The decision about the ranks of a run with the library, in words. `record` is `None` if the run left none.
fn decision_of(record: Option<&Record>) -> String {
    match record.map(|record| record.launch.decision.trim()) {
        None => "the library recorded nothing in a run that was to be reordered, so the order of its ranks is not \
                 known; try: run 'rankweave doctor' with the same launch"
            .into(),
        Some("") => "the library gave no reason; try: run 'rankweave run --mode reorder -v' with the same launch".into(),
        Some(decision) => decision.into(),
    }
}

/// The settings of all runs.
pub(super) struct Measurement<'a> {
    pub(super) series: &'a Series,
    pub(super) scratch: &'a Scratch,
    pub(super) streams: &'a Streams,
    pub(super) figure: Option<&'a PrintedNumber>,
    /// Runs in the launcher's order are without the library.
    pub(super) plain: bool,
}

impl Measurement<'_> {
    /// A run that records; the record stays in the scratch store.
    pub(super) fn recorded(&self) -> Result<Record> {
        let outcome = self.run("record")?;
        self.sample(&outcome, None, "warm-up, launcher's order")?;
        let advice =
            "run 'rankweave doctor' with the same launch; the program has to reach MPI_Finalize";
        self.scratch.newest()?.ok_or_else(|| {
            Error::new(ErrorKind::Infeasible, "the library recorded nothing").advise(advice)
        })
    }

    /// A run in the launcher's order.
    pub(super) fn given(&self, name: &str) -> Result<MeasuredRun> {
        let (outcome, record) = match self.plain {
            true => (self.series.plain(self.streams)?, None),
            false => (self.run("record")?, self.scratch.newest()?),
        };
        self.sample(&outcome, record, &format!("{name}, launcher's order"))
    }

    /// A run with reordered ranks.
    pub(super) fn reordered(&self, name: &str) -> Result<MeasuredRun> {
        let outcome = self.run("reorder")?;
        let record = self.scratch.newest()?;
        self.sample(&outcome, record, &format!("{name}, reordered"))
    }

    fn run(&self, mode: &str) -> Result<TrialRun> {
        self.scratch.begin()?;
        let settings = [
            ("RANKWEAVE_MODE", Some(mode.to_string())),
            ("RANKWEAVE_STORE", Some(self.scratch.path())),
            // A comparison is to find out whether the order helps, so --deny does not count here.
            ("RANKWEAVE_DENY", None),
        ];
        self.series.with(&settings, self.streams)
    }

    fn sample(
        &self,
        outcome: &TrialRun,
        record: Option<Record>,
        name: &str,
    ) -> Result<MeasuredRun> {
        if let Some(how) = outcome.failure() {
            return Err(Error::new(ErrorKind::Io, format!("a run fails with {how}"))
                .at(name)
                .advise("run 'rankweave check' with the same launch"));
        }
        let value = self.figure.map_or(Ok(outcome.seconds), |figure| figure.of(outcome))?;
        let figure = self.figure.map_or(String::new(), |_| format!("{value} in "));
        eprintln!("rankweave: {name}: {figure}{}", seconds(outcome.seconds));
        let decision = decision_of(record.as_ref());
        let internode_bytes = record.as_ref().map(|record| record.launch.internode_bytes);
        let launch = record.map(|record| record.launch).unwrap_or_default();
        Ok(MeasuredRun {
            value,
            reordered: launch.is_reordered(),
            internode_bytes,
            predicted: launch.predicted,
            decision,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures() {
        let find = |regex: &str, text: &str| PrintedNumber::new(regex).unwrap().find(text);
        assert_eq!(find("time: ([0-9.]+)", "time: 1.5\ntime: 2.5 s\n"), Some(2.5));
        assert_eq!(find("[0-9.]+$", "a 3\nb 4"), Some(4.0));
        assert_eq!(find("t=(\\S+)", "t=1.5D-1"), Some(0.15));
        assert_eq!(find("t=(\\S+)", "t=0"), None);
        assert_eq!(find("t=(\\S+)", "t=x"), None);
        assert_eq!(find("t=(\\S+)", "none"), None);
        assert!(PrintedNumber::new("(").is_err());
    }
}
