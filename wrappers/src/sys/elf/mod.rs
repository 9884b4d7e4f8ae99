//! Mapped objects as the loader sees them: dynamic section, symbols, references to other objects.
//!
//! Everything is read from memory, as the loader left it; no file is opened. The program, its
//! libraries and this library are looked at in the same way.
//!
//! Limits: 64 bits, relocations of the `Rela` kind.

mod object;
mod reference;

pub use object::Object;
pub use reference::{Reference, page};

use libc::{c_int, c_void};
use object::gnu_hash;
use std::ffi::{CStr, CString};
use std::ops::Range;

/// Visits every mapped object, the program first, until `visit` gives `false`. The loader's lock is
/// held meanwhile: `visit` must not call the loader (dlopen, dlsym).
pub fn for_each_object<F: FnMut(&libc::dl_phdr_info) -> bool>(mut visit: F) {
    unsafe extern "C" fn call<F: FnMut(&libc::dl_phdr_info) -> bool>(
        info: *mut libc::dl_phdr_info,
        _size: usize,
        visit: *mut c_void,
    ) -> c_int {
        // SAFETY: the loader passes a valid info; the data is the closure below.
        let (info, visit) = unsafe { (&*info, &mut *visit.cast::<F>()) };
        c_int::from(!visit(info))
    }
    // SAFETY: the callback matches and the closure outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(call::<F>), (&raw mut visit).cast()) };
}

/// Addresses from the first to the last byte that an object is mapped to.
pub fn range_of(info: &libc::dl_phdr_info) -> Range<usize> {
    // SAFETY: an object's own headers.
    let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
    let base = info.dlpi_addr as usize;
    let loaded = headers.iter().filter(|h| h.p_type == libc::PT_LOAD).map(|h| {
        let start = base + h.p_vaddr as usize;
        (start, start + h.p_memsz as usize)
    });
    loaded.fold(0..0, |all, (start, end)| {
        if all.is_empty() { start..end } else { all.start.min(start)..all.end.max(end) }
    })
}

/// Addresses of the object that holds `address`; empty if none does.
pub fn range_around(address: usize) -> Range<usize> {
    let mut range = 0..0;
    for_each_object(|info| {
        let this = range_of(info);
        let here = this.contains(&address);
        if here {
            range = this;
        }
        !here
    });
    range
}

/// For each name, the file of the first mapped object that defines it, in the order of the loader (an empty
/// name for the executable). With `until`, only the objects before the one that holds this address are
/// searched. Much faster than dlsym for many names.
pub fn definers(names: &[&CStr], until: Option<usize>) -> Vec<Option<CString>> {
    let mut files = vec![None; names.len()];
    look_up(names, until, |name, object| {
        // SAFETY: a mapped object, which stays so during the visit.
        files[name] = Some(unsafe { object.path() }.to_owned());
    });
    files
}

/// For each name, whether one of these objects defines it. `until` as for [`definers`].
pub fn defined(names: &[&CStr], until: Option<usize>) -> Vec<bool> {
    let mut defined = vec![false; names.len()];
    look_up(names, until, |name, _| defined[name] = true);
    defined
}

/// The `wanted` mapped objects that define any of these names. Objects are given by the address of their
/// program headers, which is different for each object. Their base addresses may be equal.
pub fn with_any(names: &[&CStr], wanted: impl Fn(usize) -> bool) -> Vec<usize> {
    let hashes: Vec<u32> = names.iter().map(|name| gnu_hash(name.to_bytes())).collect();
    let mut found = Vec::new();
    for_each_object(|info| {
        let headers = info.dlpi_phdr as usize;
        // SAFETY: a mapped object, which stays so during the visit.
        unsafe {
            if wanted(headers)
                && let Some(object) = Object::of(info)
            {
                let filter = object.filter();
                let mut pairs = names.iter().zip(&hashes);
                if pairs.any(|(name, &hash)| filter.may_have(hash) && object.defines(name, hash)) {
                    found.push(headers);
                }
            }
        }
        true
    });
    found
}

/// Calls `found` with the number of each name that is defined and the object that does so.
fn look_up(names: &[&CStr], until: Option<usize>, mut found: impl FnMut(usize, &Object)) {
    let mut missing: Vec<(u32, u32)> =
        (0..).zip(names).map(|(i, name)| (gnu_hash(name.to_bytes()), i)).collect();
    for_each_object(|info| {
        if until.is_some_and(|address| range_of(info).contains(&address)) {
            return false;
        }
        // SAFETY: a mapped object, which stays so during the visit.
        unsafe {
            let Some(object) = Object::of(info) else { return true };
            let filter = object.filter();
            missing.retain(|&(hash, i)| {
                let defines = filter.may_have(hash) && object.defines(names[i as usize], hash);
                if defines {
                    found(i as usize, &object);
                }
                !defines
            });
        }
        !missing.is_empty()
    });
}

/// True if an MPI library is mapped, or can be loaded later: then an object other than this library refers to
/// dlopen, or to a function that can find dlopen. Modules that the C library loads for itself do not count.
/// Allocates nothing, because in most processes with this library nothing follows this call.
pub fn may_have_mpi() -> bool {
    let here = may_have_mpi as *const () as usize;
    let loads = [c"dlopen", c"dlsym", c"dlmopen", c"dlvsym"];
    let init = c"PMPI_Init";
    let hash = gnu_hash(init.to_bytes());
    let mut found = false;
    for_each_object(|info| {
        // SAFETY: a mapped object, which stays so during the visit.
        unsafe {
            let Some(object) = Object::of(info) else { return true };
            found = object.defines(init, hash)
                || object.references().any(|r| !r.defined && loads.contains(&r.name))
                    && !range_of(info).contains(&here);
        }
        !found
    });
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_with_any_of_some_names() {
        let with = with_any(&[c"no_such_function", c"qsort"], |_| true);
        assert!(!with.is_empty());
        assert!(with_any(&[c"no_such_function"], |_| true).is_empty());
        assert!(with_any(&[c"qsort"], |object| !with.contains(&object)).is_empty());
    }

    #[test]
    fn definitions_are_found_as_by_the_loader() {
        let names = [c"printf", c"MPI_No_such_function", c"dlsym"];
        let files = definers(&names, None);
        assert!(files[0].as_ref().unwrap().to_string_lossy().contains("libc.so"));
        assert_eq!(files[1], None);
        assert!(files[2].is_some());
        // The program comes first and defines none of them.
        let here = gnu_hash as *const () as usize;
        assert_eq!(definers(&names, Some(here)), [None, None, None]);
    }

    #[test]
    fn an_address_belongs_to_one_object() {
        let here = range_around(gnu_hash as *const () as usize);
        assert!(here.contains(&(definers as *const () as usize)));
        let other = range_around(libc::printf as *const () as usize);
        assert!(!other.is_empty());
        assert!(other.start >= here.end || other.end <= here.start);
        assert!(range_around(8).is_empty());
    }

    #[test]
    fn the_visit_ends_when_told() {
        let mut visits = 0;
        for_each_object(|_| {
            visits += 1;
            false
        });
        assert_eq!(visits, 1);
    }
}
