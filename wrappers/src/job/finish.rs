//! The end of a job: every process sends its rows to rank 0, which puts them into the store.
//!
//! All processes take the collective steps in the same order, as at the start of the job. A process whose rows
//! cannot be read takes part without rows. The spill files stay until the record is in the store. If the store
//! refuses the record, the record waits on the node of rank 0 (`rw::store::RefusedRecords`), and the spill
//! files are removed as well. Only one record of each key waits, because the counters of many launches would
//! fill the memory of the nodes.

use crate::comm::encoding;
use crate::comm::handle;
use crate::comm::private::PrivateComm;
use crate::comm::task_group;
use crate::comm::world;
use crate::job::agreement::{Agreement, PATIENCE_AT_END};
use crate::job::constructed::CONSTRUCTED;
use crate::job::counter_files;
use crate::job::failure;
use crate::job::hooks::{self, Level};
use crate::job::launcher_rank;
use crate::job::locate::{Step, locate};
use crate::job::places::{Location, Locations};
use crate::job::rank_mixing;
use crate::job::rank_zero;
use crate::job::running::{self, RunningJob};
use crate::mpi::abi::Abi;
use crate::mpi::attribute;
use crate::mpi::pmpi::pmpi;
use crate::record;
use crate::record::communicators;
use crate::record::counters;
use crate::sys::message;
use crate::sys::panic_barrier::{guarded, shielded};
use crate::time;
use libc::{c_int, c_void};
use rw::decide::mixed_ranks::{Statement, Tallies};
use rw::launch::{Action, LaunchEnd, constructed_orders};
use rw::matrix::{Collected, Kind, Traffic};
use rw::store::{Constructed, Placement};
use std::time::Duration;

/// Makes MPI call [`finish`] when the program finalises MPI, in every language: attributes of MPI_COMM_SELF are
/// deleted first (MPI-4.0, section 11.2.4).
pub fn watch<A: Abi>() {
    let keyval = attribute::keyval::<A::Comm>(finalizing::<A>, |copy, delete, keyval| {
        // SAFETY: MPI is initialised; both callbacks have the standard's prototypes.
        unsafe { pmpi::<A>().comm_create_keyval(copy, delete, keyval, std::ptr::null_mut()) }
    });
    if let Some(keyval) = keyval {
        // SAFETY: a valid keyval; the value is never read.
        let _ = unsafe { pmpi::<A>().comm_set_attr(A::comm_self(), keyval, std::ptr::null_mut()) };
    }
}

unsafe extern "C" fn finalizing<A: Abi>(
    _comm: A::Comm,
    _keyval: c_int,
    _value: *mut c_void,
    _extra: *mut c_void,
) -> c_int {
    shielded(finish::<A>);
    0
}

/// A private communicator of all processes, for a job whose start was not seen. `None` if some processes do not take
/// part.
fn meet_at_the_end<A: Abi>() -> Option<A::Comm> {
    let agreed = Agreement::reach::<A>(A::comm_world(), false, PATIENCE_AT_END);
    if agreed.is_none_or(|a| a.off) {
        let mut rank = -1;
        // SAFETY: MPI is initialised until this callback returns.
        let code = unsafe { pmpi::<A>().comm_rank(A::comm_world(), &raw mut rank) };
        if code == 0 && rank == 0 {
            message::line(
                "MPI_Init was not seen by the library, and some processes recorded nothing; \
                 nothing is stored; try: start the job with `rankweave run`",
            );
        }
        return None;
    }
    handle::duplicate::<A>(A::comm_world())
}

/// The rows of one process: `(task, traffic)` for each kind of traffic that it sent, and for what it
/// fetched by one-sided calls.
type Rows = ([Vec<(u32, Traffic)>; 3], Vec<(u32, Traffic)>);

/// What a process sends to rank 0 at the end: where it is, if that is not known, its rows, what it did
/// after constructors that gave new ranks, its time in MPI, the permutations that it found for topologies,
/// and the error code that it gave to MPI_Abort.
type Sent = (
    Option<Location>,
    Rows,
    Vec<Statement>,
    Option<time::TimeInMpi>,
    Vec<Constructed>,
    Option<c_int>,
);

/// What rank 0 received from all processes.
struct Gathered {
    collected: Collected,
    locations: Locations,
    tallies: Tallies,
    in_mpi: time::Gathered,
    constructed: Vec<Constructed>,
    /// The error code that a process gave to MPI_Abort.
    aborted: Option<c_int>,
    /// All processes have sent their part.
    whole: bool,
}

/// The end of the job: gathers the rows on rank 0 and frees what the library holds. Collective. Does nothing
/// without a job.
pub fn finish<A: Abi>() -> Option<()> {
    let mut job = running::take()?;
    let wall = job.started.elapsed();
    let in_mpi = guarded(time::stop);
    let private = meet::<A>(&job)?;
    if job.comm.is_none() && private.rank == 0 {
        job.recorder = guarded(|| Some(rank_zero::late_recorder::<A>(private.size)));
    }
    let mine = stop_counting::<A>(&job, in_mpi);
    let gathered = gather(&private, &job, &mine);
    let description = job.instructions.job.clone();
    // The spill files of all processes stay until the record is stored or waits.
    if store(&private, job, gathered, wall) {
        counter_files::finish();
        failure::watch(&description);
    }
    let_go(private);
    Some(())
}

/// The library's communicator of all processes, for the end of the job. `None` if some processes do not take part.
fn meet<A: Abi>(job: &RunningJob) -> Option<PrivateComm<A>> {
    let private = match job.comm {
        Some(bits) => PrivateComm::<A>::from_bits(bits)?,
        None => PrivateComm::new(meet_at_the_end::<A>()?)?,
    };
    if job.sessions
        && Agreement::reach::<A>(private.comm, false, PATIENCE_AT_END).is_none_or(|a| a.off)
    {
        // The counters are still in the spill files.
        if private.rank == 0 {
            message::line(
                "not all processes finalised their sessions in time; nothing is stored; try: \
                 run `rankweave recover`",
            );
        }
        return None;
    }
    Some(private)
}

/// Ends the counting in this process, and gives the bytes that it sends to rank 0. A process whose rows
/// cannot be read sends empty rows.
fn stop_counting<A: Abi>(job: &RunningJob, in_mpi: Option<time::TimeInMpi>) -> Vec<u8> {
    let rows: Rows = guarded(|| {
        counters::for_each_block(|block| {
            communicators::for_each(|communicator| {
                record::expansion::fold::<A>(block, communicator)
            });
        });
        Some((Kind::ALL.map(counters::row), counters::fetched()))
    })
    .unwrap_or_default();
    let statements = guarded(|| Some(rank_mixing::statements())).unwrap_or_default();
    counters::set_tasks(0);
    record::datatypes::forget_all();
    communicators::stop();
    task_group::free::<A>();
    let location = needs_places(job).then(Location::mine);
    let found = guarded(|| Some(CONSTRUCTED.lock().take())).unwrap_or_default();
    let mine: Sent = (location, rows, statements, in_mpi, found, failure::abort_code());
    encoding::encode(&mine).unwrap_or_default()
}

/// Whether the places of the processes are not known yet. A launch that reordered found them at its start.
fn needs_places(job: &RunningJob) -> bool {
    job.instructions.action != Action::Reorder
}

/// Gathers the bytes of all processes on rank 0. The result on other ranks is empty. Collective.
fn gather<A: Abi>(private: &PrivateComm<A>, job: &RunningJob, mine: &[u8]) -> Gathered {
    let task_of_process = job.instructions.task_of_process(private.size);
    let mut all = Gathered {
        collected: Collected::new(private.size),
        locations: Locations::default(),
        tallies: Tallies::default(),
        in_mpi: time::Gathered::default(),
        constructed: Vec::new(),
        aborted: None,
        whole: false,
    };
    let whole = private.gather_each(mine, |process, bytes| {
        let (location, rows, measured) = match guarded(|| encoding::decode::<Sent>(bytes)) {
            Some((location, rows, statements, measured, found, aborted)) => {
                all.tallies.add(&statements);
                all.aborted = all.aborted.or(aborted);
                guarded(|| {
                    constructed_orders::add(&mut all.constructed, found, task_of_process.len());
                    Some(())
                });
                (location, Some(rows), measured)
            }
            None => (None, None, None),
        };
        all.locations.add(location.unwrap_or_default());
        all.in_mpi.add(measured);
        let added = guarded(|| {
            let ((sent, fetched), task) = (rows?, task_of_process.get(process).copied()?);
            all.collected.add(task, &sent, &fetched);
            Some(())
        });
        all.collected.incomplete |= added.is_none();
    });
    all.collected.incomplete |= !whole;
    all.whole = whole;
    all
}

/// Finds the places of the processes if they are not known, and has rank 0 keep the record. Returns true if the
/// record is stored or waits on the node. The counters are then not needed any more. Collective.
fn store<A: Abi>(
    private: &PrivateComm<A>,
    mut job: RunningJob,
    gathered: Gathered,
    wall: Duration,
) -> bool {
    let Gathered { collected, locations, tallies, in_mpi, constructed, aborted, whole } = gathered;
    let placeless = needs_places(&job) && whole;
    let mut unkept = job.recorder.take().map(|recorder| (recorder, collected, constructed));
    // The first call keeps the record; later ones do nothing.
    let mut keep = |found: Option<Placement>| {
        let Some((recorder, collected, constructed)) = unkept.take() else { return false };
        guarded(|| {
            rank_zero::say(recorder.judge(&tallies, private.size, rank_zero::now()));
            let end = LaunchEnd {
                instructions: &job.instructions,
                placement: found.or_else(|| job.places.take()),
                collected,
                wall,
                in_mpi: in_mpi.result().map(|in_mpi| in_mpi.within(wall.as_secs_f64())),
                constructed,
                aborted,
                now: rank_zero::now(),
            };
            Some(rank_zero::keep(recorder, end))
        })
        .unwrap_or(false)
    };
    let first = (private.rank == 0).then(|| match placeless {
        true => Step::of(&locations, &mut keep),
        false => Step::Answer(keep(None)),
    });
    let stored = private
        .broadcast_value(first.as_ref())
        .and_then(|step| locate(private, step, first.is_some().then_some(&mut keep)));
    // Rank 0 keeps the record also if the broadcast failed.
    keep(None);
    stored == Some(true)
}

/// Frees the library's communicators. From here on the program's calls go straight to the MPI library.
fn let_go<A: Abi>(private: PrivateComm<A>) {
    // The replacement is freed first, because the callbacks of its attributes still have to see it as the
    // world.
    if let Some(comm) = world::replacement::<A>() {
        handle::free::<A>(comm);
    }
    world::replace::<A>(None);
    launcher_rank::restore();
    hooks::set_level(Level::Off);
    private.free();
}
