//! The line that `rankweave run` prints before a launch that will not be recorded.
//!
//! `run` becomes the launcher, so nothing of it is left after the launch. What the files of the launch show is
//! therefore said before it. Where it is uncertain whether the launch is recorded (scripts, containers, programs
//! that are not on this host), nothing is said: `rankweave doctor` lists these doubts.

use super::alone;
use super::facts::{Diagnosed, Diagnosis};
use super::finding::{Finding, Severity};
use crate::cli::inspect::listed;
use crate::cli::launcher::{Launcher, LocatedLauncher};
use crate::options::{Mode, Settings};

/// Findings after which the launch may still be recorded, or whose message the launcher gives itself.
const UNCERTAIN: &str =
    "script-clears container program-missing no-program libraries-missing library-missing";

/// The message about a launch that will not be recorded, without the name of the command at its beginning.
/// `None` if it will be recorded, if that is not certain, or if the user asked for no recording.
pub(in crate::cli) fn forecast(
    found: &LocatedLauncher,
    command: &[String],
    settings: &Settings,
    variable: impl Fn(&str) -> Option<String>,
) -> Option<String> {
    if settings.mode == Mode::Off || found.launcher == Launcher::Sbatch {
        return None;
    }
    let diagnosis = Diagnosis::of_programs(found, command, settings.clone());
    if found.launcher == Launcher::Other {
        let may_be = alone::may_be(found.launcher, variable);
        let program = diagnosis.programs.first().filter(|_| may_be)?;
        return without_launcher(program);
    }
    of_findings(&diagnosis)
}

/// The message for a command that is no launcher known here.
fn without_launcher(program: &Diagnosed) -> Option<String> {
    let word = alone::first_word(program)?;
    if program.mpi.is_some() {
        let (what, meant) = (alone::what(word), alone::meant(program));
        return Some(format!("{what}; try: rankweave run -- {meant}"));
    }
    let uses_mpi = program.findings.iter().find(|finding| finding.code == "no-mpi");
    let problem = uses_mpi.or_else(|| first_problem(&program.findings))?;
    Some(match problem.code {
        "no-mpi" => format!(
            "'{word}' is no launcher that is known here, and it is not linked with an MPI library: nothing is \
             recorded, unless it starts MPI programs and passes its environment on to them; try: give the \
             launcher behind --, as in 'rankweave run -- mpirun -n RANKS ./program'"
        ),
        _ => message(problem),
    })
}

/// The message about the first problem of a launch with a launcher that is known.
fn of_findings(diagnosis: &Diagnosis) -> Option<String> {
    let programs = diagnosis.programs.iter().flat_map(|program| &program.findings);
    first_problem(programs.chain(&diagnosis.findings)).map(message)
}

fn first_problem<'a>(findings: impl IntoIterator<Item = &'a Finding>) -> Option<&'a Finding> {
    let is_certain = |finding: &&Finding| {
        finding.code == "no-mpi-calls"
            || finding.level == Severity::Problem && !listed(UNCERTAIN, finding.code)
    };
    findings.into_iter().find(is_certain)
}

fn message(finding: &Finding) -> String {
    let advice =
        finding.advice.as_ref().map(|advice| format!("; try: {advice}")).unwrap_or_default();
    match finding.code {
        // A program that is not linked with MPI may load it, or start a program that is.
        "no-mpi" | "no-mpi-calls" => format!(
            "{}: nothing will be recorded, unless it loads an MPI library or starts a program that uses one{advice}",
            finding.text
        ),
        _ => format!("nothing will be recorded: {}{advice}", finding.text),
    }
}
