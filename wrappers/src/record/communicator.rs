//! A communicator that traffic was recorded on: which task stands behind each of its ranks.
//!
//! In a group of more than [`TRANSLATE_ALL`] processes, a rank is translated when it is first addressed,
//! because some MPI libraries take time quadratic in the size of the group to translate all ranks. In smaller
//! groups all ranks are translated at once.

use crate::comm::{task_group, world};
use crate::mpi::abi::{Abi, Handle};
use crate::mpi::pmpi::pmpi;
use crate::spill::{self, Region};
use libc::c_int;
use rw::store::spill::layout::{self, Head};
use std::ops::Deref;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

/// The number of the next communicator.
static NUMBER: AtomicU64 = AtomicU64::new(1);

/// In a table of tasks: this rank was not translated yet.
pub const UNKNOWN: u32 = u32::MAX;
/// In a table of tasks: this rank is no task of the job's own world.
pub const OUTSIDE: u32 = u32::MAX - 1;
/// Up to this many ranks are translated on the stack, without an allocation.
const FEW: usize = 16;
static FEW_RANKS: [c_int; FEW] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];
/// The tasks of up to this many ranks stand in the communicator itself, without an allocation.
const INLINE: usize = 6;
/// Groups up to this size are translated at once.
const TRANSLATE_ALL: usize = 512;

/// The task of each rank.
#[derive(Debug)]
enum Tasks {
    /// The number of ranks, and the tasks.
    Few(usize, [AtomicU32; INLINE]),
    Many(Box<[AtomicU32]>),
}

impl Tasks {
    fn new(size: u32, task: impl Fn(u32) -> AtomicU32) -> Tasks {
        match size as usize {
            few @ ..=INLINE => {
                // Without a loop, which the compiler would keep when it optimises for size.
                Tasks::Few(few, [task(0), task(1), task(2), task(3), task(4), task(5)])
            }
            _ => Tasks::Many((0..size).map(task).collect()),
        }
    }
}

impl Deref for Tasks {
    type Target = [AtomicU32];

    #[inline(always)]
    fn deref(&self) -> &[AtomicU32] {
        match self {
            // The number is not larger than the array.
            Tasks::Few(size, tasks) => tasks.get(..*size).unwrap_or_default(),
            Tasks::Many(tasks) => tasks,
        }
    }
}

/// A number for a communicator.
pub fn next_number() -> u64 {
    NUMBER.fetch_add(1, Ordering::Relaxed)
}

/// The tasks of the ranks of an intracommunicator that has at most `MOST` ranks, and their number. `None` for every
/// other communicator, and after an MPI error. `effective` is the handle to use in calls.
pub fn few_tasks<A: Abi, const MOST: usize>(effective: A::Comm) -> Option<([u32; MOST], usize)> {
    let (mut inter, mut size) = (0, 0);
    // SAFETY: as in `Communicator::of`.
    unsafe {
        let mpi = pmpi::<A>();
        if mpi.comm_test_inter(effective, &raw mut inter) != 0
            || inter != 0
            || mpi.comm_size(effective, &raw mut size) != 0
        {
            return None;
        }
    }
    let size = usize::try_from(size).ok().filter(|size| (1..=MOST).contains(size))?;
    let mut tasks = [OUTSIDE; MOST];
    if size == 1 {
        // A process that is alone in its communicator, as in every duplicate of MPI_COMM_SELF, needs no group.
        tasks[0] = task_group::own_task::<A>()?;
        return Some((tasks, size));
    }
    let ranks: [c_int; MOST] = std::array::from_fn(|rank| rank as c_int);
    let mut answers = [A::UNDEFINED; MOST];
    if !translate::<A>(effective, false, &ranks[..size], &mut answers[..size]) {
        return None;
    }
    for (task, answer) in tasks.iter_mut().zip(answers) {
        *task = u32::try_from(answer).unwrap_or(OUTSIDE);
    }
    Some((tasks, size))
}

/// Translates ranks to tasks: negative answers are no tasks. `false` after an MPI error.
fn translate<A: Abi>(comm: A::Comm, inter: bool, ranks: &[c_int], answers: &mut [c_int]) -> bool {
    let mut group = A::Group::from_bits(0);
    // SAFETY: the communicator is alive: the program is using it in this very call, or it is
    // being freed and its delete callback runs. Its group is freed again. There are as many answers as ranks.
    unsafe {
        let mpi = pmpi::<A>();
        let code = if inter {
            mpi.comm_remote_group(comm, &raw mut group)
        } else {
            mpi.comm_group(comm, &raw mut group)
        };
        if code != 0 {
            return false;
        }
        if let Some(tasks) = task_group::get::<A>() {
            let count = ranks.len().min(answers.len()) as c_int;
            let (ranks, answers) = (ranks.as_ptr(), answers.as_mut_ptr());
            let _ = mpi.group_translate_ranks(group, count, ranks, tasks, answers);
        }
        let _ = mpi.group_free(&raw mut group);
    }
    true
}

/// A communicator that traffic was recorded on.
#[derive(Debug)]
pub struct Communicator {
    /// Unique in this process; handles are reused, numbers are not.
    pub number: u64,
    /// Handle to use in calls.
    effective: u64,
    /// The calling process's rank in its own group.
    pub rank: u32,
    /// Size of its own group.
    pub local_size: u32,
    /// True for an intercommunicator.
    pub inter: bool,
    /// Task of each rank that can be addressed. In an intercommunicator these are the ranks of the remote
    /// group.
    tasks: Tasks,
    /// Ranks that neighbourhood collectives send to, asked for once.
    neighbours: OnceLock<Vec<c_int>>,
    /// Rank r is task r, so the spill file needs no table.
    identity: bool,
    /// The table of tasks in the spill memory, from the first collective call on.
    spilled: OnceLock<Option<Region>>,
    /// Collective calls were counted on this communicator.
    collectives: AtomicBool,
}

impl Drop for Communicator {
    fn drop(&mut self) {
        if let Some(Some(region)) = self.spilled.take() {
            spill::release(region);
        }
    }
}

impl Communicator {
    /// Describes `comm` with what MPI reports about it. `None` if `comm` is not a valid communicator.
    pub fn of<A: Abi>(comm: A::Comm) -> Option<Communicator> {
        let effective = world::effective::<A>(comm);
        let mpi = pmpi::<A>();
        let (mut rank, mut local, mut remote, mut inter) = (0, 0, 0, 0);
        // SAFETY: the handle is one that the program passes to MPI right now. An invalid one would be
        // reported by the call that follows; here the error handler of the true world could be called
        // for it, as it would be by that call.
        unsafe {
            if mpi.comm_test_inter(effective, &raw mut inter) != 0
                || mpi.comm_rank(effective, &raw mut rank) != 0
                || mpi.comm_size(effective, &raw mut local) != 0
                || (inter != 0 && mpi.comm_remote_size(effective, &raw mut remote) != 0)
            {
                return None;
            }
        }
        let size = if inter != 0 { remote } else { local } as usize;
        let identity = comm == A::comm_world();
        let task = |rank| AtomicU32::new(if identity { rank } else { UNKNOWN });
        let communicator = Communicator {
            number: next_number(),
            effective: effective.bits(),
            rank: rank as u32,
            local_size: local as u32,
            inter: inter != 0,
            tasks: Tasks::new(size as u32, task),
            neighbours: OnceLock::new(),
            identity,
            spilled: OnceLock::new(),
            collectives: AtomicBool::new(false),
        };
        if !identity && size <= TRANSLATE_ALL {
            let own = if size == 1 { task_group::own_task::<A>() } else { None };
            if let (false, [only], Some(task)) = (communicator.inter, communicator.tasks(), own) {
                only.store(task, Ordering::Relaxed);
                return Some(communicator);
            }
            match FEW_RANKS.get(..size) {
                Some(ranks) => communicator.translate::<A>(ranks),
                None => communicator.translate::<A>(&(0..size as c_int).collect::<Vec<_>>()),
            }
        }
        Some(communicator)
    }

    /// Handle to use in calls.
    pub fn effective(&self) -> u64 {
        self.effective
    }

    /// Whether collective calls were counted on this communicator that are expanded later.
    pub fn has_collectives(&self) -> bool {
        self.collectives.load(Ordering::Acquire)
    }

    /// Whether neighbourhood collectives were recorded on this communicator.
    pub fn has_neighbours(&self) -> bool {
        self.neighbours.get().is_some()
    }

    /// Task of each rank that can be addressed, or [`OUTSIDE`] or [`UNKNOWN`].
    pub fn tasks(&self) -> &[AtomicU32] {
        &self.tasks
    }

    /// Number of ranks that can be addressed.
    pub fn size(&self) -> u32 {
        self.tasks.len() as u32
    }

    /// Task behind an addressable rank, or [`OUTSIDE`].
    pub fn task<A: Abi>(&self, rank: u32) -> u32 {
        let Some(slot) = self.tasks.get(rank as usize) else { return OUTSIDE };
        let known = slot.load(Ordering::Relaxed);
        if known != UNKNOWN {
            return known;
        }
        self.translate::<A>(&[rank as c_int]);
        match slot.load(Ordering::Relaxed) {
            UNKNOWN => OUTSIDE,
            task => task,
        }
    }

    /// Task behind an addressable rank, without a call to MPI: [`OUTSIDE`] if the task is not known yet.
    pub fn known_task(&self, rank: u32) -> u32 {
        match self.tasks.get(rank as usize).map(|slot| slot.load(Ordering::Relaxed)) {
            Some(task) if task != UNKNOWN => task,
            _ => OUTSIDE,
        }
    }

    /// Translates ranks to tasks and keeps the answers.
    fn translate<A: Abi>(&self, ranks: &[c_int]) {
        let comm = A::Comm::from_bits(self.effective);
        // The answers for a few ranks are on the stack.
        let (mut few, mut many) = ([A::UNDEFINED; FEW], Vec::new());
        let answers = if ranks.len() <= FEW {
            &mut few[..ranks.len()]
        } else {
            many.resize(ranks.len(), A::UNDEFINED);
            &mut many[..]
        };
        if !translate::<A>(comm, self.inter, ranks, answers) {
            return;
        }
        for (&rank, &task) in ranks.iter().zip(answers.iter()) {
            let task = if task < 0 { OUTSIDE } else { task as u32 };
            if let Some(slot) = self.tasks.get(rank as usize) {
                slot.store(task, Ordering::Relaxed);
            }
        }
    }

    /// Finds the tasks of the ranks that `visit_ranks` names and writes them into the spill file. These
    /// are the ranks to which a collective call sends.
    pub fn reveal<A: Abi>(&self, visit_ranks: impl FnOnce(&mut dyn FnMut(u32))) {
        self.collectives.store(true, Ordering::Release);
        let table =
            if spill::has_file() { *self.spilled.get_or_init(|| self.table()) } else { None };
        // The ranks of a small communicator were translated before its table was written.
        let is_known = |task: &AtomicU32| task.load(Ordering::Relaxed) != UNKNOWN;
        let is_small = self.tasks.len() <= TRANSLATE_ALL;
        if self.identity || (is_small && self.tasks.iter().all(is_known)) {
            return;
        }
        let mut ranks = Vec::new();
        visit_ranks(&mut |rank| ranks.push(rank));
        ranks.sort_unstable();
        ranks.dedup();
        let unknown: Vec<c_int> = ranks
            .iter()
            .filter(|&&r| {
                self.tasks.get(r as usize).is_some_and(|t| t.load(Ordering::Relaxed) == UNKNOWN)
            })
            .map(|&r| r as c_int)
            .collect();
        if !unknown.is_empty() {
            self.translate::<A>(&unknown);
        }
        let Some(table) = table else { return };
        for rank in ranks {
            if let Some(task) = self.tasks.get(rank as usize) {
                // SAFETY: the table in the region has as many elements of four bytes.
                let place = unsafe { &*(table.body() as *const AtomicU32).add(rank as usize) };
                place.store(task.load(Ordering::Relaxed), Ordering::Relaxed);
            }
        }
    }

    /// A region that describes this communicator, with the tasks that are known.
    fn table(&self) -> Option<Region> {
        let inter = if self.inter { layout::INTER } else { 0 };
        let flags = inter | if self.identity { layout::IDENTITY } else { 0 };
        let head = Head {
            tag: layout::tag::COMMUNICATOR,
            number: self.number,
            shape: [self.rank, self.local_size, self.size(), flags],
            ..Head::default()
        };
        let count = if self.identity { 0 } else { self.tasks.len() };
        spill::allocate(head, count, 4, |body| {
            for (i, task) in self.tasks.iter().take(count).enumerate() {
                // SAFETY: a new region with `count` elements of four bytes.
                unsafe { *(body as *mut u32).add(i) = task.load(Ordering::Relaxed) };
            }
        })
    }

    /// Ranks that a neighbourhood collective on this communicator sends to, in order;
    /// MPI_PROC_NULL stays.
    pub fn neighbours<A: Abi>(&self) -> &[c_int] {
        self.neighbours.get_or_init(|| {
            crate::comm::neighbours::destinations::<A>(
                A::Comm::from_bits(self.effective),
                self.rank,
            )
        })
    }
}
