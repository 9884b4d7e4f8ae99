//! The MPI functions that the library itself calls: always the PMPI names, looked up at first use.
//!
//! Each function here is generic over the ABI and returns the MPI error code. Those that an MPI may
//! lack return `ERR_OTHER` then.

use crate::mpi::abi::Abi;
use crate::mpi::library;
use libc::{c_char, c_int, c_void};
use std::marker::PhantomData;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The PMPI functions of one ABI.
#[derive(Debug, Clone, Copy)]
pub struct Pmpi<A: Abi>(PhantomData<A>);

/// The PMPI functions of ABI `A`.
pub fn pmpi<A: Abi>() -> Pmpi<A> {
    Pmpi(PhantomData)
}

macro_rules! functions {
    ($($(#[$doc:meta])* $name:ident = $symbol:literal ($($arg:ident: $type:ty),* $(,)?);)*) => {
        // The parameters are those of the MPI functions.
        #[allow(clippy::too_many_arguments)]
        impl<A: Abi> Pmpi<A> {
            $(
                $(#[$doc])*
                ///
                /// # Safety
                /// The arguments must be what the MPI standard asks for at this point of the program.
                pub unsafe fn $name(self, $($arg: $type),*) -> c_int {
                    static ADDRESS: AtomicUsize = AtomicUsize::new(0);
                    let mut address = ADDRESS.load(Ordering::Relaxed);
                    if address == 0 {
                        address = library::symbol($symbol);
                        if address == 0 {
                            return A::ERR_OTHER;
                        }
                        ADDRESS.store(address, Ordering::Relaxed);
                    }
                    // SAFETY: the symbol has this C prototype in every MPI; handles have the width
                    // of this ABI.
                    unsafe {
                        let function: unsafe extern "C" fn($($type),*) -> c_int =
                            std::mem::transmute(address);
                        function($($arg),*)
                    }
                }
            )*
        }
    };
}

functions! {
    /// MPI_Get_library_version.
    get_library_version = c"PMPI_Get_library_version"(text: *mut c_char, length: *mut c_int);
    /// MPI_Initialized.
    initialized = c"PMPI_Initialized"(flag: *mut c_int);
    /// MPI_Finalized.
    finalized = c"PMPI_Finalized"(flag: *mut c_int);
    /// MPI_Group_from_session_pset; a session handle is an int or a pointer, both in one register.
    group_from_session_pset = c"PMPI_Group_from_session_pset"(session: A::Session, name: *const c_char, group: *mut A::Group);
    /// MPI_Group_rank.
    group_rank = c"PMPI_Group_rank"(group: A::Group, rank: *mut c_int);
    /// MPI_Comm_rank.
    comm_rank = c"PMPI_Comm_rank"(comm: A::Comm, rank: *mut c_int);
    /// MPI_Comm_size.
    comm_size = c"PMPI_Comm_size"(comm: A::Comm, size: *mut c_int);
    /// MPI_Comm_remote_size.
    comm_remote_size = c"PMPI_Comm_remote_size"(comm: A::Comm, size: *mut c_int);
    /// MPI_Comm_test_inter.
    comm_test_inter = c"PMPI_Comm_test_inter"(comm: A::Comm, flag: *mut c_int);
    /// MPI_Comm_idup.
    comm_idup = c"PMPI_Comm_idup"(
        comm: A::Comm, copy: *mut A::Comm, request: *mut A::Request);
    /// MPI_Comm_get_parent.
    comm_get_parent = c"PMPI_Comm_get_parent"(parent: *mut A::Comm);
    /// MPI_Comm_free.
    comm_free = c"PMPI_Comm_free"(comm: *mut A::Comm);
    /// MPI_Comm_split.
    comm_split = c"PMPI_Comm_split"(comm: A::Comm, color: c_int, key: c_int, new: *mut A::Comm);
    /// MPI_Comm_create.
    comm_create = c"PMPI_Comm_create"(comm: A::Comm, group: A::Group, new: *mut A::Comm);
    /// MPI_Comm_group.
    comm_group = c"PMPI_Comm_group"(comm: A::Comm, group: *mut A::Group);
    /// MPI_Comm_remote_group.
    comm_remote_group = c"PMPI_Comm_remote_group"(comm: A::Comm, group: *mut A::Group);
    /// MPI_Group_free.
    group_free = c"PMPI_Group_free"(group: *mut A::Group);
    /// MPI_Group_size.
    group_size = c"PMPI_Group_size"(group: A::Group, size: *mut c_int);
    /// MPI_Group_incl.
    group_incl = c"PMPI_Group_incl"(
        group: A::Group, count: c_int, ranks: *const c_int, new: *mut A::Group);
    /// MPI_Group_translate_ranks.
    group_translate_ranks = c"PMPI_Group_translate_ranks"(
        from: A::Group, count: c_int, ranks: *const c_int, to: A::Group, out: *mut c_int);
    /// MPI_Comm_set_errhandler.
    comm_set_errhandler = c"PMPI_Comm_set_errhandler"(comm: A::Comm, handler: A::Errhandler);
    /// MPI_Comm_set_name.
    comm_set_name = c"PMPI_Comm_set_name"(comm: A::Comm, name: *const c_char);
    /// MPI_Comm_create_keyval.
    comm_create_keyval = c"PMPI_Comm_create_keyval"(
        copy: usize, delete: usize, keyval: *mut c_int, extra: *mut c_void);
    /// MPI_Comm_set_attr.
    comm_set_attr = c"PMPI_Comm_set_attr"(comm: A::Comm, keyval: c_int, value: *mut c_void);
    /// MPI_Type_size.
    type_size = c"PMPI_Type_size"(datatype: A::Datatype, size: *mut c_int);
    /// MPI_Type_size_x.
    type_size_x = c"PMPI_Type_size_x"(datatype: A::Datatype, size: *mut i64);
    /// MPI_Type_get_envelope.
    type_get_envelope = c"PMPI_Type_get_envelope"(
        datatype: A::Datatype, integers: *mut c_int, addresses: *mut c_int, types: *mut c_int,
        combiner: *mut c_int);
    /// MPI_Type_create_keyval.
    type_create_keyval = c"PMPI_Type_create_keyval"(
        copy: usize, delete: usize, keyval: *mut c_int, extra: *mut c_void);
    /// MPI_Type_set_attr.
    type_set_attr = c"PMPI_Type_set_attr"(
        datatype: A::Datatype, keyval: c_int, value: *mut c_void);
    /// MPI_Win_get_group.
    win_get_group = c"PMPI_Win_get_group"(win: A::Win, group: *mut A::Group);
    /// MPI_Win_create_keyval.
    win_create_keyval = c"PMPI_Win_create_keyval"(
        copy: usize, delete: usize, keyval: *mut c_int, extra: *mut c_void);
    /// MPI_Win_set_attr.
    win_set_attr = c"PMPI_Win_set_attr"(win: A::Win, keyval: c_int, value: *mut c_void);
    /// MPI_Op_commutative.
    op_commutative = c"PMPI_Op_commutative"(op: A::Op, flag: *mut c_int);
    /// MPI_Iallreduce.
    iallreduce = c"PMPI_Iallreduce"(
        send: *const c_void, receive: *mut c_void, count: c_int, datatype: A::Datatype, op: A::Op,
        comm: A::Comm, request: *mut A::Request);
    /// MPI_Comm_get_errhandler.
    comm_get_errhandler = c"PMPI_Comm_get_errhandler"(
        comm: A::Comm, handler: *mut A::Errhandler);
    /// MPI_Errhandler_free.
    errhandler_free = c"PMPI_Errhandler_free"(handler: *mut A::Errhandler);
    /// MPI_Test; the status is not needed.
    test = c"PMPI_Test"(request: *mut A::Request, flag: *mut c_int, status: *mut c_void);
    /// MPI_Ibcast.
    ibcast = c"PMPI_Ibcast"(
        buffer: *mut c_void, count: c_int, datatype: A::Datatype, root: c_int, comm: A::Comm,
        request: *mut A::Request,
    );
    /// MPI_Igather.
    igather = c"PMPI_Igather"(
        sent: *const c_void, count: c_int, datatype: A::Datatype,
        received: *mut c_void, each: c_int, each_type: A::Datatype, root: c_int, comm: A::Comm,
        request: *mut A::Request,
    );
    /// MPI_Isend.
    isend = c"PMPI_Isend"(
        buffer: *const c_void, count: c_int, datatype: A::Datatype, to: c_int, tag: c_int,
        comm: A::Comm, request: *mut A::Request,
    );
    /// MPI_Irecv.
    irecv = c"PMPI_Irecv"(
        buffer: *mut c_void, count: c_int, datatype: A::Datatype, from: c_int, tag: c_int,
        comm: A::Comm, request: *mut A::Request,
    );
    /// MPI_Ialltoall.
    ialltoall = c"PMPI_Ialltoall"(
        sent: *const c_void, count: c_int, datatype: A::Datatype, received: *mut c_void,
        each: c_int, each_type: A::Datatype, comm: A::Comm, request: *mut A::Request);
    /// MPI_Dist_graph_create_adjacent.
    dist_graph_create_adjacent = c"PMPI_Dist_graph_create_adjacent"(
        comm: A::Comm, indegree: c_int, sources: *const c_int, source_weights: *const c_int,
        outdegree: c_int, destinations: *const c_int, weights: *const c_int, info: A::Info,
        reorder: c_int, new: *mut A::Comm);
    /// MPI_Topo_test.
    topo_test = c"PMPI_Topo_test"(comm: A::Comm, kind: *mut c_int);
    /// MPI_Cartdim_get.
    cartdim_get = c"PMPI_Cartdim_get"(comm: A::Comm, dims: *mut c_int);
    /// MPI_Cart_shift.
    cart_shift = c"PMPI_Cart_shift"(
        comm: A::Comm, direction: c_int, by: c_int, source: *mut c_int, dest: *mut c_int);
    /// MPI_Graph_neighbors_count.
    graph_neighbors_count = c"PMPI_Graph_neighbors_count"(
        comm: A::Comm, rank: c_int, count: *mut c_int);
    /// MPI_Graph_neighbors.
    graph_neighbors = c"PMPI_Graph_neighbors"(
        comm: A::Comm, rank: c_int, most: c_int, neighbours: *mut c_int);
    /// MPI_Dist_graph_neighbors_count.
    dist_graph_neighbors_count = c"PMPI_Dist_graph_neighbors_count"(
        comm: A::Comm, sources: *mut c_int, destinations: *mut c_int, weighted: *mut c_int);
    /// MPI_Dist_graph_neighbors.
    dist_graph_neighbors = c"PMPI_Dist_graph_neighbors"(
        comm: A::Comm, most_in: c_int, sources: *mut c_int, source_weights: *mut c_int,
        most_out: c_int, destinations: *mut c_int, destination_weights: *mut c_int);
}
