//! Finds the function behind an entry point: in the MPI library of this process, or the one of another tool
//! that comes after this library.

use crate::entry::names::real_name;
use crate::entry::next::{C_COUNT, COUNT, NEXT, fortran, fortran_large};
use crate::mpi::config::chain;
use crate::mpi::library;
use crate::sys::elf::defined;
use std::ffi::{CStr, CString};
use std::sync::atomic::Ordering;

/// Name of the real function behind an entry point in the MPI library of this process.
pub fn real_name_of(index: usize) -> &'static CStr {
    let mpich = library::get().is_some_and(|l| l.family == library::Family::Mpich);
    real_name(index, mpich)
}

/// One of the names that [`older_name`] replaces. A library with this name has no older names.
const OLDER: &CStr = c"pmpir_send_f08ts_large_";

/// The other name that a real function may have.
fn older_name(index: usize) -> Option<CString> {
    if index < fortran_large(0, 0)
        || library::get().is_none_or(|l| l.family != library::Family::Mpich)
    {
        return None;
    }
    // MPICH 4 has `pmpir_send_f08ts_large_` where later ones have `pmpir_send_c_f08ts_`.
    let (base, rest) = real_name_of(index).to_str().ok()?.split_once("_c_f08")?;
    CString::new(format!("{base}_f08{rest}large_")).ok()
}

/// Address of the real function of an entry point in the MPI library; 0 if it has none.
pub fn real_address(index: usize) -> usize {
    match library::symbol(real_name_of(index)) {
        0 => older_name(index).map_or(0, |name| library::symbol(&name)),
        address => address,
    }
}

/// For each entry point, by its number, whether some mapped object has its real function. This is faster than
/// [`real_address`] for all of them.
pub fn all_real() -> Vec<bool> {
    let mpich = library::get().is_some_and(|l| l.family == library::Family::Mpich);
    let names: Vec<&CStr> = (0..COUNT).map(|index| real_name(index, mpich)).collect();
    let mut real = defined(&names, None);
    if !mpich || !defined(&[OLDER], None).contains(&true) {
        return real;
    }
    let older: Vec<_> = (0..COUNT).filter_map(|index| Some((index, older_name(index)?))).collect();
    let names: Vec<&CStr> = older.iter().map(|(_, name)| name.as_c_str()).collect();
    for ((index, _), found) in older.iter().zip(defined(&names, None)) {
        real[*index] |= found;
    }
    real
}

/// The function behind an entry point, looked up once; `None` if the MPI library has none.
pub fn real(index: usize) -> Option<*const ()> {
    let known = NEXT[index].load(Ordering::Acquire);
    if !known.is_null() {
        return Some(known);
    }
    let name = real_name_of(index);
    let mut address = 0;
    let real = real_address(index);
    if index < C_COUNT && chain() != Some(false) {
        // The name without its P is the wrapper of the next tool, or the MPI library's own MPI_X.
        let plain = CString::new(&name.to_bytes()[1..]).ok()?;
        let next = library::next_symbol(&plain);
        // An MPI_X in an object other than that of the PMPI_X belongs to another tool, which must get the call.
        if chain() == Some(true) || real != 0 && !library::same_object(next, real) {
            address = next;
        }
    }
    if address == 0 {
        address = real;
    }
    if address == 0 {
        return None;
    }
    NEXT[index].store(address as *mut (), Ordering::Release);
    Some(address as *const ())
}

/// The next definition of an entry point's own name after this library.
pub fn further(index: usize) -> Option<*const ()> {
    // Without their P the real names read `MPI_X`, `mpi_x_` and `mpi_x_f08_`.
    let name = real_name(index, false).to_str().ok()?.get(1..)?;
    let bare = name.strip_suffix('_').filter(|_| (C_COUNT..fortran(1, 0)).contains(&index));
    let mut names = vec![name.to_string()];
    if let Some(bare) = bare {
        names.extend([bare.to_string(), format!("{bare}__"), bare.to_ascii_uppercase()]);
    }
    names.into_iter().find_map(|name| {
        let address = library::next_symbol(&CString::new(name).ok()?);
        (address != 0).then_some(address as *const ())
    })
}
