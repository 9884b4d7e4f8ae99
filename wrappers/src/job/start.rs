//! The start of a job: MPI_Init → agreement → search for a permutation → reordered world → recording.
//!
//! All processes take the collective steps in the same order, also if one of them meets an error. Rank
//! 0 alone reads the store, decides, and tells the others. If some processes of the job do not have the
//! library, the first step finds that out in bounded time, and the job goes on without the library.

use crate::comm::handle::{self, PendingDuplicate};
use crate::comm::private::PrivateComm;
use crate::comm::request::PendingGather;
use crate::comm::world;
use crate::job::agreement::{Agreement, PATIENCE_AT_END};
use crate::job::constructor_facts::{self, ConstructorFacts};
use crate::job::counter_files;
use crate::job::early_messages;
use crate::job::finish;
use crate::job::hooks::{self, Level};
use crate::job::launcher_rank;
use crate::job::locate::{self, Step};
use crate::job::places::{LOCATION_BYTES, Location, Locations};
use crate::job::rank_zero;
use crate::job::running::{self, RunningJob};
use crate::job::search::{self, RankZeroSearch, SearchReply};
use crate::job::stdin;
use crate::mpi::abi::{Abi, Handle};
use crate::mpi::backoff;
use crate::mpi::config;
use crate::mpi::library;
use crate::mpi::pmpi::pmpi;
use crate::record;
use crate::record::communicators;
use crate::record::counters;
use crate::record::datatypes;
use crate::sys::injection;
use crate::sys::message;
use crate::sys::panic_barrier::{guarded, shielded};
use crate::sys::step_timer::StepTimer;
use crate::time;
use libc::c_int;
use rw::launch::{Action, Instructions, LaunchRecorder, Processes};
use rw::options::{Mode, Settings};
use rw::store::{Placement, work_of};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

static STARTED: AtomicBool = AtomicBool::new(false);
/// The library saw the program's MPI_Init or MPI_Init_thread.
static INIT_SEEN: AtomicBool = AtomicBool::new(false);

/// How long to wait for the other processes at the start.
const PATIENCE: Duration = Duration::from_secs(120);
/// In jobs of up to this many processes, each sends its location to rank 0 along with the first step, before
/// it is known whether rank 0 needs it.
const AHEAD: usize = 4096;

/// To be called when the program calls MPI_Init or MPI_Init_thread. After that call, [`start`] follows.
pub fn init_seen() {
    INIT_SEEN.store(true, Ordering::Release);
    early_messages::init_begins();
    // Redirects the objects that are mapped by now, before the program's first MPI call.
    hooks::redirect();
}

/// Called by every process right after MPI was initialised.
pub fn start<A: Abi>() {
    if STARTED.swap(true, Ordering::AcqRel) {
        return;
    }
    hooks::redirect();
    if shielded(|| begin::<A>(A::comm_world(), None)).is_none() {
        hooks::set_level(Level::Off);
    }
}

/// Whether a job that uses sessions only may start now.
pub fn may_start_from_sessions<A: Abi>() -> bool {
    let mut initialized = 0;
    // SAFETY: may be called at any time.
    let code = unsafe { pmpi::<A>().initialized(&raw mut initialized) };
    let started = STARTED.load(Ordering::Acquire) || INIT_SEEN.load(Ordering::Acquire);
    !started && code == 0 && initialized == 0
}

/// Called by every process of a job that uses sessions only, with a communicator of all processes
/// that was just made, and the caller's rank among them.
pub fn start_from_sessions<A: Abi>(comm: A::Comm, rank: c_int) {
    if STARTED.swap(true, Ordering::AcqRel) {
        return;
    }
    hooks::redirect();
    if shielded(|| begin::<A>(comm, Some(rank))).is_none() {
        hooks::set_level(Level::Off);
    }
}

/// Called when the last session is about to be finalised.
pub fn finish_sessions<A: Abi>() {
    if running::uses_sessions() {
        shielded(finish::finish::<A>);
    }
}

/// Called at the first call that would be recorded while there is no job. If MPI was initialised without this
/// library seeing it (by another tool, or through a handle of dlopen), recording starts here. No collective
/// step is possible at such a call. The processes therefore agree at the end, and such a launch keeps the
/// launcher's order.
#[cold]
pub fn start_late() {
    if STARTED.load(Ordering::Acquire) || INIT_SEEN.load(Ordering::Acquire) {
        return;
    }
    match library::get().map(|library| library.family) {
        Some(library::Family::OpenMpi) => begin_late::<crate::mpi::abi::OpenMpi>(),
        Some(library::Family::Mpich) => begin_late::<crate::mpi::abi::Mpich>(),
        Some(library::Family::Standard) => begin_late::<crate::mpi::abi::Standard>(),
        Some(library::Family::Unknown) | None => {}
    }
}

fn begin_late<A: Abi>() {
    let (mut initialized, mut finalized, mut size) = (0, 0, 0);
    // SAFETY: the first two may be called at any time, the third between the two.
    unsafe {
        let mpi = pmpi::<A>();
        if mpi.initialized(&raw mut initialized) != 0
            || mpi.finalized(&raw mut finalized) != 0
            || initialized == 0
            || finalized != 0
            || STARTED.swap(true, Ordering::AcqRel)
        {
            return;
        }
        let _ = mpi.comm_size(A::comm_world(), &raw mut size);
    }
    hooks::redirect();
    let settings = &config::settings().0;
    if size < 2 || settings.mode == Mode::Off {
        hooks::set_level(Level::Off);
        return;
    }
    if let Some(library) = library::get() {
        config::set_model(library.family, settings.collectives);
    }
    let job = RunningJob {
        comm: None,
        started: Instant::now(),
        instructions: Instructions { action: Action::Record, ..Instructions::default() },
        places: None,
        recorder: None,
        sessions: false,
    };
    shielded(|| {
        watch::<A>(size as usize, job);
        Some(())
    });
}

/// Begins to record.
fn watch<A: Abi>(size: usize, job: RunningJob) {
    communicators::start::<A>();
    datatypes::start::<A>();
    record::onesided::start::<A>();
    counters::set_tasks(size);
    if !job.sessions {
        finish::watch::<A>();
    }
    running::set(job);
    guarded(|| {
        time::start(config::settings().0.times);
        Some(())
    });
}

/// The processes of a job: those of the world, or of a communicator made from a session.
#[derive(Debug)]
struct JobProcesses<A: Abi> {
    comm: A::Comm,
    rank: usize,
    size: usize,
    sessions: bool,
}

impl<A: Abi> JobProcesses<A> {
    /// The processes of a communicator. In a session, the caller's rank is `session_rank`.
    /// `None` after an MPI error, or if there is only one.
    fn of(comm: A::Comm, session_rank: Option<c_int>) -> Option<Self> {
        let (mut size, mut rank) = (0, 0);
        let mpi = pmpi::<A>();
        // SAFETY: MPI is initialised; the communicator is valid.
        let code = unsafe {
            match mpi.comm_size(comm, &raw mut size) {
                0 => mpi.comm_rank(comm, &raw mut rank),
                code => code,
            }
        };
        if code != 0 || size < 2 {
            return None;
        }
        let rank = session_rank.unwrap_or(rank) as usize;
        Some(JobProcesses { comm, rank, size: size as usize, sessions: session_rank.is_some() })
    }
}

/// The settings of a job. A job of sessions only records, because it has no world whose ranks could change.
fn settings_of(sessions: bool) -> Settings {
    let settings = config::settings().0.clone();
    match settings.mode {
        Mode::Off => settings,
        _ if sessions => Settings { mode: Mode::Record, ..settings },
        _ => settings,
    }
}

/// The library's communicator, which is made while rank 0 looks at the store.
enum OwnComm<A: Abi> {
    Pending(PendingDuplicate<A>),
    /// In a job of sessions the communicator is made at the end of the step, with the ranks in the order of the
    /// tasks.
    OfSessions,
}

impl<A: Abi> OwnComm<A> {
    fn begin(all: &JobProcesses<A>) -> Self {
        match all.sessions {
            true => OwnComm::OfSessions,
            false => OwnComm::Pending(PendingDuplicate::begin(all.comm)),
        }
    }

    fn end(self, all: &JobProcesses<A>) -> Option<PrivateComm<A>> {
        let comm = match self {
            OwnComm::Pending(duplicate) => duplicate.end()?,
            OwnComm::OfSessions => {
                let (all, task) = (all.comm, all.rank as c_int);
                let mut comm = A::comm_null();
                // SAFETY: a valid communicator; all of its processes are here and do the same.
                let code = unsafe { pmpi::<A>().comm_split(all, 0, task, &raw mut comm) };
                (code == 0).then_some(comm)?
            }
        };
        PrivateComm::new(comm)
    }
}

/// Begins the job of all processes in `all`: the world, or a communicator made from a session. In a job of
/// sessions, `session_rank` is the caller's task. `None` if the library has nothing to do in this process.
fn begin<A: Abi>(all: A::Comm, session_rank: Option<c_int>) -> Option<()> {
    let all = JobProcesses::<A>::of(all, session_rank)?;
    let settings = settings_of(all.sessions);
    let mut clock = StepTimer::new();
    // A communicator made from a session already took messages.
    if !all.sessions {
        early_messages::wait();
    }
    let met = meet(&all, settings.mode == Mode::Off);
    clock.step("meeting");
    // Otherwise the next command says that nothing was recorded, unless `meet` has said so.
    if all.rank == 0 && (met.is_some() || settings.mode == Mode::Off) {
        rank_zero::has_started();
    }
    let (processes, locations) = met?;
    let own = OwnComm::begin(&all);

    let decided = || guarded(|| Some(rank_zero::decide::<A>(&settings, all.size, processes)));
    let (told, mut recorder) = (all.rank == 0).then(decided).flatten().unzip();
    if let Some((recorder, locations)) = recorder.as_mut().zip(locations.as_ref()) {
        guarded(|| {
            rank_zero::check_places(recorder, locations);
            Some(())
        });
    }
    clock.step("plan");
    let mut leader = recorder.as_mut().map(|recorder| RankZeroSearch::new(recorder, &mut clock));
    let told = told.unwrap_or_default();
    let step = first_step(&told, leader.as_mut(), locations);
    let job = own.end(&all)?;
    if let Some(leader) = &mut leader {
        leader.clock.step("own communicator");
    }
    let heard = job.broadcast_value(Some(&(told, step)));
    let (mut instructions, step) = heard.unwrap_or((Instructions::default(), Step::Gather));
    if instructions.action == Action::Off {
        job.free();
        return None;
    }
    config::set_model(library::get()?.family, instructions.collectives);
    allow_new_ranks(&job, &instructions);
    if instructions.looks_for_places() {
        instructions.process_of_task = search::find(&job, step, leader.as_mut());
    }
    let places = leader.and_then(|leader| leader.places);
    clock.step("telling it");
    let replaced = replace_world(&job, &mut instructions);
    clock.step("new world");

    count_into_file(&job, &settings, &mut instructions, recorder.as_ref().zip(Some(&places)));
    if all.sessions {
        world::set_base::<A>(Some(job.comm));
    }
    if let Some(recorder) = recorder.as_ref().filter(|_| settings.verbose >= 2) {
        clock.step("rest");
        message::line(&format!("{}: {}", recorder.key(), clock.words()));
    }
    let (size, comm, sessions) = (job.size, Some(job.into_bits()), all.sessions);
    let started = Instant::now();
    watch::<A>(size, RunningJob { comm, started, instructions, places, recorder, sessions });
    if replaced {
        hooks::set_level(Level::Reorder);
    }
    Some(())
}

/// Waits for all processes and finds out what they have in common. Also returns their locations, if every process
/// sent its own location along with this step. `None` if the library has nothing to do in this job.
fn meet<A: Abi>(all: &JobProcesses<A>, off: bool) -> Option<(Processes, Option<Locations>)> {
    let &JobProcesses { comm, rank, size, sessions } = all;
    // The locations are sent along with the first step, because every step costs a turn of all processes if
    // these outnumber the processors.
    let mine = (!sessions && size <= AHEAD).then(|| Location::mine().to_bytes());
    let locations =
        mine.map(|mine| PendingGather::<A, LOCATION_BYTES>::begin(comm, rank, size, mine));
    let agreed = Agreement::reach::<A>(comm, off, PATIENCE);
    let locations = agreed.as_ref().zip(locations).and_then(|(agreed, locations)| {
        // Other processes may have stopped waiting for a process that came late.
        locations.end(agreed.off.then_some(PATIENCE_AT_END)).map(|all| Locations::from_bytes(&all))
    });
    let Some(agreed) = agreed else {
        if rank == 0 {
            rank_zero::has_started();
        }
        message::line(
            "some processes of this job run without the library; nothing is recorded; \
             try: install it on every node, or start the job with `rankweave run`",
        );
        return None;
    };
    let processes = Processes {
        complete: agreed.complete,
        one_program: agreed.one_program,
        spawned: !agreed.off && !sessions && has_parent::<A>(),
    };
    (!agreed.off).then(|| (processes, locations.filter(|_| !injection::asks_again())))
}

/// The first step of the search for a rank order, which rank 0 sends along with its instructions.
fn first_step(
    instructions: &Instructions,
    leader: Option<&mut RankZeroSearch>,
    locations: Option<Locations>,
) -> Step<SearchReply> {
    match (instructions.looks_for_places(), leader, locations) {
        (true, Some(leader), Some(locations)) => {
            let first = guarded(|| Some(leader.first(&locations)));
            first.unwrap_or(Step::Answer(SearchReply::Order(Vec::new())))
        }
        _ => Step::Gather,
    }
}

/// Stores what constructors of topologies and the functions of rankweave.h do in this job.
fn allow_new_ranks<A: Abi>(job: &PrivateComm<A>, instructions: &Instructions) {
    let facts = ConstructorFacts {
        new_ranks: instructions.constructors,
        process: job.rank as u32,
        size: job.size,
        store: instructions.job.store.clone(),
        key: instructions.job.key.clone(),
        work: work_of(&instructions.job.command, &instructions.job.mpi),
    };
    constructor_facts::set(facts, instructions.requested);
}

/// Makes the library keep its counters in a file. Rank 0 adds the order and the places. Collective.
fn count_into_file<A: Abi>(
    job: &PrivateComm<A>,
    settings: &Settings,
    instructions: &mut Instructions,
    known: Option<(&LaunchRecorder, &Option<Placement>)>,
) {
    instructions.job.model = config::model().name().into();
    let order = known
        .map(|(recorder, places)| recorder.order(&instructions.process_of_task, places.as_ref()));
    // Collective, and needed only for regular flushes.
    let leads = instructions.flush.is_some() && locate::leads_node(job);
    guarded(|| counter_files::start(settings, instructions, job.rank, job.size, order, leads));
}

/// Whether another MPI program started this one (MPI_Comm_spawn).
fn has_parent<A: Abi>() -> bool {
    let mut parent = A::comm_null();
    // SAFETY: MPI is initialised; the handle is written in place and stays the program's own.
    let code = unsafe { pmpi::<A>().comm_get_parent(&raw mut parent) };
    code == 0 && parent != A::comm_null()
}

/// Makes the reordered world, if there is a rank order. All processes take the same branches here.
fn replace_world<A: Abi>(job: &PrivateComm<A>, instructions: &mut Instructions) -> bool {
    if instructions.process_of_task.len() != job.size {
        instructions.process_of_task.clear();
        return false;
    }
    let mine =
        instructions.process_of_task.iter().position(|&process| process as usize == job.rank);
    let processes: Vec<c_int> = instructions.process_of_task.iter().map(|&p| p as c_int).collect();
    let Some(comm) = communicator_in_order(job, &processes) else {
        instructions.process_of_task.clear();
        return false;
    };
    // SAFETY: the world and our own communicator are valid; the name is a C string.
    unsafe {
        handle::copy_error_handler::<A>(A::comm_world(), comm);
        let _ = pmpi::<A>().comm_set_name(comm, c"MPI_COMM_WORLD".as_ptr());
    }
    world::mark::<A>(comm);
    world::set_order(&instructions.process_of_task);
    world::replace::<A>(Some(comm));
    launcher_rank::changed(job.rank, mine.unwrap_or(job.rank));
    guarded(|| {
        stdin::forward(job, *instructions.process_of_task.first()?);
        Some(())
    });
    true
}

/// A communicator of all processes with these ranks: process `processes[i]` becomes rank `i`. `None` after an
/// MPI error, which all processes see, since its cause is common to them (no context ids left). Collective.
fn communicator_in_order<A: Abi>(job: &PrivateComm<A>, processes: &[c_int]) -> Option<A::Comm> {
    let mut comm = A::comm_null();
    let mpi = pmpi::<A>();
    // SAFETY: collective over all processes; a valid communicator, groups that are freed again.
    // It is made from our own communicator, because an error on the world itself would end the program.
    // Unlike a split, it takes one collective step only.
    let code = unsafe {
        let (mut all, mut ordered) = (A::Group::from_bits(0), A::Group::from_bits(0));
        let mut code = mpi.comm_group(job.comm, &raw mut all);
        if code == 0 {
            code = mpi.group_incl(all, job.size as c_int, processes.as_ptr(), &raw mut ordered);
            if code == 0 {
                code = backoff::in_turns(|| mpi.comm_create(job.comm, ordered, &raw mut comm));
                let _ = mpi.group_free(&raw mut ordered);
            }
            let _ = mpi.group_free(&raw mut all);
        }
        code
    };
    (code == 0 && comm != A::comm_null()).then_some(comm)
}
