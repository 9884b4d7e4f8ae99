//! `rankweave run`: an MPI launch with the library preloaded into the MPI processes only.
//!
//! The launcher is found out ([`launcher`]), its command line is changed so that it passes the
//! library and the settings on to the processes it starts ([`plan`](mod@plan)), and then this process *becomes*
//! the launcher: signals, terminal, exit code and everything else are its own.

mod app_file;
mod functions;
mod launcher;
mod library;
mod plan;

pub(super) use functions::for_launch as functions_of;
pub(super) use functions::{MPI, loaded, search_of};
pub(super) use launcher::in_path;
pub use launcher::{Found, Launcher};
pub(super) use library::find as find_library;
pub(super) use plan::quoted;
pub use plan::{Plan, plan};

use super::settings_args::SettingsArgs;
use super::{Exit, output};
use crate::error::{Error, ErrorKind, Result};
use crate::options::{FUNCTIONS, Settings};
use std::os::unix::process::CommandExt;

const EXAMPLES: &str = "\
Examples:
  rankweave run -- mpirun -n 64 ./app input
  rankweave run --mode record -v -- srun -n 256 ./app
  rankweave run --key winter-run --min-gain 10 -- mpiexec -n 64 ./app
  rankweave run --topology torus:4x4x4 --fix none -- mpirun -n 64 ./app
  rankweave run --dry-run -- mpirun -n 64 ./app       show what would be executed";

const LONG: &str = "\
Runs an MPI launch with the library preloaded into its MPI processes, and only there.

The first launch of a program records which ranks talk to each other; later launches with as many \
ranks give the ranks to the processes so that those that talk much are close. Open MPI (mpirun, \
mpiexec, orterun, prterun), MPICH and Intel MPI (mpiexec, mpirun) and Slurm (srun) are recognised; \
any other launcher gets the settings through its environment.

The library is looked for next to this program, in ../lib and in ../lib/rankweave; RANKWEAVE_LIBRARY \
names it directly.

The exit code is that of the launcher.";

/// Run an MPI launch: record it, or place its ranks by what was recorded
#[derive(Debug, clap::Args)]
#[command(before_long_help = EXAMPLES, long_about = LONG)]
#[command(override_usage = "rankweave run [OPTIONS] -- LAUNCHER [ARGS…]")]
pub struct Args {
    #[command(flatten)]
    settings: SettingsArgs,

    /// Print the command that would be executed, and do not execute it
    #[arg(long)]
    dry_run: bool,

    /// The launch: mpirun, mpiexec, srun, … with everything that belongs to it
    ///
    /// Everything from here on is passed on as it is; write -- before it.
    #[arg(value_name = "LAUNCHER", required = true, trailing_var_arg = true)]
    #[arg(allow_hyphen_values = true)]
    launch: Vec<String>,
}

/// The settings that the processes of a launch will have: what is in the environment, and above it
/// what was given as options. Errors: one of them cannot be understood.
pub(super) fn variables_of(given: &SettingsArgs) -> Result<(Vec<(String, String)>, Settings)> {
    let mut variables = Vec::new();
    // What is in the environment reaches the processes of this node by itself, but not those
    // of others; so all of it is passed on, and the options given here take precedence.
    let given = given.variables()?;
    for (name, value) in std::env::vars_os() {
        if let (Ok(name), Ok(value)) = (name.into_string(), value.into_string())
            && name.starts_with("RANKWEAVE_")
            && name != library::VARIABLE
            && name != FUNCTIONS
            && !given.iter().any(|g| g.0 == name)
        {
            variables.push((name, value));
        }
    }
    variables.sort();
    variables.extend(given);
    let (settings, errors) = Settings::from_env(|name| {
        variables.iter().rev().find(|v| v.0 == name).map(|v| v.1.clone())
    });
    match errors.into_iter().next() {
        Some(error) => Err(error),
        None => Ok((variables, settings)),
    }
}

/// The settings of a launch with these options.
pub(super) fn settings_of(given: &SettingsArgs) -> Result<Settings> {
    variables_of(given).map(|(_, settings)| settings)
}

/// The plan for a command without options.
pub(super) fn plan_of(command: &[String]) -> Result<Plan> {
    let (variables, _) = variables_of(&SettingsArgs::default())?;
    let launcher = Launcher::of_command(command)?;
    plan(&launcher, command, &library::find()?, &variables, |name| std::env::var(name).ok())
}

impl Args {
    pub(super) fn execute(self) -> Result<Exit> {
        let (mut variables, _) = variables_of(&self.settings)?;
        let library = library::find()?;
        let launcher = Launcher::of_command(&self.launch)?;
        if let Some(functions) = functions::for_launch(&launcher, &self.launch, &library) {
            variables.push((FUNCTIONS.to_string(), functions));
        }
        let plan =
            plan(&launcher, &self.launch, &library, &variables, |name| std::env::var(name).ok())?;
        if self.dry_run {
            output::print(&plan.shell_line())?;
            return Ok(Exit::Done);
        }
        let mut command = std::process::Command::new(&plan.command[0]);
        command.args(&plan.command[1..]).envs(plan.environment.iter().cloned());
        let error = command.exec();
        Err(Error::new(ErrorKind::Io, format!("cannot start the launcher: {error}"))
            .at(&plan.command[0])
            .advise("the name of a launcher that is in PATH, after --"))
    }
}
