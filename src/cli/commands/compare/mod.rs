//! `rankweave compare`: is a program faster with reordered ranks? Interleaved runs with and without.

mod interval;
mod measure;

use crate::base::error::{Error, ErrorKind, Result};
use crate::cli::arguments::selection::StoreArgs;
use crate::cli::arguments::time_limit;
use crate::cli::console::{Exit, output};
use crate::cli::trial::{Scratch, Series, Streams};
use crate::report::units;
use crate::store::{Store, joined};
use interval::Estimate;
use measure::{Figure, Measurement, Sample};
use serde_json::json;
use std::path::PathBuf;
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  rankweave compare -- mpirun -n 64 ./app input
  rankweave compare --runs 10 --time-limit 30m -- srun -n 256 ./app
  rankweave compare --figure 'Loop time of ([0-9.]+)' -- mpirun -n 64 lmp -in in.melt
  rankweave compare --figure 'GFLOPS: ([0-9.]+)' --higher-is-better -- mpirun -n 64 ./hpl
  rankweave compare --json -- mpirun -n 64 ./app | jq '.ratio, .interval'";

const LONG: &str = "\
Measures whether a program runs faster with reordered ranks: in pairs of one run in the launcher's \
order and one reordered, the first of a pair being the second of the next (A B, B A, A B, …), so that \
slow changes of the machine hit both alike. Before that each is run --warmup times.

Reordered runs go by the matrix in the store; if there is none, a run records it first. All runs have \
the library, so that the order of the ranks is the only difference (--plain runs the launcher's order \
without it).

What is compared is the wall time of the launch, or with --figure a number that the program prints. \
The result is the median of the ratios of the pairs, reordered to launcher's order, with an interval \
that holds the true median with the probability --confidence, whatever the noise looks like: the \
distribution-free interval between two of the ratios sorted. For 95 % it takes 6 pairs.

  faster               the whole interval is on the better side of 1
  slower               the whole interval is on the worse side
  no difference shown  it holds 1, or there are too few pairs
  not reordered        the launcher's order is kept: there is nothing to compare

The runs count as launches of the program: 'rankweave show' tells their times, and 'rankweave run' \
goes by them.

Exit codes: 0 faster; 1 anything else; 2 usage or I/O error, or a run that fails.";

/// Measure whether reordered ranks are faster, by interleaved runs
#[derive(Debug, clap::Args)]
#[command(before_long_help = EXAMPLES, long_about = LONG)]
#[command(override_usage = "rankweave compare [OPTIONS] -- LAUNCHER [ARGS…]")]
pub struct Args {
    /// Pairs of runs
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = clap::value_parser!(u16).range(1..=1000))]
    runs: u16,

    /// Runs of each kind that do not count, before the others; at least 1
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=100))]
    warmup: u16,

    /// Begin no pair that would not end within this time, in seconds or as 30m
    #[arg(long, value_name = "SECONDS", value_parser = time_limit)]
    time_limit: Option<Duration>,

    /// Time after which a single run is ended, which is an error
    #[arg(long, value_name = "SECONDS", value_parser = time_limit)]
    timeout: Option<Duration>,

    /// Compare this number of the program's output instead of the wall time
    ///
    /// The first group of the expression, or all of it if it has none; of several matches the last.
    #[arg(long, value_name = "REGEX")]
    figure: Option<String>,

    /// A larger figure is better
    #[arg(long, requires = "figure")]
    higher_is_better: bool,

    /// Probability in percent with which the interval is to hold the true median
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

    /// The launch: mpirun, mpiexec, srun, … with everything that belongs to it
    ///
    /// Everything from here on is passed on as it is; write -- before it.
    #[arg(value_name = "LAUNCHER", required = true, trailing_var_arg = true)]
    #[arg(allow_hyphen_values = true)]
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

/// What came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Faster,
    Slower,
    NoDifference,
    NotReordered,
}

impl Verdict {
    fn name(self) -> &'static str {
        match self {
            Verdict::Faster => "faster",
            Verdict::Slower => "slower",
            Verdict::NoDifference => "no difference shown",
            Verdict::NotReordered => "not reordered",
        }
    }

    /// By the interval of ratios that are below 1 where reordering is better.
    fn of(estimate: Option<&Estimate>, confidence: f64) -> Verdict {
        match estimate {
            Some(e) if e.coverage >= confidence && e.high < 1.0 => Verdict::Faster,
            Some(e) if e.coverage >= confidence && e.low > 1.0 => Verdict::Slower,
            _ => Verdict::NoDifference,
        }
    }
}

impl Args {
    pub(in crate::cli) fn execute(self) -> Result<Exit> {
        let figure = self.figure.as_deref().map(Figure::new).transpose()?;
        let store = self.store.open()?;
        let series = Series::new(&self.launch, self.stdin.clone(), self.timeout)?;
        let (scratch, streams) = (Scratch::inside(&store)?, Streams::new()?);
        let measurement = Measurement {
            series: &series,
            scratch: &scratch,
            streams: &streams,
            figure: figure.as_ref(),
            plain: self.plain,
            tell: |text| eprintln!("rankweave: {text}"),
        };
        let key = self.prepare(&measurement, &store)?;
        let mut pairs: Vec<(Sample, Sample)> = Vec::new();
        let mut left_alone = None;
        for round in 0..self.warmup {
            if round > 0 {
                measurement.given("warm-up")?;
            }
            let sample = measurement.reordered("warm-up")?;
            if !sample.reordered {
                left_alone = Some(sample.decision);
                break;
            }
        }
        let since = std::time::Instant::now();
        while left_alone.is_none() && pairs.len() < usize::from(self.runs) {
            let done = pairs.len() as u32;
            let average = since.elapsed().checked_div(done).unwrap_or_default();
            if done > 0 && self.time_limit.is_some_and(|limit| since.elapsed() + average > limit) {
                eprintln!("rankweave: the time limit ends this after {done} pairs");
                break;
            }
            let name = format!("pair {}", done + 1);
            let pair = if done.is_multiple_of(2) {
                let given = measurement.given(&name)?;
                (given, measurement.reordered(&name)?)
            } else {
                let reordered = measurement.reordered(&name)?;
                (measurement.given(&name)?, reordered)
            };
            if !pair.1.reordered {
                left_alone = Some(pair.1.decision);
                break;
            }
            pairs.push(pair);
        }
        remember(&scratch, &store, &key)?;
        self.report(&key, &pairs, left_alone)
    }

    /// Records once, and has the scratch store hold the matrix that reordered runs go by: that of the
    /// user's store, or this one, which then goes there too. Gives its key.
    fn prepare(&self, measurement: &Measurement, store: &Store) -> Result<String> {
        let scratch = measurement.scratch.store();
        let recorded = measurement.recorded()?;
        let key = recorded.key.clone();
        let tasks = recorded.matrix.tasks();
        if let Some(program) = recorded.program_id()
            && store.objection(program).ok().flatten().is_some()
        {
            eprintln!(
                "rankweave: 'rankweave check' found that this program minds other ranks; its times \
                 may not be those of right results"
            );
        }
        match store.load(&key) {
            Ok(Some(mut stored)) if stored.matrix.tasks() == tasks && stored.has_all_tasks() => {
                stored.history.clear();
                scratch.save(&stored)?;
            }
            Ok(Some(stored)) if stored.matrix.tasks() != tasks => {
                return Err(Error::new(
                    ErrorKind::Infeasible,
                    format!("the matrix stored under {key} is of {} tasks", stored.matrix.tasks()),
                )
                .advise("another key (RANKWEAVE_KEY), or none"));
            }
            _ => {
                let path = store.save(&recorded)?;
                eprintln!("rankweave: nothing was stored yet: recorded (in {})", path.display());
            }
        }
        Ok(key)
    }

    fn report(
        &self,
        key: &str,
        pairs: &[(Sample, Sample)],
        left_alone: Option<String>,
    ) -> Result<Exit> {
        let ratio = |(given, reordered): &(Sample, Sample)| match self.higher_is_better {
            true => given.value / reordered.value,
            false => reordered.value / given.value,
        };
        let ratios: Vec<f64> = pairs.iter().map(ratio).collect();
        let confidence = self.confidence / 100.0;
        let estimate = Estimate::of(&ratios, confidence);
        let verdict = match left_alone {
            Some(_) => Verdict::NotReordered,
            None => Verdict::of(estimate.as_ref(), confidence),
        };
        let given: Vec<f64> = pairs.iter().map(|p| p.0.value).collect();
        let reordered: Vec<f64> = pairs.iter().map(|p| p.1.value).collect();
        let medians = crate::decide::median(&given).zip(crate::decide::median(&reordered));
        let last = pairs.last();
        let bytes = last.and_then(|p| p.0.internode_bytes.zip(p.1.internode_bytes));
        let predicted = last.map(|p| p.1.predicted).filter(|&p| p != (0, 0));
        if self.json {
            output::print_json(&json!({
                "schema": 1,
                "verdict": verdict.name(),
                "key": key,
                "figure": self.figure.as_deref().unwrap_or("wall seconds"),
                "higher_is_better": self.higher_is_better,
                "pairs": pairs.len(),
                "ratio": estimate.map(|e| e.median),
                "interval": estimate.map(|e| [e.low, e.high]),
                "coverage": estimate.map(|e| e.coverage),
                "confidence": confidence,
                "medians": medians.map(|(g, r)| json!({ "given": g, "reordered": r })),
                "given": given,
                "reordered": reordered,
                "internode_bytes": bytes.map(|(g, r)| json!({ "given": g, "reordered": r })),
                "predicted_hop_bytes": predicted.map(|(g, r)| json!({ "given": g as f64, "reordered": r as f64 })),
                "decision": left_alone,
            }))?;
        } else {
            let mut text = String::from(verdict.name());
            match (&left_alone, &estimate) {
                (Some(decision), _) => text.push_str(&format!(": {}\n", units::printable(decision))),
                (None, Some(e)) => text.push_str(&format!(
                    ": ratio {:.3}, {:.0} % interval {:.3} to {:.3} (median of {} pairs, reordered to \
                     launcher's order{})\n",
                    e.median,
                    100.0 * e.coverage,
                    e.low,
                    e.high,
                    pairs.len(),
                    if self.higher_is_better { ", inverted: below 1 is better" } else { "" }
                )),
                (None, None) => text.push('\n'),
            }
            if let Some(e) = estimate.filter(|e| e.coverage < confidence && left_alone.is_none()) {
                text.push_str(&format!(
                    "  {} pairs give {:.1} % at best; {} % takes more --runs\n",
                    pairs.len(),
                    100.0 * e.coverage,
                    self.confidence
                ));
            }
            if let Some((given, reordered)) = medians {
                let name = self.figure.as_deref().map_or("wall seconds", |_| "figure");
                text.push_str(&format!(
                    "  {name:<20} launcher's order {given:.4}, reordered {reordered:.4} (medians)\n"
                ));
            }
            if let Some((given, reordered)) = bytes {
                text.push_str(&format!(
                    "  {:<20} launcher's order {}, reordered {}\n",
                    "bytes between nodes",
                    units::bytes(given),
                    units::bytes(reordered)
                ));
            }
            if let Some((given, reordered)) = predicted {
                let percent = 100.0 * (reordered as f64 / given as f64 - 1.0);
                text.push_str(&format!("  {:<20} {percent:+.1} %\n", "predicted hop-bytes"));
            }
            output::print(&text)?;
        }
        Ok(if verdict == Verdict::Faster { Exit::Done } else { Exit::Nothing })
    }
}

/// Adds the launches to the history of the user's record.
fn remember(scratch: &Scratch, store: &Store, key: &str) -> Result<()> {
    let (Some(runs), Some(mut record)) = (scratch.store().load(key)?, store.load(key)?) else {
        return Ok(());
    };
    record.history = joined(&record.history, &runs.history);
    if record.identity.is_empty() {
        record.identity = runs.identity;
    }
    store.save(&record).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts() {
        let of = |low: f64, high: f64, coverage: f64| {
            let e = Estimate { median: low, low, high, coverage };
            Verdict::of(Some(&e), 0.95)
        };
        assert_eq!(of(0.7, 0.9, 0.96), Verdict::Faster);
        assert_eq!(of(1.1, 1.9, 0.96), Verdict::Slower);
        assert_eq!(of(0.7, 1.0, 0.96), Verdict::NoDifference);
        assert_eq!(of(0.7, 0.9, 0.93), Verdict::NoDifference);
        assert_eq!(Verdict::of(None, 0.95), Verdict::NoDifference);
        assert!(confidence("95").is_ok() && confidence("99.9 %").is_ok());
        for bad in ["", "100", "20", "x", "nan"] {
            assert!(confidence(bad).is_err(), "{bad}");
        }
    }
}
