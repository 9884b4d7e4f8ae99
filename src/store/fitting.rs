//! Which record of a key a launch uses. [`Store::fitting`] has the order of preference.
//!
//! Limit: records of another number of tasks are never used.

use super::others::read_stored;
use super::runs::{newest, richest, richest_of};
use super::standing::{Completeness, Standing};
use super::{LaunchMode, Record, Run, Store, joined};
use crate::base::error::Result;
use crate::base::sorting::Arrange;
use std::path::PathBuf;

/// Why a launch uses a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fit {
    /// The user chose it with 'rankweave use'.
    Chosen,
    /// The record is of a run with the same arguments and MPI library.
    SameKind,
    /// There is no record of such a run. The record is the one in use, or the richest.
    OtherKind,
}

/// The record that a launch uses.
#[derive(Debug)]
pub struct Fitting {
    /// The record.
    pub record: Record,
    /// Why this one.
    pub fit: Fit,
    /// The store that it is from, unless it is the own one.
    pub other_store: Option<PathBuf>,
}

impl Store {
    /// The record for a launch of `tasks` tasks with this `kind` of run. It is the first of these that exists:
    ///
    /// 1. the record that the user chose; a record in use that was imported counts as chosen, if the version that
    ///    imported it did not store the choice and no run is newer,
    /// 2. the newest record of this kind, unless it is much poorer than the richest of this kind,
    /// 3. the richest record of this kind,
    /// 4. the record in use, unless it is much poorer than the richest of all records,
    /// 5. the richest of all records.
    ///
    /// Only records with `tasks` tasks and the rows of all of them count. `None` if there is no such record, or if
    /// the key has no record in use. If the record in use cannot be read, the result is one of the runs.
    ///
    /// Errors: those of [`Store::load`], if no run fits either.
    pub fn fitting(&self, key: &str, tasks: usize, kind: u32) -> Result<Option<Fitting>> {
        match self.load(key) {
            // The user has removed the record in use, and this launch records again.
            Ok(None) => Ok(None),
            Ok(in_use) => Ok(self.fitting_beside(key, tasks, kind, in_use)),
            Err(error) => self.fitting_beside(key, tasks, kind, None).map(Some).ok_or(error),
        }
    }

    /// [`Self::fitting`] of the first of these stores that has such a record. A store that cannot be read counts as
    /// one that has none.
    pub fn fitting_of(stores: &[PathBuf], key: &str, tasks: usize, kind: u32) -> Option<Fitting> {
        stores.iter().find_map(|directory| {
            let fitting = Store::open(directory).fitting(key, tasks, kind).ok()??;
            Some(Fitting { other_store: Some(directory.clone()), ..fitting })
        })
    }

    /// [`Self::fitting`], with the record in use. `in_use` is `None` if this record cannot be read.
    pub fn fitting_beside(
        &self,
        key: &str,
        tasks: usize,
        kind: u32,
        in_use: Option<Record>,
    ) -> Option<Fitting> {
        let usable = |record: &Record| record.has_all_tasks() && record.matrix.tasks() == tasks;
        let runs = self.runs(key);
        let read = |run: &Run| read_stored(&run.path).ok().filter(|record| usable(record));
        let history = in_use.as_ref().map(|record| record.history.clone()).unwrap_or_default();
        let fitting = |mut record: Record, fit| {
            // The history of the launches of all kinds is in the record in use.
            record.history = joined(&history, &record.history);
            Some(Fitting { record, fit, other_store: None })
        };
        if let Some(record) = self.chosen_run(key).as_ref().and_then(read) {
            return fitting(record, Fit::Chosen);
        }
        let in_use = in_use.filter(usable);
        let is_newer = |run: &Run, than: &Record| run.standing.recorded_at > than.recorded_at;
        // The record was imported by a version that did not store the choice.
        if let Some(record) = &in_use
            && record.launch.mode == LaunchMode::Import
            && !self.was_asked(key)
            && !runs.iter().any(|run| is_newer(run, record))
        {
            return fitting(record.clone(), Fit::OtherKind);
        }
        let standing = in_use.as_ref().map(Standing::of);
        let whole = |run: &&Run| run.standing.completeness >= Completeness::Interrupted;
        let alike = || runs.iter().filter(whole).filter(|run| run.standing.kind == kind);
        let best = match (newest(alike()), richest(alike())) {
            (Some(last), Some(rich)) if last.standing.replaces(&rich.standing) => Some(last),
            (_, rich) => rich,
        };
        let is_like = |standing: &Standing| standing.kind == kind;
        if let (Some(own), Some(record)) = (standing.filter(is_like), &in_use)
            && best.is_none_or(|run| {
                own.completeness > run.standing.completeness || !own.is_poorer_than(&run.standing)
            })
            && richest_of(alike(), own.completeness)
                .is_none_or(|run| !own.is_poorer_than(&run.standing))
        {
            return fitting(record.clone(), Fit::SameKind);
        }
        // If a file cannot be read, the next one is used.
        let mut others: Vec<&Run> = alike().collect();
        others.arrange_by_key(|run| std::cmp::Reverse(run.standing.richness()));
        if let Some(record) = best.into_iter().chain(others).find_map(read) {
            return fitting(record, Fit::SameKind);
        }
        let mut others: Vec<&Run> = runs.iter().filter(whole).collect();
        others.arrange_by_key(|run| std::cmp::Reverse(run.standing.richness()));
        let rich = richest(runs.iter().filter(whole)).into_iter().chain(others);
        let mut rich =
            rich.filter(|run| standing.is_none_or(|own| own.is_poorer_than(&run.standing)));
        let record = rich.find_map(read).or(in_use);
        record.and_then(|record| fitting(record, Fit::OtherKind))
    }
}
