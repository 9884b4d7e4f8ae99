//! Examines a launch without starting it: does all checks, and looks up what is stored for the program.

use super::bindings::Bindings;
use super::facts::{Diagnosed, Diagnosis};
use super::finding::warning;
use super::network::NetworkKnown;
use super::{checks, probe, program};
use crate::base::error::{ErrorKind, Result};
use crate::cli::inspect::{LaunchLine, Mpi, Part, Search, start};
use crate::cli::launcher::{Launcher, LocatedLauncher};
use crate::cli::preload;
use crate::cli::trial::nodes_of;
use crate::launch::Storage;
use crate::options::{Mode, Settings};
use crate::store::{self, Store};
use std::time::Duration;

impl Diagnosis {
    /// The diagnosis of a launch. Errors: the launcher is not found.
    pub(in crate::cli) fn of(command: &[String], settings: Settings) -> Result<Diagnosis> {
        let found = Launcher::of_command(command)?;
        let mut diagnosis = Diagnosis::of_programs(&found, command, settings);
        let search = Search::new(std::env::var("LD_LIBRARY_PATH").ok().as_deref());
        checks::store(&mut diagnosis);
        checks::spill(&mut diagnosis);
        checks::topology(&mut diagnosis, &search);
        diagnosis.find_record();
        diagnosis.find_objection();
        // Advice about its places is of no use for a launch that is not recorded.
        if diagnosis.recorded() {
            checks::placement(&mut diagnosis, &found, command);
            let store = Storage::open(&diagnosis.settings).ok();
            let settings = &diagnosis.settings;
            diagnosis.network = NetworkKnown::before(&found, command, settings, store.as_ref());
        }
        Ok(diagnosis)
    }

    /// The diagnosis of the library, the launcher and the programs. The store and the topology are not examined.
    pub(super) fn of_programs(
        found: &LocatedLauncher,
        command: &[String],
        settings: Settings,
    ) -> Diagnosis {
        let launch = LaunchLine::of(found, command);
        let search = Search::new(std::env::var("LD_LIBRARY_PATH").ok().as_deref());
        let launcher_mpi = launch
            .path
            .as_deref()
            .and_then(|path| Mpi::of_launcher(path, launch.launcher, &search));
        let mut diagnosis = Diagnosis { launch, settings, launcher_mpi, ..Diagnosis::default() };
        checks::library(&mut diagnosis);
        for part in diagnosis.launch.parts.clone() {
            let program = diagnosis.program(part);
            diagnosis.programs.push(program);
        }
        checks::preloaded(&mut diagnosis);
        checks::launch(&mut diagnosis, found);
        diagnosis
    }

    fn program(&self, part: Part) -> Diagnosed {
        let search = preload::functions::search_of(&part);
        let started = start(&part);
        let mut diagnosed = Diagnosed { part, started, ..Diagnosed::default() };
        if let Some(image) = diagnosed.started.binary() {
            let closure = search.closure(image.clone());
            diagnosed.bindings = Bindings::of(&closure);
            diagnosed.mpi =
                closure.images.iter().skip(1).find_map(Mpi::of_image).map(|m| (m, None));
            if let Some((_, library)) = &self.library {
                let names = diagnosed.bindings.names();
                diagnosed.seen = names.filter(|name| library.offers(name)).count();
            }
            program::missing_libraries(&mut diagnosed, &closure);
        }
        // A program into which MPI is linked loads no library of MPI, and nothing is known of one that is static.
        let may_load = diagnosed
            .started
            .binary()
            .is_none_or(|image| !image.is_static() && !image.linked_in.contains("PMPI_Init"));
        if diagnosed.mpi.is_none() && may_load {
            let (part, started) = (&diagnosed.part, &diagnosed.started);
            let loaded = preload::functions::loaded(&self.launch, part, started, &search);
            diagnosed.mpi = loaded.map(|(mpi, how)| (mpi, Some(how)));
        }
        program::check(&mut diagnosed, self);
        diagnosed
    }

    /// Finds the key that the library will choose, and the record that is stored under it.
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

    /// Finds out whether the user or a check speaks against reordering this program.
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
            self.order_kept_because =
                Some(format!("the program is in the list of --deny ('{pattern}')"));
            return;
        }
        let Some(store) = self.store.as_ref().filter(|_| settings.mode == Mode::Auto) else {
            return;
        };
        let (store, program) = (Store::open(store), store::program_id(&identity));
        let advice = "run 'rankweave check' again after the program was repaired; use --allow or --mode \
                      reorder to reorder it in spite of this";
        let mut warn = |code, text| self.findings.push(warning(code, text).advise(advice));
        if let Ok(Some(verdict)) = store.objection_to_topologies(&program) {
            warn("mixes-ranks", format!("topologies keep their ranks: {}", verdict.reason));
        }
        let reason = match store.objection(&program) {
            Ok(None) => return,
            // There is a finding already if the store cannot be read.
            Err(error) if error.kind() == ErrorKind::Io => return,
            Ok(Some(verdict)) => verdict.reason,
            Err(error) => error.to_string(),
        };
        let found = "'rankweave check' found that the program gives other results with other ranks";
        warn("check-differs", format!("{found}: {reason}"));
        self.order_kept_because = Some("'rankweave check' found a difference".into());
    }

    /// Starts the launcher with this program in place of the real one, and ends it after `limit`. Errors: it cannot be
    /// started or does not end in time, or no process answers.
    pub(in crate::cli) fn probe(&mut self, command: &[String], limit: Duration) -> Result<()> {
        let nodes = nodes_of(&self.launch, command, limit)?;
        self.findings.extend(probe::lacking(&nodes));
        let store = Storage::open(&self.settings).ok();
        self.findings.extend(probe::network(&nodes, &self.settings, store.as_ref()));
        // The nodes themselves have told more.
        self.network = None;
        self.nodes = Some(nodes);
        Ok(())
    }
}
