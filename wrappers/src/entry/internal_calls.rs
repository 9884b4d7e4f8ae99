//! Calls that the MPI library itself makes under `MPI_` names. They are not the program's and must not
//! be counted.
//!
//! Parts of some MPI libraries are written like MPI programs. ROMIO calls `MPI_Put`, `MPI_Get` or
//! `MPI_Ialltoall`, from the library itself or from a component that is loaded when the first file is opened.
//! ROMIO also does so inside `MPI_Wait`, so the function which the program called does not show which
//! calls are ROMIO's. [`redirect`] therefore points the references of such objects at the functions behind this
//! library's entry points. It writes one word of the object's linkage table for each reference, once, and the
//! calls need no test. A component may call MPI while it is being loaded, before its references can be
//! redirected. During that time ([`Inside`]) nothing is recorded in the thread.
//!
//! Limits: objects that also hold the Fortran or C++ bindings are not changed, because the program's
//! own calls may come through them. Conversion functions of a file (MPI_Register_datarep) that
//! communicate while the file is being opened are not recorded.

use crate::entry::real_functions;
use crate::entry::visibility;
use crate::mpi::library;
use crate::record::pause;
use crate::sys::elf::{Object, Reference, for_each_object};
use crate::sys::panic_barrier::guarded;
use libc::c_void;
use std::ffi::CStr;
use std::sync::atomic::{AtomicU64, Ordering};

/// A call during which nothing is recorded in this thread. After the call, the objects that were loaded during
/// it are redirected.
#[derive(Debug)]
pub struct Inside(());

impl Inside {
    /// The call begins.
    pub fn enter() -> Inside {
        pause::begin();
        Inside(())
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        if pause::end() {
            redirect();
        }
    }
}

/// Points the MPI library's own references to MPI functions past this library. Cheap if nothing was
/// loaded since the last time.
pub fn redirect() {
    guarded(|| {
        let Some(library) = library::get() else { return Some(()) };
        if library.family == library::Family::Unknown {
            return Some(());
        }
        for object in &objects_that_call_mpi() {
            redirect_one(object);
        }
        Some(())
    });
}

/// Objects loaded since the process began, when [`objects_that_call_mpi`] last looked.
static LOADED: AtomicU64 = AtomicU64::new(0);

/// Whether an object with this file name is the ROMIO of an MPI library. Other file names prove nothing: a
/// program's own library may be called libmpi_something, and the libraries beside libmpi are bindings for other
/// languages, through which the program calls.
fn is_romio(path: &CStr) -> bool {
    let bytes = path.to_bytes();
    let name = bytes.rsplit(|&b| b == b'/').next().unwrap_or_default();
    ["mca_io_romio", "libromio"].iter().any(|prefix| name.starts_with(prefix.as_bytes()))
}

/// Mapped objects of the MPI library that refer to functions which this library also exports.
fn objects_that_call_mpi() -> Vec<Object> {
    let libmpi = library::base_of(library::symbol(c"PMPI_Init"));
    let loaded = LOADED.load(Ordering::Relaxed);
    let mut found = Vec::new();
    for_each_object(|info| {
        if loaded == info.dlpi_adds {
            return false;
        }
        // Every visit is told the same number.
        LOADED.store(info.dlpi_adds, Ordering::Relaxed);
        if info.dlpi_name.is_null() {
            return true;
        }
        // SAFETY: names are C strings; the object stays mapped during the visit.
        unsafe {
            let name = CStr::from_ptr(info.dlpi_name);
            // The program itself has no name here. If MPI is linked into the program, its references cannot be
            // told from those of the program.
            let libmpi = !name.is_empty() && libmpi == Some(info.dlpi_addr as usize);
            if (libmpi || is_romio(name))
                && let Some(object) = Object::of(info)
                && object.references().any(|r| r.name.to_bytes().starts_with(b"MPI_"))
            {
                found.push(object);
            }
        }
        true
    });
    found
}

/// Points the references of an object that lead to this library's entry points at the functions behind them.
fn redirect_one(object: &Object) {
    // SAFETY: RTLD_NOLOAD returns a handle of what is mapped already, or null; it keeps the object
    // mapped until dlclose below.
    let handle = unsafe {
        libc::dlopen(object.path().as_ptr(), libc::RTLD_NOLOAD | libc::RTLD_LAZY | libc::RTLD_LOCAL)
    };
    if handle.is_null() {
        return;
    }
    // An object of this name could have been unloaded, and loaded at another address since it was found.
    let here = library::base_of(object.symbols) == Some(object.base);
    if here && !has_bindings(object, handle) {
        // SAFETY: mapped because of the handle; the function is what the name promises, without
        // this library.
        unsafe {
            let like_mpi = |r: &Reference| r.linkage && r.name.to_bytes().starts_with(b"MPI");
            let references: Vec<Reference> = object.references().filter(like_mpi).collect();
            let names: Vec<&CStr> = references.iter().map(|r| r.name).collect();
            let entries = visibility::c_entries(&names);
            // Another tool before this library may take some of these references. They stay as they are, because
            // that tool does not pass the calls on under the same name.
            let before = visibility::taken_before(&names);
            for ((reference, entry), taken) in references.iter().zip(entries).zip(before) {
                if let (Some(entry), false) = (entry, taken)
                    && let Some(function) = real_functions::real(entry)
                {
                    reference.write(function as usize);
                }
            }
        }
    }
    // SAFETY: the handle from above.
    unsafe { libc::dlclose(handle) };
}

/// Whether the object contains Fortran or C++ bindings, through which the program calls.
fn has_bindings(object: &Object, handle: *mut c_void) -> bool {
    [c"mpi_send_", c"mpi_send", c"MPI_SEND", c"_ZN3MPI4InitEv"].iter().any(|name| {
        // SAFETY: an open handle and a C string.
        let address = unsafe { libc::dlsym(handle, name.as_ptr()) } as usize;
        address != 0 && library::base_of(address) == Some(object.base)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_romio_is_known_by_its_name() {
        for (path, romio) in [
            (c"/usr/lib/openmpi3/mca_io_romio321.so", true),
            (c"/usr/lib/libmpichcxx.so.12", false),
            (c"/usr/lib/libmpi_java.so.40", false),
            (c"/home/me/libmpi_helper.so", false),
            (c"/opt/mca_io_romio/libhdf5.so", false),
            (c"", false),
        ] {
            assert_eq!(is_romio(path), romio, "{path:?}");
        }
    }
}
