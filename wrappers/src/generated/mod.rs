//! Generated code: the wrappers, and the number of each entry point by name.

pub mod wrappers;

/// Numbers of the entry points that hand-written code refers to.
pub mod index {
    use crate::slots::NAMES;

    macro_rules! numbers {
        ($($constant:ident = $name:literal;)*) => {
            $(#[doc = $name] pub const $constant: usize = number($name);)*
        };
    }

    // Evaluated by the compiler only: a wrong name does not build.
    #[allow(clippy::panic)]
    const fn number(name: &str) -> usize {
        let wanted = name.as_bytes();
        let mut i = 0;
        while i < NAMES.len() {
            if same(NAMES[i][0].to_bytes(), wanted) {
                return i;
            }
            i += 1;
        }
        panic!("no entry point of this name in calls.tbl")
    }

    /// Compares `P` + wanted with a real function's name.
    const fn same(real: &[u8], wanted: &[u8]) -> bool {
        if real.len() != wanted.len() + 1 {
            return false;
        }
        let mut i = 0;
        while i < wanted.len() {
            if real[i + 1] != wanted[i] {
                return false;
            }
            i += 1;
        }
        true
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
        MPI_START = "MPI_Start";
        MPI_STARTALL = "MPI_Startall";
        MPI_REQUEST_FREE = "MPI_Request_free";
        MPI_PSEND_INIT = "MPI_Psend_init";
        MPI_PREADY = "MPI_Pready";
        MPI_PREADY_RANGE = "MPI_Pready_range";
        MPI_PREADY_LIST = "MPI_Pready_list";
    }
}
