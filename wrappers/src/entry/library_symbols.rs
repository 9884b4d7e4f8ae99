//! The names of the MPI library's functions in its own symbol table lead to the entry points here.
//!
//! A program that looks a function up by the handle of libmpi (`dlsym`, as Python's ctypes, numba and plugins do) does not
//! find the function of the library that comes first, but that of libmpi. In a launch with another rank order, such calls
//! would see the launcher's ranks while linked calls see the new ones, and they would not be recorded. Therefore the
//! symbols `MPI_X` of the mapped libmpi get the addresses of the entry points, in memory. The symbols `PMPI_X`, through
//! which this library and other tools call the real functions, stay as they are. It is done once, when the MPI library is
//! found: before the program begins if it is linked with MPI, else at the first call that an entry point receives.
//!
//! It is all functions or none. None are changed if anything else in the process has to do with them: an object other than
//! libmpi that defines one of the names (a tool, which may look the real functions up), a second MPI library (one that
//! translates between two), or a user who asks for a chain of tools. The next functions of all changed names become known
//! at the same time: those of libmpi. Otherwise the search for the next function could later find a tool that has looked up
//! an entry point, and the two would call each other for ever.
//!
//! Limits: functions of C, because compilers link those of Fortran. A function that was looked up before stays that of
//! libmpi, and so do the functions `PMPI_X`. Nothing is done if the pages of the symbol table may have code, which cannot be
//! changed safely while it runs.
//!
//! An exported `dlsym` would see all lookups, but every process of the job would use it. Sanitizers, emulators of chroot and
//! garbage collectors call `dlsym` at moments at which no library code can run, and fail then (decision 108).

use crate::entry::names::real_name;
use crate::entry::next::NEXT;
use crate::mpi::config::chain;
use crate::mpi::library::{self, Family};
use crate::sys::elf::{Object, for_each_object, page, range_of, with_any};
use crate::sys::panic_barrier::guarded;
use libc::{c_void, dl_phdr_info};
use std::ffi::CStr;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Whether it was done, or found to be impossible.
static DONE: AtomicBool = AtomicBool::new(false);

/// Makes the names of the MPI library's functions lead to the entry points. Does nothing after the first time, and before
/// the MPI library is mapped. `functions` gives those that the program sees.
pub fn lead_here(functions: impl FnOnce() -> Vec<Function>) {
    if DONE.load(Ordering::Relaxed) {
        return;
    }
    let Some(library) = library::get() else { return };
    let is_unfit = library.family == Family::Unknown || chain() == Some(true);
    if DONE.swap(true, Ordering::Relaxed) || is_unfit {
        return;
    }
    guarded(|| {
        let table = Table::of_libmpi(&functions())?;
        library::pin_here();
        table.change()
    });
}

/// A C function that the program sees: its name, the number and the address of its entry point.
pub type Function = (&'static CStr, usize, usize);

/// A symbol of the MPI library that is to be changed.
#[derive(Debug)]
struct Symbol {
    /// Where it is in memory.
    place: usize,
    /// The address of the entry point.
    address: usize,
    /// The number of the entry point.
    entry: usize,
    /// The address of the real function.
    real: usize,
}

/// Symbols of the MPI library that are to be changed.
#[derive(Debug)]
struct Table {
    /// Where the library is mapped.
    base: usize,
    symbols: Vec<Symbol>,
}

impl Table {
    /// The symbols of the one MPI library in this process. `None` if they must not be changed.
    fn of_libmpi(functions: &[Function]) -> Option<Table> {
        let [libmpi] = with_any(&[c"PMPI_Init"], |_| true)[..] else { return None };
        let mut own = 0;
        let mut table = None;
        for_each_object(|info| {
            let headers = info.dlpi_phdr as usize;
            if range_of(info).contains(&(Table::of_libmpi as *const () as usize)) {
                own = headers;
            }
            if headers == libmpi {
                table = Table::of(info, functions);
            }
            true
        });
        let names: Vec<&CStr> = functions.iter().map(|&(name, _, _)| name).collect();
        let others = with_any(&names, |object| object != libmpi && object != own);
        table.filter(|_| others.is_empty() && own != 0)
    }

    /// The symbols of this object. `None` if it is the program itself, or if there may be code beside them.
    fn of(info: &dl_phdr_info, functions: &[Function]) -> Option<Table> {
        // SAFETY: a mapped object, which stays so during the visit.
        let object = unsafe { Object::of(info) }?;
        // SAFETY: as above. The program has no name here.
        if unsafe { object.path() }.is_empty() {
            return None;
        }
        let mut symbols = Vec::new();
        for &(name, entry, address) in functions {
            // SAFETY: as above; the numbers of definitions are within the table.
            let found = unsafe {
                // Some functions that MPI has removed are there without the name for tools.
                object.definition(name).zip(object.definition(real_name(entry, false))).map(
                    |(index, real)| {
                        let at = |index| (object.symbols as *const libc::Elf64_Sym).add(index);
                        (at(index), &*at(real))
                    },
                )
            };
            let Some((symbol, real)) = found else { continue };
            if real.st_info & 0xf == STT_FUNC {
                let real = object.base.wrapping_add(real.st_value as usize);
                symbols.push(Symbol { place: symbol as usize, address, entry, real });
            }
        }
        let table = Table { base: object.base, symbols };
        let pages = table.pages()?;
        // SAFETY: as above.
        let tables = unsafe { object.tables() };
        has_no_code(info, &pages, &tables).then_some(table)
    }

    /// Changes the symbols. `None` if the system does not allow it.
    fn change(&self) -> Option<()> {
        let pages = self.pages()?;
        let (start, length) = (pages.start as *mut c_void, pages.len());
        // SAFETY: pages of the symbol table of an object that stays mapped. They can be read all the time.
        unsafe {
            if libc::mprotect(start, length, libc::PROT_READ | libc::PROT_WRITE) != 0 {
                return None;
            }
            for &Symbol { place, address, entry, real } in &self.symbols {
                let (none, real) = (std::ptr::null_mut(), real as *mut ());
                let _ =
                    NEXT[entry].compare_exchange(none, real, Ordering::AcqRel, Ordering::Relaxed);
                let value = &raw const (*(place as *const libc::Elf64_Sym)).st_value;
                // The loader adds the base again. Another thread may read the value meanwhile: either is right.
                let value = AtomicU64::from_ptr(value.cast_mut());
                value.store(address.wrapping_sub(self.base) as u64, Ordering::Relaxed);
            }
            libc::mprotect(start, length, libc::PROT_READ);
        }
        Some(())
    }

    /// The pages with these symbols; `None` if there are none.
    fn pages(&self) -> Option<Range<usize>> {
        let addresses = || self.symbols.iter().map(|symbol| symbol.place);
        let (first, last) = (addresses().min()?, addresses().max()?);
        let end = last + size_of::<libc::Elf64_Sym>();
        Some(first & !(page() - 1)..end.next_multiple_of(page()))
    }
}

const STT_FUNC: u8 = 2;

/// Whether there is no code in some pages of an object, and nothing that is written. Older linkers put the `tables` into the
/// same part as the code, but not into the same pages.
fn has_no_code(info: &dl_phdr_info, pages: &Range<usize>, tables: &Range<usize>) -> bool {
    // SAFETY: an object's own headers.
    let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
    let part = headers.iter().filter(|header| header.p_type == libc::PT_LOAD).find_map(|header| {
        let start = info.dlpi_addr as usize + header.p_vaddr as usize;
        let end = (start + header.p_memsz as usize).next_multiple_of(page());
        let holds = (start & !(page() - 1)..end).contains(&pages.start) && pages.end <= end;
        holds.then_some((start, header.p_flags))
    });
    let Some((start, flags)) = part else { return false };
    // The first page of a part begins with the headers of the object.
    let first = if pages.start <= start { pages.start } else { tables.start };
    match flags {
        libc::PF_R => true,
        READ_AND_RUN => first <= pages.start && pages.end <= tables.end,
        _ => false,
    }
}

const READ_AND_RUN: u32 = libc::PF_R | libc::PF_X;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::names::number;

    #[test]
    fn pages_with_code_are_told_apart() {
        let header = |start, flags| libc::Elf64_Phdr {
            p_type: libc::PT_LOAD,
            p_flags: flags,
            p_offset: start,
            p_vaddr: start,
            p_paddr: start,
            p_filesz: 0x8000,
            p_memsz: 0x8000,
            p_align: 0x1000,
        };
        let headers = [
            header(0, READ_AND_RUN),
            header(0x1_0000, libc::PF_R),
            header(0x2_0000, libc::PF_R | libc::PF_W),
        ];
        // SAFETY: a structure of numbers and pointers, of which the function reads those that are set.
        let mut info: dl_phdr_info = unsafe { std::mem::zeroed() };
        (info.dlpi_addr, info.dlpi_phdr, info.dlpi_phnum) = (0x50_0000, headers.as_ptr(), 3);
        let at = |range: Range<usize>| range.start + 0x50_0000..range.end + 0x50_0000;
        let fits = |pages, tables| has_no_code(&info, &at(pages), &at(tables));
        assert!(fits(0x1_1000..0x1_3000, 0..0), "a part without code");
        assert!(!fits(0x2_1000..0x2_3000, 0x2_0000..0x2_8000), "a part that is written");
        assert!(fits(0x1000..0x3000, 0x800..0x3100) && fits(0..0x3000, 0x800..0x3100));
        assert!(!fits(0x1000..0x3000, 0x800..0x2fff), "code may follow");
        assert!(!fits(0x1000..0x3000, 0x1800..0x3100), "something else comes before");
        assert!(!fits(0x9000..0xa000, 0x9000..0xa000), "no part");
    }

    #[test]
    fn a_changed_symbol_gives_the_entry_point() {
        // One page with two symbols, as in the table of a library.
        let length = page();
        // SAFETY: a new mapping, written before it becomes read-only, and unmapped at the end.
        unsafe {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            let both = libc::PROT_READ | libc::PROT_WRITE;
            let map = libc::mmap(std::ptr::null_mut(), length, both, flags, -1, 0);
            let symbols = map.cast::<libc::Elf64_Sym>();
            libc::mprotect(map, length, libc::PROT_READ);
            let base = 0x7000_0000_0000;
            let entry = number("MPI_Send", "", 0);
            let symbol = |k, address, entry, real| {
                let place = symbols.add(k) as usize;
                Symbol { place, address, entry, real }
            };
            let changed =
                vec![symbol(1, base - 4096, entry, 77), symbol(2, base + 8, entry + 1, 78)];
            let table = Table { base, symbols: changed };
            assert_eq!(table.pages(), Some(map as usize..map as usize + length));
            assert_eq!(table.change(), Some(()));
            let address = |k: usize| base.wrapping_add((*symbols.add(k)).st_value as usize);
            assert_eq!([address(0), address(1), address(2)], [base, base - 4096, base + 8]);
            assert_eq!((*symbols.add(1)).st_size, 0);
            let next = |entry: usize| NEXT[entry].swap(std::ptr::null_mut(), Ordering::Relaxed);
            assert_eq!([next(entry) as usize, next(entry + 1) as usize], [77, 78]);
            libc::munmap(map, length);
        }
        assert_eq!(Table { base: 0, symbols: Vec::new() }.change(), None);
    }

    #[test]
    fn without_an_mpi_library_nothing_is_changed() {
        assert!(Table::of_libmpi(&[]).is_none());
    }
}
