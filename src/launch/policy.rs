//! Decides whether ranks may change in this launch: a function from the facts to an answer with its reason.
//!
//! A launch can change three kinds of ranks: those of MPI_COMM_WORLD ([`Policy::action`]), those that
//! constructors of topologies give ([`Policy::constructors`]), and those that the functions of rankweave.h give
//! ([`Policy::requested`]).

use super::facts::{Check, Facts, UserList};
use super::{Action, Message, NewRanks};
use crate::base::error::Error;
use crate::base::nouns::counted;
use crate::decide::kept;
use crate::options::Mode;
use crate::store::Verdict;

/// What a reason means for the ranks of MPI_COMM_WORLD, in messages.
const KEEPS: &str = "this launch keeps the launcher's order";

/// What a launch does with ranks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// What the launch does with the ranks of MPI_COMM_WORLD.
    pub action: Action,
    /// The reason for this action.
    pub reason: Reason,
    /// The ranks that constructors of topologies give.
    pub constructors: NewRanks,
    /// The ranks that the functions of rankweave.h give.
    pub requested: NewRanks,
    /// A launch found that the program mixes the ranks of topologies with those of other communicators.
    /// Constructors then give no new ranks.
    pub mixes_ranks: Option<Verdict>,
    /// Seed of random permutations.
    seed: u64,
    /// Key of the record, and the name by which a user allows the program.
    key: String,
    name: String,
}

/// Why the ranks of MPI_COMM_WORLD are kept or changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reason {
    /// The library is switched off.
    SwitchedOff,
    /// The user wants a record in the launcher's order.
    OnlyRecords,
    /// There is no usable matrix from which a permutation could be found.
    NoMatrix {
        /// Whether the user asked for a permutation (`--mode reorder`).
        asked: bool,
    },
    /// There is no store with a matrix. The user was told so.
    NoStore,
    /// There is a matrix from which a permutation can be found.
    HasMatrix,
    /// The launcher was told where to place the ranks.
    Placed,
    /// The user wants a random permutation.
    Shuffles,
    /// Another tool, in this file, takes calls before they reach this library.
    Overtaken(String),
    /// A library of the program, in this file, calls MPI functions under their profiling names.
    CallsDirectly(String),
    /// Not all calls of the program reach this library.
    CallsUnseen,
    /// Another MPI program started the processes.
    Spawned,
    /// The processes run different programs.
    DifferentPrograms,
    /// The program matches this pattern of `--deny`.
    Denied(String),
    /// `rankweave check` found that permuted ranks change its results.
    CheckDiffers(Verdict),
    /// The verdict of the check cannot be read.
    CheckUnreadable(Error),
}

impl Policy {
    /// What follows from the facts.
    pub fn of(facts: &Facts) -> Policy {
        let (action, reason) = world(facts);
        let mixes_ranks = match &facts.check {
            Check::MixesRanks(verdict) if facts.constructors && may_map(facts) => {
                Some(verdict.clone())
            }
            _ => None,
        };
        let requested = requested(facts);
        let constructors = match (&mixes_ranks, facts.mode) {
            (None, Mode::Auto | Mode::Reorder | Mode::Shuffle) if facts.constructors => requested,
            _ => NewRanks::Plain,
        };
        let (key, name) = (facts.key.clone(), facts.name.clone());
        Policy { action, reason, constructors, requested, mixes_ranks, seed: facts.seed, key, name }
    }

    /// The sentence for the record; empty if no decision is needed, or if it is made later.
    pub fn sentence(&self) -> String {
        let why = match &self.reason {
            Reason::SwitchedOff
            | Reason::OnlyRecords
            | Reason::NoMatrix { .. }
            | Reason::NoStore
            | Reason::Placed
            | Reason::HasMatrix => return String::new(),
            Reason::Shuffles => return format!("shuffled with seed {}", self.seed),
            Reason::Overtaken(_) => "another tool receives MPI calls before rankweave",
            Reason::CallsDirectly(library) => {
                return kept(&format!("{library} calls functions PMPI_…"));
            }
            Reason::CallsUnseen => "not all MPI calls reach rankweave",
            Reason::Spawned => "another MPI program started the processes",
            Reason::DifferentPrograms => "the processes run different programs",
            Reason::Denied(pattern) => {
                return kept(&format!("the program is in the list of --deny ('{pattern}')"));
            }
            Reason::CheckDiffers(_) => "'rankweave check' found a difference",
            Reason::CheckUnreadable(_) => "the verdict of the check cannot be read",
        };
        kept(why)
    }

    /// What the user has to know, in the order in which it is printed.
    pub fn messages(&self) -> Vec<Message> {
        let mixes_ranks = self.mixes_ranks.as_ref().map(|verdict| self.about_mixed_ranks(verdict));
        mixes_ranks.into_iter().chain(self.about_the_world()).collect()
    }

    fn about_mixed_ranks(&self, verdict: &Verdict) -> Message {
        Message::new(format!(
            "the program seemed to mix the ranks of two communicators in an earlier launch with {}: \
             {}",
            counted(verdict.tasks, "task"),
            verdict.reason
        ))
        .meaning("constructors of topologies give no new ranks in this launch")
        .advice(format!(
            "correct the program and run 'rankweave check', or allow new ranks in spite of this with --allow \
             {} or --mode reorder",
            self.name
        ))
    }

    fn about_the_world(&self) -> Option<Message> {
        Some(match &self.reason {
            Reason::SwitchedOff
            | Reason::OnlyRecords
            | Reason::NoMatrix { asked: false }
            | Reason::NoStore
            | Reason::HasMatrix
            | Reason::Placed
            | Reason::Shuffles
            | Reason::Spawned
            | Reason::Denied(_) => return None,
            Reason::NoMatrix { asked: true } => {
                Message::new(format!("no usable matrix is stored for {}", self.key))
                    .meaning("this launch records in the launcher's order")
                    .advice("run the program once to its end, or see 'rankweave list --all'")
            }
            Reason::Overtaken(tool) => Message::new(format!(
                "{tool} receives MPI calls before this library and does not pass them to it"
            ))
            .meaning("these calls are not recorded, and this launch keeps the launcher's order")
            .advice(
                "start the job with `rankweave run`, or this library as the first in LD_PRELOAD",
            ),
            Reason::CallsDirectly(library) => Message::new(format!(
                "{library} calls MPI functions by their names PMPI_…, which do not lead to this library; with a new \
                 rank order it would see other ranks than the program"
            ))
            .meaning(KEEPS)
            .advice(
                "start it with `rankweave run --place launcher`, which gives all parts of the program the same ranks",
            ),
            Reason::CallsUnseen => Message::new(
                "the program loads its MPI library by itself, and not all of its MPI calls reach \
                 this library",
            )
            .meaning(KEEPS)
            .advice("start the job with `rankweave run`"),
            Reason::DifferentPrograms => Message::new(
                "the processes of this job run different programs or have different arguments, and no rank \
                 order can be used for such jobs",
            )
            .meaning(KEEPS),
            Reason::CheckUnreadable(error) => Message::from(error).meaning(KEEPS),
            Reason::CheckDiffers(verdict) => Message::new(format!(
                "'rankweave check' found that the results of this program depend on the order of its \
                 ranks ({}{}: {})",
                counted(verdict.tasks, "task"),
                match verdict.shown_arguments() {
                    None => String::new(),
                    Some(arguments) => format!(" with the arguments '{arguments}'"),
                },
                verdict.reason
            ))
            .meaning(KEEPS)
            .advice(format!(
                "correct the program and run 'rankweave check' again{}, or reorder it in spite of this with \
                 --allow {} or --mode reorder",
                match verdict.shown_arguments() {
                    None => "",
                    Some(_) => " with the same arguments",
                },
                self.name
            )),
        })
    }
}

/// What happens to MPI_COMM_WORLD.
fn world(facts: &Facts) -> (Action, Reason) {
    if let Some(tool) = &facts.overtaken_by {
        return (Action::Record, Reason::Overtaken(tool.clone()));
    }
    if facts.placed && matches!(facts.mode, Mode::Auto | Mode::Reorder) {
        return (Action::Record, Reason::Placed);
    }
    let asks = matches!(facts.mode, Mode::Auto | Mode::Reorder);
    let obstacle = facts.would_move().then(|| obstacle(facts)).flatten();
    let objection = || asks.then(|| objection(facts)).flatten();
    if let Some(reason) = obstacle.or_else(objection) {
        return (Action::Record, reason);
    }
    match facts.mode {
        Mode::Off => (Action::Off, Reason::SwitchedOff),
        Mode::Record => (Action::Record, Reason::OnlyRecords),
        Mode::Shuffle => (Action::Shuffle, Reason::Shuffles),
        Mode::Auto | Mode::Reorder if facts.has_matrix => (Action::Reorder, Reason::HasMatrix),
        Mode::Reorder if !facts.has_store => (Action::Record, Reason::NoStore),
        mode => (Action::Record, Reason::NoMatrix { asked: mode == Mode::Reorder }),
    }
}

/// The reason why the processes cannot take over each other's tasks, if there is one.
fn obstacle(facts: &Facts) -> Option<Reason> {
    let processes = facts.processes;
    if !processes.complete {
        Some(Reason::CallsUnseen)
    } else if processes.spawned {
        // The parent addresses these processes by the ranks that the MPI library gave them.
        Some(Reason::Spawned)
    } else if !processes.one_program {
        Some(Reason::DifferentPrograms)
    } else {
        facts.direct_caller.clone().map(Reason::CallsDirectly)
    }
}

/// The user's or the check's objection to new ranks of this program.
fn objection(facts: &Facts) -> Option<Reason> {
    match (&facts.listed, &facts.check) {
        (UserList::Allowed, _) => None,
        (UserList::Denied(pattern), _) => Some(Reason::Denied(pattern.clone())),
        (_, Check::Differs(verdict)) => Some(Reason::CheckDiffers(verdict.clone())),
        (_, Check::Unreadable(error)) => Some(Reason::CheckUnreadable(error.clone())),
        (_, Check::NoObjection | Check::MixesRanks(_)) => None,
    }
}

/// Whether communicators other than MPI_COMM_WORLD may get new ranks at all. The program asks for these
/// itself, so that spawned processes and different programs are no obstacle.
fn may_map(facts: &Facts) -> bool {
    facts.overtaken_by.is_none() && facts.processes.complete
}

/// The ranks that a program gets if it asks this library for them. An objection to the program counts
/// even if MPI_COMM_WORLD keeps its ranks for another reason, because it is spawned for example.
fn requested(facts: &Facts) -> NewRanks {
    match facts.mode {
        _ if !may_map(facts) => NewRanks::Plain,
        Mode::Shuffle => NewRanks::Shuffle,
        Mode::Auto | Mode::Reorder | Mode::Record if objection(facts).is_none() => NewRanks::Map,
        _ => NewRanks::Plain,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::error::ErrorKind;
    use crate::launch::Processes;
    use crate::store::Finding;

    /// A launch that reorders.
    fn facts() -> Facts {
        Facts {
            mode: Mode::Auto,
            seed: 7,
            listed: UserList::Neither,
            constructors: true,
            overtaken_by: None,
            direct_caller: None,
            processes: Processes { complete: true, one_program: true, spawned: false },
            has_store: true,
            has_matrix: true,
            placed: false,
            check: Check::NoObjection,
            key: "app-n4".into(),
            name: "app".into(),
        }
    }

    fn verdict(finding: Finding) -> Verdict {
        Verdict {
            program: "app".into(),
            launch: Vec::new(),
            tasks: 4,
            checked_at: 1,
            seeds: Vec::new(),
            finding,
            reason: "its output was different".into(),
            compared: None,
        }
    }

    /// The policy after a change of the facts.
    fn after(change: impl FnOnce(&mut Facts)) -> Policy {
        let mut facts = facts();
        change(&mut facts);
        Policy::of(&facts)
    }

    #[test]
    fn constructors_can_be_switched_off() {
        for mode in [Mode::Auto, Mode::Reorder, Mode::Shuffle] {
            let on = Policy::of(&Facts { mode, ..facts() });
            let off = Policy::of(&Facts { mode, constructors: false, ..facts() });
            assert_ne!(on.constructors, NewRanks::Plain);
            assert_eq!(off, Policy { constructors: NewRanks::Plain, ..on });
        }
    }

    #[test]
    fn a_stored_matrix_has_ranks_reordered() {
        let policy = after(|_| {});
        assert_eq!((policy.action, &policy.reason), (Action::Reorder, &Reason::HasMatrix));
        assert_eq!((policy.constructors, policy.requested), (NewRanks::Map, NewRanks::Map));
        assert_eq!((policy.sentence(), policy.messages()), (String::new(), vec![]));
    }

    #[test]
    fn without_a_matrix_a_launch_records() {
        for (mode, has_store, reason, said) in [
            (Mode::Auto, true, Reason::NoMatrix { asked: false }, 0),
            (Mode::Auto, false, Reason::NoMatrix { asked: false }, 0),
            (Mode::Reorder, true, Reason::NoMatrix { asked: true }, 1),
            (Mode::Reorder, false, Reason::NoStore, 0),
        ] {
            let policy = after(|f| (f.mode, f.has_store, f.has_matrix) = (mode, has_store, false));
            assert_eq!((policy.action, &policy.reason), (Action::Record, &reason));
            assert_eq!(policy.messages().len(), said);
            assert_eq!(policy.constructors, NewRanks::Map, "the program itself asks for these");
        }
    }

    #[test]
    fn ranks_that_the_launcher_placed_get_no_others() {
        for mode in [Mode::Auto, Mode::Reorder] {
            let policy = after(|f| (f.mode, f.placed) = (mode, true));
            assert_eq!((policy.action, &policy.reason), (Action::Record, &Reason::Placed));
            assert_eq!((policy.sentence(), policy.messages()), (String::new(), vec![]));
            let objected = after(|f| {
                (f.mode, f.placed) = (mode, true);
                f.check = Check::Differs(verdict(Finding::Differs));
            });
            assert_eq!(objected.messages(), vec![], "no process changes its rank");
        }
        let shuffled = after(|f| (f.mode, f.placed) = (Mode::Shuffle, true));
        assert_eq!(shuffled.reason, Reason::Shuffles);
    }

    #[test]
    fn the_modes_that_are_asked_for() {
        let policy = after(|f| f.mode = Mode::Record);
        assert_eq!((policy.action, &policy.reason), (Action::Record, &Reason::OnlyRecords));
        assert_eq!((policy.constructors, policy.requested), (NewRanks::Plain, NewRanks::Map));
        let policy = after(|f| f.mode = Mode::Shuffle);
        assert_eq!((policy.action, &policy.reason), (Action::Shuffle, &Reason::Shuffles));
        assert_eq!(policy.sentence(), "shuffled with seed 7");
        let policy = after(|f| f.mode = Mode::Off);
        assert_eq!((policy.action, &policy.reason), (Action::Off, &Reason::SwitchedOff));
        assert_eq!((policy.constructors, policy.requested), (NewRanks::Plain, NewRanks::Plain));
    }

    #[test]
    fn processes_that_cannot_change_places_stay() {
        let tool = "libtool.so";
        for (policy, reason, topologies) in [
            (
                after(|f| f.overtaken_by = Some(tool.into())),
                Reason::Overtaken(tool.into()),
                NewRanks::Plain,
            ),
            (
                after(|f| f.direct_caller = Some(tool.into())),
                Reason::CallsDirectly(tool.into()),
                NewRanks::Map,
            ),
            (after(|f| f.processes.complete = false), Reason::CallsUnseen, NewRanks::Plain),
            (after(|f| f.processes.spawned = true), Reason::Spawned, NewRanks::Map),
            (after(|f| f.processes.one_program = false), Reason::DifferentPrograms, NewRanks::Map),
        ] {
            assert_eq!((policy.action, &policy.reason), (Action::Record, &reason));
            assert_eq!(policy.constructors, topologies, "{reason:?}");
            assert!(policy.sentence().starts_with("the launcher's order is kept: "));
            assert_eq!(policy.messages().len(), usize::from(reason != Reason::Spawned));
        }
    }

    #[test]
    fn objections_to_the_program_count_unless_it_is_allowed() {
        let unreadable = Error::new(ErrorKind::Format, "damaged");
        for (check, reason) in [
            (
                Check::Differs(verdict(Finding::Differs)),
                Reason::CheckDiffers(verdict(Finding::Differs)),
            ),
            (Check::Unreadable(unreadable.clone()), Reason::CheckUnreadable(unreadable)),
        ] {
            let policy = after(|f| f.check = check.clone());
            assert_eq!((policy.action, &policy.reason), (Action::Record, &reason));
            assert_eq!((policy.constructors, policy.requested), (NewRanks::Plain, NewRanks::Plain));
            assert_eq!(policy.messages().len(), 1);
            let allowed = after(|f| (f.check, f.listed) = (check, UserList::Allowed));
            assert_eq!(allowed.reason, Reason::HasMatrix);
        }
        for mode in [Mode::Auto, Mode::Reorder, Mode::Record] {
            let denied = after(|f| (f.mode, f.listed) = (mode, UserList::Denied("a*".into())));
            assert_eq!((denied.constructors, denied.requested), (NewRanks::Plain, NewRanks::Plain));
            assert_eq!(denied.reason == Reason::Denied("a*".into()), mode != Mode::Record);
            assert_eq!(denied.messages(), []);
        }
    }

    #[test]
    fn objections_count_where_processes_cannot_change_places_either() {
        for change in [
            |f: &mut Facts| f.processes.spawned = true,
            |f: &mut Facts| {
                f.processes.one_program = false;
            },
        ] {
            for objection in [
                |f: &mut Facts| f.listed = UserList::Denied("a*".into()),
                |f: &mut Facts| f.check = Check::Differs(verdict(Finding::Differs)),
            ] {
                let policy = after(|f| {
                    change(f);
                    objection(f);
                });
                assert_eq!(
                    (policy.constructors, policy.requested),
                    (NewRanks::Plain, NewRanks::Plain)
                );
            }
        }
    }

    #[test]
    fn mixed_ranks_speak_against_topologies_only() {
        let policy = after(|f| f.check = Check::MixesRanks(verdict(Finding::MixesRanks)));
        assert_eq!((policy.action, &policy.reason), (Action::Reorder, &Reason::HasMatrix));
        assert_eq!((policy.constructors, policy.requested), (NewRanks::Plain, NewRanks::Map));
        let said = policy.messages();
        assert!(said[0].to_string().contains("--allow app"), "{}", said[0]);
    }
}
