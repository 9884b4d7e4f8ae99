//! The hosts of a launch, and what its command line says about the places of ranks.
//!
//! The hosts are those of the launcher's own options, else those of the batch system. Options that say where ranks
//! go are of two kinds. Those that only say how many ranks a host takes (`-npernode`, `-ppn`, `--map-by ppr:N:node`)
//! are read, and replaced by the file that has these numbers. All others (`--rankfile`, `--map-by`, `-m`) are the
//! user's decision, and nothing is placed.

use super::{Refusal, slurm_step};
use crate::allocation::{Allocation, batch_system, host_file, host_list};
use crate::base::error::{Error, Result};
use crate::base::file;
use crate::cli::inspect::{OptionWords, listed};
use crate::cli::launcher::Launcher;
use std::ops::Range;
use std::path::Path;

/// The hosts of a launch, as its command line and its environment give them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct LaunchHosts {
    /// The hosts; `None` if neither the command line nor a batch system names any.
    pub(super) allocation: Option<Allocation>,
    /// The number of ranks for each host that an option asks for.
    pub(super) per_host: Option<u32>,
    /// Words of the command that name hosts.
    pub(super) host_words: Vec<Range<usize>>,
    /// Words of the command that say how many ranks a host takes.
    pub(super) count_words: Vec<Range<usize>>,
    /// The user allows more ranks than slots in an option that is replaced.
    pub(super) oversubscribe: bool,
    /// The user allows more ranks than slots, in any way. Otherwise Open MPI refuses such a launch.
    pub(super) allows_more: bool,
    /// The command line says how ranks are bound.
    pub(super) has_binding: bool,
}

/// Options that place ranks, by launcher.
const OPEN_MPI_PLACES: &str = "rankfile rf rank-by rankby bynode byslot bycore bysocket nolocal npersocket \
    ppr cpus-per-proc cpus-per-rank cpus-per-socket cpu-set cpu-list slot-list loadbalance app";
const OPEN_MPI_PARAMETERS: &str = "rmaps rmaps_base_mapping_policy rmaps_base_ranking_policy \
    rmaps_rank_file_path rmaps_base_cpus_per_rank rmaps_default_mapping_policy \
    rmaps_default_ranking_policy hwloc_default_cpu_list";
const OPEN_MPI_BINDING: &str = "hwloc_base_binding_policy hwloc_default_binding_policy";
/// The parameter of Open MPI that allows more ranks than slots.
const OVERSUBSCRIBE: &str = "rmaps_base_oversubscribe";
const HYDRA_PLACES: &str = "rankmap order-nodes map-by hosts-group configfile";
const SRUN_PLACES: &str = "m distribution r relative x exclude F nodefile multi-prog het-group pack-group \
    ntasks-per-core ntasks-per-gpu ntasks-per-socket ntasks-per-tres tres-per-task gpus-per-task \
    gpus-per-socket cores-per-socket sockets-per-node B extra-node-info spread-job use-min-nodes";

impl LaunchHosts {
    /// Reads the options of a launch. `variable` looks a variable up.
    ///
    /// Errors: an option that places ranks itself, a description of hosts that cannot be understood.
    pub(super) fn of(
        launcher: Launcher,
        options: &[OptionWords],
        variable: impl Fn(&str) -> Option<String>,
    ) -> std::result::Result<LaunchHosts, Refusal> {
        let mut hosts = LaunchHosts::default();
        for option in options {
            let read = match launcher {
                Launcher::OpenMpi => hosts.open_mpi(option)?,
                Launcher::Hydra => hosts.hydra(option)?,
                Launcher::Srun => hosts.srun(option)?,
                Launcher::Sbatch | Launcher::Other => Ok(()),
            };
            read.map_err(Refusal::unreadable)?;
            hosts.check_words(option, options)?;
        }
        hosts.variables(launcher, &variable)?;
        if hosts.allocation.is_none() {
            let found = batch_system::allocation(&variable).transpose();
            hosts.allocation = found.map_err(Refusal::unreadable)?;
        }
        if let Some(allocation) = &hosts.allocation {
            let list = allocation.hosts().map_err(Refusal::unreadable)?;
            if launcher == Launcher::Srun {
                slurm_step::check(options, list.names.len(), &variable)?;
            }
        }
        Ok(hosts)
    }

    /// Errors: this option is to be taken out of the command, and shares its word with another one (`-lw n0`).
    fn check_words(
        &self,
        option: &OptionWords,
        options: &[OptionWords],
    ) -> std::result::Result<(), Refusal> {
        let sharing = options.iter().filter(|other| other.words.start == option.words.start);
        let mut removed = self.host_words.iter().chain(&self.count_words);
        if removed.any(|words| *words == option.words) && sharing.count() > 1 {
            return Err(Refusal::new(
                format!("the option -{} is in one word with other options", option.name),
                "write each option as a word of its own",
            ));
        }
        Ok(())
    }

    /// Adds hosts that an option names. Options of one kind add up.
    fn add(&mut self, option: &OptionWords, found: Result<Allocation>) -> Result<()> {
        let found = found?;
        self.host_words.push(option.words.clone());
        match &mut self.allocation {
            None => self.allocation = Some(found),
            Some(allocation) => allocation.entries.extend(found.entries),
        }
        Ok(())
    }

    fn count(&mut self, option: &OptionWords, value: &str) -> Result<()> {
        let ranks = value.parse().ok().filter(|&n: &u32| n > 0);
        let ranks = ranks.ok_or_else(|| {
            let what = format!("'{value}' is not a number of ranks");
            Error::new(crate::base::error::ErrorKind::Usage, what).at(&option.name)
        })?;
        self.per_host = Some(ranks);
        self.count_words.push(option.words.clone());
        Ok(())
    }

    fn open_mpi(&mut self, option: &OptionWords) -> std::result::Result<Result<()>, Refusal> {
        let (name, value) = (option.name.as_str(), option.value.as_deref().unwrap_or_default());
        let parameter = name.split_once(' ').map(|(_, parameter)| parameter);
        if listed(OPEN_MPI_PLACES, name)
            || parameter.is_some_and(|p| listed(OPEN_MPI_PARAMETERS, p))
        {
            return Err(Refusal::user(option));
        }
        Ok(match name {
            "H" | "host" => self.add(option, host_list::with_counts(value, "--host")),
            "hostfile" | "machinefile" | "default-hostfile" => {
                self.add(option, read(value, host_file::open_mpi))
            }
            "npernode" | "N" => self.count(option, value),
            "pernode" => self.count(option, "1"),
            "map-by" | "mapby" => return self.map_by(option, value),
            "bind-to" | "bindto" => {
                self.has_binding = true;
                Ok(())
            }
            "oversubscribe" => {
                self.allows_more = true;
                Ok(())
            }
            _ => {
                self.allows_more |= parameter.is_some_and(|p| p == OVERSUBSCRIBE) && is_true(value);
                self.has_binding |= parameter.is_some_and(|p| listed(OPEN_MPI_BINDING, p));
                Ok(())
            }
        })
    }

    /// `--map-by`: the number of ranks for each node, the default, or a decision of the user.
    fn map_by(
        &mut self,
        option: &OptionWords,
        value: &str,
    ) -> std::result::Result<Result<()>, Refusal> {
        let lower = value.to_ascii_lowercase();
        let mut parts = lower.split(':');
        let policy = parts.next().unwrap_or_default();
        let mut rest: Vec<&str> = parts.collect();
        let ranks = match (policy, rest.as_slice()) {
            ("ppr", [ranks, "node", ..]) => Some(ranks.to_string()),
            _ => None,
        };
        if ranks.is_some() {
            rest.drain(..2);
        }
        let is_default = matches!(policy, "" | "slot") || ranks.is_some();
        if !is_default || rest.iter().any(|word| !word.is_empty() && *word != "oversubscribe") {
            return Err(Refusal::user(option));
        }
        self.oversubscribe |= rest.contains(&"oversubscribe");
        self.allows_more |= self.oversubscribe;
        Ok(match ranks {
            Some(ranks) => self.count(option, &ranks),
            None => {
                self.count_words.push(option.words.clone());
                Ok(())
            }
        })
    }

    fn hydra(&mut self, option: &OptionWords) -> std::result::Result<Result<()>, Refusal> {
        let value = option.value.as_deref().unwrap_or_default();
        let name = option.name.as_str();
        if listed(HYDRA_PLACES, name) {
            return Err(Refusal::user(option));
        }
        Ok(match name {
            "host" | "hosts" => self.add(option, host_list::of_hydra(value, "-hosts")),
            "f" | "hostfile" | "machinefile" | "machine" => {
                self.add(option, read(value, host_file::hydra))
            }
            "ppn" | "perhost" | "grr" => self.count(option, value),
            "rr" => self.count(option, "1"),
            "bind-to" | "binding" => {
                self.has_binding = true;
                Ok(())
            }
            _ => Ok(()),
        })
    }

    fn srun(&mut self, option: &OptionWords) -> std::result::Result<Result<()>, Refusal> {
        let value = option.value.as_deref().unwrap_or_default();
        let name = option.name.as_str();
        if listed(SRUN_PLACES, name) {
            return Err(Refusal::user(option));
        }
        Ok(match name {
            "w" | "nodelist" if value.contains('/') => {
                self.add(option, read(value, host_file::node_file))
            }
            "w" | "nodelist" => self.add(option, host_list::of_slurm(value, "--nodelist")),
            "ntasks-per-node" | "tasks-per-node" => self.count(option, value),
            "cpu-bind" => {
                self.has_binding = true;
                Ok(())
            }
            _ => Ok(()),
        })
    }

    /// Variables of launchers that place ranks or name hosts.
    fn variables(
        &mut self,
        launcher: Launcher,
        variable: &impl Fn(&str) -> Option<String>,
    ) -> std::result::Result<(), Refusal> {
        let set = |name: &str| variable(name).filter(|value| !value.is_empty());
        if launcher == Launcher::OpenMpi {
            for prefix in ["OMPI_MCA_", "PRTE_MCA_"] {
                let names = OPEN_MPI_PARAMETERS.split_whitespace();
                let mut names = names.map(|parameter| format!("{prefix}{parameter}"));
                if let Some(name) = names.find(|name| set(name).is_some()) {
                    return Err(Refusal::decided(&name));
                }
            }
            let bindings = OPEN_MPI_BINDING.split_whitespace();
            let mut bindings =
                bindings.flat_map(|p| [format!("OMPI_MCA_{p}"), format!("PRTE_MCA_{p}")]);
            self.has_binding |= bindings.any(|name| set(&name).is_some());
            let allowed =
                ["OMPI_MCA_", "PRTE_MCA_"].map(|prefix| format!("{prefix}{OVERSUBSCRIBE}"));
            self.allows_more |= allowed.iter().any(|name| set(name).is_some_and(|v| is_true(&v)));
            let policy = set("PRTE_MCA_rmaps_default_mapping_policy").unwrap_or_default();
            self.allows_more |= policy.to_ascii_lowercase().contains(":oversubscribe");
            let default = ["OMPI_MCA_orte_default_hostfile", "PRTE_MCA_prte_default_hostfile"];
            if self.allocation.is_none()
                && let Some(path) = default.into_iter().find_map(set)
            {
                let found = read(&path, host_file::open_mpi).map_err(Refusal::unreadable)?;
                self.allocation = Some(found);
            }
        }
        self.has_binding |= launcher == Launcher::Hydra && set("HYDRA_BINDING").is_some();
        if launcher == Launcher::Hydra
            && self.allocation.is_none()
            && let Some(path) = set("HYDRA_HOST_FILE").or_else(|| set("I_MPI_HYDRA_HOST_FILE"))
        {
            let found = read(&path, host_file::hydra).map_err(Refusal::unreadable)?;
            self.allocation = Some(found);
        }
        if launcher == Launcher::Srun
            && let Some(name) = ["SLURM_HOSTFILE", "SLURM_DISTRIBUTION"]
                .into_iter()
                .find(|name| set(name).is_some_and(|value| value != "block"))
        {
            return Err(Refusal::decided(name));
        }
        Ok(())
    }

    /// The hosts with the number of ranks that an option asks for; `None` without hosts, and if they cannot be told
    /// apart.
    pub(super) fn asked(&self) -> Option<Allocation> {
        let allocation = self.allocation.clone()?;
        Some(match self.per_host {
            Some(ranks) => allocation.with_ranks_per_host(ranks).ok()?,
            None => allocation,
        })
    }
}

/// Whether a parameter of Open MPI is switched on.
fn is_true(value: &str) -> bool {
    ["1", "true", "yes", "y", "t", "on", "enabled"]
        .iter()
        .any(|v| v.eq_ignore_ascii_case(value.trim()))
}

/// Reads a host file. Errors: it cannot be read, or its content cannot be understood.
fn read(path: &str, parse: fn(&str, &str) -> Result<Allocation>) -> Result<Allocation> {
    let failed = |e: std::io::Error| Error::io("cannot read the host file", Path::new(path), &e);
    let bytes = file::read_given(Path::new(path), batch_system::LARGEST, |_| true);
    let bytes = bytes.map_err(failed)?;
    parse(&String::from_utf8_lossy(&bytes), path)
}
