//! The command line: parses arguments, calls the library, prints.
//!
//! There is one file for each command, with its arguments (their comments are the help and the manual page)
//! and a function that executes it. Data goes to standard output, messages to standard error. Exit codes:
//! 0 done; 1 nothing found, or a negative answer; 2 usage or I/O error. `run` ends with the code of the
//! launcher.

mod arguments;
mod commands;
mod console;
mod diagnosis;
mod inspect;
mod launcher;
mod placement;
mod preload;
mod trial;

use crate::base::error::{ErrorKind, Result};
use crate::base::raw_words::shown;
use arguments::{setting_files, spelling};
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use commands::{
    check, compare, doctor, documents, environment, eval, exchange, gc, list, map, recover, report,
    run, show, stored, topo, verify,
};
use console::Exit;
use std::ffi::OsString;
use std::io::{IsTerminal, Write};
use std::process::ExitCode;

const EXAMPLES: &str = "\
Examples:
  rankweave run -- mpirun -n 64 ./app input      first launch: record the traffic between ranks
  rankweave run -- mpirun -n 64 ./app input      next launch: place the ranks by this traffic
  rankweave show                                 show the newest matrix as a picture in the terminal
  rankweave report --html app.html               write the same and more as one HTML file
  rankweave export --to csv --out app.csv        write the matrix for a spreadsheet or pandas
  rankweave doctor -- mpirun -n 64 ./app         what would be recorded; if nothing, why?
  rankweave check -- mpirun -n 8 ./app small     are the results the same with permuted ranks?
  rankweave compare -- mpirun -n 64 ./app        is it faster with reordered ranks?

Exit codes: 0 done; 1 nothing found, or a negative answer; 2 usage or I/O error.
'run' ends with the exit code of the launcher.";

const LONG_ABOUT: &str = "\
Records how much the ranks of an MPI program send to each other. On the next launch it places ranks \
that exchange much data close together in the machine. The program is not changed, recompiled or \
relinked: a library is preloaded into its processes.

A task is a rank as the program sees it. A process is what the launcher started, on a node of the \
machine. A slot is a position in the machine at which one task can run. To reorder the ranks means to \
give the tasks other processes. No process moves to another node.";

/// Places the ranks of MPI programs by their traffic
#[derive(Debug, Parser)]
#[command(
    name = "rankweave",
    version,
    about,
    before_long_help = EXAMPLES,
    long_about = LONG_ABOUT,
    after_help = "'rankweave COMMAND --help' explains a command, 'rankweave --help' starts with examples.",
    after_long_help = "'rankweave COMMAND --help' explains a command, 'rankweave env' lists the variables.",
    arg_required_else_help = true,
    disable_help_subcommand = true,
    max_term_width = 100
)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Run(run::Args),
    Show(show::Args),
    Report(report::Args),
    Map(map::Args),
    Eval(eval::Args),
    Verify(verify::Args),
    Topo(topo::Args),
    List(list::ListArgs),
    Use(stored::UseArgs),
    Rm(stored::RemoveArgs),
    Gc(gc::Args),
    Recover(recover::Args),
    Import(exchange::ImportArgs),
    Export(exchange::ExportArgs),
    Check(check::Args),
    Compare(compare::Args),
    Doctor(doctor::Args),
    Env(environment::Args),
    Completions(documents::CompletionsArgs),
    Man(documents::ManArgs),
}

impl Command {
    fn execute(self) -> Result<Exit> {
        match self {
            Command::Run(args) => args.execute(),
            Command::Show(args) => args.execute(),
            Command::Report(args) => args.execute(),
            Command::Map(args) => args.execute(),
            Command::Eval(args) => args.execute(),
            Command::Verify(args) => args.execute(),
            Command::Topo(args) => args.execute(),
            Command::List(args) => args.execute(),
            Command::Use(args) => args.execute(),
            Command::Rm(args) => args.execute(),
            Command::Gc(args) => args.execute(),
            Command::Recover(args) => args.execute(),
            Command::Import(args) => args.execute(),
            Command::Export(args) => args.execute(),
            Command::Check(args) => args.execute(),
            Command::Compare(args) => args.execute(),
            Command::Doctor(args) => args.execute(),
            Command::Env(args) => args.execute(),
            Command::Completions(args) => args.execute(command()),
            Command::Man(args) => args.execute(command()),
        }
    }
}

/// The definition of the command line, for help, man page and completions.
pub fn command() -> clap::Command {
    Cli::command()
}

/// The command line of this process. Ends the process if it cannot be understood.
fn parsed() -> Cli {
    let mut command = command();
    setting_files::apply(&std::env::args_os().collect::<Vec<_>>());
    let words = spelling::with_joined_levels(&command, std::env::args_os());
    command
        .try_get_matches_from_mut(words)
        .and_then(|matches| spelling::check(&mut command, &matches).map(|()| matches))
        .and_then(|matches| Cli::from_arg_matches(&matches))
        .unwrap_or_else(|error| refuse(&error, &command))
}

/// Ends the process with what the parser says. An error ends with what to try, like all other errors. The parser itself
/// names only an option.
fn refuse(error: &clap::Error, command: &clap::Command) -> ! {
    if !error.use_stderr() {
        error.exit();
    }
    let rendered = error.render();
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    let text = match std::io::stderr().is_terminal() && !is_set("NO_COLOR") && !is_dumb {
        true => rendered.ansi().to_string(),
        false => rendered.to_string(),
    };
    let is_command = |word: &OsString| command.find_subcommand(word).is_some();
    let name = std::env::args_os().nth(1).filter(is_command);
    let name = name.map_or(String::new(), |name| format!(" {}", name.to_string_lossy()));
    let with_advice = |line: &str| match line.starts_with("For more information") {
        true => format!("try: rankweave{name} --help\n"),
        false => format!("{line}\n"),
    };
    let text: String = text.lines().map(with_advice).collect();
    // Nobody may read it any more.
    let _ = std::io::stderr().write_all(text.as_bytes());
    std::process::exit(error.exit_code())
}

/// Entry point of the `rankweave` command.
pub fn main() -> ExitCode {
    let cli = parsed();
    if !matches!(&cli.command, Command::Env(args) if args.is_check()) {
        for sentence in setting_files::unusable_site_files() {
            eprintln!("rankweave: {sentence}");
        }
    }
    match cli.command.execute() {
        Ok(Exit::Done) => ExitCode::SUCCESS,
        Ok(Exit::Nothing) => ExitCode::from(1),
        Err(error) => {
            let error = error.advised();
            eprintln!("rankweave: {}", shown(&error.to_string()));
            ExitCode::from(if error.kind() == ErrorKind::NotFound { 1 } else { 2 })
        }
    }
}
