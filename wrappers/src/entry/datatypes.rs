//! Datatypes.

use crate::entry::next;
use crate::mpi::abi::{Abi, Handle};
use libc::c_int;

/// `MPI_Type_free`: the next datatype with this handle is another one, so the questions for its size are counted
/// from the beginning. That its size is forgotten does not depend on this call, because another library may call
/// PMPI_Type_free.
pub unsafe extern "C-unwind" fn type_free<A: Abi>(datatype: *mut A::Datatype) -> c_int {
    // SAFETY: the program's own argument, null or a handle; the next function has the same prototype.
    unsafe {
        if let Some(datatype) = datatype.as_ref() {
            crate::record::datatypes::forget_questions(datatype.bits());
        }
        next::mpi_type_free::<A>(datatype)
    }
}
