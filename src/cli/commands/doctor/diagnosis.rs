//! What is known about a launch: the facts, and the findings that follow from them.

use super::bindings::Bindings;
use super::finding::{Finding, Severity};
use super::probe;
use crate::cli::inspect::{Image, LaunchLine, Mpi, Part, Program, Started};
use crate::options::{Mode, Settings};
use crate::store;
use std::path::PathBuf;

/// A program of the launch.
#[derive(Debug)]
pub(super) struct Diagnosed {
    pub part: Part,
    pub started: Started,
    /// Its MPI library, and how that is known if it is not linked with it.
    pub mpi: Option<(Mpi, Option<String>)>,
    pub bindings: Bindings,
    /// Of the functions it uses, those that pass through the library.
    pub seen: usize,
    pub findings: Vec<Finding>,
}

impl Diagnosed {
    /// True if nothing stands in the way.
    pub(super) fn recorded(&self) -> bool {
        self.findings.iter().all(|finding| finding.level < Severity::Problem)
    }

    /// The program, if it is a binary.
    pub(super) fn binary(&self) -> Option<&Image> {
        match &self.started.program {
            Program::Binary(image) => Some(image),
            _ => None,
        }
    }
}

/// All that is known about a launch.
#[derive(Debug)]
pub(super) struct Diagnosis {
    pub launch: LaunchLine,
    pub settings: Settings,
    /// MPI library beside the launcher.
    pub launcher_mpi: Option<Mpi>,
    pub library: Option<(PathBuf, Image)>,
    /// What is preloaded already.
    pub before: Vec<PathBuf>,
    pub programs: Vec<Diagnosed>,
    /// Findings about the launch as a whole.
    pub findings: Vec<Finding>,
    pub store: Option<PathBuf>,
    /// Where spill files go on this node.
    pub spill: Option<PathBuf>,
    /// Key of the record, where the number of ranks is known, and when it was recorded.
    pub key: Option<(String, Option<u64>)>,
    /// Why the launcher's order is kept whatever is stored, if so.
    pub order_kept_because: Option<String>,
    pub nodes: Option<Vec<probe::Node>>,
}

impl Diagnosis {
    /// Path and identity of the program.
    pub(super) fn identity(&self) -> Option<(PathBuf, store::Identity)> {
        let program = self.programs.first()?;
        let exe = program.binary()?.path.canonicalize().ok()?;
        let identity = store::identity(&exe, &program.started.words).ok()?;
        Some((exe, identity))
    }

    /// True if all ranks will be recorded.
    pub(super) fn recorded(&self) -> bool {
        self.settings.mode != Mode::Off
            && self.findings.iter().all(|finding| finding.level < Severity::Problem)
            && !self.programs.is_empty()
            && self.programs.iter().all(Diagnosed::recorded)
    }

    /// What the launch will do, in words.
    pub(super) fn outcome(&self) -> String {
        if !self.recorded() {
            let some = self.programs.iter().any(Diagnosed::recorded)
                && self.findings.iter().all(|f| f.level < Severity::Problem);
            return match (self.settings.mode, some) {
                (Mode::Off, _) => "nothing: the mode is off".into(),
                (_, true) => "some of the programs cannot be recorded; nothing will be recorded, \
                              because all ranks have to take part"
                    .into(),
                _ => "nothing will be recorded".into(),
            };
        }
        let alike = self.programs.windows(2).all(|p| p[0].started.words == p[1].started.words);
        let counted = "point-to-point, collective and one-sided traffic is recorded";
        match (self.settings.mode, &self.key) {
            (Mode::Shuffle, _) => format!("{counted}; the ranks get a random order"),
            (Mode::Record, _) => format!("{counted}, in the launcher's order"),
            _ if !alike => format!(
                "{counted}; the launcher's order is kept, because the launch starts different \
                 programs"
            ),
            _ if self.order_kept_because.is_some() => format!(
                "{counted}; the launcher's order is kept: {}",
                self.order_kept_because.as_deref().unwrap_or_default()
            ),
            (_, Some((key, Some(_)))) => format!(
                "{counted}; the ranks are reordered by the matrix stored under {key}, if the predicted \
                 gain is large enough"
            ),
            (Mode::Reorder, Some((key, None))) => {
                format!("{counted}; the ranks are not reordered: no matrix is stored under {key}")
            }
            (_, Some((key, None))) => {
                format!("{counted} and stored under {key}; the next launch can be reordered")
            }
            (_, None) => {
                format!("{counted}; the ranks are reordered if a matrix of as many ranks is stored")
            }
        }
    }
}
