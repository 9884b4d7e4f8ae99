//! `dlsym`, as the program calls it: a function that the program looks up in the MPI library is the entry point of this
//! library, as it is for a program that is linked with MPI.
//!
//! Python's ctypes, cffi and numba, Julia and plugins look functions up by the handle of libmpi. What they find would
//! otherwise not be recorded, and would see the launcher's ranks while linked calls see the new ones.
//!
//! Only names that begin with `m` or `M` are looked at; all other lookups are a jump to the next `dlsym`, which sees the
//! caller's return address. The answer is changed only if nothing else than the program and the MPI library can be
//! concerned ([`Objects::allow`]): libraries that translate between MPIs and tools that pass calls on also look functions
//! up, and they must get the functions of the real library.
//!
//! Limits: `dlvsym`, and programs that read symbol tables themselves. The functions of Fortran, which
//! compilers link. Names that are hidden (`visibility`) stay those of the MPI library.

use crate::entry::names::real_name;
use crate::entry::next::C_COUNT;
use crate::entry::visibility;
use crate::sys::elf::{Object, definition_behind, for_each_object, range_of};
use crate::sys::panic_barrier::guarded;
use libc::{c_char, c_void, dl_phdr_info};
use std::ffi::CStr;
use std::sync::atomic::{AtomicPtr, Ordering};

type Lookup = unsafe extern "C" fn(*mut c_void, *const c_char) -> *mut c_void;

/// The next `dlsym` behind this library; null before it was looked for.
static NEXT_LOOKUP: AtomicPtr<()> = AtomicPtr::new(std::ptr::null_mut());

/// The program's `dlsym`, and that of this library.
#[unsafe(naked)]
#[unsafe(no_mangle)]
unsafe extern "C" fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void {
    crate::arch::lookup!(next = sym NEXT_LOOKUP, find = sym next_lookup, answer = sym answer)
}

/// Stands in for `dlsym` in a process without one.
unsafe extern "C" fn nothing(_handle: *mut c_void, _name: *const c_char) -> *mut c_void {
    std::ptr::null_mut()
}

/// The next `dlsym`: that of another preloaded library, or that of the C library.
extern "C" fn next_lookup() -> Lookup {
    let known = NEXT_LOOKUP.load(Ordering::Acquire);
    let address = match known.is_null() {
        false => known as usize,
        true => definition_behind(c"dlsym", next_lookup as *const () as usize),
    };
    if address == 0 {
        return nothing;
    }
    NEXT_LOOKUP.store(address as *mut (), Ordering::Release);
    // SAFETY: every function of this name has this type.
    unsafe { std::mem::transmute::<usize, Lookup>(address) }
}

/// `dlsym` of a name that may be one of MPI, in the library of `handle`; `caller` is the address to return to.
unsafe extern "C" fn answer(
    handle: *mut c_void,
    name: *const c_char,
    caller: usize,
) -> *mut c_void {
    // SAFETY: the caller's own arguments. The loader's state of errors is that after this call, because what follows
    // does not call the loader's functions of this kind.
    let found = unsafe { next_lookup()(handle, name) };
    if found.is_null() {
        return found;
    }
    // SAFETY: dlsym takes a C string.
    let name = unsafe { CStr::from_ptr(name) };
    guarded(|| instead(name, found as usize, caller))
        .map_or(found, |address| address as *mut c_void)
}

/// The entry point that the caller gets instead of the function of this name at `found`.
fn instead(name: &CStr, found: usize, caller: usize) -> Option<usize> {
    let (entry, own) = visibility::visible(name)?;
    if entry >= C_COUNT {
        return None;
    }
    let lookup = Found { name, real: real_name(entry, false), address: found, caller, own };
    let mut objects = Objects::default();
    for_each_object(|info| {
        objects.see(info, &lookup);
        true
    });
    objects.allow().then_some(own)
}

/// A function that was looked up and found.
#[derive(Debug)]
struct Found<'a> {
    name: &'a CStr,
    /// The name under which an MPI library has the same function for tools.
    real: &'a CStr,
    address: usize,
    /// Where the caller goes on.
    caller: usize,
    /// The entry point of this name.
    own: usize,
}

/// What the mapped objects have to do with a lookup.
#[derive(Debug, Default, Clone)]
struct Objects {
    /// How many objects other than this library define the name.
    definers: usize,
    /// How many MPI libraries there are: objects that define PMPI_Init.
    libraries: usize,
    /// The function is in an object that defines it under the name for tools, too, as MPI libraries do, and that has "mpi" in
    /// its file name, by which this library finds it.
    is_mpi: bool,
    /// The caller is this library, the MPI library, or an object that defines the name: a tool or a translator.
    is_tool: bool,
}

impl Objects {
    fn see(&mut self, info: &dl_phdr_info, lookup: &Found) {
        // SAFETY: a mapped object, which stays so during the visit.
        let Some(object) = (unsafe { Object::of(info) }) else { return };
        // SAFETY: as above.
        let defines = |name: &CStr| unsafe { object.definition(name) }.is_some();
        let range = range_of(info);
        let is_own = range.contains(&lookup.own);
        let is_definer = defines(lookup.name);
        self.definers += usize::from(is_definer && !is_own);
        self.libraries += usize::from(defines(c"PMPI_Init"));
        if range.contains(&lookup.address) {
            // SAFETY: as above.
            let path = unsafe { object.path() }.to_bytes();
            self.is_mpi = defines(lookup.real) && path.windows(3).any(|part| part == b"mpi");
        }
        if range.contains(&lookup.caller) {
            self.is_tool = is_own || is_definer;
        }
    }

    /// Whether the caller gets the entry point.
    fn allow(&self) -> bool {
        self.is_mpi && !self.is_tool && self.definers == 1 && self.libraries == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_lookups_have_the_answers_of_the_c_library() {
        let qsort = libc::qsort as *const () as usize;
        let malloc = libc::malloc as *const () as usize;
        // SAFETY: names are C strings, handles those of dlopen.
        unsafe {
            let program = libc::dlopen(std::ptr::null(), libc::RTLD_LAZY);
            for handle in [program, libc::RTLD_DEFAULT, libc::RTLD_NEXT] {
                assert_eq!(libc::dlsym(handle, c"qsort".as_ptr()) as usize, qsort);
                assert_eq!(libc::dlsym(handle, c"malloc".as_ptr()) as usize, malloc);
                assert!(libc::dlsym(handle, c"MPI_No_such_function".as_ptr()).is_null());
                assert!(libc::dlsym(handle, c"".as_ptr()).is_null());
            }
            // What failed is told once, and a success leaves nothing to tell.
            assert!(!libc::dlerror().is_null());
            assert!(!libc::dlsym(program, c"malloc".as_ptr()).is_null());
            assert!(libc::dlerror().is_null());
        }
    }

    #[test]
    fn only_a_function_of_the_one_mpi_library_is_replaced() {
        let usual = Objects { definers: 1, libraries: 1, is_mpi: true, is_tool: false };
        assert!(usual.allow());
        assert!(!Objects { definers: 2, ..usual.clone() }.allow(), "a tool has the name, too");
        assert!(!Objects { libraries: 2, ..usual.clone() }.allow(), "a translator between MPIs");
        assert!(!Objects { is_mpi: false, ..usual.clone() }.allow(), "no MPI library");
        assert!(!Objects { is_tool: true, ..usual }.allow(), "a tool that passes calls on");
        assert!(!Objects::default().allow());
    }
}
