//! What is known about a launch: the facts, and the findings that follow from them.

use super::bindings::Bindings;
use super::finding::{Finding, Severity};
use super::network::NetworkKnown;
use crate::cli::inspect::{Image, LaunchLine, Mpi, Part, Started};
use crate::cli::launcher::Launcher;
use crate::cli::trial::ProbedNode;
use crate::options::{Mode, Settings};
use crate::store;
use serde::Serialize;
use std::path::PathBuf;

/// A program of the launch.
#[derive(Debug, Default)]
pub(in crate::cli) struct Diagnosed {
    pub part: Part,
    pub started: Started,
    /// Its MPI library. If the program is not linked with this library: how it is known.
    pub mpi: Option<(Mpi, Option<String>)>,
    pub bindings: Bindings,
    /// The number of functions that it uses and that pass through the library.
    pub seen: usize,
    pub findings: Vec<Finding>,
}

impl Diagnosed {
    /// True if nothing prevents recording.
    pub(in crate::cli) fn recorded(&self) -> bool {
        has_no_problem(&self.findings)
    }
}

/// Why it is not known whether a program gets the library.
const CONTAINER_DOUBT: (&str, &str) =
    ("container-unknown", "the container may not get the library");

/// Why it is not known whether a program gets the library and calls MPI, by the code of the finding.
const DOUBTS: [(&str, &str); 6] = [
    CONTAINER_DOUBT,
    ("no-mpi-calls", "the program calls no function of MPI itself"),
    ("script", "what the script starts is not known"),
    ("container-given", "what the container starts is not known"),
    ("program-unreadable", "the program cannot be read"),
    ("mpi-unknown-yet", "the program loads an MPI library while it runs, if at all"),
];

fn has_no_problem(findings: &[Finding]) -> bool {
    findings.iter().all(|finding| finding.level < Severity::Problem)
}

/// Whether the launcher can place the ranks before the launch (`--place launcher`).
#[derive(Debug, Serialize)]
pub(in crate::cli) struct Placing {
    pub possible: bool,
    /// How the launcher is told, or why it is not.
    pub text: String,
    /// What the user can do to make it possible.
    pub advice: Option<String>,
}

/// All that is known about a launch.
#[derive(Debug, Default)]
pub(in crate::cli) struct Diagnosis {
    pub launch: LaunchLine,
    pub settings: Settings,
    /// The MPI library that belongs to the launcher.
    pub launcher_mpi: Option<Mpi>,
    pub library: Option<(PathBuf, Image)>,
    /// The libraries that are preloaded already.
    pub before: Vec<PathBuf>,
    pub programs: Vec<Diagnosed>,
    /// Findings about the launch as a whole.
    pub findings: Vec<Finding>,
    pub store: Option<PathBuf>,
    /// The directory of spill files on this node.
    pub spill: Option<PathBuf>,
    /// The key of the record, and when the record was stored; `None` if the number of ranks is not known.
    pub key: Option<(String, Option<u64>)>,
    /// The reason why the launcher's order is kept even if a matrix is stored.
    pub order_kept_because: Option<String>,
    pub nodes: Option<Vec<ProbedNode>>,
    /// What is known of the network between the nodes before the launch; `None` if it does not matter.
    pub network: Option<NetworkKnown>,
    /// Placement by the launcher; `None` if the mode gives no new ranks.
    pub placing: Option<Placing>,
}

impl Diagnosis {
    /// Path and identity of the program.
    pub(in crate::cli) fn identity(&self) -> Option<(PathBuf, store::Identity)> {
        let program = self.programs.first()?;
        let exe = program.started.binary()?.path.canonicalize().ok()?;
        let identity = store::identity(&exe, &program.started.words).ok()?;
        Some((exe, identity))
    }

    /// Why the user or the site wants the program to be left alone, in words; `None` if nobody does.
    pub(in crate::cli) fn left_alone(&self) -> Option<String> {
        let (path, identity) = self.identity()?;
        self.settings.left_alone(&path.to_string_lossy(), &identity.name)
    }

    /// True if all ranks will be recorded.
    pub(in crate::cli) fn recorded(&self) -> bool {
        self.settings.mode != Mode::Off
            && has_no_problem(&self.findings)
            && !self.programs.is_empty()
            && self.programs.iter().all(Diagnosed::recorded)
    }

    /// True if all ranks run the same program with the same arguments.
    pub(in crate::cli) fn is_one_program(&self) -> bool {
        self.programs.windows(2).all(|p| p[0].started.words == p[1].started.words)
    }

    /// Why it is not known whether a launch is recorded, and on what this depends; `None` if one of its programs gets the
    /// library and calls MPI. All ranks have to take part, so that one container is enough for a doubt.
    fn doubt(&self) -> Option<(&'static str, &'static str)> {
        let (unknown, why) = CONTAINER_DOUBT;
        let findings = || self.programs.iter().flat_map(|program| &program.findings);
        if findings().any(|finding| finding.code == unknown) {
            return Some((why, "it does, and MPI is called"));
        }
        let reason = |program: &Diagnosed| {
            let mut codes = program.findings.iter().map(|finding| finding.code);
            codes.find_map(|code| DOUBTS.iter().find(|(known, _)| *known == code))
        };
        let reasons: Option<Vec<_>> = self.programs.iter().map(reason).collect();
        reasons?.first().map(|(_, reason)| (*reason, "MPI is called"))
    }

    /// What the launch will do, in words.
    pub(in crate::cli) fn outcome(&self) -> String {
        if !self.recorded() {
            let some =
                self.programs.iter().any(Diagnosed::recorded) && has_no_problem(&self.findings);
            let text = match (self.settings.mode, some) {
                (Mode::Off, _) => "nothing: the mode is off",
                (_, true) => {
                    "some of the programs cannot be recorded; nothing will be recorded, \
                     because all ranks have to take part"
                }
                _ => "nothing will be recorded",
            };
            return text.into();
        }
        if self.launch.launcher == Launcher::Sbatch {
            return "the launches of the script get the library; what is recorded is not known"
                .into();
        }
        let rest = match (self.settings.mode, &self.order_kept_because, &self.key) {
            (Mode::Shuffle, ..) => "; the ranks get a random order".into(),
            (Mode::Record, ..) => ", in the launcher's order".into(),
            _ if !self.is_one_program() => {
                let why = "because the launch starts different programs";
                format!("; the launcher's order is kept, {why}")
            }
            (_, Some(why), _) => format!("; the launcher's order is kept: {why}"),
            (_, None, Some((key, Some(_)))) => {
                let matrix = format!("the matrix stored under {key}");
                format!(
                    "; the ranks are reordered by {matrix}, if the predicted gain is large enough"
                )
            }
            (Mode::Reorder, None, Some((key, None))) => {
                format!("; the ranks are not reordered: no matrix is stored under {key}")
            }
            (_, None, Some((key, None))) => {
                format!(" and stored under {key}; the next launch can be reordered")
            }
            (_, None, None) => {
                "; the ranks are reordered if a matrix of as many ranks is stored".into()
            }
        };
        let text = format!("point-to-point, collective and one-sided traffic is recorded{rest}");
        match self.doubt() {
            Some((reason, condition)) => {
                format!(
                    "it is not known whether anything will be recorded, because {reason}. If {condition}, {text}"
                )
            }
            None => text,
        }
    }
}
