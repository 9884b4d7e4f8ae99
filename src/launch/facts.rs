//! What rank 0 knows when it decides what a launch does.

use super::storage::StoreLookup;
use super::{Message, Program, Storage};
use crate::base::error::{Error, Result};
use crate::options::{Mode, Settings};
use crate::store::{Fit, Record, Store, Verdict};

/// What the processes of a job have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Processes {
    /// All of them see every call of the program; else its ranks must not be reordered.
    pub complete: bool,
    /// All of them run the same program with the same arguments; else they cannot change places.
    pub one_program: bool,
    /// Another MPI program started them: its communicator to them is in the order of their world.
    pub spawned: bool,
}

/// Whether the program is in a list of the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UserList {
    /// In none.
    Neither,
    /// In that of `--allow`, which counts whatever else is known.
    Allowed,
    /// In that of `--deny`, by this pattern.
    Denied(String),
}

/// What speaks against new ranks in what is stored about a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Check {
    /// Nothing, or it does not matter.
    NoObjection,
    /// `rankweave check` found that permuted ranks change its results.
    Differs(Verdict),
    /// A launch found that it mixes the ranks of topologies with those of other communicators.
    MixesRanks(Verdict),
    /// It cannot be read.
    Unreadable(Error),
}

/// What the decision rests on.
#[derive(Debug, Clone)]
pub struct Facts {
    /// What the user asked for.
    pub mode: Mode,
    /// The seed of random permutations.
    pub seed: u64,
    /// What the user said of this program.
    pub listed: UserList,
    /// The user leaves the ranks of topologies to their constructors (`--constructors`).
    pub constructors: bool,
    /// The file of another tool that takes calls before this library.
    pub overtaken_by: Option<String>,
    /// What the processes have in common.
    pub processes: Processes,
    /// There is a store that the record goes into.
    pub has_store: bool,
    /// There is a matrix of this program for this number of tasks.
    pub has_matrix: bool,
    /// What an earlier check or launch found.
    pub check: Check,
    /// The key of the record.
    pub key: String,
    /// The name by which a user allows the program.
    pub name: String,
}

impl Facts {
    /// True if rank 0 is to decide: the user neither insists on an order nor allows this program one.
    pub fn is_left_to_us(&self) -> bool {
        self.mode == Mode::Auto && self.listed != UserList::Allowed
    }
}

/// The facts, with what belongs to them in the store.
#[derive(Debug)]
pub struct Known {
    /// The facts.
    pub facts: Facts,
    /// The program.
    pub program: Program,
    /// Where the record of this launch goes.
    pub storage: Storage,
    /// The usable record in place.
    pub record: Option<Record>,
    /// Why this record fits the launch.
    pub fit: Option<Fit>,
    /// What is wrong with the record in place, for the user.
    pub message: Option<Message>,
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
        let StoreLookup { storage, record, fit, message } =
            StoreLookup::look(store, &key, tasks, program.work, &settings.spill);
        let mut facts = Facts {
            mode: settings.mode,
            seed: settings.seed,
            listed: listed(settings, &program),
            constructors: settings.constructors,
            overtaken_by: overtaken_by.map(str::to_string),
            processes,
            has_store: storage.store().is_some(),
            has_matrix: record.is_some(),
            check: Check::NoObjection,
            key,
            name: program.list_name().to_string(),
        };
        if facts.is_left_to_us()
            && !program.identity.is_empty()
            && let Some(store) = storage.store()
        {
            facts.check = check(store, &program.identity);
        }
        Known { facts, program, storage, record, fit, message }
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
