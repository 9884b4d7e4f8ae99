//! The functions of `include/rankweave.h`, for programs that are written for rankweave. The exported symbols
//! are in the folder `entry`.

pub mod measured;
pub mod reorder;
pub mod roles;

use crate::mpi::abi::{Abi, Handle};
use libc::c_int;

/// The call succeeded.
pub const OK: c_int = 0;
/// MPI is not initialised yet, or it is finalised already, or nothing is recorded.
pub const NOT_NOW: c_int = 1;
/// A null pointer, MPI_COMM_NULL, or communicators that do not belong together.
pub const BAD_ARGUMENT: c_int = 2;
/// The MPI library reported an error.
pub const MPI_FAILED: c_int = 3;

/// True for a handle that cannot be a communicator.
fn is_no_communicator<A: Abi>(comm: A::Comm) -> bool {
    comm.bits() == 0 || comm == A::comm_null()
}
