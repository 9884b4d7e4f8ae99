//! `rankweave doctor`: what the library would do in a launch, and why it would do nothing.
//!
//! The launch is not started: programs and libraries are read as files ([`inspect`](crate::cli::inspect)).
//! Two programs are started with a harmless question, and only if the answer is needed: the launcher for
//! its version, and Python for the place of mpi4py. `--probe` starts the launcher with this program in
//! place of the real one, to see the nodes themselves.

mod json;
mod text;

use crate::base::error::Result;
use crate::cli::arguments::settings::SettingsArgs;
use crate::cli::arguments::{launch_word, time_limit};
use crate::cli::console::{Exit, output};
use crate::cli::diagnosis::Diagnosis;
use crate::cli::preload::settings;
use crate::cli::trial::{PROBE_LIMIT, PROBE_STAY, probe_answer};
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  rankweave doctor -- mpirun -n 64 ./app input
  rankweave doctor --json -- srun -n 256 python train.py
  rankweave doctor --probe -- mpirun -n 64 ./app      also examines the nodes";

const LONG: &str = "\
Says what 'rankweave run' would do with a launch, without starting it (except with --probe): which MPI library and \
which of its language bindings the programs use, what is preloaded, and what will be recorded and \
reordered. If nothing will be recorded or reordered, the command gives the reason.

Programs and libraries are read as files and not executed. With --probe the launcher is started \
once, with 'rankweave' in place of the program. This shows whether the library is loaded on every \
node. After a minute the probe is ended (--timeout).

Exit codes: 0 the launch will be recorded; 1 it will not, or only in part; 2 usage or I/O error.";

/// Say what the library would record and reorder, without running the program
#[derive(Debug, clap::Args)]
#[command(before_long_help = EXAMPLES, long_about = LONG)]
#[command(override_usage = "rankweave doctor [OPTIONS] -- LAUNCHER [ARGS…]")]
pub struct Args {
    #[command(flatten)]
    settings: SettingsArgs,

    /// Start the launcher with 'rankweave' instead of the program, to examine the nodes
    #[arg(long)]
    probe: bool,

    /// With --probe: time after which the launcher and its processes are ended
    #[arg(long, value_name = "SECONDS", value_parser = time_limit, default_value = PROBE_LIMIT)]
    timeout: Duration,

    /// Print the diagnosis as JSON
    #[arg(long)]
    json: bool,

    /// Answer a probe: what this process sees
    #[arg(long, hide = true)]
    on_node: bool,

    /// The launch: mpirun, mpiexec, srun or another launcher, with all its arguments
    #[arg(value_name = "LAUNCHER", required_unless_present = "on_node", trailing_var_arg = true)]
    #[arg(allow_hyphen_values = true, value_parser = launch_word())]
    launch: Vec<String>,
}

impl Args {
    pub(in crate::cli) fn execute(self) -> Result<Exit> {
        if self.on_node {
            output::print(&probe_answer())?;
            std::thread::sleep(PROBE_STAY);
            return Ok(Exit::Done);
        }
        let settings = settings::settings(&self.settings)?;
        let mut diagnosis = Diagnosis::of(&self.launch, settings)?;
        if self.probe {
            diagnosis.probe(&self.launch, self.timeout)?;
        }
        output::print_as(self.json, || json::json(&diagnosis), || text::text(&diagnosis))?;
        Ok(if diagnosis.recorded() { Exit::Done } else { Exit::Nothing })
    }
}
