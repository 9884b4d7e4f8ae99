//! Generated code: the wrappers, and the number of each entry point by name.

/// What each entry point does.
pub mod wrappers {
    include!(concat!(env!("OUT_DIR"), "/wrappers.rs"));
}

/// Numbers of the entry points that hand-written code refers to.
pub mod index {
    use crate::entry::slots::number;

    macro_rules! numbers {
        ($($constant:ident = $name:literal;)*) => {
            $(#[doc = $name] pub const $constant: usize = number($name, "", 0);)*
        };
    }

    numbers! {
        MPI_INIT = "MPI_Init";
        MPI_INIT_THREAD = "MPI_Init_thread";
        MPI_COMM_GET_ATTR = "MPI_Comm_get_attr";
        MPI_ATTR_GET = "MPI_Attr_get";
        MPI_COMM_SET_ERRHANDLER = "MPI_Comm_set_errhandler";
        MPI_ERRHANDLER_SET = "MPI_Errhandler_set";
        MPI_COMM_CREATE_ERRHANDLER = "MPI_Comm_create_errhandler";
        MPI_ERRHANDLER_CREATE = "MPI_Errhandler_create";
        MPI_COMM_CREATE_KEYVAL = "MPI_Comm_create_keyval";
        MPI_KEYVAL_CREATE = "MPI_Keyval_create";
        MPI_GROUP_FROM_SESSION_PSET = "MPI_Group_from_session_pset";
        MPI_FINALIZE = "MPI_Finalize";
        MPI_SESSION_INIT = "MPI_Session_init";
        MPI_SESSION_FINALIZE = "MPI_Session_finalize";
        MPI_COMM_CREATE_FROM_GROUP = "MPI_Comm_create_from_group";
        MPI_COMM_FREE = "MPI_Comm_free";
        MPI_COMM_DISCONNECT = "MPI_Comm_disconnect";
        MPI_START = "MPI_Start";
        MPI_STARTALL = "MPI_Startall";
        MPI_REQUEST_FREE = "MPI_Request_free";
        MPI_OP_FREE = "MPI_Op_free";
        MPI_PSEND_INIT = "MPI_Psend_init";
        MPI_PREADY = "MPI_Pready";
        MPI_PREADY_RANGE = "MPI_Pready_range";
        MPI_PREADY_LIST = "MPI_Pready_list";
        MPI_CART_MAP = "MPI_Cart_map";
        MPI_GRAPH_MAP = "MPI_Graph_map";
        MPI_CART_CREATE = "MPI_Cart_create";
        MPI_GRAPH_CREATE = "MPI_Graph_create";
        MPI_DIST_GRAPH_CREATE = "MPI_Dist_graph_create";
        MPI_DIST_GRAPH_CREATE_ADJACENT = "MPI_Dist_graph_create_adjacent";
        MPI_T_CVAR_HANDLE_ALLOC = "MPI_T_cvar_handle_alloc";
        MPI_T_PVAR_HANDLE_ALLOC = "MPI_T_pvar_handle_alloc";
        MPI_T_EVENT_HANDLE_ALLOC = "MPI_T_event_handle_alloc";
    }
}
