//! Watches whether the program mixes the ranks of a reordered communicator with those of the communicator
//! that it was made from.
//!
//! Recording a message takes no longer because of this. When a constructor has given new ranks, every process keeps
//! the tasks that show right use or wrong use of the communicator ([`Sets`]), and the present counts of its
//! messages. When the communicator is freed, or at the end of the job, the process finds the tasks to which it has
//! sent messages since then. It compares them with the kept tasks. The result is the statement of the process
//! ([`Statement`]). The statements go to rank 0 with the rows of the matrix, and rank 0 judges them
//! ([`rw::decide::mixed_ranks`]).
//!
//! Limits: only the first [`MOST`] communicators of a process are watched. Messages to a process's neighbours by
//! collectives of the whole communicator do not count as right use. The functions of rankweave.h are not watched.

use crate::mpi::abi::{Abi, Handle};
use crate::record::communicators::{self, Leaving};
use crate::record::counters;
use crate::sys::panic_barrier::guarded;
use parking_lot::Mutex;
use rw::decide::mixed_ranks::{Sets, Statement, View};
use rw::matrix::Kind;
use rw::store::Signature;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};

/// Communicators that are watched.
const MOST: usize = 32;

/// A communicator that is about to be made.
#[derive(Debug)]
pub struct Watch {
    /// A number for its processes and their order.
    id: u64,
    what: &'static str,
    sets: Sets,
}

/// A communicator that was made with new ranks. It may be freed already.
#[derive(Debug)]
struct Watched {
    handle: u64,
    id: u64,
    ordinal: u32,
    what: &'static str,
    sets: Sets,
    /// Messages to each task when it was made.
    before: BTreeMap<u32, u64>,
    /// The statement that is kept after the communicator was freed.
    statement: Option<Statement>,
}

static WATCHED: Mutex<Vec<Watched>> = Mutex::new(Vec::new());
/// True while the list may have communicators that are not freed.
static ANY: AtomicBool = AtomicBool::new(false);

impl Watch {
    /// A watch for the processes with the hash `group`, with the tasks from the `view` of this process.
    pub fn new(group: u64, what: &'static str, view: View<'_>) -> Watch {
        let signature = view
            .order
            .iter()
            .fold(Signature::new().word(group), |signature, &rank| signature.word(rank.into()));
        Watch { id: signature.value(), what, sets: Sets::new(view) }
    }

    /// Begins to watch the communicator `made`.
    pub fn begin<A: Abi>(self, made: A::Comm) {
        let before = messages();
        let mut watched = WATCHED.lock();
        // This is also done in a process without neighbours, because the ordinals have to be the same in all
        // processes.
        let ordinal = watched.iter().filter(|w| w.id == self.id).count() as u32;
        if watched.len() < MOST {
            let Watch { id, what, sets } = self;
            let handle = made.bits();
            watched.push(Watched { handle, id, ordinal, what, sets, before, statement: None });
            ANY.store(true, Ordering::Release);
        }
    }
}

/// Messages to each task so far, without those of collective calls.
fn messages() -> BTreeMap<u32, u64> {
    let mut sums = BTreeMap::new();
    for (task, traffic) in [Kind::PointToPoint, Kind::OneSided].into_iter().flat_map(counters::row)
    {
        *sums.entry(task).or_default() += traffic.messages;
    }
    sums
}

impl Watched {
    /// The statement that follows from the counts so far.
    fn look(&self) -> Statement {
        let now = messages();
        let grew = |&(task, sum): &(&u32, &u64)| *sum > self.before.get(task).copied().unwrap_or(0);
        let partners: BTreeSet<u32> = now.iter().filter(grew).map(|(&task, _)| task).collect();
        let others = counters::tasks().saturating_sub(1) as u32;
        let right = communicators::has_neighbours(self.handle);
        Statement {
            id: self.id,
            ordinal: self.ordinal,
            what: self.what.into(),
            sign: self.sets.sign(&partners, others, right),
        }
    }
}

/// To be called when a communicator is about to be freed. Keeps the statement about it. Nothing more is
/// recorded on it until the returned value is dropped, which happens after the call that frees it.
pub fn leave<A: Abi>(comm: A::Comm) -> Leaving {
    if comm != A::comm_world() && ANY.load(Ordering::Acquire) {
        guarded(|| {
            look_at(comm.bits());
            Some(())
        });
    }
    Leaving::start::<A>(comm)
}

/// Keeps the statement of a communicator that is about to be freed.
fn look_at(handle: u64) {
    let mut watched = WATCHED.lock();
    for one in watched.iter_mut().filter(|w| w.handle == handle && w.statement.is_none()) {
        one.statement = Some(one.look());
    }
}

/// The statements of this process at the end of the job. To be called before its counters are freed.
pub fn statements() -> Vec<Statement> {
    ANY.store(false, Ordering::Release);
    let watched = std::mem::take(&mut *WATCHED.lock());
    let of = |one: Watched| {
        let empty = one.sets.is_empty();
        let said = one.statement.clone().unwrap_or_else(|| one.look());
        // A process has nothing to state if its sets cannot distinguish right use from wrong use.
        (!empty).then_some(said)
    };
    watched.into_iter().filter_map(of).collect()
}
