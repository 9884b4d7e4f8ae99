//! Objects of the process that call MPI functions under their profiling names (`PMPI_X`). These names do not lead to this
//! library.
//!
//! - The program itself: a profiling layer is linked into it, or it calls such functions on its own. This library does not
//!   see these calls.
//! - A library that the program uses. In a launch with another rank order, its calls on MPI_COMM_WORLD would see the
//!   launcher's ranks, and the other calls of the program the new ones.
//!
//! PMPI tools use these names, too. A tool is told apart by the functions `MPI_X` that it defines. It numbers the processes
//! for itself, so it may see the launcher's ranks.
//!
//! Limits: what is loaded after MPI_Init is not seen, and neither are functions that were looked up by dlsym.

use crate::entry::timed;
use crate::sys::elf::{Object, for_each_object, with_any};
use std::ffi::CStr;

/// The beginnings of the file names of MPI libraries and their parts, which use these names for themselves.
const OF_MPI: [&[u8]; 7] =
    [b"libmpi", b"libpmpi", b"libopen-", b"liboshmem", b"libompi", b"libmca_", b"mca_"];

/// True if the executable itself refers to a `PMPI_X` that this library wraps as `MPI_X`.
pub fn program_profiles() -> bool {
    let mut found = false;
    for_each_object(|info| {
        // SAFETY: a mapped object, which stays so during the visit.
        found = unsafe { Object::of(info).is_some_and(|program| profiles(&program)) };
        // The first object is the program.
        false
    });
    found
}

/// The file of a library that refers to a `PMPI_X` that this library wraps as `MPI_X`, and that neither is a tool nor
/// belongs to an MPI library. `functions` are the functions of C that tools may define; this library defines them, too.
pub fn direct_caller(functions: &[&CStr]) -> Option<String> {
    let definers = with_any(functions, |_| true);
    let mut found = None;
    for_each_object(|info| {
        if definers.contains(&(info.dlpi_phdr as usize)) {
            return true;
        }
        // SAFETY: a mapped object, which stays so during the visit.
        unsafe {
            let Some(object) = Object::of(info) else { return true };
            let path = object.path();
            // The program has no name here.
            if !path.is_empty() && !is_of_mpi(path.to_bytes()) && profiles(&object) {
                found = Some(path.to_string_lossy().into_owned());
            }
        }
        found.is_none()
    });
    found
}

/// Whether a file belongs to an MPI library.
fn is_of_mpi(path: &[u8]) -> bool {
    let name = path.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
    OF_MPI.iter().any(|start| name.starts_with(start))
}

/// Whether an object refers to a profiling name.
///
/// # Safety
/// The object stays mapped during the call.
unsafe fn profiles(object: &Object) -> bool {
    // SAFETY: as the caller promises.
    unsafe { object.references() }.any(|r| !r.defined && is_wrapped(r.name.to_bytes()))
}

/// Whether this is a profiling name, in C or Fortran, of a function that this library wraps.
fn is_wrapped(name: &[u8]) -> bool {
    if !name.get(..5).is_some_and(|start| start.eq_ignore_ascii_case(b"pmpi_")) {
        return false;
    }
    let bare = name.strip_suffix(b"__").or_else(|| name.strip_suffix(b"_")).unwrap_or(name);
    let bare = bare.strip_suffix(b"_f08ts").or_else(|| bare.strip_suffix(b"_f08")).unwrap_or(bare);
    timed::wraps(bare)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profiling_names_of_all_languages() {
        for name in [
            "PMPI_Send",
            "PMPI_Comm_rank",
            "pmpi_comm_rank_",
            "pmpi_comm_rank__",
            "pmpi_comm_rank",
            "PMPI_COMM_RANK",
            "pmpi_comm_rank_f08_",
            "pmpi_send_f08ts_",
        ] {
            assert!(is_wrapped(name.as_bytes()), "{name}");
        }
        for name in [
            "MPI_Send",
            "mpi_send_",
            "PMPI_Wtime",
            "pmpi_wtime_",
            "PMPI_",
            "pmpi",
            "",
            "PMPI_Sendx",
        ] {
            assert!(!is_wrapped(name.as_bytes()), "{name}");
        }
    }

    #[test]
    fn parts_of_mpi_libraries_are_known_by_their_names() {
        for path in
            ["/usr/lib/libmpi_mpifh.so.40", "libmpichcxx.so.12", "/opt/openmpi/mca_io_romio321.so"]
        {
            assert!(is_of_mpi(path.as_bytes()), "{path}");
        }
        assert!(!is_of_mpi(b"/opt/libmpi/libsolver.so") && !is_of_mpi(b""));
    }

    #[test]
    fn nothing_here_calls_mpi() {
        assert!(!program_profiles());
        assert_eq!(direct_caller(&[c"MPI_Send"]), None);
    }
}
