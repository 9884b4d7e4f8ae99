//! A reference: a word of a mapped object into which the loader writes the address of a symbol. It can be
//! overwritten with another address.

use libc::c_void;
use std::ffi::CStr;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A word that the loader fills with the address of a symbol.
#[derive(Debug)]
pub struct Reference<'a> {
    pub name: &'a CStr,
    /// The reference is weak: it is zero if nothing defines the symbol.
    pub weak: bool,
    /// The object itself defines the symbol.
    pub defined: bool,
    /// The word belongs to the tables through which code calls functions, and not to the data of the object.
    pub linkage: bool,
    pub(super) place: usize,
    pub(super) protected: bool,
}

impl Reference<'_> {
    /// The address that the loader found.
    ///
    /// # Safety
    /// The object is still mapped.
    pub unsafe fn value(&self) -> usize {
        // SAFETY: a word of the object.
        unsafe { (self.place as *const usize).read_unaligned() }
    }

    /// Writes another address to the word. If the loader made the page read-only, it is read-only again
    /// afterwards.
    ///
    /// # Safety
    /// The object is still mapped; `value` is zero for a weak reference, or does what the symbol
    /// promises.
    pub unsafe fn write(&self, value: usize) {
        let start = (self.place & !(page() - 1)) as *mut c_void;
        let straddles = self.place % page() > page() - size_of::<usize>();
        let length = if straddles { 2 * page() } else { page() };
        // SAFETY: the pages are the object's own, private to this process; what was writable stays
        // so. Code that reads an aligned word meanwhile sees the old address or the new one.
        unsafe {
            if self.value() == value {
                return;
            }
            let writable = libc::PROT_READ | libc::PROT_WRITE;
            if self.protected && libc::mprotect(start, length, writable) != 0 {
                return;
            }
            if self.place.is_multiple_of(align_of::<AtomicUsize>()) {
                (*(self.place as *const AtomicUsize)).store(value, Ordering::Release);
            } else {
                (self.place as *mut usize).write_unaligned(value);
            }
            if self.protected {
                libc::mprotect(start, length, libc::PROT_READ);
            }
        }
    }
}

/// Bytes of a page.
pub fn page() -> usize {
    // SAFETY: no preconditions.
    usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096).max(4096)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_protected_word_is_written_and_protected_again() {
        // SAFETY: a fresh page.
        let page_start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                page(),
                libc::PROT_READ,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        } as usize;
        let reference = Reference {
            name: c"MPI_Send",
            weak: true,
            defined: false,
            linkage: true,
            place: page_start + 16,
            protected: true,
        };
        // SAFETY: the page from above.
        unsafe {
            reference.write(7);
            assert_eq!(reference.value(), 7);
        }
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let line = maps.lines().find(|l| l.starts_with(&format!("{page_start:x}-"))).unwrap();
        assert!(line.contains(" r--p "), "{line}");
        // SAFETY: the page from above.
        unsafe { libc::munmap(page_start as *mut c_void, page()) };
    }
}
