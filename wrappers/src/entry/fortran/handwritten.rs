//! Fortran wrappers written by hand: the counterparts of `special`.

pub use super::constructors::{
    cart_create, cart_map, dist_graph_create, dist_graph_create_adjacent, graph_create, graph_map,
};
use super::{P, code, comm, datatype, effective, int, request};
use crate::comm::world;
use crate::entry::slots;
use crate::job::start;
use crate::mpi::abi::{Abi, Kind};
use crate::record::persistent::{self, Plan};

/// Number of a call in the Fortran blocks: its place among the calls without `_c` twins.
const fn number(name: &str) -> usize {
    slots::fortran_number(name)
}

/// `MPI_Init`
pub unsafe extern "C-unwind" fn init<A: Abi, const B: usize>(ierror: P) {
    start::init_seen();
    // SAFETY: the program's own argument and the real function's prototype.
    unsafe {
        let next: unsafe extern "C-unwind" fn(P) =
            slots::next(slots::fortran(B, const { number("mpi_init") }));
        next(ierror);
        if code(ierror) == 0 {
            start::start::<A>();
        }
    }
}

/// `MPI_Init_thread`
pub unsafe extern "C-unwind" fn init_thread<A: Abi, const B: usize>(
    required: P,
    provided: P,
    ierror: P,
) {
    start::init_seen();
    // SAFETY: as above.
    unsafe {
        let next: unsafe extern "C-unwind" fn(P, P, P) =
            slots::next(slots::fortran(B, const { number("mpi_init_thread") }));
        next(required, provided, ierror);
        if code(ierror) == 0 {
            start::start::<A>();
        }
    }
}

/// `MPI_Finalize`
pub unsafe extern "C-unwind" fn finalize<A: Abi, const B: usize>(ierror: P) {
    start::start_late();
    // SAFETY: as above.
    unsafe {
        let next: unsafe extern "C-unwind" fn(P) =
            slots::next(slots::fortran(B, const { number("mpi_finalize") }));
        next(ierror);
    }
}

/// `MPI_Pcontrol`. The standard has no error code here, but MPICH writes one where its second argument
/// points to: whatever the program has there goes on to it.
pub unsafe extern "C-unwind" fn pcontrol<A: Abi, const B: usize>(level: P, second: P) {
    // SAFETY: the program's own arguments; a second one that the real function does not have is a
    // register that it does not look at.
    unsafe {
        if !crate::entry::pcontrol::from_fortran(level) {
            let next: unsafe extern "C-unwind" fn(P, P) =
                slots::next(slots::fortran(B, const { number("mpi_pcontrol") }));
            next(level, second);
        }
    }
}

/// The world's attributes: on the replacement, else (predefined ones) on the true world.
unsafe fn get_attr<A: Abi>(entry: usize, on: P, keyval: P, value: P, flag: P, ierror: P) {
    // SAFETY: as above; `flag` is a LOGICAL, false is 0 in every compiler MPI supports.
    unsafe {
        let next: unsafe extern "C-unwind" fn(P, P, P, P, P) = slots::next(entry);
        let used = effective::<A>(on);
        next(used, keyval, value, flag, ierror);
        if used != on && code(ierror) == 0 && int(flag) == 0 {
            next(on, keyval, value, flag, ierror);
        }
    }
}

/// `MPI_Comm_get_attr`
pub unsafe extern "C-unwind" fn comm_get_attr<A: Abi, const B: usize>(
    on: P,
    keyval: P,
    value: P,
    flag: P,
    ierror: P,
) {
    let entry = slots::fortran(B, const { number("mpi_comm_get_attr") });
    // SAFETY: passed on.
    unsafe { get_attr::<A>(entry, on, keyval, value, flag, ierror) }
}

/// `MPI_Attr_get`
pub unsafe extern "C-unwind" fn attr_get<A: Abi, const B: usize>(
    on: P,
    keyval: P,
    value: P,
    flag: P,
    ierror: P,
) {
    let entry = slots::fortran(B, const { number("mpi_attr_get") });
    // SAFETY: passed on.
    unsafe { get_attr::<A>(entry, on, keyval, value, flag, ierror) }
}

/// An error handler for the world goes to both worlds.
unsafe fn set_errhandler<A: Abi>(entry: usize, on: P, handler: P, ierror: P) {
    // SAFETY: as above.
    unsafe {
        let next: unsafe extern "C-unwind" fn(P, P, P) = slots::next(entry);
        next(on, handler, ierror);
        if code(ierror) == 0
            && int(on) == A::FORTRAN_WORLD
            && let Some(other) = world::replacement_in_fortran()
        {
            next(other.cast(), handler, ierror);
        }
    }
}

/// `MPI_Comm_set_errhandler`
pub unsafe extern "C-unwind" fn comm_set_errhandler<A: Abi, const B: usize>(
    on: P,
    handler: P,
    ierror: P,
) {
    let entry = slots::fortran(B, const { number("mpi_comm_set_errhandler") });
    // SAFETY: passed on.
    unsafe { set_errhandler::<A>(entry, on, handler, ierror) }
}

/// `MPI_Errhandler_set`
pub unsafe extern "C-unwind" fn errhandler_set<A: Abi, const B: usize>(
    on: P,
    handler: P,
    ierror: P,
) {
    let entry = slots::fortran(B, const { number("mpi_errhandler_set") });
    // SAFETY: passed on.
    unsafe { set_errhandler::<A>(entry, on, handler, ierror) }
}

/// Frees a communicator of the program; what was recorded on it is folded in first.
unsafe fn free_comm<A: Abi>(entry: usize, freed: P, ierror: P) {
    // SAFETY: as above.
    unsafe {
        let next: unsafe extern "C-unwind" fn(P, P) = slots::next(entry);
        let leaving = crate::job::rank_mixing::leave::<A>(comm::<A>(freed));
        next(freed, ierror);
        drop(leaving);
    }
}

/// `MPI_Comm_free`
pub unsafe extern "C-unwind" fn comm_free<A: Abi, const B: usize>(freed: P, ierror: P) {
    let entry = slots::fortran(B, const { number("mpi_comm_free") });
    // SAFETY: passed on.
    unsafe { free_comm::<A>(entry, freed, ierror) }
}

/// `MPI_Comm_disconnect`
pub unsafe extern "C-unwind" fn comm_disconnect<A: Abi, const B: usize>(freed: P, ierror: P) {
    let entry = slots::fortran(B, const { number("mpi_comm_disconnect") });
    // SAFETY: passed on.
    unsafe { free_comm::<A>(entry, freed, ierror) }
}

/// `MPI_Start`
pub unsafe extern "C-unwind" fn start<A: Abi, const B: usize>(started: P, ierror: P) {
    // SAFETY: as above.
    unsafe {
        persistent::started::<A>(request::<A>(started));
        let next: unsafe extern "C-unwind" fn(P, P) =
            slots::next(slots::fortran(B, const { number("mpi_start") }));
        next(started, ierror);
    }
}

/// `MPI_Startall`
pub unsafe extern "C-unwind" fn startall<A: Abi, const B: usize>(count: P, requests: P, ierror: P) {
    // SAFETY: as above; `count` requests.
    unsafe {
        for i in 0..usize::try_from(int(count)).unwrap_or(0) {
            persistent::started::<A>(request::<A>(requests.cast::<libc::c_int>().add(i).cast()));
        }
        let next: unsafe extern "C-unwind" fn(P, P, P) =
            slots::next(slots::fortran(B, const { number("mpi_startall") }));
        next(count, requests, ierror);
    }
}

/// `MPI_Request_free`
pub unsafe extern "C-unwind" fn request_free<A: Abi, const B: usize>(freed: P, ierror: P) {
    // SAFETY: as above.
    unsafe {
        persistent::forget::<A>(request::<A>(freed));
        let next: unsafe extern "C-unwind" fn(P, P) =
            slots::next(slots::fortran(B, const { number("mpi_request_free") }));
        next(freed, ierror);
    }
}

/// `MPI_Op_free`
pub unsafe extern "C-unwind" fn op_free<A: Abi, const B: usize>(freed: P, ierror: P) {
    crate::record::communicators::forget_reductions();
    // SAFETY: as above.
    unsafe {
        let next: unsafe extern "C-unwind" fn(P, P) =
            slots::next(slots::fortran(B, const { number("mpi_op_free") }));
        next(freed, ierror);
    }
}

/// `MPI_Psend_init`; the count is an INTEGER(KIND=MPI_COUNT_KIND).
pub unsafe extern "C-unwind" fn psend_init<A: Abi, const B: usize>(
    buf: P,
    partitions: P,
    count: P,
    of: P,
    dest: P,
    tag: P,
    on: P,
    info: P,
    made: P,
    ierror: P,
) {
    // SAFETY: as above.
    unsafe {
        let mut plan = Plan { partitioned: true, ..Plan::default() };
        let elements = *count.cast::<i64>();
        persistent::send::<A>(&mut plan, comm::<A>(on), int(dest), elements, datatype::<A>(of));
        let on = effective::<A>(on);
        let next: unsafe extern "C-unwind" fn(P, P, P, P, P, P, P, P, P, P) =
            slots::next(slots::fortran(B, const { number("mpi_psend_init") }));
        next(buf, partitions, count, of, dest, tag, on, info, made, ierror);
        super::keep::<A>(ierror, made, plan);
    }
}

/// `MPI_Pready`
pub unsafe extern "C-unwind" fn pready<A: Abi, const B: usize>(partition: P, of: P, ierror: P) {
    // SAFETY: as above.
    unsafe {
        persistent::ready::<A>(request::<A>(of), 1);
        let next: unsafe extern "C-unwind" fn(P, P, P) =
            slots::next(slots::fortran(B, const { number("mpi_pready") }));
        next(partition, of, ierror);
    }
}

/// `MPI_Pready_range`
pub unsafe extern "C-unwind" fn pready_range<A: Abi, const B: usize>(
    low: P,
    high: P,
    of: P,
    ierror: P,
) {
    // SAFETY: as above.
    unsafe {
        let partitions = i64::from(int(high)) - i64::from(int(low)) + 1;
        persistent::ready::<A>(request::<A>(of), u64::try_from(partitions).unwrap_or(0));
        let next: unsafe extern "C-unwind" fn(P, P, P, P) =
            slots::next(slots::fortran(B, const { number("mpi_pready_range") }));
        next(low, high, of, ierror);
    }
}

/// `MPI_Pready_list`
pub unsafe extern "C-unwind" fn pready_list<A: Abi, const B: usize>(
    length: P,
    partitions: P,
    of: P,
    ierror: P,
) {
    // SAFETY: as above.
    unsafe {
        persistent::ready::<A>(request::<A>(of), u64::try_from(int(length)).unwrap_or(0));
        let next: unsafe extern "C-unwind" fn(P, P, P, P) =
            slots::next(slots::fortran(B, const { number("mpi_pready_list") }));
        next(length, partitions, of, ierror);
    }
}

/// `MPI_Group_from_session_pset`; the name ends with its length, padded with blanks.
pub unsafe extern "C-unwind" fn group_from_session_pset<A: Abi, const B: usize>(
    session: P,
    name: P,
    group: P,
    ierror: P,
    length: P,
) {
    // SAFETY: as above; the name has `length` characters.
    unsafe {
        let next: unsafe extern "C-unwind" fn(P, P, P, P, P) =
            slots::next(slots::fortran(B, const { number("mpi_group_from_session_pset") }));
        next(session, name, group, ierror, length);
        let text = std::slice::from_raw_parts(name.cast::<u8>(), length as usize);
        if code(ierror) == 0 && text.trim_ascii_end().eq_ignore_ascii_case(b"mpi://WORLD") {
            let mut ordered: A::Group = A::from_fortran(Kind::Group, int(group));
            world::order_group::<A>(&raw mut ordered);
            *group.cast::<libc::c_int>() = A::group_to_fortran(ordered);
        }
    }
}

/// The C handle of a session.
fn session<A: Abi>(fortran: P) -> usize {
    // SAFETY: an integer of the program.
    let number = unsafe { int(fortran) };
    if A::NARROW {
        return number as u32 as usize;
    }
    match crate::mpi::library::symbol(c"PMPI_Session_f2c") {
        0 => 0,
        // SAFETY: the function of this name has this prototype where handles are pointers.
        address => unsafe {
            let convert: unsafe extern "C" fn(libc::c_int) -> usize = std::mem::transmute(address);
            convert(number)
        },
    }
}

/// `MPI_Session_init`
pub unsafe extern "C-unwind" fn session_init<A: Abi, const B: usize>(
    info: P,
    handler: P,
    made: P,
    ierror: P,
) {
    // SAFETY: as above.
    unsafe {
        let next: unsafe extern "C-unwind" fn(P, P, P, P) =
            slots::next(slots::fortran(B, const { number("mpi_session_init") }));
        next(info, handler, made, ierror);
        if code(ierror) == 0 {
            crate::entry::sessions::opened(session::<A>(made));
        }
    }
}

/// `MPI_Session_finalize`
pub unsafe extern "C-unwind" fn session_finalize<A: Abi, const B: usize>(ended: P, ierror: P) {
    // SAFETY: as above.
    unsafe {
        let next: unsafe extern "C-unwind" fn(P, P) =
            slots::next(slots::fortran(B, const { number("mpi_session_finalize") }));
        crate::entry::sessions::closing::<A>(session::<A>(ended));
        next(ended, ierror);
    }
}

/// `MPI_Comm_create_from_group`
pub unsafe extern "C-unwind" fn comm_create_from_group<A: Abi, const B: usize>(
    group: P,
    tag: P,
    info: P,
    handler: P,
    made: P,
    ierror: P,
    length: P,
) {
    // SAFETY: as above.
    unsafe {
        let next: unsafe extern "C-unwind" fn(P, P, P, P, P, P, P) =
            slots::next(slots::fortran(B, const { number("mpi_comm_create_from_group") }));
        next(group, tag, info, handler, made, ierror, length);
        if code(ierror) == 0 {
            let group: A::Group = A::from_fortran(Kind::Group, int(group));
            crate::entry::sessions::made::<A>(group, comm::<A>(made));
        }
    }
}
