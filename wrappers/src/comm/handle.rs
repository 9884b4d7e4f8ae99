//! Functions for a communicator with a given handle: duplicate it, free it, copy its error handler, and call
//! MPI on it without raising errors in the program.

use crate::comm::request::wait;
use crate::mpi::abi::{Abi, Handle};
use crate::mpi::pmpi::pmpi;
use libc::c_int;

/// A duplicate of a communicator that MPI is making. If it is dropped before the end, the memory of the
/// handle is not freed, because MPI may still write to it.
#[derive(Debug)]
#[must_use]
pub struct PendingDuplicate<A: Abi> {
    code: c_int,
    request: A::Request,
    copy: *mut A::Comm,
}

impl<A: Abi> PendingDuplicate<A> {
    /// Begins to make a duplicate. Collective over `comm`.
    pub fn begin(comm: A::Comm) -> Self {
        let (copy, mut request) = (Box::into_raw(Box::new(A::comm_null())), A::request_null());
        // SAFETY: all processes of the communicator call this; the copy stays in place until the request
        // is done.
        let code = unsafe { pmpi::<A>().comm_idup(comm, copy, &raw mut request) };
        PendingDuplicate { code, request, copy }
    }

    /// Waits for the duplicate; `None` after an MPI error.
    pub fn end(mut self) -> Option<A::Comm> {
        if self.code != 0 || !wait::<A>(&mut self.request, None) {
            return None;
        }
        // SAFETY: it comes from a box; the request is done, so MPI no longer uses it.
        Some(*unsafe { Box::from_raw(self.copy) })
    }
}

/// Gives a communicator the error handler of another one.
///
/// # Safety
/// Both handles are valid communicators.
pub unsafe fn copy_error_handler<A: Abi>(from: A::Comm, to: A::Comm) {
    let mpi = pmpi::<A>();
    let mut handler = A::errors_return();
    // SAFETY: the caller passes valid communicators. MPI_Comm_get_errhandler gives a reference, which
    // is freed; the communicators keep their own.
    unsafe {
        if mpi.comm_get_errhandler(from, &raw mut handler) == 0 {
            let _ = mpi.comm_set_errhandler(to, handler);
            let _ = mpi.errhandler_free(&raw mut handler);
        }
    }
}

/// A duplicate of a communicator; collective over it. `None` after an MPI error.
pub fn duplicate<A: Abi>(comm: A::Comm) -> Option<A::Comm> {
    PendingDuplicate::<A>::begin(comm).end()
}

/// Frees a communicator that the library made for itself.
pub fn free<A: Abi>(comm: A::Comm) {
    if comm != A::comm_null() && comm.bits() != 0 {
        let mut comm = comm;
        // SAFETY: our own communicator, not used any more.
        let _ = unsafe { pmpi::<A>().comm_free(&raw mut comm) };
    }
}

/// Runs `calls`, which use a communicator of the program. Errors of these calls are returned, and do not reach
/// the error handler of the program. The handler is set again afterwards.
pub fn quietly<A: Abi, T>(comm: A::Comm, calls: impl FnOnce() -> T) -> T {
    let mpi = pmpi::<A>();
    let mut handler = A::errors_return();
    // SAFETY: a communicator of the program; what MPI_Comm_get_errhandler gives is a reference to be
    // freed.
    unsafe {
        let known = mpi.comm_get_errhandler(comm, &raw mut handler) == 0;
        if known {
            let _ = mpi.comm_set_errhandler(comm, A::errors_return());
        }
        let answer = calls();
        if known {
            let _ = mpi.comm_set_errhandler(comm, handler);
            let _ = mpi.errhandler_free(&raw mut handler);
        }
        answer
    }
}
