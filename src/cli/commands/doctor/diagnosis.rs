//! What is found out about a launch: the facts, and the findings that follow from them.

use super::bindings::Bindings;
use super::{checks, probe, program};
use crate::base::error::{ErrorKind, Result};
use crate::cli::inspect::{Image, Launch, Mpi, Part, Program, Search, Started, start};
use crate::cli::launcher::Launcher;
use crate::cli::preload;
use crate::options::{Mode, Settings};
use crate::store::{self, Store};
use serde_json::{Value, json};
use std::path::PathBuf;

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    /// Good to know.
    Note,
    /// Something may go wrong.
    Warning,
    /// Nothing, or not everything, will be recorded.
    Problem,
}

impl Level {
    pub(super) fn name(self) -> &'static str {
        match self {
            Level::Note => "note",
            Level::Warning => "warning",
            Level::Problem => "problem",
        }
    }
}

/// Something found out that the user should know.
#[derive(Debug, Clone)]
pub(super) struct Finding {
    pub level: Level,
    /// A name for scripts.
    pub code: &'static str,
    pub text: String,
    /// What to do about it.
    pub advice: Option<String>,
}

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
        self.findings.iter().all(|finding| finding.level < Level::Problem)
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
    pub launch: Launch,
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
    /// Why the ranks are left alone whatever is stored, if so.
    pub left_alone: Option<String>,
    pub nodes: Option<Vec<probe::Node>>,
}

impl Diagnosis {
    /// Looks at everything. Errors: the launcher is not found.
    pub(super) fn of(command: &[String], settings: Settings) -> Result<Diagnosis> {
        let found = Launcher::of_command(command)?;
        let launch = Launch::of(&found, command);
        let search = Search::new(std::env::var("LD_LIBRARY_PATH").ok().as_deref());
        let launcher_mpi = launch
            .path
            .as_deref()
            .and_then(|path| Mpi::of_launcher(path, launch.launcher, &search));
        let mut diagnosis = Diagnosis {
            launch,
            settings,
            launcher_mpi,
            library: None,
            before: Vec::new(),
            programs: Vec::new(),
            findings: Vec::new(),
            store: None,
            spill: None,
            key: None,
            left_alone: None,
            nodes: None,
        };
        checks::library(&mut diagnosis);
        for part in diagnosis.launch.parts.clone() {
            let program = diagnosis.program(part);
            diagnosis.programs.push(program);
        }
        checks::preloaded(&mut diagnosis);
        checks::launch(&mut diagnosis, &found);
        checks::store(&mut diagnosis);
        checks::spill(&mut diagnosis);
        checks::topology(&mut diagnosis, &search);
        diagnosis.find_record();
        diagnosis.find_objection();
        Ok(diagnosis)
    }

    fn program(&self, part: Part) -> Diagnosed {
        let search = preload::functions::search_of(&part);
        let started = start(&part);
        let mut diagnosed = Diagnosed {
            part,
            started,
            mpi: None,
            bindings: Bindings::default(),
            seen: 0,
            findings: Vec::new(),
        };
        if let Program::Binary(image) = &diagnosed.started.program {
            let closure = search.closure((**image).clone());
            diagnosed.bindings = Bindings::of(&closure);
            diagnosed.mpi =
                closure.images.iter().skip(1).find_map(Mpi::of_image).map(|m| (m, None));
            if let Some((_, library)) = &self.library {
                let names = diagnosed.bindings.names();
                diagnosed.seen = names.filter(|name| library.offers(name)).count();
            }
            program::missing_libraries(&mut diagnosed, &closure);
        }
        if diagnosed.mpi.is_none() {
            let loaded = preload::functions::loaded(
                &self.launch,
                &diagnosed.part,
                &diagnosed.started.program,
                &search,
            );
            diagnosed.mpi = loaded.map(|(mpi, how)| (mpi, Some(how)));
        }
        program::check(&mut diagnosed, self);
        diagnosed
    }

    /// The key that the library will choose, and whether something is stored under it.
    fn find_record(&mut self) {
        let ranks: Option<Vec<usize>> = self.programs.iter().map(|p| p.part.ranks).collect();
        let Some(ranks) = ranks.map(|r| r.iter().sum::<usize>()).filter(|&n| n > 0) else { return };
        let key = self.settings.key.clone();
        let key = key.or_else(|| Some(store::key_for(&self.identity()?.1, ranks)));
        if let (Some(key), Some(directory)) = (key, &self.store) {
            let record = Store::open(directory).load(&key).ok().flatten();
            self.key = Some((key, record.map(|r| r.recorded_at)));
        }
    }

    /// Path and identity of the program.
    fn identity(&self) -> Option<(PathBuf, store::Identity)> {
        let program = self.programs.first()?;
        let exe = program.binary()?.path.canonicalize().ok()?;
        let identity = store::identity(&exe, &program.started.words).ok()?;
        Some((exe, identity))
    }

    /// What the user or a check has against reordering this program.
    fn find_objection(&mut self) {
        let settings = &self.settings;
        if !matches!(settings.mode, Mode::Auto | Mode::Reorder) {
            return;
        }
        let Some((exe, identity)) = self.identity() else { return };
        let path = exe.to_string_lossy();
        if settings.allow.matching(&path, &identity.name).is_some() {
            return;
        }
        if let Some(pattern) = settings.deny.matching(&path, &identity.name) {
            self.left_alone = Some(format!("the program is in the list of --deny ('{pattern}')"));
            return;
        }
        let Some(store) = self.store.as_ref().filter(|_| settings.mode == Mode::Auto) else {
            return;
        };
        let (store, program) = (Store::open(store), store::program_id(&identity));
        if let Ok(Some(verdict)) = store.objection_to_topologies(&program) {
            let text = format!("topologies keep their ranks: {}", verdict.reason);
            let code = "mixes-ranks";
            self.findings.push(
                Finding { level: Level::Warning, code, text, advice: None }
                    .advise("'rankweave check' once it is mended; --allow or --mode reorder"),
            );
        }
        let reason = match store.objection(&program) {
            Ok(None) => return,
            // That the store cannot be read is said already.
            Err(error) if error.kind() == ErrorKind::Io => return,
            Ok(Some(verdict)) => verdict.reason,
            Err(error) => error.to_string(),
        };
        self.findings.push(
            Finding {
                level: Level::Warning,
                code: "check-differs",
                text: format!(
                    "'rankweave check' found that the program minds other ranks: {reason}"
                ),
                advice: None,
            }
            .advise("'rankweave check' again once it is mended; --allow or --mode reorder"),
        );
        self.left_alone = Some("'rankweave check' found a difference".into());
    }

    /// Starts the launcher with this program in place of the real one.
    pub(super) fn probe(&mut self, command: &[String]) -> Result<()> {
        let (nodes, findings) = probe::launch(self, command)?;
        self.nodes = Some(nodes);
        self.findings.extend(findings);
        Ok(())
    }

    /// True if all ranks will be recorded.
    pub(super) fn recorded(&self) -> bool {
        self.settings.mode != Mode::Off
            && self.findings.iter().all(|finding| finding.level < Level::Problem)
            && !self.programs.is_empty()
            && self.programs.iter().all(Diagnosed::recorded)
    }

    /// What the launch will do, in words.
    pub(super) fn outcome(&self) -> String {
        if !self.recorded() {
            let some = self.programs.iter().any(Diagnosed::recorded)
                && self.findings.iter().all(|f| f.level < Level::Problem);
            return match (self.settings.mode, some) {
                (Mode::Off, _) => "nothing: the mode is off".into(),
                (_, true) => "some of the programs cannot be recorded, so nothing will be: all \
                              ranks have to take part"
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
                "{counted}; the ranks are left alone, because different programs cannot change \
                 places"
            ),
            _ if self.left_alone.is_some() => format!(
                "{counted}; the ranks are left alone: {}",
                self.left_alone.as_deref().unwrap_or_default()
            ),
            (_, Some((key, Some(_)))) => format!(
                "{counted}; the ranks are reordered by what is stored under {key}, if that pays"
            ),
            (Mode::Reorder, Some((key, None))) => {
                format!("{counted}; nothing is stored under {key} to reorder by")
            }
            (_, Some((key, None))) => {
                format!("{counted} under {key}; the next launch is reordered")
            }
            (_, None) => {
                format!("{counted}; the ranks are reordered if a matrix of as many ranks is stored")
            }
        }
    }

    /// The diagnosis for scripts.
    pub(super) fn json(&self) -> Value {
        let findings = |list: &[Finding]| -> Vec<Value> {
            let one = |f: &Finding| {
                json!({
                    "level": f.level.name(), "code": f.code, "text": f.text, "advice": f.advice,
                })
            };
            list.iter().map(one).collect()
        };
        let mpi = |mpi: &Mpi| {
            json!({
                "library": mpi.path, "abi": mpi.family.name(), "version": mpi.version(),
            })
        };
        let program = |p: &Diagnosed| {
            json!({
                "command": p.part.words,
                "ranks": p.part.ranks,
                "file": p.started.path,
                "through": p.started.through.iter().map(|t| &t.name).collect::<Vec<_>>(),
                "architecture": p.binary().map(Image::architecture),
                "mpi": p.mpi.as_ref().map(|m| mpi(&m.0)),
                "mpi_loaded_by_itself": p.mpi.as_ref().is_some_and(|m| m.1.is_some()),
                "mpi_known_from": p.mpi.as_ref().and_then(|m| m.1.clone()),
                "functions": p.bindings,
                "functions_seen": p.seen,
                "recorded": p.recorded(),
                "findings": findings(&p.findings),
            })
        };
        json!({
            "schema": 1,
            "launcher": {
                "family": self.launch.launcher.name(),
                "file": self.launch.path,
                "mpi": self.launcher_mpi.as_ref().map(mpi),
                "several_hosts": self.launch.hosts,
            },
            "programs": self.programs.iter().map(program).collect::<Vec<_>>(),
            "preload": {
                "library": self.library.as_ref().map(|l| &l.0),
                "before": self.before,
            },
            "mode": self.settings.mode.name(),
            "store": self.store,
            "spill": self.spill,
            "key": self.key.as_ref().map(|k| &k.0),
            "stored_at": self.key.as_ref().and_then(|k| k.1),
            "nodes": self.nodes,
            "outcome": self.outcome(),
            "recorded": self.recorded(),
            "findings": findings(&self.findings),
        })
    }
}
