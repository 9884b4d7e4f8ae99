//! Places the ranks before the launch: computes the rank order, and has the launcher start each rank on its host.
//!
//! ```text
//! command line ──► launch_hosts ──► places ──┐
//! batch system                               ├──► launch::BeforeLaunch ──► order_file, method ──► command line
//! store ─────────► stored ───────────────────┘
//! ```
//!
//! The rank order is that of the library ([`crate::launch::BeforeLaunch`]). A host never gets more ranks than the
//! launcher itself would give it, because the order only exchanges the ranks of these places. Where something is
//! not known for sure, nothing is placed ([`Refusal`]), and the launch goes on as without the option.

pub(in crate::cli) mod check;
mod launch_hosts;
mod method;
mod order_file;
mod places;
mod refusal;
mod slurm_step;
mod stored;

pub(in crate::cli) use refusal::Refusal;

use crate::allocation::batch_system;
use crate::base::clock::since_1970;
use crate::base::error::Result;
use crate::base::file_system::FileSystem;
use crate::cli::inspect::{LaunchLine, parts};
use crate::cli::launcher::{Launcher, LocatedLauncher, base_name};
use crate::cli::preload::slurm;
use crate::launch::{BeforeLaunch, Known, LONGEST, PlacedRanks, Storage};
use crate::options::{Place, Settings};
use crate::store::Store;
use launch_hosts::LaunchHosts;
use method::{Method, Told};
use order_file::OrderFile;
use places::Places;
use std::collections::HashSet;
use std::path::Path;

/// A launch whose ranks the launcher places.
#[derive(Debug, Clone)]
pub(in crate::cli) struct PlacedLaunch {
    /// The command with the options that place the ranks.
    pub(in crate::cli) command: Vec<String>,
    /// Variables of the launcher.
    pub(in crate::cli) environment: Vec<(String, String)>,
    /// The value of the variable with which the library checks the places.
    pub(in crate::cli) handed_over: String,
    /// The host of each rank.
    pub(in crate::cli) host_of_rank: Vec<String>,
    /// Why this order.
    pub(in crate::cli) reason: String,
    /// The key of the record.
    pub(in crate::cli) key: String,
    method: Method,
    files: Vec<OrderFile>,
}

impl PlacedLaunch {
    /// Places the ranks of a launch. `variable` looks up a variable of this process.
    ///
    /// Errors: the launcher places nothing, for the reason in the error.
    pub(in crate::cli) fn new(
        found: &LocatedLauncher,
        command: &[String],
        settings: &Settings,
        variable: impl Fn(&str) -> Option<String>,
    ) -> std::result::Result<PlacedLaunch, Refusal> {
        let placed = PlacedLaunch::decided(found, command, settings, variable)?;
        placed.check_visible(FileSystem::of)?;
        Ok(placed)
    }

    /// [`Self::new`], wherever the files are.
    fn decided(
        found: &LocatedLauncher,
        command: &[String],
        settings: &Settings,
        variable: impl Fn(&str) -> Option<String>,
    ) -> std::result::Result<PlacedLaunch, Refusal> {
        let variable = of_the_job(found, command, variable);
        let Preparation { known, hosts, method, places, said, key } =
            Preparation::of(found, command, settings, &variable)?;
        let bound_to_cores = places::has_cores(&places.placement);
        let store = known.storage.store().cloned();
        let now = since_1970().as_secs();
        let decided = BeforeLaunch::decide(known, settings, &places.placement, now);
        let (placed, reason) = match decided.map_err(Refusal::unreadable)? {
            BeforeLaunch::Place(placed, reason) => (placed, reason),
            BeforeLaunch::NothingStored => return Err(nothing_stored(&key)),
            BeforeLaunch::Keep(why) => return Err(Refusal::kept(&why)),
        };
        let decision = Decided { placed, reason, key, places, method, store };
        let context = Context { hosts: &hosts, said, bound_to_cores, variable: &variable };
        decision.launch(found, command, settings, context)
    }

    /// Checks that every node sees the files that the processes read. `file_system` gives the file system of a path.
    ///
    /// Errors: a file is on a file system that only this node sees.
    fn check_visible(
        &self,
        file_system: impl Fn(&Path) -> FileSystem,
    ) -> std::result::Result<(), Refusal> {
        let is_read = |file: &&OrderFile| match self.method {
            // Each process opens it when it initialises MPI, and ends the job if it is missing.
            Method::CrayOrder => true,
            _ => {
                self.handed_over.strip_prefix('@').is_some_and(|path| file.path == Path::new(path))
            }
        };
        for file in self.files.iter().filter(is_read) {
            if let FileSystem::Local(kind) = file_system(&file.path) {
                return Err(Refusal::new(
                    format!(
                        "the processes of all nodes read the rank order from {}, and this file system ({kind}) \
                         belongs to this node only",
                        file.path.display()
                    ),
                    "use --store with a directory that all nodes share, or --place library",
                ));
            }
        }
        Ok(())
    }

    /// Writes the files of the launch. Errors: one cannot be written.
    pub(in crate::cli) fn write(&self) -> Result<()> {
        self.files.iter().try_for_each(OrderFile::write)
    }

    /// The file that the launcher reads, if it reads one.
    pub(in crate::cli) fn file(&self) -> Option<&Path> {
        self.method.format().and_then(|_| self.files.first()).map(|file| file.path.as_path())
    }

    /// The command line of a batch script that follows the order.
    pub(in crate::cli) fn usage(&self) -> String {
        self.method.usage(&self.command, &self.environment)
    }

    /// Whether the processes are told their ranks by something else than the launcher, so that a helper program
    /// cannot see them.
    pub(in crate::cli) fn is_ordered_by_mpi(&self) -> bool {
        self.method == Method::CrayOrder
    }
}

/// Errors: the ranks of some host are in several blocks. hydra before MPICH 5 starts a process for each block that
/// binds the ranks of its block alone, so that the first ranks of all blocks of a host get the same core. This was
/// seen with 4.0.2.
fn check_blocks(nodes: &[u32]) -> std::result::Result<(), Refusal> {
    let begins = nodes.chunk_by(|a, b| a == b).filter_map(<[u32]>::first);
    let mut seen = HashSet::new();
    match begins.into_iter().all(|node| seen.insert(node)) {
        true => Ok(()),
        false => Err(Refusal::new(
            "the launch binds its ranks, and MPICH before version 5 would bind several ranks of a host to the \
             same core with this order",
            "leave -bind-to out, use MPICH 5, or use --place library",
        )),
    }
}

/// Errors: a word or a variable that the order adds is longer than the system permits.
fn check_lengths(
    before: &[String],
    command: &[String],
    environment: &[(String, String)],
) -> std::result::Result<(), Refusal> {
    let words = command.iter().filter(|word| word.len() > LONGEST && !before.contains(word));
    let values = environment.iter().map(|(_, value)| value).filter(|value| value.len() > LONGEST);
    match words.chain(values).next() {
        None => Ok(()),
        Some(long) => Err(Refusal::new(
            format!(
                "the rank order is too long for the command line of this launcher ({} KiB in one argument, \
                 and Linux permits 128), which reads it from no file",
                long.len() >> 10
            ),
            "use --place library, which has no such limit",
        )),
    }
}

fn nothing_stored(key: &str) -> Refusal {
    Refusal::usual(format!("no usable matrix is stored for {key}"))
}

/// How the launcher of a launch would be told the places of the ranks, in words, without a search for an order.
///
/// Errors: the launcher places nothing, for the reason in the error.
pub(in crate::cli) fn possible(
    found: &LocatedLauncher,
    command: &[String],
    settings: &Settings,
    variable: impl Fn(&str) -> Option<String>,
) -> std::result::Result<&'static str, Refusal> {
    Preparation::of(found, command, settings, variable).map(|ready| ready.method.words())
}

/// The names of the hosts of a launch, where its command line or the batch system tells them. Options that place ranks do
/// not matter here.
pub(in crate::cli) fn host_names(
    found: &LocatedLauncher,
    command: &[String],
    variable: impl Fn(&str) -> Option<String>,
) -> Option<Vec<String>> {
    let variable = of_the_job(found, command, variable);
    let options = parts(found, command).into_iter().next().map(|part| part.options);
    let hosts = LaunchHosts::of(found.launcher, &options.unwrap_or_default(), &variable);
    let allocation = match hosts {
        Ok(hosts) => hosts.allocation,
        Err(_) => batch_system::allocation(&variable).and_then(std::result::Result::ok),
    };
    Some(allocation?.hosts().ok()?.names)
}

/// What is known of a launch before its order is decided.
struct Preparation {
    known: Known,
    hosts: LaunchHosts,
    method: Method,
    places: Places,
    /// The number of ranks, if the command line says it.
    said: Option<usize>,
    key: String,
}

/// The variables without those of the batch system, if the launch is in a new job that `salloc` makes: they belong to
/// another job.
fn of_the_job(
    found: &LocatedLauncher,
    command: &[String],
    variable: impl Fn(&str) -> Option<String>,
) -> impl Fn(&str) -> Option<String> {
    let in_new_job = command[..found.position].iter().any(|w| base_name(Path::new(w)) == "salloc");
    move |name: &str| variable(name).filter(|_| !in_new_job || !name.starts_with("SLURM_"))
}

impl Preparation {
    /// Errors: the launcher places nothing, for the reason in the error.
    fn of(
        found: &LocatedLauncher,
        command: &[String],
        settings: &Settings,
        variable: impl Fn(&str) -> Option<String>,
    ) -> std::result::Result<Preparation, Refusal> {
        let variable = of_the_job(found, command, variable);
        let launch = LaunchLine::of(found, command);
        if found.launcher == Launcher::Other {
            return Err(Refusal::new(
                "it is not known how this launcher is told the places of ranks",
                "use a launcher of Open MPI, MPICH, Intel MPI or Slurm, or make a file with 'rankweave export --to'",
            ));
        }
        let options = parts(found, command).into_iter().next().map(|part| part.options);
        let options = options.unwrap_or_default();
        let mut hosts = LaunchHosts::of(found.launcher, &options, &variable)?;
        let said = launch.parts.first().and_then(|part| part.ranks);
        let tasks = said.or_else(|| number_of_ranks(found.launcher, &hosts, &variable));
        let tasks = tasks.filter(|&tasks| tasks > 0).ok_or_else(|| {
            let what = "the number of ranks cannot be known before the launch";
            Refusal::new(what, "give the number of ranks on the command line (-n)")
        })?;
        let known = stored::known(&launch, settings, tasks)?;
        let key = known.facts.key.clone();
        let record = known.fitting.as_ref().map(|fitting| &fitting.record);
        if record.is_none() {
            return Err(nothing_stored(&key));
        }
        let method = Method::of(found, command, &variable).ok_or_else(|| {
            let what =
                "the launcher does not tell its version, so it is not known how to place ranks";
            Refusal::new(what, "call the launcher by its own name, not through a script")
        })?;
        if let Some(ranks) = method.default_ranks() {
            hosts.allocation = hosts.allocation.map(|all| all.with_default_ranks(ranks));
        }
        let places = Places::of(&hosts, tasks, method.filling(), record)?;
        Ok(Preparation { known, hosts, method, places, said, key })
    }
}

/// An order, and how the launcher is told.
struct Decided {
    placed: PlacedRanks,
    reason: String,
    key: String,
    places: Places,
    method: Method,
    store: Option<Store>,
}

/// What the command line says.
struct Context<'a> {
    hosts: &'a LaunchHosts,
    said: Option<usize>,
    bound_to_cores: bool,
    variable: &'a dyn Fn(&str) -> Option<String>,
}

impl Decided {
    /// The launch that follows the order. Errors: there is no place for its file; a host name that such a file cannot
    /// hold; an option or variable that is too long for a command.
    fn launch(
        self,
        found: &LocatedLauncher,
        command: &[String],
        settings: &Settings,
        context: Context<'_>,
    ) -> std::result::Result<PlacedLaunch, Refusal> {
        let Decided { placed, reason, key, places, method, store } = self;
        let store = match store {
            Some(store) => store,
            None => Storage::open(settings).map_err(Refusal::unreadable)?,
        };
        let order = &placed.process_of_task;
        let mut files = Vec::new();
        if let Some(format) = method.format() {
            let content = order_file::content(format, &key, &places.placement, order);
            let content = content.map_err(Refusal::unreadable)?;
            files.push(match &settings.place {
                Place::File(path) => OrderFile::named(path, content),
                _ => OrderFile::in_store(&store, &key, "hosts", content),
            });
        }
        let mut handed_over = placed.text();
        if handed_over.len() > LONGEST {
            let file = OrderFile::in_store(&store, &key, "placed", handed_over.into_bytes());
            handed_over = format!("@{}", file.path.display());
            files.push(file);
        }
        let node = |&process: &u32| places.placement.node_of_process[process as usize];
        let nodes: Vec<u32> = order.iter().map(node).collect();
        let numbers: Vec<u32> =
            nodes.iter().map(|&node| places.number_of_node[node as usize]).collect();
        if method == Method::HydraBlocks && context.hosts.has_binding {
            check_blocks(&nodes)?;
        }
        let file = files.first().map(|file| file.path.display().to_string()).unwrap_or_default();
        let told = Told {
            hosts: context.hosts,
            file: &file,
            ranks: order.len(),
            says_ranks: context.said.is_some(),
            node_of_rank: &numbers,
            bound_to_cores: context.bound_to_cores,
        };
        let (mut changed, environment) = method.applied(found, command, &told);
        if method == Method::CrayOrder {
            // The MPI library of each rank reads these variables, and not the launcher.
            let names: Vec<&str> = environment.iter().map(|(name, _)| name.as_str()).collect();
            slurm::export(found, &mut changed, &names, context.variable);
        }
        check_lengths(command, &changed, &environment)?;
        let names = &places.placement.node_names;
        let host_of_rank = nodes.iter().map(|&node| names[node as usize].clone()).collect();
        Ok(PlacedLaunch {
            command: changed,
            environment,
            handed_over,
            host_of_rank,
            reason,
            key,
            method,
            files,
        })
    }
}

/// The number of ranks if the command line does not say it: that of the batch job, or all slots of the hosts.
fn number_of_ranks(
    launcher: Launcher,
    hosts: &LaunchHosts,
    variable: impl Fn(&str) -> Option<String>,
) -> Option<usize> {
    let all = || -> Option<usize> {
        let totals = hosts.asked()?.hosts().ok()?.totals()?;
        Some(totals.iter().map(|&n| n as usize).sum())
    };
    match launcher {
        Launcher::Srun => ["SLURM_NTASKS", "SLURM_NPROCS"]
            .into_iter()
            .find_map(|name| variable(name)?.parse().ok())
            .filter(|_| hosts.per_host.is_none())
            .or_else(all),
        Launcher::OpenMpi => all(),
        Launcher::Hydra | Launcher::Sbatch | Launcher::Other => None,
    }
}

#[cfg(test)]
mod tests;
