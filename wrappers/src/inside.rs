//! Calls that the MPI library itself makes by `MPI_` names: they are not the program's and must not
//! be counted.
//!
//! Some MPI libraries contain parts written as MPI programs: ROMIO calls `MPI_Put`, `MPI_Get` or
//! `MPI_Ialltoall`, from the library itself or from a component that is loaded when the first file
//! is opened; and it does so inside `MPI_Wait` too, so that it does not help to know which call of
//! the program is running. [`redirect`] therefore points the references of such objects to the
//! functions behind this library's entry points: a word in the object's table of linkage, written
//! once, and nothing has to be asked at each call. What a component calls while it is being loaded
//! comes too early for that: meanwhile ([`Inside`]) nothing is recorded in the thread.
//!
//! Limits: objects that also hold the Fortran or C++ bindings are left as they are, since the
//! program's own calls may come through them. A file's conversion callbacks (MPI_Register_datarep)
//! that themselves communicate while a file is being opened are not recorded.

use crate::record::guarded;
use crate::{library, slots, thread};
use libc::{c_int, c_void};
use std::ffi::{CStr, CString};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// A call during which nothing is recorded in this thread; afterwards what was loaded meanwhile is
/// redirected.
#[derive(Debug)]
pub struct Inside(());

impl Inside {
    /// From now on.
    pub fn enter() -> Inside {
        let thread = thread::current();
        let depth = thread.inside.load(Ordering::Relaxed);
        thread.inside.store(depth + 1, Ordering::Relaxed);
        if depth == 0 {
            // What the fast paths look at goes, so that they need not ask for the depth.
            thread.forget_communicator();
            thread.collective_calls.store(std::ptr::null_mut(), Ordering::Relaxed);
            thread.held.store(thread.block.load(Ordering::Relaxed), Ordering::Relaxed);
            thread.block.store(std::ptr::null_mut(), Ordering::Relaxed);
        }
        Inside(())
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        let thread = thread::current();
        let depth = thread.inside.load(Ordering::Relaxed).saturating_sub(1);
        thread.inside.store(depth, Ordering::Relaxed);
        if depth == 0 {
            thread.block.store(thread.held.load(Ordering::Relaxed), Ordering::Relaxed);
            thread.held.store(std::ptr::null_mut(), Ordering::Relaxed);
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
        for object in objects_that_call_mpi() {
            object.redirect();
        }
        Some(())
    });
}

/// Objects loaded since the process began, when [`objects_that_call_mpi`] last looked.
static LOADED: AtomicU64 = AtomicU64::new(0);

/// Whether an object of this file name is ROMIO as a part of an MPI library. Other names tell nothing:
/// a program's own library may be called libmpi_something, and what MPI libraries have beside libmpi
/// are bindings for other languages, through which the program calls.
fn is_romio(path: &CStr) -> bool {
    let bytes = path.to_bytes();
    let name = bytes.rsplit(|&b| b == b'/').next().unwrap_or_default();
    ["mca_io_romio", "libromio"].iter().any(|prefix| name.starts_with(prefix.as_bytes()))
}

/// Mapped objects of the MPI library that refer to functions this library may stand in front of.
fn objects_that_call_mpi() -> Vec<Object> {
    struct Found {
        objects: Vec<Object>,
        loaded: u64,
        /// Where the object with the MPI functions themselves is mapped.
        libmpi: Option<usize>,
    }
    unsafe extern "C" fn visit(
        info: *mut libc::dl_phdr_info,
        _size: usize,
        data: *mut c_void,
    ) -> c_int {
        // SAFETY: the loader passes a valid info with its headers, of an object that stays mapped
        // during the callback; data is the `Found` below.
        unsafe {
            let (info, found) = (&*info, &mut *data.cast::<Found>());
            if found.loaded == info.dlpi_adds {
                return 1;
            }
            // Every call of the callback is told the same number.
            LOADED.store(info.dlpi_adds, Ordering::Relaxed);
            if info.dlpi_name.is_null() {
                return 0;
            }
            let name = CStr::from_ptr(info.dlpi_name);
            // The program itself has no name here: with MPI linked into it nothing is to be seen.
            let libmpi = !name.is_empty() && found.libmpi == Some(info.dlpi_addr as usize);
            if !libmpi && !is_romio(name) {
                return 0;
            }
            if let Some(object) = Object::of(info)
                && object.references().any(|(_, name)| name.to_bytes().starts_with(b"MPI_"))
            {
                found.objects.push(object);
            }
        }
        0
    }
    let libmpi = library::base_of(library::symbol(c"PMPI_Init"));
    let loaded = LOADED.load(Ordering::Relaxed);
    let mut found = Found { objects: Vec::new(), loaded, libmpi };
    // SAFETY: the callback matches and the data outlives the call. No loader function is called
    // while the loader's lock is held.
    unsafe { libc::dl_iterate_phdr(Some(visit), (&raw mut found).cast()) };
    found.objects
}

/// A mapped shared object and its tables of references to functions of others.
#[derive(Debug)]
struct Object {
    path: CString,
    base: usize,
    symbols: usize,
    strings: usize,
    /// Address and bytes of the relocations of the linkage table, and of all others.
    relocations: [(usize, usize); 2],
    /// What is read-only after relocation.
    read_only: std::ops::Range<usize>,
}

const R_X86_64_GLOB_DAT: u32 = 6;
const R_X86_64_JUMP_SLOT: u32 = 7;

impl Object {
    /// Reads the dynamic section; `None` if it lacks a table.
    ///
    /// # Safety
    /// `info` describes a mapped object.
    unsafe fn of(info: &libc::dl_phdr_info) -> Option<Object> {
        let base = info.dlpi_addr as usize;
        // SAFETY: by contract.
        let (path, headers) = unsafe {
            let headers = std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into());
            (CStr::from_ptr(info.dlpi_name).to_owned(), headers)
        };
        let dynamic = headers.iter().find(|h| h.p_type == libc::PT_DYNAMIC)?;
        let read_only = headers.iter().find(|h| h.p_type == libc::PT_GNU_RELRO).map_or(0..0, |h| {
            let start = base + h.p_vaddr as usize;
            start..start + h.p_memsz as usize
        });
        let mut object =
            Object { path, base, symbols: 0, strings: 0, relocations: [(0, 0); 2], read_only };
        let mut entry = (base + dynamic.p_vaddr as usize) as *const [usize; 2];
        // SAFETY: the dynamic section is an array of (tag, value) that ends with tag 0 (DT_NULL).
        unsafe {
            while (*entry)[0] != 0 {
                let value = (*entry)[1];
                // glibc stores relocated addresses here, other loaders may not.
                let address = if value < base { value + base } else { value };
                match (*entry)[0] {
                    2 => object.relocations[0].1 = value,
                    5 => object.strings = address,
                    6 => object.symbols = address,
                    7 => object.relocations[1].0 = address,
                    8 => object.relocations[1].1 = value,
                    23 => object.relocations[0].0 = address,
                    _ => {}
                }
                entry = entry.add(1);
            }
        }
        (object.symbols != 0 && object.strings != 0).then_some(object)
    }

    /// Address of each word that the loader fills with a function's address, and its name.
    fn references(&self) -> impl Iterator<Item = (usize, &CStr)> {
        self.relocations.iter().filter(|table| table.0 != 0).flat_map(move |&(start, bytes)| {
            let count = bytes / size_of::<libc::Elf64_Rela>();
            (0..count).filter_map(move |i| {
                // SAFETY: tables of a mapped object; symbol numbers of its relocations are within
                // its symbol table, names within its string table.
                unsafe {
                    let relocation = &*(start as *const libc::Elf64_Rela).add(i);
                    let kind = relocation.r_info as u32;
                    if kind != R_X86_64_GLOB_DAT && kind != R_X86_64_JUMP_SLOT {
                        return None;
                    }
                    let symbol = (self.symbols as *const libc::Elf64_Sym)
                        .add((relocation.r_info >> 32) as usize);
                    let name = (self.strings + (*symbol).st_name as usize) as *const libc::c_char;
                    Some((self.base + relocation.r_offset as usize, CStr::from_ptr(name)))
                }
            })
        })
    }

    /// Points the references that would lead to this library's entry points past them.
    fn redirect(&self) {
        // SAFETY: RTLD_NOLOAD returns a handle of what is mapped already, or null; it keeps the
        // object mapped until dlclose below.
        let handle = unsafe {
            libc::dlopen(self.path.as_ptr(), libc::RTLD_NOLOAD | libc::RTLD_LAZY | libc::RTLD_LOCAL)
        };
        if handle.is_null() {
            return;
        }
        // The same name could have been unloaded and loaded elsewhere since it was looked at.
        let here = library::base_of(self.symbols) == Some(self.base);
        if here && !self.has_bindings(handle) {
            for (place, name) in self.references() {
                if let Some(function) = behind(name) {
                    self.write(place, function);
                }
            }
        }
        // SAFETY: the handle from above.
        unsafe { libc::dlclose(handle) };
    }

    /// Whether the object has Fortran or C++ bindings in it, which are the program's way in.
    fn has_bindings(&self, handle: *mut c_void) -> bool {
        [c"mpi_send_", c"mpi_send", c"MPI_SEND", c"_ZN3MPI4InitEv"].iter().any(|name| {
            // SAFETY: an open handle and a C string.
            let address = unsafe { libc::dlsym(handle, name.as_ptr()) } as usize;
            address != 0 && library::base_of(address) == Some(self.base)
        })
    }

    fn write(&self, place: usize, function: *const ()) {
        // SAFETY: `place` is a word of the object's table of linkage, aligned and mapped; code of
        // the object reads it whole. Where it was made read-only after relocation, it is so again.
        unsafe {
            let word = &*(place as *const AtomicUsize);
            if word.load(Ordering::Relaxed) == function as usize {
                return;
            }
            let page = libc::sysconf(libc::_SC_PAGESIZE) as usize;
            let start = place & !(page - 1);
            // The loader protects whole pages only.
            let protected = self.read_only.start & !(page - 1)..self.read_only.end & !(page - 1);
            let locked = protected.contains(&place);
            let start = start as *mut c_void;
            if locked && libc::mprotect(start, page, libc::PROT_READ | libc::PROT_WRITE) != 0 {
                return;
            }
            word.store(function as usize, Ordering::Release);
            if locked {
                libc::mprotect(start, page, libc::PROT_READ);
            }
        }
    }
}

/// The function behind this library's entry point of a name, if a reference to the name leads here.
fn behind(name: &CStr) -> Option<*const ()> {
    if !name.to_bytes().starts_with(b"MPI_") {
        return None;
    }
    let index = slots::of_c_name(name)?;
    // SAFETY: a C string; only looks the name up.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) } as usize;
    let own = library::base_of(redirect as *const () as usize);
    // Another tool before this library sees these calls as ever, and does not pass them on by the
    // same name.
    if found == 0 || library::base_of(found) != own { None } else { slots::real(index) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU32;

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

    #[test]
    fn nothing_is_counted_inside() {
        let thread = thread::current();
        let mark = AtomicU32::new(0);
        let block: *mut crate::counters::Block = mark.as_ptr().cast();
        thread.block.store(block, Ordering::Relaxed);
        thread.comm.store(7, Ordering::Relaxed);
        {
            let _outer = Inside::enter();
            let _inner = Inside::enter();
            assert!(crate::counters::mine().is_none());
            assert_eq!(thread.comm.load(Ordering::Relaxed), 0);
        }
        assert_eq!(thread.block.load(Ordering::Relaxed), block);
        assert_eq!(thread.inside.load(Ordering::Relaxed), 0);
        thread.block.store(std::ptr::null_mut(), Ordering::Relaxed);
    }

    /// The C library refers to functions of others: the tables are read as they are.
    #[test]
    fn references_of_a_mapped_object_are_found() {
        unsafe extern "C" fn visit(
            info: *mut libc::dl_phdr_info,
            _size: usize,
            data: *mut c_void,
        ) -> c_int {
            // SAFETY: as in `objects_that_call_mpi`.
            unsafe {
                let (info, names) = (&*info, &mut *data.cast::<Vec<CString>>());
                if CStr::from_ptr(info.dlpi_name).to_bytes().windows(6).any(|w| w == b"libc.s")
                    && let Some(object) = Object::of(info)
                {
                    names.extend(object.references().map(|(_, name)| name.to_owned()));
                }
            }
            0
        }
        let mut names: Vec<CString> = Vec::new();
        // SAFETY: as in `objects_that_call_mpi`.
        unsafe { libc::dl_iterate_phdr(Some(visit), (&raw mut names).cast()) };
        assert!(names.iter().any(|n| n.as_c_str() == c"malloc"), "{names:?}");
    }
}
