//! What the functions of `include/rankweave.h` do, for programs that know of rankweave. The functions
//! themselves are entry points in the layer above.

pub mod measured;
pub mod reorder;
pub mod roles;

use crate::mpi::abi::{Abi, Handle};
use libc::c_int;

/// Done.
pub const OK: c_int = 0;
/// Before MPI is initialised, after it is finalised, or nothing is recorded.
pub const NOT_NOW: c_int = 1;
/// A null pointer, MPI_COMM_NULL, or communicators that do not belong together.
pub const BAD_ARGUMENT: c_int = 2;
/// The MPI library reported an error.
pub const MPI_FAILED: c_int = 3;

/// True for a handle that cannot be a communicator.
fn is_no_communicator<A: Abi>(comm: A::Comm) -> bool {
    comm.bits() == 0 || comm == A::comm_null()
}
