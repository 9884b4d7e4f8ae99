//! `cargo xtask`: one entry for the chores of the repository. Without arguments it says what there is.
//!
//! Each chore runs the tools that do the work (cargo, `tests/mpi/run`, the programs under `benches`) and
//! prints their command lines, so that any of them can be repeated by hand. Nothing is built but this
//! file: it has no dependencies.

mod benches;
mod chores;
mod shell;

use std::process::ExitCode;

type Chore = fn(&[String]) -> Result<(), String>;

/// Name, arguments, what it does.
const CHORES: [(&str, &str, &str, Chore); 6] = [
    ("check", "", "format, lints, layers, and whether documents are up to date", chores::check),
    (
        "generate",
        "",
        "writes the manual page, completions, help snapshots and tables",
        chores::generate,
    ),
    (
        "golden",
        "",
        "writes the golden files: exported names, answers of the engine",
        chores::golden,
    ),
    (
        "mpi",
        "CASE…",
        "builds, and runs MPI programs whose name begins so (tests/mpi/run)",
        chores::mpi,
    ),
    ("bench", "[NAME]", "runs a benchmark; without a name lists them", benches::bench),
    ("hook", "", "makes git run `cargo xtask check` before each commit", chores::hook),
];

fn usage() -> String {
    let mut text = String::from("usage: cargo xtask CHORE\n\n");
    for (name, arguments, about, _) in CHORES {
        text.push_str(&format!("  {:<16} {about}\n", format!("{name} {arguments}")));
    }
    text
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((wanted, rest)) = arguments.split_first() else {
        print!("{}", usage());
        return ExitCode::SUCCESS;
    };
    let Some((_, _, _, chore)) = CHORES.iter().find(|(name, ..)| name == wanted) else {
        eprint!("xtask: there is no chore {wanted}\n\n{}", usage());
        return ExitCode::from(2);
    };
    match chore(rest) {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("xtask {wanted}: {problem}");
            ExitCode::FAILURE
        }
    }
}
