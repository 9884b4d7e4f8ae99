//! How a launcher is told the host of each rank: the options and variables, and the form of the file.
//!
//! | launcher | how |
//! |---|---|
//! | Open MPI 4 | a host file with the host of each rank, and the mapper `seq` |
//! | Open MPI 5, PRRTE | the same file, and `--map-by seq` |
//! | MPICH before 5 | a host file with blocks of consecutive ranks (`-f`) |
//! | MPICH from 5 | the option `-rankmap`, without a file |
//! | Intel MPI | a machine file with blocks of consecutive ranks (`-machinefile`) |
//! | Slurm | a file with the host of each rank (`SLURM_HOSTFILE`), and the distribution `arbitrary` |
//! | Cray MPICH | a rank order (`MPICH_RANK_REORDER_FILE`, method 3) |
//!
//! Rank files of Open MPI are not used, because they name a core for each rank: on a host with other cores than the
//! recorded one, or with more ranks than cores, the launcher refuses them. `seq:file=FILE` of Open MPI 5 is not used,
//! because PRRTE 3 takes a name of a file that has `pe` in it for the option `PE=`. Limit of MPICH before 5: it takes the
//! blocks of one host for different nodes, so that these ranks do not use its shared memory among each other. Their
//! messages stay on the host.

use super::launch_hosts::LaunchHosts;
use crate::allocation::filling::Filling;
use crate::cli::launcher::{Launcher, LocatedLauncher, answer, in_path};
use crate::formats::{self, Format};

/// How a launcher is told the host of each rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cli) enum Method {
    OpenMpi4,
    OpenMpi5,
    HydraBlocks,
    HydraRankmap,
    IntelMachines,
    SlurmArbitrary,
    CrayOrder,
}

/// What the launcher is told, for the options.
pub(super) struct Told<'a> {
    /// The hosts of the command line.
    pub(super) hosts: &'a LaunchHosts,
    /// The file, as an absolute path.
    pub(super) file: &'a str,
    /// Number of ranks.
    pub(super) ranks: usize,
    /// The command line says the number of ranks.
    pub(super) says_ranks: bool,
    /// The node of each rank, in the order of the launcher's list of hosts.
    pub(super) node_of_rank: &'a [u32],
    /// In the recorded launch, every process was bound to a core, and its nodes had as many processes.
    pub(super) bound_to_cores: bool,
}

impl Method {
    /// The method for the launcher of a command; `None` for a launcher that is not known. `variable` looks a
    /// variable up.
    pub(super) fn of(
        found: &LocatedLauncher,
        command: &[String],
        variable: impl Fn(&str) -> Option<String>,
    ) -> Option<Method> {
        let version = || {
            let path = in_path(command.get(found.position)?)?;
            answer(&path, &["--version"])
        };
        match found.launcher {
            Launcher::Srun if variable("CRAY_MPICH_VERSION").is_some() => Some(Method::CrayOrder),
            Launcher::Srun => Some(Method::SlurmArbitrary),
            Launcher::OpenMpi | Launcher::Hydra => Some(Method::of_version(&version()?)),
            Launcher::Sbatch | Launcher::Other => None,
        }
    }

    /// The method for a launcher that describes itself so.
    pub(super) fn of_version(text: &str) -> Method {
        let first = |behind: &str| -> Option<u32> {
            let rest = text.split(behind).nth(1)?.trim_start();
            rest.split('.').next()?.trim().parse().ok()
        };
        if text.contains("Intel(R) MPI") {
            Method::IntelMachines
        } else if text.contains("HYDRA") || text.contains("Hydra") || text.contains("MPICH") {
            match first("Version:") {
                Some(5..) => Method::HydraRankmap,
                _ => Method::HydraBlocks,
            }
        } else {
            match first("(Open MPI)").or_else(|| first("(OpenRTE)")) {
                Some(..5) => Method::OpenMpi4,
                _ => Method::OpenMpi5,
            }
        }
    }

    /// The ranks that a host takes if its description leaves this to the launcher; `None` if that depends on the host.
    pub(super) fn default_ranks(self) -> Option<u32> {
        matches!(self, Method::HydraBlocks | Method::HydraRankmap).then_some(1)
    }

    /// How the launcher fills its hosts by itself.
    pub(super) fn filling(self) -> Filling {
        match self {
            Method::OpenMpi4 => Filling::Slots,
            Method::OpenMpi5 => Filling::Within,
            Method::HydraBlocks | Method::HydraRankmap | Method::IntelMachines => Filling::Rounds,
            Method::SlurmArbitrary | Method::CrayOrder => Filling::Exact,
        }
    }

    /// The method in words.
    pub(super) fn words(self) -> &'static str {
        match self {
            Method::OpenMpi4 | Method::OpenMpi5 => {
                "by a host file with the host of each rank (seq)"
            }
            Method::HydraBlocks => "by a host file with blocks of consecutive ranks (-f)",
            Method::HydraRankmap => "by the host of each rank on the command line (-rankmap)",
            Method::IntelMachines => {
                "a machine file with blocks of consecutive ranks (-machinefile)"
            }
            Method::SlurmArbitrary => {
                "a file with the host of each rank (SLURM_HOSTFILE, arbitrary)"
            }
            Method::CrayOrder => "by a rank order (MPICH_RANK_REORDER_FILE)",
        }
    }

    /// The format of its file; `None` if it needs none.
    pub(super) fn format(self) -> Option<&'static Format> {
        Some(match self {
            Method::OpenMpi4 | Method::OpenMpi5 | Method::SlurmArbitrary => {
                &formats::rank_orders::SLURM
            }
            Method::HydraBlocks | Method::IntelMachines => &formats::rank_orders::HYDRA,
            Method::HydraRankmap => return None,
            Method::CrayOrder => &formats::rank_orders::CRAY,
        })
    }

    /// Changes the command of a launch. Returns the command, and the variables of the launcher.
    pub(super) fn applied(
        self,
        found: &LocatedLauncher,
        command: &[String],
        told: &Told<'_>,
    ) -> (Vec<String>, Vec<(String, String)>) {
        let (words, environment, keeps_hosts) = self.added(told);
        let mut removed = told.hosts.count_words.clone();
        if !keeps_hosts {
            removed.extend(told.hosts.host_words.iter().cloned());
        }
        if self == Method::CrayOrder {
            removed.clear();
        }
        let is_kept = |at: &usize| !removed.iter().any(|range| range.contains(at));
        let start = found.position + 1;
        let mut changed: Vec<String> =
            (0..command.len()).filter(is_kept).map(|at| command[at].clone()).collect();
        changed.splice(start..start, words);
        (changed, environment)
    }

    /// The options and variables that are added, and whether the hosts of the command line stay.
    fn added(self, told: &Told<'_>) -> (Vec<String>, Vec<(String, String)>, bool) {
        let text = |words: &[&str]| words.iter().map(|w| w.to_string()).collect::<Vec<String>>();
        let (file, ranks) = (told.file, told.ranks.to_string());
        let count = |option: &str| match told.says_ranks {
            true => Vec::new(),
            false => text(&[option, &ranks]),
        };
        let binds = told.bound_to_cores && !told.hosts.has_binding;
        let binding = if binds { text(&["--bind-to", "core"]) } else { Vec::new() };
        let more = told.hosts.oversubscribe;
        match self {
            Method::OpenMpi4 => {
                let mut words = text(&["--mca", "rmaps", "seq", "--hostfile", file]);
                words.extend(more.then(|| "--oversubscribe".to_string()));
                // This is what `seq` does by itself. But without this option mpirun 4.1.4 crashes if more ranks
                // than slots are allowed.
                if !told.hosts.has_binding && !binds {
                    words.extend(text(&["--bind-to", "none"]));
                }
                ([words, binding, count("-np")].concat(), Vec::new(), false)
            }
            Method::OpenMpi5 => {
                let qualifier = if more { ":oversubscribe" } else { "" };
                let words = text(&["--map-by", &format!("seq{qualifier}"), "--hostfile", file]);
                ([words, binding, count("-np")].concat(), Vec::new(), false)
            }
            Method::HydraBlocks => ([text(&["-f", file]), count("-n")].concat(), Vec::new(), false),
            Method::IntelMachines => {
                ([text(&["-machinefile", file]), count("-n")].concat(), Vec::new(), false)
            }
            Method::HydraRankmap => {
                let map: Vec<String> = told.node_of_rank.iter().map(u32::to_string).collect();
                let words = vec!["-rankmap".into(), map.join(",")];
                ([words, count("-n")].concat(), Vec::new(), true)
            }
            Method::SlurmArbitrary => {
                let words = [text(&["--distribution=arbitrary"]), count("-n")].concat();
                (words, vec![("SLURM_HOSTFILE".into(), file.into())], false)
            }
            Method::CrayOrder => {
                let method = ("MPICH_RANK_REORDER_METHOD".to_string(), "3".to_string());
                let order = ("MPICH_RANK_REORDER_FILE".to_string(), file.to_string());
                (Vec::new(), vec![method, order], true)
            }
        }
    }

    /// How a batch script uses the file, in one line.
    pub(super) fn usage(self, command: &[String], environment: &[(String, String)]) -> String {
        use crate::cli::preload::command::LaunchCommand;
        let line = LaunchCommand { command: command.to_vec(), environment: environment.to_vec() };
        line.shell_line().trim_end().to_string()
    }
}
