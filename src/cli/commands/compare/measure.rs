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
    /// Errors: an expression that cannot be read.
    pub(super) fn new(text: &str) -> Result<PrintedNumber> {
        regular_expression(text, "--figure").map(PrintedNumber)
    }

    /// The number in the last match of what a program printed.
    fn find(&self, text: &str) -> Option<f64> {
        let captures = self.0.captures_iter(text).last()?;
        let found = captures.get(1).or(captures.get(0))?.as_str();
        let value = found.trim().replace(['d', 'D'], "e").parse::<f64>().ok()?;
        (value.is_finite() && value > 0.0).then_some(value)
    }

    fn of(&self, outcome: &TrialRun) -> Result<f64> {
        let find = |bytes: &[u8]| self.find(&String::from_utf8_lossy(bytes));
        find(&outcome.out).or_else(|| find(&outcome.err)).ok_or_else(|| {
            Error::new(
                ErrorKind::Usage,
                format!("no number above 0 in the program's output matches '{}'", self.0),
            )
            .at("--figure")
            .advise("an expression with one group around the number, such as 'time: ([0-9.]+)'")
        })
    }
}

/// One run.
#[derive(Debug, Clone)]
pub(super) struct MeasuredRun {
    /// The number that is compared.
    pub(super) value: f64,
    /// Ranks were in another order than the launcher's.
    pub(super) reordered: bool,
    /// Bytes between nodes; `None` if the run was not recorded.
    pub(super) internode_bytes: Option<u64>,
    /// Hop-bytes predicted for the launcher's order and the one used.
    pub(super) predicted: (u128, u128),
    /// What was decided.
    pub(super) decision: String,
}

/// How runs are done.
pub(super) struct Measurement<'a> {
    pub(super) series: &'a Series,
    pub(super) scratch: &'a Scratch,
    pub(super) streams: &'a Streams,
    pub(super) figure: Option<&'a PrintedNumber>,
    /// Without the library in the launcher's order.
    pub(super) plain: bool,
}

impl Measurement<'_> {
    /// A run that records; the record stays in the scratch store.
    pub(super) fn recorded(&self) -> Result<Record> {
        let outcome = self.run("record")?;
        self.sample(&outcome, None, "warm-up, launcher's order")?;
        let record = self.scratch.newest()?;
        record.ok_or_else(|| {
            Error::new(ErrorKind::Infeasible, "the library recorded nothing").advise(
                "'rankweave doctor' with the same launch; the program has to reach MPI_Finalize",
            )
        })
    }

    /// A run in the launcher's order.
    pub(super) fn given(&self, name: &str) -> Result<MeasuredRun> {
        let outcome = match self.plain {
            true => self.series.plain(self.streams)?,
            false => self.run("record")?,
        };
        let record = if self.plain { None } else { self.scratch.newest()? };
        self.sample(&outcome, record, &format!("{name}, launcher's order"))
    }

    /// A run with reordered ranks.
    pub(super) fn reordered(&self, name: &str) -> Result<MeasuredRun> {
        let outcome = self.run("reorder")?;
        let record = self.scratch.newest()?;
        self.sample(&outcome, record, &format!("{name}, reordered"))
    }

    fn run(&self, mode: &str) -> Result<TrialRun> {
        let settings = [
            ("RANKWEAVE_MODE", Some(mode.to_string())),
            ("RANKWEAVE_STORE", Some(self.scratch.path())),
            // A comparison is how a user finds out whether the order helps: --deny does not count here.
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
                .advise("'rankweave check' with the same launch"));
        }
        let value = match self.figure {
            Some(figure) => figure.of(outcome)?,
            None => outcome.seconds,
        };
        match self.figure {
            Some(_) => eprintln!("rankweave: {name}: {value} in {}", seconds(outcome.seconds)),
            None => eprintln!("rankweave: {name}: {}", seconds(value)),
        }
        let launch = record.map(|record| record.launch);
        Ok(MeasuredRun {
            value,
            reordered: launch.as_ref().is_some_and(|l| l.is_reordered()),
            internode_bytes: launch.as_ref().map(|l| l.internode_bytes),
            predicted: launch.as_ref().map_or((0, 0), |l| l.predicted),
            decision: launch.map_or(String::new(), |l| l.decision),
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
