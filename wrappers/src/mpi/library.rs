//! Finds the MPI library that is already in the process, and the symbols in it.
//!
//! Nothing is linked: `librankweave.so` has no DT_NEEDED on any MPI and does nothing until the first
//! MPI call. libmpi may have been loaded RTLD_LOCAL (mpi4py, MPI.jl), where dlsym's default scope
//! does not see it; then the mapped object that defines PMPI_Init is searched and asked directly.
//!
//! Data symbols (Open MPI's predefined handles) are looked up in the default scope first: an
//! executable may hold the only valid copy of them (copy relocation).

use libc::{c_char, c_int, c_void};
pub use rw::options::Family;
use std::ffi::CStr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The MPI library of this process.
#[derive(Debug)]
pub struct Library {
    pub family: Family,
    /// File of the object that defines PMPI_Init.
    pub path: String,
    /// Addresses of that object.
    range: std::ops::Range<usize>,
    /// dlopen handle of that object; 0 where the default scope has everything.
    handle: usize,
}

static LIBRARY: OnceLock<Library> = OnceLock::new();
static OPEN_MPI_WORLD: AtomicUsize = AtomicUsize::new(0);

/// The MPI library, if one is loaded by now.
pub fn get() -> Option<&'static Library> {
    if let Some(library) = LIBRARY.get() {
        return Some(library);
    }
    let found = find()?;
    if found.family == Family::OpenMpi {
        OPEN_MPI_WORLD.store(lookup(&found, c"ompi_mpi_comm_world"), Ordering::Relaxed);
    }
    Some(LIBRARY.get_or_init(|| found))
}

/// True if an MPI library is mapped by now.
pub fn is_loaded() -> bool {
    get().is_some()
}

/// Address of Open MPI's MPI_COMM_WORLD; 0 before the library is found.
#[inline(always)]
pub fn open_mpi_world() -> usize {
    OPEN_MPI_WORLD.load(Ordering::Relaxed)
}

/// Address of a symbol of the MPI library, 0 if it has none of this name.
pub fn symbol(name: &CStr) -> usize {
    get().map_or(0, |library| lookup(library, name))
}

/// Address of the next definition of `name` after this library in the search order: another tool's
/// wrapper, where one is stacked below. 0 if there is none, also if the MPI library's own name leads here
/// (`entry::library_symbols`).
pub fn next_symbol(name: &CStr) -> usize {
    // SAFETY: the name is a C string; dlsym has no other requirement.
    let next = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) as usize };
    if next != 0 && base_of(next) == base_of(here()) { 0 } else { next }
}

/// An address in this library.
fn here() -> usize {
    here as *const () as usize
}

/// Keeps this library mapped: addresses of its functions are in a table of another one.
pub fn pin_here() {
    pin(&file_of(here() as *mut c_void));
}

fn lookup(library: &Library, name: &CStr) -> usize {
    // SAFETY: the name is a C string, the handle came from dlopen and is never closed.
    unsafe {
        let global = libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) as usize;
        if global != 0 || library.handle == 0 {
            return global;
        }
        libc::dlsym(library.handle as *mut c_void, name.as_ptr()) as usize
    }
}

fn find() -> Option<Library> {
    // SAFETY: dlsym with C strings.
    let global = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"PMPI_Init".as_ptr()) };
    let (path, handle) = if global.is_null() { search_objects()? } else { (file_of(global), 0) };
    pin(&path);
    let mut library = Library { family: Family::Unknown, path, range: 0..0, handle };
    library.range = crate::sys::elf::range_around(lookup(&library, c"PMPI_Init"));
    let family = if library.path.contains("libmpi_abi") || library.path.contains("libpmpi_abi") {
        Family::Standard
    } else if lookup(&library, c"ompi_mpi_comm_world") != 0 {
        Family::OpenMpi
    } else if lookup(&library, c"MPIR_F08_MPI_STATUS_IGNORE_OBJ") != 0 || is_mpich(&library) {
        Family::Mpich
    } else {
        Family::Unknown
    };
    Some(Library { family, ..library })
}

/// Keeps the MPI library mapped: addresses in it are remembered.
fn pin(path: &str) {
    if let Ok(path) = std::ffi::CString::new(path) {
        let flags = libc::RTLD_NOLOAD | libc::RTLD_NODELETE | libc::RTLD_LAZY;
        // SAFETY: a C string; only raises the reference count of what is mapped already.
        unsafe { libc::dlopen(path.as_ptr(), flags) };
    }
}

/// Asks an MPI library without Fortran 2008 symbols whether it is of the MPICH family.
fn is_mpich(library: &Library) -> bool {
    let address = lookup(library, c"PMPI_Get_library_version");
    if address == 0 {
        return false;
    }
    let mut text = vec![0u8; 16384];
    let mut length: c_int = 0;
    // SAFETY: this function takes a buffer of at most 8192 characters and a length in every MPI, and
    // may be called before MPI_Init.
    unsafe {
        let version: unsafe extern "C" fn(*mut c_char, *mut c_int) -> c_int =
            std::mem::transmute(address);
        version(text.as_mut_ptr().cast(), &raw mut length);
    }
    let text = String::from_utf8_lossy(&text).to_ascii_uppercase();
    // Layers over another MPI may report its name, but have handles of their own.
    if ["MPITRAMPOLINE", "MPIWRAPPER", "MUKAUTUVA"].iter().any(|n| text.contains(n))
        || lookup(library, c"MPITRAMPOLINE_COMM_WORLD") != 0
        || lookup(library, c"mpitrampoline_version_major") != 0
    {
        return false;
    }
    ["MPICH", "MVAPICH", "INTEL(R) MPI", "CRAY", "PARASTATION"].iter().any(|n| text.contains(n))
}

/// True if both addresses lie in the same mapped object.
pub fn same_object(a: usize, b: usize) -> bool {
    let of_library = |address| get().is_some_and(|l| l.range.contains(&address));
    of_library(a) && of_library(b) || file_of(a as *mut c_void) == file_of(b as *mut c_void)
}

/// True if an address is that of a function of an MPI library, or of a library that it is built on.
pub fn owns(address: usize) -> bool {
    let file = file_of(address as *mut c_void);
    let name = file.rsplit('/').next().unwrap_or_default();
    ["libmpi", "libpmpi", "libopen-", "libucs", "libuc", "libfabric"]
        .iter()
        .any(|start| name.starts_with(start))
}

/// Where the object that holds `address` is mapped.
pub fn base_of(address: usize) -> Option<usize> {
    // SAFETY: dladdr fills the struct or fails.
    unsafe {
        let mut info: libc::Dl_info = std::mem::zeroed();
        let known = libc::dladdr(address as *const c_void, &raw mut info) != 0;
        known.then_some(info.dli_fbase as usize)
    }
}

/// File of the object that holds `address`.
pub fn file_of(address: *mut c_void) -> String {
    // SAFETY: dladdr fills the struct or fails; the file name is a C string owned by the loader.
    unsafe {
        let mut info: libc::Dl_info = std::mem::zeroed();
        if libc::dladdr(address, &raw mut info) == 0 || info.dli_fname.is_null() {
            return String::new();
        }
        CStr::from_ptr(info.dli_fname).to_string_lossy().into_owned()
    }
}

/// Looks through the mapped objects for one with "mpi" in its name that defines PMPI_Init.
fn search_objects() -> Option<(String, usize)> {
    let mut names: Vec<std::ffi::CString> = Vec::new();
    // The names are copied: no loader function may be called during the visit.
    crate::sys::elf::for_each_object(|info| {
        if !info.dlpi_name.is_null() {
            // SAFETY: names are C strings that stay during the visit.
            let name = unsafe { CStr::from_ptr(info.dlpi_name) };
            if name.to_bytes().windows(3).any(|w| w == b"mpi") {
                names.push(name.to_owned());
            }
        }
        true
    });
    names.into_iter().find_map(|name| {
        // SAFETY: RTLD_NOLOAD only returns a handle of what is mapped already; it is kept for good.
        unsafe {
            let handle = libc::dlopen(name.as_ptr(), libc::RTLD_NOLOAD | libc::RTLD_LAZY);
            if handle.is_null() {
                return None;
            }
            let init = libc::dlsym(handle, c"PMPI_Init".as_ptr());
            if init.is_null() {
                libc::dlclose(handle);
                return None;
            }
            Some((file_of(init), handle as usize))
        }
    })
}
