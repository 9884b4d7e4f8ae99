//! The processes of a communicator that ask for a permutation: which processes these are, what they agree on,
//! and how they receive the permutation from the process that computes it.

use crate::comm::encoding;
use crate::comm::handle;
use crate::comm::private::PrivateComm;
use crate::comm::request;
use crate::comm::world;
use crate::job::constructed::{CONSTRUCTED, SAID};
use crate::job::constructor_facts::{self, ConstructorFacts};
use crate::job::locate::{Step, locate};
use crate::job::places::{Location, Locations};
use crate::mpi::abi::{Abi, Handle};
use crate::mpi::config;
use crate::mpi::pmpi::pmpi;
use crate::record::counters;
use crate::sys::message;
use crate::sys::panic_barrier::guarded;
use libc::c_int;
use rw::base::hash::Fnv1a;
use rw::base::permutation::is_permutation;
use rw::launch::NewRanks;
use rw::launch::constructor::{RankAnswer, RankRequest, Report, Weights};
use rw::mapping::TaskGrid;
use rw::matrix::Kind;
use rw::store::Placement;
use std::collections::HashMap;
use std::sync::Arc;

/// The processes of a communicator of the program, all of them processes of this job.
#[derive(Debug)]
pub struct Group<A: Abi> {
    /// The communicator as MPI knows it.
    pub comm: A::Comm,
    pub size: usize,
    /// Task behind each rank.
    tasks: Vec<u32>,
    facts: &'static ConstructorFacts,
}

/// A group with a private communicator for its processes.
#[derive(Debug)]
pub struct PrivateGroup<A: Abi> {
    group: Group<A>,
    pub private: PrivateComm<A>,
    pub size: usize,
}

impl<A: Abi> Group<A> {
    /// The processes of `comm`, for a constructor of a topology. `None` if the library must not change their
    /// order: the mode does not allow it, or `comm` is an intercommunicator, has a single process, or has
    /// processes of other jobs. All processes get `None` then. Local.
    pub fn of(comm: A::Comm) -> Option<Self> {
        Self::known(comm, constructor_facts::constructors()?)
    }

    /// The processes of `comm`, for a function of rankweave.h. These functions also work in modes in which
    /// constructors keep the ranks.
    pub fn asked(comm: A::Comm) -> Option<Self> {
        Self::known(comm, constructor_facts::asked()?)
    }

    fn known(comm: A::Comm, facts: &'static ConstructorFacts) -> Option<Self> {
        if comm == A::comm_null() || comm.bits() == 0 {
            return None;
        }
        let is_world = comm == A::comm_world();
        let comm = world::effective::<A>(comm);
        let (mut inter, mut size) = (0, 0);
        let mpi = pmpi::<A>();
        // SAFETY: a handle that the program passes to MPI right now.
        unsafe {
            if mpi.comm_test_inter(comm, &raw mut inter) != 0
                || inter != 0
                || mpi.comm_size(comm, &raw mut size) != 0
                || size < 2
            {
                return None;
            }
        }
        let size = size as usize;
        let tasks = if is_world { (0..size as u32).collect() } else { tasks_of::<A>(comm, size)? };
        Some(Group { comm, size, tasks, facts })
    }

    /// A hash of these processes in this order.
    pub fn hash(&self) -> u64 {
        let mut hash = Fnv1a::default();
        self.tasks.iter().for_each(|task| hash.bytes(&task.to_le_bytes()));
        hash.value()
    }

    /// Takes the largest of every number over all processes; `None` after an MPI error.
    fn largest(comm: A::Comm, mine: &[u64]) -> Option<Vec<u64>> {
        let mut all = vec![0u64; mine.len()];
        let mut request = A::request_null();
        // SAFETY: buffers of this length that stay until the request is done; all processes call
        // this together.
        let code = unsafe {
            let (sent, received) = (mine.as_ptr().cast(), all.as_mut_ptr().cast());
            let count = mine.len() as c_int;
            let (kind, op) = (A::uint64(), A::op_max());
            pmpi::<A>().iallreduce(sent, received, count, kind, op, comm, &raw mut request)
        };
        (code == 0 && request::wait::<A>(&mut request, None)).then_some(all)
    }

    /// Whether all processes make the same request. Each process passes a number that has to be the same in all
    /// of them, or `None` if it makes no request. It also passes flags. Returns the union of the flags of all
    /// processes if all make the same request. The step uses the program's own communicator, so it is collective
    /// over the same processes as the call that the program makes.
    pub fn agree(&self, same: Option<u64>, flags: u64) -> Option<u64> {
        let hash = same.unwrap_or(0);
        let mut mine = vec![u64::from(same.is_none()), hash, !hash];
        mine.extend((0..2).map(|bit| flags >> bit & 1));
        let all = Self::largest(self.comm, &mine)?;
        (all[0] == 0 && all[1] == !all[2]).then(|| all[3] | all[4] << 1)
    }

    /// Turns traffic with tasks into traffic with ranks of this group. Traffic with tasks outside the group is
    /// left out.
    pub fn by_rank(&self, traffic: impl IntoIterator<Item = (u32, u64)>) -> Vec<(u32, u64)> {
        let ranks: HashMap<u32, u32> =
            (0u32..).zip(&self.tasks).map(|(rank, &task)| (task, rank)).collect();
        traffic.into_iter().filter_map(|(task, n)| Some((*ranks.get(&task)?, n))).collect()
    }

    /// Makes a private communicator of these processes. Collective.
    pub fn make_private(self) -> Option<PrivateGroup<A>> {
        let mut rank = 0;
        let mut comm = A::comm_null();
        let mpi = pmpi::<A>();
        // An error (no context ids left) must not reach the program's error handler, because the program's own
        // call can succeed without this communicator.
        let code = handle::quietly::<A, _>(self.comm, || {
            // SAFETY: a valid communicator; all processes are here.
            unsafe {
                let _ = mpi.comm_rank(self.comm, &raw mut rank);
                mpi.comm_split(self.comm, 0, rank, &raw mut comm)
            }
        });
        if code != 0 || comm == A::comm_null() {
            return None;
        }
        let private = PrivateComm::new(comm)?;
        Some(PrivateGroup { size: self.size, group: self, private })
    }
}

impl<A: Abi> PrivateGroup<A> {
    /// The program's communicator.
    pub fn comm(&self) -> A::Comm {
        self.group.comm
    }

    /// The task of each rank of the program's communicator.
    pub fn tasks(&self) -> &[u32] {
        &self.group.tasks
    }

    /// A hash of these processes in this order.
    pub fn hash(&self) -> u64 {
        self.group.hash()
    }

    /// True if `mine` is true in every process. Collective.
    pub fn unanimous(&self, mine: bool) -> bool {
        let all = Group::<A>::largest(self.private.comm, &[u64::from(!mine)]);
        all.is_some_and(|all| all[0] == 0)
    }

    /// The new order of the processes: entry i is the process that becomes rank i. `None` in all processes if
    /// the order does not change. Collective. `grid` is the grid of the vertices, if the program declared one.
    /// `what` names the function that the program called, for messages.
    pub fn permutation(
        &self,
        edges: &[(u32, u64)],
        weights: Weights,
        vertices: usize,
        grid: Option<TaskGrid>,
        what: &str,
    ) -> Option<Arc<[u32]>> {
        let (group, private) = (&self.group, &self.private);
        let settings = &config::settings().0;
        let report = Report {
            process: group.facts.process,
            task: group.tasks.get(private.rank).copied().unwrap_or(u32::MAX),
            edges: edges.to_vec(),
            sent: match (weights, group.facts.new_ranks) {
                (Weights::Unknown, NewRanks::Map) => {
                    guarded(|| Some(self.sent())).unwrap_or_default()
                }
                _ => Vec::new(),
            },
        };
        let find = group.facts.new_ranks == NewRanks::Map && settings.slots.is_none();
        let location = find.then(Location::mine);
        let mine = encoding::encode(&(report, location)).unwrap_or_default();
        let mut reports = Vec::new();
        let mut locations = Locations::default();
        let whole = private.gather_each(&mine, |_, bytes| {
            if let Some((report, location)) = encoding::decode::<(Report, Option<Location>)>(bytes)
            {
                reports.push(report);
                locations.add(location.unwrap_or_default());
            }
        });
        let mut decide = |places: Option<Placement>| {
            let order = guarded(|| {
                let request = RankRequest {
                    new_ranks: group.facts.new_ranks,
                    processes: group.facts.size,
                    store: &group.facts.store,
                    reports: &reports,
                    weights,
                    vertices,
                    grid: grid.clone(),
                    said: &SAID,
                };
                let stored = request.stored(settings, &group.facts.key, group.facts.work);
                let before = CONSTRUCTED.lock().answer(request.question());
                let answer = request.answer(settings, places.as_ref(), stored, before);
                let RankAnswer { permutation, reason } = answer.unwrap_or_else(|error| {
                    RankAnswer { permutation: None, reason: format!("the ranks are kept: {error}") }
                });
                if settings.verbose >= 2 {
                    message::line(&format!("{what} of {} processes: {reason}", private.size));
                }
                if weights == Weights::Unknown {
                    let tasks = request.task_of_vertex(permutation.as_deref());
                    CONSTRUCTED.lock().keep(request.question(), tasks);
                }
                permutation
            });
            order.unwrap_or_default()
        };
        let leads = private.rank == 0;
        let first = leads.then(|| match whole && reports.len() == private.size {
            true if find => Step::of(&locations, &mut decide),
            true => Step::Answer(decide(None)),
            false => Step::Answer(Vec::new()),
        });
        let order = private
            .broadcast_value(first.as_ref())
            .and_then(|step| locate(private, step, leads.then_some(&mut decide)))
            .unwrap_or_default();
        let good = order.len() == private.size && is_permutation(&order);
        let changes = good && (0u32..).zip(&order).any(|(i, &p)| i != p);
        self.unanimous(changes).then(|| order.into())
    }

    /// The bytes that this process has sent to each other process of the group so far, by rank.
    fn sent(&self) -> Vec<(u32, u64)> {
        let rows = Kind::ALL.into_iter().flat_map(counters::row);
        self.group.by_rank(rows.map(|(task, traffic)| (task, traffic.bytes)))
    }

    /// Frees the private communicator. Collective.
    pub fn free(self) {
        self.private.free();
    }
}

/// The task behind each rank of `comm`. `None` if one of its processes does not belong to this job.
fn tasks_of<A: Abi>(comm: A::Comm, size: usize) -> Option<Vec<u32>> {
    let ranks: Vec<c_int> = (0..size as c_int).collect();
    let mut tasks = vec![A::UNDEFINED; size];
    let (mut group, mut all) = (A::Group::from_bits(0), A::Group::from_bits(0));
    let mpi = pmpi::<A>();
    // SAFETY: a valid communicator; arrays of this length; groups are freed again.
    let code = unsafe {
        if mpi.comm_group(comm, &raw mut group) != 0 {
            return None;
        }
        let mut code = mpi.comm_group(world::tasks::<A>(), &raw mut all);
        if code == 0 {
            let (from, to) = (ranks.as_ptr(), tasks.as_mut_ptr());
            code = mpi.group_translate_ranks(group, size as c_int, from, all, to);
            let _ = mpi.group_free(&raw mut all);
        }
        let _ = mpi.group_free(&raw mut group);
        code
    };
    if code != 0 {
        return None;
    }
    tasks.into_iter().map(|task| u32::try_from(task).ok()).collect()
}
