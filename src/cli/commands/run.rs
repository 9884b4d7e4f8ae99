//! `rankweave run`: an MPI launch with the library preloaded into the MPI processes only.
//!
//! The launcher is recognised ([`crate::cli::launcher`]). Its command line is changed so that it passes
//! the library and the settings on to the processes it starts ([`crate::cli::preload`]). Then this
//! process *becomes* the launcher: signals, terminal and exit code are the launcher's own.

use super::daily_collection;
use crate::base::error::{Error, ErrorKind, Result};
use crate::base::raw_words::{decoded, shown};
use crate::cli::arguments::launch_word;
use crate::cli::arguments::settings::SettingsArgs;
use crate::cli::console::{Exit, output};
use crate::cli::diagnosis::{forecast, leave_note, leftovers, unrecorded, wrong_numbers};
use crate::cli::launcher::{Launcher, LocatedLauncher};
use crate::cli::placement::{PlacedLaunch, Refusal, check};
use crate::cli::preload::command::{LaunchCommand, Prepared};
use crate::cli::preload::settings;
use crate::launch::{PLACED, RanksFound, Storage};
use crate::options::{Place, Settings};
use crate::store::{NOTE, remove_note};
use std::os::unix::process::CommandExt;
use std::path::Path;

const EXAMPLES: &str = "\
Examples:
  rankweave run -- mpirun -n 64 ./app input
  rankweave run --mode record -v -- srun -n 256 ./app
  rankweave run -- salloc -N 4 -n 64 srun ./app       the launch behind salloc gets the library
  rankweave run --key winter-run --min-gain 10 -- mpiexec -n 64 ./app
  rankweave run --topology torus:4x4x4 --fix none -- mpirun -n 64 ./app
  rankweave run --dry-run -- mpirun -n 64 ./app       show what would be executed
  rankweave run --place launcher -- mpirun -n 64 --hostfile hosts ./app
  rankweave run --place file:order.txt -- srun -n 256 ./app    only the file, for a batch script";

const LONG: &str = "\
Runs an MPI launch with the library preloaded into its MPI processes, and only there.

The first launch of a program records how much the ranks send to each other. Later launches with the \
same number of ranks run ranks on other processes, so that ranks that exchange much data are close together. The \
launchers of Open MPI (mpirun, mpiexec, orterun, prterun), MPICH and Intel MPI (mpiexec, mpirun) and \
Slurm (srun) are recognised, also behind salloc. Any other launcher gets the library and the settings in \
its environment.

With sbatch, the script and everything that it starts get the library. To have it in the MPI processes \
only, write 'rankweave run --' in the script, before srun or mpirun.

The command looks for the library in its own directory, and from there in ../lib and ../lib/rankweave. \
The variable RANKWEAVE_LIBRARY names the file of the library directly.

With --place launcher the rank order is computed before the launch, and the launcher starts each rank on \
its host. It needs the stored matrix of an earlier launch, and the hosts of this one: from the options of the \
launcher or from the batch system. If something is not known, a message says so, and the launch goes on as \
without this option. If you place the ranks yourself (--rankfile, --map-by), --place does nothing and says so. \
The host of each rank is controlled, but not its core: inside each host, the launcher chooses the cores \
in ascending order of the ranks.

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

    /// Ask each rank for its host instead of running the program, and compare with --place
    ///
    /// The launcher starts 'sh' on each rank in the same way as the program. With --place launcher, each
    /// host is compared with the one that --place chose for the rank, and the exit code is 1 if some differ. Without
    /// --place, or where --place keeps the launcher's order, the hosts are only printed.
    #[arg(long, conflicts_with = "dry_run")]
    check_placement: bool,

    /// Write only the file that the launcher in a batch script needs; the same as --place file:FILE
    #[arg(long, value_name = "FILE", conflicts_with = "place")]
    site_order: Option<String>,

    /// The launch: mpirun, mpiexec, srun or another launcher, with all its arguments
    ///
    /// Write -- before it. Everything behind -- is passed on unchanged.
    #[arg(value_name = "LAUNCHER", required = true, trailing_var_arg = true)]
    #[arg(allow_hyphen_values = true, value_parser = launch_word())]
    launch: Vec<String>,
}

impl Args {
    pub(in crate::cli) fn execute(mut self) -> Result<Exit> {
        if let Some(file) = self.site_order.take() {
            self.settings.give("place", format!("file:{file}"));
        }
        let settings = settings::settings(&self.settings)?;
        let unread = settings::check_descriptions(&settings)?;
        let found = Launcher::of_command(&self.launch)?;
        let variable = |name: &str| std::env::var(name).ok();
        let placed = match &settings.place {
            Place::Library => None,
            _ => Some(PlacedLaunch::new(&found, &self.launch, &settings, variable)),
        };
        if let Place::File(_) = settings.place {
            return self.only_the_file(placed, &settings);
        }
        let placed = placed.and_then(|placed| self.written(placed, &settings));
        if self.check_placement {
            return self.check(&found, placed.as_ref());
        }
        let plan = self.plan(placed.as_ref(), &settings, None)?;
        if self.dry_run {
            output::print(&plan.shell_line())?;
            return Ok(Exit::Done);
        }
        let is_told = self.say_what_will_be_missed(&found, &settings, unread);
        let note = leave_note(&found, &self.launch, &settings, is_told);
        let plan = match &note {
            Some(note) => {
                let plan = self.plan(placed.as_ref(), &settings, Some(note));
                plan.inspect_err(|_| remove_note(note))?
            }
            None => plan,
        };
        daily_collection::start(&settings);
        let mut command = std::process::Command::new(decoded(&plan.command[0]));
        // A value that this process got belongs to the launch that started this process.
        command.env_remove(PLACED).env_remove(NOTE);
        command.args(plan.command[1..].iter().map(|word| decoded(word)));
        command.envs(plan.environment.iter().map(|(name, value)| (name, decoded(value))));
        let error = command.exec();
        // The user is told now that nothing was launched.
        note.iter().for_each(|note| remove_note(note));
        Err(Error::new(ErrorKind::Io, format!("cannot start the launcher: {error}"))
            .at(shown(&plan.command[0]))
            .advise("give the name of a launcher that is in PATH, after --"))
    }

    /// The placed launch, with its file written unless only the command is shown. Without one, the user is told why.
    fn written(
        &self,
        placed: std::result::Result<PlacedLaunch, Refusal>,
        settings: &Settings,
    ) -> Option<PlacedLaunch> {
        let placed = placed.and_then(|placed| match self.dry_run {
            true => Ok(placed),
            false => placed.write().map(|()| placed).map_err(Refusal::unreadable),
        });
        match placed {
            Ok(placed) => {
                if settings.verbose >= 1 {
                    let file = placed.file().map(|file| format!(" by {}", file.display()));
                    let file = file.unwrap_or_default();
                    let (key, reason) = (&placed.key, &placed.reason);
                    eprintln!(
                        "rankweave: {key}: {reason}; the launcher places the ranks{file}, and chooses the \
                         cores inside each host itself"
                    );
                }
                Some(placed)
            }
            Err(refusal) => {
                let without_library = settings.place == Place::LauncherOnly;
                let meaning = match (self.check_placement, without_library) {
                    (true, _) => {
                        "the ranks stay where the launcher puts them, and their hosts are only printed"
                    }
                    (_, true) => "this launch runs in the launcher's own order",
                    _ => {
                        "the launcher places nothing, and this launch goes on as with --place library"
                    }
                };
                // In these two cases, nothing else tells the user why.
                let told = without_library || self.check_placement || settings.verbose >= 1;
                if !refusal.is_usual() || told {
                    say(&refusal, meaning);
                }
                None
            }
        }
    }

    /// Says what of this launch will not be used or recorded, and that something of earlier ones was not. `unread` is
    /// a message about a description that cannot be read here. Returns whether nothing of this launch will be recorded.
    fn say_what_will_be_missed(
        &self,
        found: &LocatedLauncher,
        settings: &Settings,
        unread: Option<String>,
    ) -> bool {
        let variable = |name: &str| std::env::var(name).ok();
        let mut messages = settings::about_unknown_variables();
        if settings.place != Place::LauncherOnly {
            messages.extend(settings::hidden_by_topology(settings));
            messages.extend(settings::slots_of_nothing(settings).filter(|_| unread.is_none()));
            messages.extend(wrong_numbers(found, &self.launch, settings));
        }
        messages.extend(unread);
        let mut is_told = false;
        if settings.place != Place::LauncherOnly {
            let forecast = forecast(found, &self.launch, settings, variable);
            is_told = forecast.is_some();
            messages.extend(forecast);
            messages.extend(leftovers(settings));
            messages.extend(Storage::open(settings).ok().and_then(|store| unrecorded(&store)));
        }
        for message in messages {
            eprintln!("rankweave: {}", shown(&message));
        }
        is_told
    }

    /// The command that is executed. `note` is the file of the note of the launch.
    fn plan(
        &self,
        placed: Option<&PlacedLaunch>,
        settings: &Settings,
        note: Option<&Path>,
    ) -> Result<LaunchCommand> {
        let (command, environment) = match placed {
            Some(placed) => (&placed.command, placed.environment.clone()),
            None => (&self.launch, Vec::new()),
        };
        if settings.place == Place::LauncherOnly {
            return Ok(LaunchCommand { command: command.clone(), environment });
        }
        let prepared =
            Prepared::new(&self.launch, &self.settings)?.with_what_programs_need(&self.launch);
        let mut variables = prepared.variables.clone();
        if let Some(placed) = placed {
            variables.push((PLACED.to_string(), placed.handed_over.clone()));
        }
        let note = note.and_then(Path::to_str);
        variables.extend(note.map(|note| (NOTE.to_string(), note.to_string())));
        let mut plan = prepared.command(command, &variables)?;
        plan.environment.extend(environment);
        Ok(plan)
    }

    /// Writes the file for the launcher of a batch script, and says how to use it.
    fn only_the_file(
        &self,
        placed: Option<std::result::Result<PlacedLaunch, Refusal>>,
        settings: &Settings,
    ) -> Result<Exit> {
        let placed = match placed {
            Some(Ok(placed)) => placed,
            Some(Err(refusal)) => {
                say(&refusal, "no file is written");
                return Ok(Exit::Nothing);
            }
            None => return Ok(Exit::Nothing),
        };
        if self.check_placement {
            placed.write()?;
            return self.check(&Launcher::of_command(&self.launch)?, Some(&placed));
        }
        if !self.dry_run {
            placed.write()?;
        }
        eprintln!("rankweave: {}: {}", placed.key, placed.reason);
        if placed.file().is_none() && matches!(settings.place, Place::File(_)) {
            eprintln!("rankweave: this launcher needs no file: the order is in its options");
        }
        output::print(&format!("{}\n", placed.usage()))?;
        Ok(Exit::Done)
    }

    /// Asks each rank for its host, and compares the answers with the places that were meant.
    fn check(&self, found: &LocatedLauncher, placed: Option<&PlacedLaunch>) -> Result<Exit> {
        let Some(placed) = placed else {
            let hosts = check::hosts(found, &self.launch, &[])?;
            output::print(&table(&hosts, &[]))?;
            return Ok(Exit::Done);
        };
        if placed.is_ordered_by_mpi() {
            return Err(Error::new(
                ErrorKind::Infeasible,
                "Cray MPICH itself orders the ranks, so no helper program can see their places",
            )
            .advise("use --place launcher, with which the library checks them in the launch"));
        }
        let hosts = check::hosts(found, &placed.command, &placed.environment)?;
        output::print(&table(&hosts, &placed.host_of_rank))?;
        let compared = check::compared(&placed.handed_over, &hosts)?;
        if compared == RanksFound::AsMeant {
            match hosts.len() {
                1 => eprintln!("rankweave: the rank is on the host that was meant"),
                n => eprintln!("rankweave: all {n} ranks are on the hosts that were meant"),
            }
            return Ok(Exit::Done);
        }
        // Nothing was launched, so that nothing follows for a launch.
        eprintln!("rankweave: {}; try: use --place library", compared.sentence());
        Ok(Exit::Nothing)
    }
}

fn say(refusal: &Refusal, meaning: &str) {
    eprintln!("rankweave: {}", shown(&refusal.message(meaning).to_string()));
}

/// The host of each rank, and the one that it was meant for where it is another one.
fn table(hosts: &[String], meant: &[String]) -> String {
    let line = |(rank, host): (usize, &String)| match meant.get(rank) {
        Some(meant) if !is_same_host(meant, host) => format!("{rank} {host} (meant: {meant})\n"),
        _ => format!("{rank} {host}\n"),
    };
    hosts.iter().enumerate().map(line).collect()
}

fn is_same_host(a: &str, b: &str) -> bool {
    crate::allocation::short_name(a) == crate::allocation::short_name(b)
}
