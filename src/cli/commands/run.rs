//! `rankweave run`: an MPI launch with the library preloaded into the MPI processes only.
//!
//! The launcher is recognised ([`crate::cli::launcher`]). Its command line is changed so that it passes
//! the library and the settings on to the processes it starts ([`crate::cli::preload`]). Then this
//! process *becomes* the launcher: signals, terminal and exit code are the launcher's own.

use crate::base::error::{Error, ErrorKind, Result};
use crate::cli::arguments::settings::SettingsArgs;
use crate::cli::console::{Exit, output};
use crate::cli::preload::command::Prepared;
use std::os::unix::process::CommandExt;

const EXAMPLES: &str = "\
Examples:
  rankweave run -- mpirun -n 64 ./app input
  rankweave run --mode record -v -- srun -n 256 ./app
  rankweave run -- salloc -N 4 -n 64 srun ./app       the launch behind salloc gets the library
  rankweave run --key winter-run --min-gain 10 -- mpiexec -n 64 ./app
  rankweave run --topology torus:4x4x4 --fix none -- mpirun -n 64 ./app
  rankweave run --dry-run -- mpirun -n 64 ./app       show what would be executed";

const LONG: &str = "\
Runs an MPI launch with the library preloaded into its MPI processes, and only there.

The first launch of a program records how much the ranks send to each other. Later launches with as many \
ranks give the ranks other processes, so that ranks that exchange much data are close together. The \
launchers of Open MPI (mpirun, mpiexec, orterun, prterun), MPICH and Intel MPI (mpiexec, mpirun) and \
Slurm (srun) are recognised, also behind salloc. Any other launcher gets the library and the settings in \
its environment.

With sbatch, the script and everything that it starts get the library. To have it in the MPI processes \
only, write 'rankweave run --' in the script, before srun or mpirun.

The command looks for the library in its own directory, and from there in ../lib and ../lib/rankweave. \
The variable RANKWEAVE_LIBRARY names the file of the library directly.

The exit code is that of the launcher.";

/// Run an MPI launch: record its traffic, and place its ranks by the recorded traffic
#[derive(Debug, clap::Args)]
#[command(before_long_help = EXAMPLES, long_about = LONG)]
#[command(override_usage = "rankweave run [OPTIONS] -- LAUNCHER [ARGS…]")]
pub struct Args {
    #[command(flatten)]
    settings: SettingsArgs,

    /// Print the command that would be executed, and do nothing
    #[arg(long)]
    dry_run: bool,

    /// The launch: mpirun, mpiexec, srun or another launcher, with all its arguments
    ///
    /// Write -- before it. Everything behind -- is passed on unchanged.
    #[arg(value_name = "LAUNCHER", required = true, trailing_var_arg = true)]
    #[arg(allow_hyphen_values = true)]
    launch: Vec<String>,
}

impl Args {
    pub(in crate::cli) fn execute(self) -> Result<Exit> {
        let prepared =
            Prepared::new(&self.launch, &self.settings)?.with_what_programs_need(&self.launch);
        let plan = prepared.command(&self.launch, &prepared.variables)?;
        if self.dry_run {
            output::print(&plan.shell_line())?;
            return Ok(Exit::Done);
        }
        let mut command = std::process::Command::new(&plan.command[0]);
        command.args(&plan.command[1..]).envs(plan.environment.iter().cloned());
        let error = command.exec();
        Err(Error::new(ErrorKind::Io, format!("cannot start the launcher: {error}"))
            .at(&plan.command[0])
            .advise("give the name of a launcher that is in PATH, after --"))
    }
}
