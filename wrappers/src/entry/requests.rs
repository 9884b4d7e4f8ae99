//! Persistent and partitioned requests: each start counts the messages that were planned when the request was
//! made.

use crate::entry::next;
use crate::mpi::abi::Abi;
use crate::record::persistent::{self, PersistentSends};
use libc::{c_int, c_void};

/// `MPI_Start`
pub unsafe extern "C-unwind" fn start<A: Abi>(request: *mut A::Request) -> c_int {
    // SAFETY: the program's own arguments; the next function has the same prototype.
    unsafe {
        if !request.is_null() {
            persistent::started::<A>(*request);
        }
        next::mpi_start::<A>(request)
    }
}

/// `MPI_Startall`
pub unsafe extern "C-unwind" fn startall<A: Abi>(count: c_int, requests: *mut A::Request) -> c_int {
    // SAFETY: the program's own arguments: `count` requests.
    unsafe {
        if !requests.is_null() {
            for i in 0..usize::try_from(count).unwrap_or(0) {
                persistent::started::<A>(*requests.add(i));
            }
        }
        next::mpi_startall::<A>(count, requests)
    }
}

/// `MPI_Request_free`
pub unsafe extern "C-unwind" fn request_free<A: Abi>(request: *mut A::Request) -> c_int {
    // SAFETY: the program's own argument.
    unsafe {
        if !request.is_null() {
            persistent::forget::<A>(*request);
        }
        next::mpi_request_free::<A>(request)
    }
}

/// `MPI_Psend_init`
pub unsafe extern "C-unwind" fn psend_init<A: Abi>(
    buf: *const c_void,
    partitions: c_int,
    count: i64,
    datatype: A::Datatype,
    dest: c_int,
    tag: c_int,
    comm: A::Comm,
    info: A::Info,
    request: *mut A::Request,
) -> c_int {
    // SAFETY: the program's own arguments; the next function has the same prototype.
    unsafe {
        let mut plan = PersistentSends::of_partitions();
        let comm = persistent::send::<A>(&mut plan, comm, dest, count, datatype);
        let code = next::mpi_psend_init::<A>(
            buf, partitions, count, datatype, dest, tag, comm, info, request,
        );
        persistent::keep::<A>(code, request, plan);
        code
    }
}

/// `MPI_Pready`
pub unsafe extern "C-unwind" fn pready<A: Abi>(partition: c_int, request: A::Request) -> c_int {
    persistent::ready::<A>(request, 1);
    // SAFETY: the program's own arguments; the next function has the same prototype.
    unsafe { next::mpi_pready::<A>(partition, request) }
}

/// `MPI_Pready_range`
pub unsafe extern "C-unwind" fn pready_range<A: Abi>(
    low: c_int,
    high: c_int,
    request: A::Request,
) -> c_int {
    persistent::ready::<A>(
        request,
        u64::try_from(i64::from(high) - i64::from(low) + 1).unwrap_or(0),
    );
    // SAFETY: the program's own arguments; the next function has the same prototype.
    unsafe { next::mpi_pready_range::<A>(low, high, request) }
}

/// `MPI_Pready_list`
pub unsafe extern "C-unwind" fn pready_list<A: Abi>(
    length: c_int,
    partitions: *const c_int,
    request: A::Request,
) -> c_int {
    persistent::ready::<A>(request, u64::try_from(length).unwrap_or(0));
    // SAFETY: the program's own arguments; the next function has the same prototype.
    unsafe { next::mpi_pready_list::<A>(length, partitions, request) }
}
