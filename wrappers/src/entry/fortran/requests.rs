//! Persistent and partitioned requests.

use crate::entry::fortran_arguments::{self as arguments, comm, datatype, effective, int, request};
use crate::entry::next::{self, Argument};
use crate::mpi::abi::Abi;
use crate::record::persistent::{self, PersistentSends};

/// `MPI_Start`
pub unsafe extern "C-unwind" fn start<A: Abi, const B: usize>(started: Argument, ierror: Argument) {
    // SAFETY: addresses of the program's own arguments; the next function takes the same.
    unsafe {
        persistent::started::<A>(request::<A>(started));
        next::in_fortran::mpi_start::<B>(started, ierror);
    }
}

/// `MPI_Startall`
pub unsafe extern "C-unwind" fn startall<A: Abi, const B: usize>(
    count: Argument,
    requests: Argument,
    ierror: Argument,
) {
    // SAFETY: addresses of the program's own arguments, `count` requests; the next function takes the
    // same.
    unsafe {
        for i in 0..usize::try_from(int(count)).unwrap_or(0) {
            persistent::started::<A>(request::<A>(requests.cast::<libc::c_int>().add(i).cast()));
        }
        next::in_fortran::mpi_startall::<B>(count, requests, ierror);
    }
}

/// `MPI_Request_free`
pub unsafe extern "C-unwind" fn request_free<A: Abi, const B: usize>(
    freed: Argument,
    ierror: Argument,
) {
    // SAFETY: addresses of the program's own arguments; the next function takes the same.
    unsafe {
        persistent::forget::<A>(request::<A>(freed));
        next::in_fortran::mpi_request_free::<B>(freed, ierror);
    }
}

/// `MPI_Psend_init`; the count is an INTEGER(KIND=MPI_COUNT_KIND).
pub unsafe extern "C-unwind" fn psend_init<A: Abi, const B: usize>(
    buf: Argument,
    partitions: Argument,
    count: Argument,
    of: Argument,
    dest: Argument,
    tag: Argument,
    on: Argument,
    info: Argument,
    made: Argument,
    ierror: Argument,
) {
    // SAFETY: addresses of the program's own arguments; the next function takes the same.
    unsafe {
        let mut plan = PersistentSends::of_partitions();
        let elements = *count.cast::<i64>();
        persistent::send::<A>(&mut plan, comm::<A>(on), int(dest), elements, datatype::<A>(of));
        let on = effective::<A>(on);
        next::in_fortran::mpi_psend_init::<B>(
            buf, partitions, count, of, dest, tag, on, info, made, ierror,
        );
        arguments::keep::<A>(ierror, made, plan);
    }
}

/// `MPI_Pready`
pub unsafe extern "C-unwind" fn pready<A: Abi, const B: usize>(
    partition: Argument,
    of: Argument,
    ierror: Argument,
) {
    // SAFETY: addresses of the program's own arguments; the next function takes the same.
    unsafe {
        persistent::ready::<A>(request::<A>(of), 1);
        next::in_fortran::mpi_pready::<B>(partition, of, ierror);
    }
}

/// `MPI_Pready_range`
pub unsafe extern "C-unwind" fn pready_range<A: Abi, const B: usize>(
    low: Argument,
    high: Argument,
    of: Argument,
    ierror: Argument,
) {
    // SAFETY: addresses of the program's own arguments; the next function takes the same.
    unsafe {
        let partitions = i64::from(int(high)) - i64::from(int(low)) + 1;
        persistent::ready::<A>(request::<A>(of), u64::try_from(partitions).unwrap_or(0));
        next::in_fortran::mpi_pready_range::<B>(low, high, of, ierror);
    }
}

/// `MPI_Pready_list`
pub unsafe extern "C-unwind" fn pready_list<A: Abi, const B: usize>(
    length: Argument,
    partitions: Argument,
    of: Argument,
    ierror: Argument,
) {
    // SAFETY: addresses of the program's own arguments; the next function takes the same.
    unsafe {
        persistent::ready::<A>(request::<A>(of), u64::try_from(int(length)).unwrap_or(0));
        next::in_fortran::mpi_pready_list::<B>(length, partitions, of, ierror);
    }
}
