//! `rankweave compare`: is a program faster with reordered ranks? Alternating runs with and without reordering.

mod interval;
mod measure;
mod result;

use crate::base::error::{Error, ErrorKind, Result};
use crate::base::nouns::counted;
use crate::cli::arguments::selection::StoreArgs;
use crate::cli::arguments::{launch_word, time_limit};
use crate::cli::console::{Exit, output};
use crate::cli::trial::{Scratch, Series, Streams};
use crate::store::{Fit, Fitting, LaunchMode, Record, Standing, Store, joined};
use measure::{Measurement, PrintedNumber};
use result::{Comparison, Pair, Verdict};
use std::path::PathBuf;
use std::time::{Duration, Instant};

const EXAMPLES: &str = "\
Examples:
  rankweave compare -- mpirun -n 64 ./app input
  rankweave compare --runs 10 --time-limit 30m -- srun -n 256 ./app
  rankweave compare --figure 'Loop time of ([0-9.]+)' -- mpirun -n 64 lmp -in in.melt
  rankweave compare --figure 'GFLOPS: ([0-9.]+)' --higher-is-better -- mpirun -n 64 ./hpl
  rankweave compare --json -- mpirun -n 64 ./app | jq '.ratio, .interval'";

const LONG: &str = "\
Measures whether a program runs faster with reordered ranks. It makes pairs of runs: one run in \
the launcher's order (A) and one with reordered ranks (B). The order alternates (A B, B A, A B, \
…), so that slow changes of the machine affect both kinds equally. Before the pairs, each kind is \
run --warmup times.

Reordered runs use the matrix in the store of a launch with the same arguments, or the one that was \
chosen with 'rankweave use' or imported. If there is none, a run records it first. All runs have the \
library, so that the rank order is the only difference. With --plain, the runs in the launcher's \
order are without the library.

The wall times of the launches are compared, or with --figure a number that the program prints. \
Each pair gives a ratio: reordered divided by launcher's order. The result is the median of these \
ratios, with a confidence interval. The interval contains the true median with the probability \
--confidence, for any distribution of the noise: its ends are two of the sorted ratios. For 95 % \
it needs 6 pairs.

  faster               the whole interval is on the better side of 1
  slower               the whole interval is on the worse side of 1
  no difference shown  the interval contains 1, or there are too few pairs
  not reordered        the launcher's order was kept, so there is nothing to compare

The runs count as launches of the program: 'rankweave show' lists their times, and 'rankweave \
run' takes them into account.

Exit codes: 0 faster; 1 any other result; 2 usage or I/O error, or a run that fails.";

/// Measure whether a program is faster with reordered ranks, by alternating runs
#[derive(Debug, clap::Args)]
#[command(before_long_help = EXAMPLES, long_about = LONG)]
#[command(override_usage = "rankweave compare [OPTIONS] -- LAUNCHER [ARGS…]")]
pub struct Args {
    /// Pairs of runs
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = clap::value_parser!(u16).range(1..=1000))]
    runs: u16,

    /// Runs of each kind before the pairs, which are not compared; at least 1
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=100))]
    warmup: u16,

    /// Start no pair that would end after this time, in seconds or as 30m
    #[arg(long, value_name = "SECONDS", value_parser = time_limit)]
    time_limit: Option<Duration>,

    /// Time after which a single run is ended; this counts as an error
    #[arg(long, value_name = "SECONDS", value_parser = time_limit)]
    timeout: Option<Duration>,

    /// Compare this number of the program's output instead of the wall time
    ///
    /// The number is the first group of the expression, or the whole match if it has no group. If
    /// several lines match, the last match counts.
    #[arg(long, value_name = "REGEX")]
    figure: Option<String>,

    /// A larger figure is better
    #[arg(long, requires = "figure")]
    higher_is_better: bool,

    /// Probability in percent with which the interval contains the true median
    #[arg(long, value_name = "PCT", default_value = "95", value_parser = confidence)]
    confidence: f64,

    /// Run the launcher's order without the library
    #[arg(long)]
    plain: bool,

    /// Standard input of every run
    #[arg(long, value_name = "PATH")]
    stdin: Option<PathBuf>,

    #[command(flatten)]
    store: StoreArgs,

    /// Print the result as JSON
    #[arg(long)]
    json: bool,

    /// The launch: mpirun, mpiexec, srun or another launcher, with all its arguments
    ///
    /// Write -- before it. Everything behind -- is passed on unchanged.
    #[arg(value_name = "LAUNCHER", required = true, trailing_var_arg = true)]
    #[arg(allow_hyphen_values = true, value_parser = launch_word())]
    launch: Vec<String>,
}

fn confidence(text: &str) -> std::result::Result<f64, String> {
    match text.trim_end_matches('%').trim().parse::<f64>() {
        Ok(percent) if (50.0..100.0).contains(&percent) => Ok(percent),
        _ => {
            Err(format!("'{text}' is not a probability: percent from 50 to below 100, such as 95"))
        }
    }
}

impl Args {
    pub(in crate::cli) fn execute(self) -> Result<Exit> {
        let figure = self.figure.as_deref().map(PrintedNumber::new).transpose()?;
        let store = self.store.open()?;
        let series = Series::new(&self.launch, self.stdin.clone(), self.timeout)?;
        let (scratch, streams) = (Scratch::inside(&store)?, Streams::new()?);
        let measurement = Measurement {
            series: &series,
            scratch: &scratch,
            streams: &streams,
            figure: figure.as_ref(),
            plain: self.plain,
        };
        let (key, identity) = self.prepare(&measurement, &store)?;
        let (pairs, left_alone) = self.measure(&measurement)?;
        remember(&scratch, &store, &key, &identity)?;
        let comparison = Comparison {
            key,
            figure: self.figure.clone(),
            higher_is_better: self.higher_is_better,
            confidence_percent: self.confidence,
            pairs,
            left_alone,
        };
        output::print_as(self.json, || comparison.json(), || comparison.text())?;
        Ok(if comparison.verdict() == Verdict::Faster { Exit::Done } else { Exit::Nothing })
    }

    /// Makes the runs and returns the pairs of times. If a run kept the launcher's order, it also returns the reason.
    fn measure(&self, measurement: &Measurement) -> Result<(Vec<Pair>, Option<String>)> {
        let mut pairs: Vec<Pair> = Vec::new();
        for round in 0..self.warmup {
            if round > 0 {
                measurement.given("warm-up")?;
            }
            let sample = measurement.reordered("warm-up")?;
            if !sample.reordered {
                return Ok((pairs, Some(sample.decision)));
            }
        }
        let since = Instant::now();
        while pairs.len() < usize::from(self.runs) {
            let done = pairs.len() as u32;
            let average = since.elapsed().checked_div(done).unwrap_or_default();
            if done > 0 && self.time_limit.is_some_and(|limit| since.elapsed() + average > limit) {
                eprintln!(
                    "rankweave: the time limit is reached: the result uses the {} made so far",
                    counted(done, "pair")
                );
                break;
            }
            let name = format!("pair {}", done + 1);
            // The two kinds of runs take turns at being the first of a pair.
            let pair = if done.is_multiple_of(2) {
                let given = measurement.given(&name)?;
                (given, measurement.reordered(&name)?)
            } else {
                let reordered = measurement.reordered(&name)?;
                (measurement.given(&name)?, reordered)
            };
            if !pair.1.reordered {
                return Ok((pairs, Some(pair.1.decision)));
            }
            pairs.push(pair);
        }
        Ok((pairs, None))
    }

    /// Does a recorded run, and puts the matrix that reordered runs use into the scratch store. If the user's
    /// store has a matrix of a run with the same arguments, or one that the user chose, it is used. Otherwise the
    /// matrix of this run is used and also put into the user's store. Returns the key of the matrix
    /// and the identity of the program.
    fn prepare(&self, measurement: &Measurement, store: &Store) -> Result<(String, String)> {
        let recorded = measurement.recorded()?;
        let key = recorded.key.clone();
        let tasks = recorded.matrix.tasks();
        if let Some(program) = recorded.program_id()
            && store.objection(program).ok().flatten().is_some()
        {
            eprintln!(
                "rankweave: 'rankweave check' found that this program gives other results with \
                 permuted ranks: the times of its reordered runs may be those of wrong results"
            );
        }
        let other_tasks = |stored: &Record| stored.matrix.tasks() != tasks;
        if let Some(stored) = store.load(&key).ok().flatten().filter(other_tasks) {
            let stored = counted(stored.matrix.tasks(), "task");
            let what = format!("the matrix stored under {key} is of {stored}");
            return Err(Error::new(ErrorKind::Infeasible, what)
                .advise("give another key (RANKWEAVE_KEY), or no key"));
        }
        let kind = Standing::of(&recorded).kind;
        let fitting = store.fitting(&key, tasks, kind).ok().flatten();
        let is_other = fitting.is_some();
        // A version that did not store the choice may have imported the record.
        let is_imported = |record: &Record| record.launch.mode == LaunchMode::Import;
        match fitting {
            Some(Fitting { mut record, fit, .. })
                if fit != Fit::OtherKind || is_imported(&record) =>
            {
                record.history.clear();
                measurement.scratch.put(&record, fit != Fit::SameKind)?;
            }
            _ => {
                let path = store.save_unless(&recorded, |_| false)?;
                let path = path.unwrap_or_else(|| store.path_of(&key));
                let of = if is_other { " for these arguments" } else { "" };
                let path = path.display();
                eprintln!("rankweave: nothing was stored yet{of}: recorded (in {path})");
            }
        }
        Ok((key, recorded.identity))
    }
}

/// Adds the launches to the history of the user's record.
fn remember(scratch: &Scratch, store: &Store, key: &str, identity: &str) -> Result<()> {
    let Some(mut record) = store.load(key)? else { return Ok(()) };
    record.history = joined(&record.history, &scratch.history());
    if record.identity.is_empty() {
        record.identity = identity.into();
    }
    store.save(&record).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn confidences() {
        assert!(confidence("95").is_ok() && confidence("99.9 %").is_ok());
        for bad in ["", "100", "20", "x", "nan"] {
            assert!(confidence(bad).is_err(), "{bad}");
        }
    }
}
