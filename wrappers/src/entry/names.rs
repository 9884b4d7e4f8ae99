//! The names of the real functions behind the entry points.

use crate::entry::next::{C_COUNT, COUNT, FORTRAN_COUNT, fortran_large};
use std::ffi::CStr;

include!(concat!(env!("OUT_DIR"), "/names.rs"));

/// Where each name starts in [`NAMES`].
static OFFSETS: [u32; 2 * COUNT + 1] = offsets();

const fn offsets() -> [u32; 2 * COUNT + 1] {
    let bytes = NAMES.as_bytes();
    let mut offsets = [0; 2 * COUNT + 1];
    let (mut i, mut name) = (0, 1);
    while i < bytes.len() {
        if bytes[i] == 0 {
            offsets[name] = i as u32 + 1;
            name += 1;
        }
        i += 1;
    }
    offsets
}

/// Name of the real function behind an entry point.
pub fn real_name(index: usize, mpich: bool) -> &'static CStr {
    let name = 2 * index + usize::from(mpich);
    let range = OFFSETS[name] as usize..OFFSETS[name + 1] as usize;
    NAMES
        .as_bytes()
        .get(range)
        .and_then(|bytes| CStr::from_bytes_with_nul(bytes).ok())
        .unwrap_or_default()
}

/// True if MPI-3.1 has the function of an entry point.
pub fn in_mpi_3_1(index: usize) -> bool {
    if index < C_COUNT {
        return NEWER.binary_search(&(index as u16)).is_err();
    }
    if index >= fortran_large(0, 0) {
        return false;
    }
    let number = (index - C_COUNT) % FORTRAN_COUNT;
    NEWER_IN_FORTRAN.binary_search(&(number as u16)).is_err()
}

/// Number of the entry point whose real function is `P` + `wanted` + `suffix`, from `first` on.
// Evaluated by the compiler only: a wrong name does not build.
#[allow(clippy::panic)]
pub const fn number(wanted: &str, suffix: &str, first: usize) -> usize {
    let (names, wanted, suffix) = (NAMES.as_bytes(), wanted.as_bytes(), suffix.as_bytes());
    let offsets = offsets();
    let mut index = first;
    while index < COUNT {
        let start = offsets[2 * index] as usize + 1;
        let length = offsets[2 * index + 1] as usize - start - 1;
        if length == wanted.len() + suffix.len() {
            let mut i = 0;
            while i < length {
                let letter = if i < wanted.len() { wanted[i] } else { suffix[i - wanted.len()] };
                if names[start + i] != letter {
                    break;
                }
                i += 1;
            }
            if i == length {
                return index;
            }
        }
        index += 1;
    }
    panic!("no entry point of this name in calls.tbl")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::next::fortran;

    /// Number within its Fortran block of the call whose mpif.h name is `name`.
    fn fortran_number(name: &str) -> usize {
        number(name, "_", C_COUNT) - C_COUNT
    }

    #[test]
    fn real_names_follow_the_bindings() {
        assert_eq!(real_name(number("MPI_Send", "", 0), false), c"PMPI_Send");
        let send = fortran_number("mpi_send");
        assert_eq!(real_name(fortran(0, send), true), c"pmpi_send_");
        assert_eq!(real_name(fortran(1, send), false), c"pmpi_send_f08_");
        assert_eq!(real_name(fortran(1, send), true), c"pmpir_send_f08_");
        assert_eq!(real_name(fortran(2, send), true), c"pmpir_send_f08ts_");
    }

    #[test]
    fn functions_after_mpi_3_1_are_known() {
        assert!(in_mpi_3_1(number("MPI_Send", "", 0)));
        assert!(!in_mpi_3_1(number("MPI_Send_c", "", 0)));
        assert!(!in_mpi_3_1(number("MPI_Psend_init", "", 0)));
        assert!(!in_mpi_3_1(fortran(0, fortran_number("mpi_psend_init"))));
    }
}
