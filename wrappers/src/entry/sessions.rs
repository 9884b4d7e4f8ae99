//! Programs that use sessions and never call MPI_Init: there is no MPI_COMM_WORLD, and no
//! MPI_COMM_SELF whose attributes tell of the end.
//!
//! The job starts when a communicator is made from a group of all processes (the set
//! `mpi://WORLD`): all of them are in that call, so that collective steps are possible there. Tasks
//! are the ranks of that set. It ends when the last session is finalised, where the processes wait
//! for each other in bounded time only, since nothing obliges a program to finalise everywhere. The
//! ranks of such a job are left alone.

use crate::entry::generated::index;
use crate::entry::slots;
use crate::job::start;
use crate::mpi::abi::{Abi, Handle};
use crate::mpi::pmpi::pmpi;
use libc::{c_char, c_int, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Sessions the program has open.
static OPEN: AtomicUsize = AtomicUsize::new(0);
/// One of them, as the C handle; 0 = none.
static LATEST: AtomicUsize = AtomicUsize::new(0);

/// A session was opened.
pub fn opened(session: usize) {
    OPEN.fetch_add(1, Ordering::AcqRel);
    LATEST.store(session, Ordering::Release);
}

/// A session is about to be finalised.
pub fn closing<A: Abi>(session: usize) {
    let last = OPEN.fetch_update(Ordering::AcqRel, Ordering::Acquire, |n| n.checked_sub(1));
    if last == Ok(1) {
        start::finish_sessions::<A>();
    }
    let _ = LATEST.compare_exchange(session, 0, Ordering::AcqRel, Ordering::Acquire);
}

/// A communicator was made from a group. Starts the job if the group is that of all processes.
pub fn made<A: Abi>(group: A::Group, comm: A::Comm) {
    let session = LATEST.load(Ordering::Acquire);
    if session == 0 || comm == A::comm_null() || !start::may_start_from_sessions::<A>() {
        return;
    }
    let Some((rank, size)) = place_among_all::<A>(session) else { return };
    let mut members = 0;
    // SAFETY: the program's own group, valid during this call.
    let code = unsafe { pmpi::<A>().group_size(group, &raw mut members) };
    if code == 0 && members == size && size > 1 {
        start::start_from_sessions::<A>(comm, rank);
    }
}

/// The caller's rank in the set of all processes, and the size of the set.
fn place_among_all<A: Abi>(session: usize) -> Option<(c_int, c_int)> {
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

/// Reads a session handle: an int or a pointer.
///
/// # Safety
/// `session` points to a handle of the ABI, or is null.
unsafe fn read<A: Abi>(session: *const c_void) -> usize {
    if session.is_null() {
        return 0;
    }
    // SAFETY: by contract.
    unsafe { if A::NARROW { *session.cast::<u32>() as usize } else { *session.cast::<usize>() } }
}

/// `MPI_Session_init`
pub unsafe extern "C-unwind" fn session_init<A: Abi>(
    info: A::Info,
    handler: A::Errhandler,
    session: *mut c_void,
) -> c_int {
    // SAFETY: the program's own arguments and the real function's prototype.
    unsafe {
        let next: unsafe extern "C-unwind" fn(A::Info, A::Errhandler, *mut c_void) -> c_int =
            slots::next(index::MPI_SESSION_INIT);
        let code = next(info, handler, session);
        if code == 0 {
            opened(read::<A>(session));
        }
        code
    }
}

/// `MPI_Session_finalize`
pub unsafe extern "C-unwind" fn session_finalize<A: Abi>(session: *mut c_void) -> c_int {
    // SAFETY: as above.
    unsafe {
        let next: unsafe extern "C-unwind" fn(*mut c_void) -> c_int =
            slots::next(index::MPI_SESSION_FINALIZE);
        closing::<A>(read::<A>(session));
        next(session)
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
    // SAFETY: as above.
    unsafe {
        let next: unsafe extern "C-unwind" fn(
            A::Group,
            *const c_char,
            A::Info,
            A::Errhandler,
            *mut A::Comm,
        ) -> c_int = slots::next(index::MPI_COMM_CREATE_FROM_GROUP);
        let code = next(group, tag, info, handler, comm);
        if code == 0 && !comm.is_null() {
            made::<A>(group, *comm);
        }
        code
    }
}
