//! Wrappers written by hand: lifecycle, requests, and the calls that treat a replaced world
//! differently from every other communicator.

use crate::comm::world::{effective, replacement};
pub use crate::entry::constructors::{
    cart_create, cart_map, dist_graph_create, dist_graph_create_adjacent, graph_create, graph_map,
};
use crate::entry::generated::index;
pub use crate::entry::pcontrol::pcontrol;
pub use crate::entry::sessions::{comm_create_from_group, session_finalize, session_init};
use crate::entry::slots;
pub use crate::entry::tools::{
    tool_cvar_handle_alloc, tool_event_handle_alloc, tool_pvar_handle_alloc,
};
use crate::job::start;
use crate::mpi::abi::Abi;
use crate::record::persistent::{self, Plan};
use libc::{c_char, c_int, c_void};

/// `MPI_Init`
pub unsafe extern "C-unwind" fn init<A: Abi>(
    argc: *mut c_int,
    argv: *mut *mut *mut c_char,
) -> c_int {
    start::init_seen();
    // SAFETY: the program's own arguments and the real function's prototype.
    let code = unsafe {
        let next: unsafe extern "C-unwind" fn(*mut c_int, *mut *mut *mut c_char) -> c_int =
            slots::next(index::MPI_INIT);
        next(argc, argv)
    };
    if code == 0 {
        start::start::<A>();
    }
    code
}

/// `MPI_Init_thread`
pub unsafe extern "C-unwind" fn init_thread<A: Abi>(
    argc: *mut c_int,
    argv: *mut *mut *mut c_char,
    required: c_int,
    provided: *mut c_int,
) -> c_int {
    start::init_seen();
    // SAFETY: the program's own arguments and the real function's prototype.
    let code = unsafe {
        let next: unsafe extern "C-unwind" fn(
            *mut c_int,
            *mut *mut *mut c_char,
            c_int,
            *mut c_int,
        ) -> c_int = slots::next(index::MPI_INIT_THREAD);
        next(argc, argv, required, provided)
    };
    if code == 0 {
        start::start::<A>();
    }
    code
}

/// `MPI_Finalize`. In a job whose MPI_Init passed by unseen, a process that made no call to be recorded
/// takes part in the gathering at least.
pub unsafe extern "C-unwind" fn finalize<A: Abi>() -> c_int {
    start::start_late();
    // SAFETY: the real function's prototype.
    unsafe {
        let next: unsafe extern "C-unwind" fn() -> c_int = slots::next(index::MPI_FINALIZE);
        next()
    }
}

/// An attribute of the world: those the program set are on the replacement, the predefined ones
/// (MPI_TAG_UB, MPI_UNIVERSE_SIZE, …) may be on the true world only.
unsafe fn get_attr<A: Abi>(
    entry: usize,
    comm: A::Comm,
    keyval: c_int,
    value: *mut c_void,
    flag: *mut c_int,
) -> c_int {
    // SAFETY: the program's own arguments and the real function's prototype.
    unsafe {
        let next: unsafe extern "C-unwind" fn(A::Comm, c_int, *mut c_void, *mut c_int) -> c_int =
            slots::next(entry);
        let used = effective::<A>(comm);
        let code = next(used, keyval, value, flag);
        if used != comm && code == 0 && !flag.is_null() && *flag == 0 {
            return next(comm, keyval, value, flag);
        }
        code
    }
}

/// `MPI_Comm_get_attr`
pub unsafe extern "C-unwind" fn comm_get_attr<A: Abi>(
    comm: A::Comm,
    keyval: c_int,
    value: *mut c_void,
    flag: *mut c_int,
) -> c_int {
    // SAFETY: passed on.
    unsafe { get_attr::<A>(index::MPI_COMM_GET_ATTR, comm, keyval, value, flag) }
}

/// `MPI_Attr_get`
pub unsafe extern "C-unwind" fn attr_get<A: Abi>(
    comm: A::Comm,
    keyval: c_int,
    value: *mut c_void,
    flag: *mut c_int,
) -> c_int {
    // SAFETY: passed on.
    unsafe { get_attr::<A>(index::MPI_ATTR_GET, comm, keyval, value, flag) }
}

/// The error handler of the world goes to both worlds: errors of calls without a communicator are
/// raised on the true one.
unsafe fn set_errhandler<A: Abi>(entry: usize, comm: A::Comm, handler: A::Errhandler) -> c_int {
    // SAFETY: the program's own arguments and the real function's prototype.
    unsafe {
        let next: unsafe extern "C-unwind" fn(A::Comm, A::Errhandler) -> c_int = slots::next(entry);
        let code = next(comm, handler);
        match replacement::<A>() {
            Some(other) if code == 0 && comm == A::comm_world() => next(other, handler),
            _ => code,
        }
    }
}

/// `MPI_Comm_set_errhandler`
pub unsafe extern "C-unwind" fn comm_set_errhandler<A: Abi>(
    comm: A::Comm,
    handler: A::Errhandler,
) -> c_int {
    // SAFETY: passed on.
    unsafe { set_errhandler::<A>(index::MPI_COMM_SET_ERRHANDLER, comm, handler) }
}

/// `MPI_Errhandler_set`
pub unsafe extern "C-unwind" fn errhandler_set<A: Abi>(
    comm: A::Comm,
    handler: A::Errhandler,
) -> c_int {
    // SAFETY: passed on.
    unsafe { set_errhandler::<A>(index::MPI_ERRHANDLER_SET, comm, handler) }
}

/// `MPI_Comm_create_errhandler`
pub unsafe extern "C-unwind" fn comm_create_errhandler<A: Abi>(
    function: *mut c_void,
    handler: *mut A::Errhandler,
) -> c_int {
    // SAFETY: a trampoline has the same prototype as the program's function.
    unsafe {
        let next: unsafe extern "C-unwind" fn(*mut c_void, *mut A::Errhandler) -> c_int =
            slots::next(index::MPI_COMM_CREATE_ERRHANDLER);
        next(crate::comm::callbacks::for_handler::<A>(function), handler)
    }
}

/// `MPI_Errhandler_create`
pub unsafe extern "C-unwind" fn errhandler_create<A: Abi>(
    function: *mut c_void,
    handler: *mut A::Errhandler,
) -> c_int {
    // SAFETY: as above.
    unsafe {
        let next: unsafe extern "C-unwind" fn(*mut c_void, *mut A::Errhandler) -> c_int =
            slots::next(index::MPI_ERRHANDLER_CREATE);
        next(crate::comm::callbacks::for_handler::<A>(function), handler)
    }
}

/// Frees a communicator of the program; what was recorded on it is folded in first.
unsafe fn free_comm<A: Abi>(entry: usize, comm: *mut A::Comm) -> c_int {
    // SAFETY: the program's own argument and the real function's prototype.
    unsafe {
        let next: unsafe extern "C-unwind" fn(*mut A::Comm) -> c_int = slots::next(entry);
        if comm.is_null() {
            return next(comm);
        }
        let leaving = crate::job::rank_mixing::leave::<A>(*comm);
        let code = next(comm);
        drop(leaving);
        code
    }
}

/// `MPI_Comm_free`
pub unsafe extern "C-unwind" fn comm_free<A: Abi>(comm: *mut A::Comm) -> c_int {
    // SAFETY: passed on.
    unsafe { free_comm::<A>(index::MPI_COMM_FREE, comm) }
}

/// `MPI_Comm_disconnect`
pub unsafe extern "C-unwind" fn comm_disconnect<A: Abi>(comm: *mut A::Comm) -> c_int {
    // SAFETY: passed on.
    unsafe { free_comm::<A>(index::MPI_COMM_DISCONNECT, comm) }
}

/// A new attribute key whose callbacks see MPI_COMM_WORLD as such.
unsafe fn create_keyval<A: Abi>(
    entry: usize,
    copy: *mut c_void,
    delete: *mut c_void,
    keyval: *mut c_int,
    extra: *mut c_void,
) -> c_int {
    // SAFETY: trampolines have the same prototypes as the program's functions.
    unsafe {
        let next: unsafe extern "C-unwind" fn(
            *mut c_void,
            *mut c_void,
            *mut c_int,
            *mut c_void,
        ) -> c_int = slots::next(entry);
        let copy = crate::comm::callbacks::for_copy::<A>(copy);
        next(copy, crate::comm::callbacks::for_delete::<A>(delete), keyval, extra)
    }
}

/// `MPI_Comm_create_keyval`
pub unsafe extern "C-unwind" fn comm_create_keyval<A: Abi>(
    copy: *mut c_void,
    delete: *mut c_void,
    keyval: *mut c_int,
    extra: *mut c_void,
) -> c_int {
    // SAFETY: passed on.
    unsafe { create_keyval::<A>(index::MPI_COMM_CREATE_KEYVAL, copy, delete, keyval, extra) }
}

/// `MPI_Keyval_create`
pub unsafe extern "C-unwind" fn keyval_create<A: Abi>(
    copy: *mut c_void,
    delete: *mut c_void,
    keyval: *mut c_int,
    extra: *mut c_void,
) -> c_int {
    // SAFETY: passed on.
    unsafe { create_keyval::<A>(index::MPI_KEYVAL_CREATE, copy, delete, keyval, extra) }
}

/// `MPI_Group_from_session_pset`: the group of `mpi://WORLD` is in the order of the tasks.
pub unsafe extern "C-unwind" fn group_from_session_pset<A: Abi>(
    session: usize,
    name: *const c_char,
    group: *mut A::Group,
) -> c_int {
    // SAFETY: the program's own arguments and the real function's prototype; a session handle is
    // an int or a pointer, both travel in one register.
    unsafe {
        let next: unsafe extern "C-unwind" fn(usize, *const c_char, *mut A::Group) -> c_int =
            slots::next(index::MPI_GROUP_FROM_SESSION_PSET);
        let code = next(session, name, group);
        if code == 0 && !name.is_null() && is_world_set(std::ffi::CStr::from_ptr(name)) {
            crate::comm::world::order_group::<A>(group);
        }
        code
    }
}

/// True for the name of the process set of all processes (MPI-4.0, section 11.3.2).
pub fn is_world_set(name: &std::ffi::CStr) -> bool {
    name.to_bytes().eq_ignore_ascii_case(b"mpi://WORLD")
}

/// `MPI_Start`
pub unsafe extern "C-unwind" fn start<A: Abi>(request: *mut A::Request) -> c_int {
    // SAFETY: the program's own arguments and the real function's prototype.
    unsafe {
        if !request.is_null() {
            persistent::started::<A>(*request);
        }
        let next: unsafe extern "C-unwind" fn(*mut A::Request) -> c_int =
            slots::next(index::MPI_START);
        next(request)
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
        let next: unsafe extern "C-unwind" fn(c_int, *mut A::Request) -> c_int =
            slots::next(index::MPI_STARTALL);
        next(count, requests)
    }
}

/// `MPI_Request_free`
pub unsafe extern "C-unwind" fn request_free<A: Abi>(request: *mut A::Request) -> c_int {
    // SAFETY: the program's own argument.
    unsafe {
        if !request.is_null() {
            persistent::forget::<A>(*request);
        }
        let next: unsafe extern "C-unwind" fn(*mut A::Request) -> c_int =
            slots::next(index::MPI_REQUEST_FREE);
        next(request)
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
    // SAFETY: the program's own arguments and the real function's prototype.
    unsafe {
        let mut plan = Plan { partitioned: true, ..Plan::default() };
        let comm = persistent::send::<A>(&mut plan, comm, dest, count, datatype);
        let next: unsafe extern "C-unwind" fn(
            *const c_void,
            c_int,
            i64,
            A::Datatype,
            c_int,
            c_int,
            A::Comm,
            A::Info,
            *mut A::Request,
        ) -> c_int = slots::next(index::MPI_PSEND_INIT);
        let code = next(buf, partitions, count, datatype, dest, tag, comm, info, request);
        persistent::keep::<A>(code, request, plan);
        code
    }
}

/// `MPI_Pready`
pub unsafe extern "C-unwind" fn pready<A: Abi>(partition: c_int, request: A::Request) -> c_int {
    persistent::ready::<A>(request, 1);
    // SAFETY: the program's own arguments and the real function's prototype.
    unsafe {
        let next: unsafe extern "C-unwind" fn(c_int, A::Request) -> c_int =
            slots::next(index::MPI_PREADY);
        next(partition, request)
    }
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
    // SAFETY: the program's own arguments and the real function's prototype.
    unsafe {
        let next: unsafe extern "C-unwind" fn(c_int, c_int, A::Request) -> c_int =
            slots::next(index::MPI_PREADY_RANGE);
        next(low, high, request)
    }
}

/// `MPI_Pready_list`
pub unsafe extern "C-unwind" fn pready_list<A: Abi>(
    length: c_int,
    partitions: *const c_int,
    request: A::Request,
) -> c_int {
    persistent::ready::<A>(request, u64::try_from(length).unwrap_or(0));
    // SAFETY: the program's own arguments and the real function's prototype.
    unsafe {
        let next: unsafe extern "C-unwind" fn(c_int, *const c_int, A::Request) -> c_int =
            slots::next(index::MPI_PREADY_LIST);
        next(length, partitions, request)
    }
}

/// `MPI_Op_free`: a later operation may get the same handle.
pub unsafe extern "C-unwind" fn op_free<A: Abi>(op: *mut A::Op) -> c_int {
    crate::record::communicators::forget_reductions();
    // SAFETY: the program's own argument and the real function's prototype.
    unsafe {
        let next: unsafe extern "C-unwind" fn(*mut A::Op) -> c_int =
            slots::next(index::MPI_OP_FREE);
        next(op)
    }
}
