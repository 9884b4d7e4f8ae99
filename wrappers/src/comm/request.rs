//! Requests of this library: waiting for them, and gathers that go on while the caller works.
//!
//! A process that waits yields its processor. If a job has more processes than processors and the MPI library
//! spins, a blocking call would keep the processor from the processes for which it waits.

use crate::mpi::abi::Abi;
use crate::mpi::backoff;
use crate::mpi::pmpi::pmpi;
use libc::c_int;
use std::time::{Duration, Instant};

/// Waits for a request. `false` if it failed, or if it is not done within `patience`.
pub fn wait<A: Abi>(request: &mut A::Request, patience: Option<Duration>) -> bool {
    let mpi = pmpi::<A>();
    let started = Instant::now();
    // MPI_STATUS_IGNORE differs between ABIs. A buffer that is larger than the status of each ABI works in all
    // of them.
    let mut status = [0u64; 16];
    let mut tries = 0u32;
    loop {
        let mut flag = 0;
        // SAFETY: an active request of ours.
        let code = unsafe {
            mpi.test(std::ptr::from_mut(request), &raw mut flag, status.as_mut_ptr().cast())
        };
        if code != 0 {
            return false;
        }
        if flag != 0 {
            return true;
        }
        tries = tries.saturating_add(1);
        if tries.is_multiple_of(64) && patience.is_some_and(|p| started.elapsed() > p) {
            return false;
        }
        backoff::pause(tries);
    }
}

/// Begins a send or a receive, and tries a second time if this fails: its partner would wait forever. Returns the
/// code of the last try.
pub fn begun(mut call: impl FnMut() -> c_int) -> c_int {
    match call() {
        0 => 0,
        _ => call(),
    }
}

/// Ends a receive whose message may never come. `false` if MPI refuses: its buffer must then stay.
pub fn cancel_receive<A: Abi>(request: &mut A::Request) -> bool {
    // SAFETY: an active receive of ours. A cancelled receive is done without a message.
    let code = unsafe { pmpi::<A>().cancel(std::ptr::from_mut(request)) };
    code == 0 && wait::<A>(request, None)
}

/// A gather of `N` bytes of each process on rank 0 that has begun. If it is dropped before the end, its buffers
/// are not freed, because MPI may still write to them.
#[derive(Debug)]
#[must_use]
pub struct PendingGather<A: Abi, const N: usize> {
    code: c_int,
    request: A::Request,
    mine: *mut [u8; N],
    all: *mut [[u8; N]],
}

impl<A: Abi, const N: usize> PendingGather<A, N> {
    /// Begins the gather with the bytes `mine`. Collective over `comm`.
    pub fn begin(comm: A::Comm, rank: usize, size: usize, mine: [u8; N]) -> Self {
        let mut request = A::request_null();
        let mine = Box::into_raw(Box::new(mine));
        let all = vec![[0; N]; if rank == 0 { size } else { 0 }];
        let all = Box::into_raw(all.into_boxed_slice());
        // SAFETY: buffers of this length that stay until the request is done; all processes call
        // this together.
        let code = unsafe {
            let (byte, bytes) = (A::byte(), N as c_int);
            let (mpi, request) = (pmpi::<A>(), &raw mut request);
            mpi.igather(mine.cast(), bytes, byte, all.cast(), bytes, byte, 0, comm, request)
        };
        PendingGather { code, request, mine, all }
    }

    /// Waits for the bytes. Rank 0 gets those of all processes, by rank, and other processes get an empty list.
    /// `None` after an MPI error, or if the gather is not done within `patience`.
    pub fn end(mut self, patience: Option<Duration>) -> Option<Vec<[u8; N]>> {
        if self.code != 0 || !wait::<A>(&mut self.request, patience) {
            return None;
        }
        // SAFETY: both come from a box; the request is done, so MPI no longer uses them.
        unsafe {
            drop(Box::from_raw(self.mine));
            Some(Box::from_raw(self.all).into_vec())
        }
    }
}
