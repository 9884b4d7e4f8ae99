//! The version of the MPI library, in its own words.

use crate::mpi::abi::Abi;
use crate::mpi::pmpi::pmpi;
use libc::c_char;

/// First line of the MPI library's own description. MPI is initialised.
pub fn version<A: Abi>() -> String {
    let mut text = vec![0u8; 16384];
    let mut length = 0;
    // SAFETY: larger than MPI_MAX_LIBRARY_VERSION_STRING of every ABI (8192 is the largest).
    let code = unsafe {
        pmpi::<A>().get_library_version(text.as_mut_ptr().cast::<c_char>(), &raw mut length)
    };
    let end = usize::try_from(length).unwrap_or(0).min(text.len());
    let text = String::from_utf8_lossy(&text[..if code == 0 { end } else { 0 }]).into_owned();
    let line = text.lines().next().unwrap_or_default().trim_end_matches('\0');
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}
