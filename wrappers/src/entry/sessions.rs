//! Programs that use sessions and never call MPI_Init. They have no MPI_COMM_WORLD, and no MPI_COMM_SELF whose
//! attributes would show the end of the job.
//!
//! The job starts when a communicator is made from the group of all processes (the set `mpi://WORLD`).
//! All processes take part in that call, so collective steps are possible there. Tasks are the
//! ranks of that set. The job ends when the last session is finalised. There the processes wait for
//! each other in bounded time only, since MPI does not oblige every process to finalise its session.
//! The ranks of such a job are not changed.

use crate::entry::next;
use crate::job::start;
use crate::mpi::abi::{Abi, Handle};
use crate::mpi::pmpi::pmpi;
use libc::{c_char, c_int};
use rw::base::countdown::take_one;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// The number of sessions that the program has open.
static OPEN: AtomicUsize = AtomicUsize::new(0);
/// The handle of one of them; 0 = none.
static LATEST: AtomicU64 = AtomicU64::new(0);

/// To be called when a session was opened.
pub fn opened<A: Abi>(session: A::Session) {
    OPEN.fetch_add(1, Ordering::AcqRel);
    LATEST.store(session.bits(), Ordering::Release);
}

/// To be called when a session is about to be finalised.
pub fn closing<A: Abi>(session: A::Session) {
    if take_one(&OPEN) == Some(1) {
        start::finish_sessions::<A>();
    }
    let _ = LATEST.compare_exchange(session.bits(), 0, Ordering::AcqRel, Ordering::Acquire);
}

/// To be called when a communicator was made from a group. Starts the job if the group has all processes.
pub fn made<A: Abi>(group: A::Group, comm: A::Comm) {
    let session = LATEST.load(Ordering::Acquire);
    if session == 0 || comm == A::comm_null() || !start::may_start_from_sessions::<A>() {
        return;
    }
    let Some((rank, size)) = place_among_all::<A>(A::Session::from_bits(session)) else { return };
    let mut members = 0;
    // SAFETY: the program's own group, valid during this call.
    let code = unsafe { pmpi::<A>().group_size(group, &raw mut members) };
    if code == 0 && members == size && size > 1 {
        start::start_from_sessions::<A>(comm, rank);
    }
}

/// The caller's rank in the set of all processes, and the size of the set.
fn place_among_all<A: Abi>(session: A::Session) -> Option<(c_int, c_int)> {
    let mut all = A::Group::from_bits(0);
    let (mut rank, mut size) = (-1, 0);
    let mpi = pmpi::<A>();
    // SAFETY: the session is open; the group is freed again.
    unsafe {
        if mpi.group_from_session_pset(session, c"mpi://WORLD".as_ptr(), &raw mut all) != 0 {
            return None;
        }
        let known =
            mpi.group_rank(all, &raw mut rank) == 0 && mpi.group_size(all, &raw mut size) == 0;
        let _ = mpi.group_free(&raw mut all);
        (known && rank >= 0).then_some((rank, size))
    }
}

/// `MPI_Session_init`
pub unsafe extern "C-unwind" fn session_init<A: Abi>(
    info: A::Info,
    handler: A::Errhandler,
    session: *mut A::Session,
) -> c_int {
    // SAFETY: the program's own arguments and the real function's prototype.
    unsafe {
        let code = next::mpi_session_init::<A>(info, handler, session);
        if code == 0 && !session.is_null() {
            opened::<A>(*session);
        }
        code
    }
}

/// `MPI_Session_finalize`
pub unsafe extern "C-unwind" fn session_finalize<A: Abi>(session: *mut A::Session) -> c_int {
    // SAFETY: the program's own arguments; the next function has the same prototype.
    unsafe {
        if !session.is_null() {
            closing::<A>(*session);
        }
        next::mpi_session_finalize::<A>(session)
    }
}

/// `MPI_Comm_create_from_group`
pub unsafe extern "C-unwind" fn comm_create_from_group<A: Abi>(
    group: A::Group,
    tag: *const c_char,
    info: A::Info,
    handler: A::Errhandler,
    comm: *mut A::Comm,
) -> c_int {
    // SAFETY: the program's own arguments; the next function has the same prototype.
    unsafe {
        let code = next::mpi_comm_create_from_group::<A>(group, tag, info, handler, comm);
        if code == 0 && !comm.is_null() {
            made::<A>(group, *comm);
        }
        code
    }
}

/// `MPI_Group_from_session_pset`: the group of `mpi://WORLD` is in the order of the tasks.
pub unsafe extern "C-unwind" fn group_from_session_pset<A: Abi>(
    session: A::Session,
    name: *const c_char,
    group: *mut A::Group,
) -> c_int {
    // SAFETY: the program's own arguments; the next function has the same prototype.
    unsafe {
        let code = next::mpi_group_from_session_pset::<A>(session, name, group);
        if code == 0 && !name.is_null() && is_world_set(std::ffi::CStr::from_ptr(name).to_bytes()) {
            crate::comm::world::order_group::<A>(group);
        }
        code
    }
}

/// True for the name of the process set of all processes (MPI-4.0, section 11.3.2).
pub fn is_world_set(name: &[u8]) -> bool {
    name.eq_ignore_ascii_case(b"mpi://WORLD")
}
