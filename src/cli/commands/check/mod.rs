//! `rankweave check`: does a program give the same results with permuted ranks?
//!
//! [`examine`] does the runs, [`text`] compares their output, and [`files`] reads the files that they wrote.

mod examine;
mod files;
mod text;

use crate::base::clock::since_1970;
use crate::base::error::Result;
use crate::base::nouns::{counted, noun};
use crate::base::raw_words::shown;
use crate::cli::arguments::selection::StoreArgs;
use crate::cli::arguments::{launch_word, time_limit};
use crate::cli::console::shell::quoted;
use crate::cli::console::{Exit, output};
use crate::cli::trial::{Scratch, Series, Streams};
use crate::options::number_list;
use crate::report::units::printable;
use crate::store::{Compared, Finding, Store, Verdict};
use examine::{Conclusion, Examination};
use files::Files;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::Duration;
use text::{Filter, LineOrder, Tolerance};

const EXAMPLES: &str = "\
Examples:
  rankweave check -- mpirun -n 8 ./app input.small
  rankweave check --file out.dat --tolerance 1e-9 -- mpirun -n 8 ./app
  rankweave check --ignore '^started on' --seeds 1-10 -- srun -n 16 ./app
  rankweave check --sorted --timeout 300 -- mpiexec -n 8 ./app    lines come in any order
  rankweave check --json -- mpirun -n 8 ./app | jq -r .verdict";

const LONG: &str = "\
Runs a program with permuted ranks and finds out whether its results stay the same.

MPI allows any process to have any rank, but some programs rely on the launcher's order. They \
read the launcher's rank from the environment, choose a device by arithmetic on their rank, or \
use ranks of MPI_COMM_WORLD in a communicator whose ranks were reordered. Such a program must not \
be reordered.

There are three kinds of runs: plain runs without the library; one run that is recorded in the \
launcher's order; and one run for each seed, in which the library permutes the ranks at random. \
It permutes the ranks of MPI_COMM_WORLD and those of topologies made with reorder = 1.

The exit code, the output and the files named with --file have to be the same in all runs. Words \
and whole numbers are compared exactly, other numbers within --tolerance. Times, rates, dates, \
addresses and names of nodes may differ. Lines that match --ignore may differ, too. If the plain \
runs print their lines in different orders, lines are sorted before they are compared. Use a \
small input, because the program runs five times or more.

The verdict:
  safe            all runs have the same results
  differs         permuted ranks change the results; the first difference is shown, with the \
command that repeats the run
  not comparable  the program fails, exceeds the time limit, or gives varying results without \
permuted ranks

The verdict is stored for the program. It holds for every key and every number of ranks. In mode \
auto, 'rankweave run' does not reorder a program whose verdict is 'differs', unless --allow names \
it. This verdict stays until a check would show the difference again and finds the program safe: \
with the same arguments, standard input, number of ranks and --fix, with the seed that showed it, \
and with --stderr and --file if these were given. Other checks do not replace it.

A launch can store a verdict, too: 'mixes ranks'. It means that MPI_Cart_create or a similar call \
gave new ranks, and that the program then addressed messages by the ranks of another \
communicator. Later launches keep the ranks of topologies unchanged, until a check with as many \
ranks finds the program safe.

Files named with --file are restored before every run and at the end. Everything else that the \
program writes stays as the last run wrote it. If standard input is a file, each run reads it \
from its start. Otherwise the runs have no standard input.

Exit codes: 0 safe; 1 differs or not comparable; 2 usage or I/O error.";

/// Run a program with permuted ranks and compare its results: is reordering safe for it?
#[derive(Debug, clap::Args)]
#[command(before_long_help = EXAMPLES, long_about = LONG)]
#[command(override_usage = "rankweave check [OPTIONS] -- LAUNCHER [ARGS…]")]
pub struct Args {
    /// Seeds of the permutations, one run each: numbers and ranges such as 1-5,17
    #[arg(long, value_name = "LIST", default_value = "1-3", value_parser = seeds)]
    seeds: Seeds,

    /// How far numbers that are not whole may differ: relative, or relative and absolute
    ///
    /// With permuted ranks, sums over ranks are added in another order, so their last digits differ. An
    /// absolute tolerance (the second number of 1e-6,1e-12) is for values that are zero except for
    /// rounding errors.
    #[arg(long, value_name = "REL[,ABS]", default_value = "1e-6", value_parser = Tolerance::parse)]
    tolerance: Tolerance,

    /// Ignore lines that match this regular expression; may be given several times
    #[arg(long, value_name = "REGEX")]
    ignore: Vec<String>,

    /// Also compare this file, which the program writes; may be given several times
    #[arg(long, value_name = "PATH")]
    file: Vec<PathBuf>,

    /// Compare standard error too
    #[arg(long)]
    stderr: bool,

    /// Compare sorted lines, for a program whose lines come in any order
    #[arg(long)]
    sorted: bool,

    /// Runs without permuted ranks, at least 2; the last of them is the recorded one
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u8).range(2..=50))]
    plain: u8,

    /// Time after which a run is ended, in seconds, or as 10m
    ///
    /// [default: none for the first run; then ten times as long as that took, at least a minute]
    #[arg(long, value_name = "SECONDS", value_parser = time_limit)]
    timeout: Option<Duration>,

    /// Tasks that keep their process, such as 0,8-11; none frees all
    ///
    /// [default: RANKWEAVE_FIX, else 0]
    #[arg(long, value_name = "LIST")]
    fix: Option<String>,

    /// Standard input of every run
    #[arg(long, value_name = "PATH")]
    stdin: Option<PathBuf>,

    /// Do not store the verdict
    #[arg(long)]
    forget: bool,

    #[command(flatten)]
    store: StoreArgs,

    /// Print the verdict as JSON
    #[arg(long)]
    json: bool,

    /// The launch: mpirun, mpiexec, srun or another launcher, with all its arguments
    ///
    /// Write -- before it. Everything behind -- is passed on unchanged.
    #[arg(value_name = "LAUNCHER", required = true, trailing_var_arg = true)]
    #[arg(allow_hyphen_values = true, value_parser = launch_word())]
    launch: Vec<String>,
}

/// A list of seeds.
#[derive(Debug, Clone)]
struct Seeds(Vec<u32>);

fn seeds(text: &str) -> std::result::Result<Seeds, String> {
    number_list(text).map(Seeds).map_err(|e| e.to_string())
}

/// The file of the verdict, and the differences of older checks that stay in force.
struct Remembered {
    path: PathBuf,
    unsettled: Vec<Verdict>,
}

impl Args {
    pub(in crate::cli) fn execute(self) -> Result<Exit> {
        if let Some(fix) = &self.fix {
            crate::options::Settings::default().set("fix", fix).map_err(|e| e.at("--fix"))?;
        }
        let filter = Filter::new(self.tolerance, &self.ignore)?;
        let store = self.store.open()?;
        let series = Series::new(&self.launch, self.stdin.clone(), self.timeout)?;
        let stdin = series.stdin.clone();
        let (scratch, streams) = (Scratch::inside(&store)?, Streams::new()?);
        let files = Files::new(&self.file)?;
        let examination = Examination {
            series,
            scratch: &scratch,
            streams: &streams,
            files: &files,
            filter,
            order: if self.sorted { LineOrder::Sorted } else { LineOrder::Printed },
            with_stderr: self.stderr,
            least_plain: usize::from(self.plain),
            seeds: &self.seeds.0,
            fix: self.fix.clone(),
        };
        let found = examination.conclude()?;
        let remembered =
            if self.forget { None } else { self.remember(&store, &found, stdin.as_deref())? };
        if self.json {
            output::print_json(&self.json(&found, remembered.as_ref()))?;
        } else {
            output::print(&self.text(&found))?;
            if let Some(Remembered { path, .. }) = &remembered {
                let path = path.display();
                eprintln!("rankweave: the verdict is stored for this program (in {path})");
            }
        }
        for older in remembered.iter().flat_map(|remembered| &remembered.unsettled) {
            eprintln!("rankweave: {}", still_differs(older));
        }
        Ok(if found.finding == Finding::Safe { Exit::Done } else { Exit::Nothing })
    }

    /// Puts the verdict into the store, if the program is known.
    fn remember(
        &self,
        store: &Store,
        found: &Conclusion,
        stdin: Option<&Path>,
    ) -> Result<Option<Remembered>> {
        let Some(record) = &found.record else { return Ok(None) };
        let Some(program) = record.program_id() else { return Ok(None) };
        let verdict = Verdict {
            program: record.program.clone(),
            launch: self.launch.iter().map(|word| shown(word)).collect(),
            tasks: record.matrix.tasks() as u64,
            checked_at: since_1970().as_secs(),
            seeds: found.seeds.clone(),
            finding: found.finding,
            reason: found.reason.clone(),
            compared: Some(Compared {
                arguments: record.command.iter().skip(1).cloned().collect(),
                stdin: stdin.map(full_path).unwrap_or_default(),
                files: self.file.iter().map(|file| full_path(file)).collect(),
                stderr: self.stderr,
                fix: self.fix.clone().unwrap_or_default(),
            }),
        };
        let path = store.keep_verdict(program, &verdict)?;
        let unsettled = store.unsettled(program, &verdict)?;
        Ok(Some(Remembered { path, unsettled }))
    }

    /// The command that shows a difference again.
    fn again(&self, found: &Conclusion) -> Option<String> {
        let quoted =
            |words: &[String]| words.iter().map(|w| quoted(w)).collect::<Vec<_>>().join(" ");
        let (options, launch) = (quoted(&found.again), quoted(&self.launch));
        (!found.again.is_empty()).then(|| format!("rankweave run {options} -- {launch}"))
    }

    fn text(&self, found: &Conclusion) -> String {
        let mut text = format!("{}: ", found.finding.name());
        if found.finding == Finding::Safe {
            let files = match self.file.len() {
                0 => String::new(),
                n => format!(", {}", counted(n, "file")),
            };
            let tasks = found.record.as_ref().map_or(0, |r| r.matrix.tasks());
            text.push_str(&format!(
                "exit code, standard output ({}){files} stay the same with permuted ranks ({}, \
                 {} {})\n",
                counted(found.lines, "line"),
                counted(tasks, "rank"),
                noun(found.seeds.len(), "seed"),
                list(&found.seeds)
            ));
        } else {
            text.push_str(&format!("{}\n", printable(&found.reason)));
        }
        if found.order == LineOrder::Sorted && found.finding != Finding::NotComparable {
            let why = match self.sorted {
                true => "--sorted",
                false => "plain runs print their lines in different orders",
            };
            text.push_str(&format!("  lines were compared sorted: {why}\n"));
        }
        if found.finding == Finding::Safe && found.lines == 0 && self.file.is_empty() {
            let note =
                "the program prints nothing: only its exit code was compared; try: use --file";
            text.push_str(&format!("  {note}\n"));
        }
        if let Some(place) = &found.difference {
            let comparable = found.finding != Finding::NotComparable;
            let names = if comparable { ["plain", "other"] } else { ["one run", "another"] };
            text.push_str(&format!("  {}\n", place.what));
            for (name, side) in
                names.into_iter().zip([&place.difference.plain, &place.difference.other])
            {
                let line =
                    |(line, what): &(usize, String)| format!("line {line}: {}", printable(what));
                let line = side.as_ref().map_or("nothing".into(), line);
                text.push_str(&format!("    {name:<8} {line}\n"));
            }
            text.push_str(match (comparable, place.only_order) {
                (_, true) => "  if the order of lines has no meaning: --sorted\n",
                (false, _) => {
                    "  if that line does not matter: --ignore REGEX; if rounding: --tolerance\n"
                }
                _ => "",
            });
        }
        if let Some(again) = self.again(found) {
            text.push_str(&format!("  again: {again}\n"));
        }
        text
    }

    fn json(&self, found: &Conclusion, remembered: Option<&Remembered>) -> Value {
        let record = found.record.as_ref();
        let line = |(line, text): &(usize, String)| json!({ "line": line, "text": text });
        let side = |side: &Option<(usize, String)>| side.as_ref().map(line);
        json!({
            "schema": 1,
            "verdict": found.finding.name(),
            "reason": found.reason,
            "program": record.map(|r| &r.program),
            "identity": record.and_then(|r| r.program_id()),
            "tasks": record.map(|r| r.matrix.tasks()),
            "seeds": found.seeds,
            "plain_runs": found.plain_runs,
            "lines": found.lines,
            "order": if found.order == LineOrder::Sorted { "sorted" } else { "printed" },
            "difference": found.difference.as_ref().map(|place| json!({
                "what": place.what,
                "only_order": place.only_order,
                "plain": side(&place.difference.plain),
                "other": side(&place.difference.other),
            })),
            "again": self.again(found),
            "remembered": remembered.map(|r| r.path.display().to_string()),
            "still_differs": remembered.iter().flat_map(|r| &r.unsettled).map(|older| json!({
                "launch": older.launch,
                "tasks": older.tasks,
                "reason": older.reason,
            })).collect::<Vec<_>>(),
        })
    }
}

/// The path by which a file is known in later checks.
fn full_path(path: &Path) -> String {
    let full = std::fs::canonicalize(path).or_else(|_| std::path::absolute(path));
    full.unwrap_or_else(|_| path.into()).to_string_lossy().into_owned()
}

/// Says that the difference of an older check stays in force, and how to repeat that check.
fn still_differs(older: &Verdict) -> String {
    let with = older.shown_arguments().map(|text| format!(" with the arguments '{text}'"));
    let compared = older.compared.clone().unwrap_or_default();
    let mut words = Vec::new();
    if let Some(seed) = older.seeds.last() {
        words.extend([
            "--seeds".into(),
            if *seed > 3 { format!("1-3,{seed}") } else { "1-3".into() },
        ]);
    }
    if compared.stderr {
        words.push("--stderr".into());
    }
    for (option, value) in [("--fix", &compared.fix), ("--stdin", &compared.stdin)] {
        if !value.is_empty() {
            words.extend([option.into(), value.clone()]);
        }
    }
    words.extend(compared.files.iter().flat_map(|file| ["--file".into(), file.clone()]));
    words.push("--".into());
    words.extend(older.launch.iter().cloned());
    let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
    format!(
        "the difference that an earlier check found{} stays in force ({}: {}); 'rankweave run' does not reorder \
         this program; try: correct the program and run 'rankweave check {}', or reorder it in spite of this with \
         --allow",
        with.unwrap_or_default(),
        counted(older.tasks, "rank"),
        printable(&older.reason),
        printable(&words.join(" "))
    )
}

/// Numbers with commas.
fn list(numbers: &[u64]) -> String {
    numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(", ")
}
