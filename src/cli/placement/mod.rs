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
mod stored;

pub(in crate::cli) use refusal::Refusal;

use crate::base::clock::since_1970;
use crate::base::error::Result;
use crate::cli::inspect::{LaunchLine, option_words};
use crate::cli::launcher::{Launcher, LocatedLauncher};
use crate::launch::{BeforeLaunch, Known, LONGEST, PlacedRanks, Storage};
use crate::options::{Place, Settings};
use crate::store::Store;
use launch_hosts::LaunchHosts;
use method::{Method, Told};
use order_file::OrderFile;
use places::Places;
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
        let Preparation { known, hosts, method, places, said, key } =
            Preparation::of(found, command, settings, variable)?;
        let bound_to_cores = places::has_cores(&places.placement);
        let store = known.storage.store().cloned();
        let now = since_1970().as_secs();
        let decided = BeforeLaunch::decide(known, settings, &places.placement, now);
        let (placed, reason) = match decided.map_err(Refusal::unreadable)? {
            BeforeLaunch::Place(placed, reason) => (placed, reason),
            BeforeLaunch::NothingStored => return Err(nothing_stored(&key)),
            BeforeLaunch::Keep(why) => return Err(Refusal::usual(why)),
        };
        let decision = Decided { placed, reason, key, places, method, store };
        decision.launch(found, command, settings, Context { hosts: &hosts, said, bound_to_cores })
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

impl Preparation {
    /// Errors: the launcher places nothing, for the reason in the error.
    fn of(
        found: &LocatedLauncher,
        command: &[String],
        settings: &Settings,
        variable: impl Fn(&str) -> Option<String>,
    ) -> std::result::Result<Preparation, Refusal> {
        let launch = LaunchLine::of(found, command);
        if found.launcher == Launcher::Other {
            return Err(Refusal::new(
                "it is not known how this launcher is told the places of ranks",
                "use a launcher of Open MPI, MPICH, Intel MPI or Slurm, or make a file with 'rankweave export --to'",
            ));
        }
        let options = option_words(found, &launch, command);
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
}

impl Decided {
    /// The launch that follows the order. Errors: there is no place for its file, or a host name that such a file
    /// cannot hold.
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
                Place::File(path) => OrderFile {
                    path: std::path::absolute(path).unwrap_or_else(|_| path.clone()),
                    content,
                },
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
        let file = files.first().map(|file| file.path.display().to_string()).unwrap_or_default();
        let told = Told {
            hosts: context.hosts,
            file: &file,
            ranks: order.len(),
            says_ranks: context.said.is_some(),
            node_of_rank: &numbers,
            bound_to_cores: context.bound_to_cores,
        };
        let (command, environment) = method.applied(found, command, &told);
        let names = &places.placement.node_names;
        let host_of_rank = nodes.iter().map(|&node| names[node as usize].clone()).collect();
        Ok(PlacedLaunch {
            command,
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
        let totals = hosts.asked()?.hosts().totals()?;
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
