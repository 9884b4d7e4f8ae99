//! What rank 0 knows when it decides what a launch does.

use super::storage::StoreLookup;
use super::{Message, PlacedRanks, Program, Storage};
use crate::base::error::{Error, Result};
use crate::options::{Mode, Settings};
use crate::store::{Fitting, Store, Verdict};

/// What the processes of a job have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Processes {
    /// In all processes the library sees every call of the program. Otherwise the ranks must not be reordered.
    pub complete: bool,
    /// All of them run the same program with the same arguments. Otherwise they cannot exchange their tasks.
    pub one_program: bool,
    /// Another MPI program started the processes (MPI_Comm_spawn). It addresses them by the ranks of their
    /// original world.
    pub spawned: bool,
}

/// Whether the program is in a list of the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UserList {
    /// In none.
    Neither,
    /// In the list of `--allow`, which has priority over all other facts.
    Allowed,
    /// In that of `--deny`, by this pattern.
    Denied(String),
}

/// The objection to new ranks in the data that is stored about a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Check {
    /// There is no objection, or it does not matter.
    NoObjection,
    /// `rankweave check` found that permuted ranks change its results.
    Differs(Verdict),
    /// A launch found that it mixes the ranks of topologies with those of other communicators.
    MixesRanks(Verdict),
    /// The stored verdict cannot be read.
    Unreadable(Error),
}

/// The facts from which the policy decides.
#[derive(Debug, Clone)]
pub struct Facts {
    /// What the user asked for.
    pub mode: Mode,
    /// The seed of random permutations.
    pub seed: u64,
    /// Whether the program is in a list of the user.
    pub listed: UserList,
    /// Constructors of topologies may give new ranks (`--constructors`).
    pub constructors: bool,
    /// The file of another tool that takes calls before this library.
    pub overtaken_by: Option<String>,
    /// The file of a library of the program that calls MPI functions under their profiling names (`PMPI_X`). Its calls would
    /// see the launcher's ranks.
    pub direct_caller: Option<String>,
    /// What the processes have in common.
    pub processes: Processes,
    /// There is a store for the record.
    pub has_store: bool,
    /// There is a matrix of this program for this number of tasks.
    pub has_matrix: bool,
    /// The launcher was told where to place the ranks, so that each process has the rank that it is to have.
    pub placed: bool,
    /// What an earlier check or launch found.
    pub check: Check,
    /// The key of the record.
    pub key: String,
    /// The name by which a user allows the program.
    pub name: String,
}

impl Facts {
    /// True if the decision is left to rankweave: the user neither chose a mode nor put the program in the list
    /// of `--allow`.
    pub fn is_left_to_us(&self) -> bool {
        self.mode == Mode::Auto && self.listed != UserList::Allowed
    }

    /// True if the processes would take over each other's tasks, unless something speaks against it.
    pub fn would_move(&self) -> bool {
        match self.mode {
            Mode::Shuffle => true,
            Mode::Record => false,
            Mode::Auto | Mode::Reorder | Mode::Off => self.has_matrix,
        }
    }
}

/// The facts, with the data from the store that belong to them.
#[derive(Debug)]
pub struct Known {
    /// The facts.
    pub facts: Facts,
    /// The program.
    pub program: Program,
    /// Where the record of this launch goes.
    pub storage: Storage,
    /// The record that this launch can use, and why it fits.
    pub fitting: Option<Fitting>,
    /// What is wrong with the record in place, for the user.
    pub message: Option<Message>,
    /// What the launcher was told about the places of the ranks.
    pub placed: Option<PlacedRanks>,
}

impl Known {
    /// Reads what is stored about a program with so many tasks. `store` is that of the settings.
    pub fn read(
        settings: &Settings,
        program: Program,
        store: Result<Store>,
        tasks: usize,
        processes: Processes,
        overtaken_by: Option<&str>,
    ) -> Known {
        let key = program.key(settings, tasks);
        let StoreLookup { storage, fitting, message } =
            StoreLookup::look(store, &key, tasks, program.work, &settings.spill);
        let also_read = || Store::fitting_of(&settings.also_read, &key, tasks, program.work);
        let fitting = fitting.or_else(also_read);
        let mut facts = Facts {
            mode: settings.mode,
            seed: settings.seed,
            listed: listed(settings, &program),
            constructors: settings.constructors,
            overtaken_by: overtaken_by.map(str::to_string),
            direct_caller: None,
            processes,
            has_store: storage.store().is_some(),
            has_matrix: fitting.is_some(),
            placed: false,
            check: Check::NoObjection,
            key,
            name: program.list_name().to_string(),
        };
        if facts.is_left_to_us() && !program.identity.is_empty() {
            facts.check = checked(settings, storage.store(), &program.identity);
        }
        Known { facts, program, storage, fitting, message, placed: None }
    }

    /// Adds what the launcher was told about the places of the ranks. It counts if it is about this job: in a job
    /// of other processes the variable is a leftover of the job that started it.
    #[must_use]
    pub fn with_placed(mut self, placed: Option<PlacedRanks>, tasks: usize) -> Known {
        self.placed = placed.filter(|p| p.ranks() == tasks && !self.facts.processes.spawned);
        self.facts.placed = self.placed.is_some();
        self
    }

    /// Adds the library that calls MPI functions under their profiling names. It is searched for if the ranks may change.
    #[must_use]
    pub fn with_direct_caller(mut self, find: impl FnOnce() -> Option<String>) -> Known {
        self.facts.direct_caller = self.facts.would_move().then(find).flatten();
        self
    }
}

fn listed(settings: &Settings, program: &Program) -> UserList {
    let (path, name) = (&program.executable, &program.name);
    if settings.allow.matching(path, name).is_some() {
        return UserList::Allowed;
    }
    let denied = settings.deny.matching(path, name);
    denied.map_or(UserList::Neither, |pattern| UserList::Denied(pattern.into()))
}

/// What 'rankweave check' found, in the own store or else in those that are also read. In the latter, a verdict that
/// cannot be read counts as none: the user could not repair it.
fn checked(settings: &Settings, own: Option<&Store>, identity: &str) -> Check {
    let found = own.map_or(Check::NoObjection, |store| check(store, identity));
    if found != Check::NoObjection {
        return found;
    }
    let others =
        settings.also_read.iter().map(|directory| check(&Store::open(directory), identity));
    others
        .into_iter()
        .find(|found| matches!(found, Check::Differs(_) | Check::MixesRanks(_)))
        .unwrap_or(Check::NoObjection)
}

fn check(store: &Store, identity: &str) -> Check {
    let found = || -> Result<Check> {
        if let Some(verdict) = store.objection(identity)? {
            return Ok(Check::Differs(verdict));
        }
        let mixes = store.objection_to_topologies(identity)?;
        Ok(mixes.map_or(Check::NoObjection, Check::MixesRanks))
    };
    found().unwrap_or_else(Check::Unreadable)
}
