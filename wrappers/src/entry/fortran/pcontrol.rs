//! `MPI_PCONTROL`: from Fortran there is the level only.

use crate::entry::next::{self, Argument};
use crate::entry::pcontrol::from_fortran;
use crate::mpi::abi::Abi;

/// `MPI_Pcontrol`. The standard has no error code here, but MPICH writes one where its second argument
/// points to: whatever the program has there goes on to it.
pub unsafe extern "C-unwind" fn pcontrol<A: Abi, const B: usize>(
    level: Argument,
    second: Argument,
) {
    // SAFETY: the program's own arguments; a second one that the real function does not have is a
    // register that it does not look at.
    unsafe {
        if !from_fortran(level) {
            next::in_fortran::mpi_pcontrol::<B>(level, second);
        }
    }
}
