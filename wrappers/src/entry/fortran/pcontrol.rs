//! `MPI_PCONTROL`: Fortran passes the level only.

use crate::entry::next::{self, Argument};
use crate::entry::pcontrol::from_fortran;
use crate::mpi::abi::Abi;

/// `MPI_Pcontrol`. In the standard it has no error code, but MPICH writes one to the address in its second argument.
/// So the second register is passed on as the program left it.
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
