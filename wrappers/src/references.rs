//! References of the program and its libraries to MPI functions: takes back weak ones that were bound
//! to entry points the MPI library does not have.
//!
//! A program that says `if (MPI_Send_c) MPI_Send_c(…)` of a weak symbol has the answer in its global
//! offset table before any code of this library runs: relocation comes before initialisation. So
//! when entries are hidden, the relocations of all mapped objects are gone through once, and weak
//! ones that hold the address of a hidden entry get the value they would have without this library:
//! zero. Cost: one look at every relocation that names a symbol, in processes with MPI only.
//!
//! Limits: x86-64. A pointer that a constructor copied somewhere else before this ran stays.

use libc::{c_int, c_void};
use std::ffi::CStr;

/// Kinds of relocations that hold the plain address of a symbol (psABI, table 4.9).
const R_64: u32 = 1;
const R_GLOB_DAT: u32 = 6;
const R_JUMP_SLOT: u32 = 7;

const DT_STRTAB: usize = 5;
const DT_SYMTAB: usize = 6;
const DT_RELA: usize = 7;
const DT_RELASZ: usize = 8;
const DT_PLTRELSZ: usize = 2;
const DT_JMPREL: usize = 23;
const DT_RELACOUNT: usize = 0x6fff_fff9;
const STB_WEAK: u8 = 2;
const PAGE: usize = 4096;

#[repr(C)]
#[derive(Debug)]
struct Rela {
    offset: u64,
    info: u64,
    addend: i64,
}

/// Sets weak references to any of these addresses to zero, in all objects of the process.
pub fn take_back(mut hidden: Vec<usize>) {
    unsafe extern "C" fn visit(
        info: *mut libc::dl_phdr_info,
        _size: usize,
        data: *mut c_void,
    ) -> c_int {
        // SAFETY: the loader passes a valid info; data is the sorted vector below. A reference holds
        // a word of its object.
        unsafe {
            let hidden = &*data.cast::<Vec<usize>>();
            each(&*info, |reference| {
                if reference.weak && hidden.binary_search(&reference.place.read_unaligned()).is_ok()
                {
                    clear(reference.place, reference.protected);
                }
                true
            });
        }
        0
    }
    if hidden.is_empty() {
        return;
    }
    hidden.sort_unstable();
    // SAFETY: the callback matches and the data outlives the call. No thread of the program runs yet.
    unsafe { libc::dl_iterate_phdr(Some(visit), (&raw mut hidden).cast()) };
}

/// True if the program itself, not a library, refers to a `PMPI_X` that this library wraps as
/// `MPI_X`: it has a profiling layer linked in, whose calls pass by unseen.
pub fn program_profiles() -> bool {
    unsafe extern "C" fn visit(
        info: *mut libc::dl_phdr_info,
        _size: usize,
        data: *mut c_void,
    ) -> c_int {
        // SAFETY: the loader passes a valid info; data is the flag below; names are C strings.
        unsafe {
            let found = &mut *data.cast::<bool>();
            each(&*info, |reference| {
                let name = CStr::from_ptr(reference.name).to_bytes();
                *found |= name.starts_with(b"PMPI_") && crate::slots::wraps(name);
                !*found
            });
        }
        // The first object is the program.
        1
    }
    let mut found = false;
    // SAFETY: the callback matches and the data outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(visit), (&raw mut found).cast()) };
    found
}

/// A word that the loader fills with the address of a function of another object.
#[derive(Debug)]
struct Reference {
    name: *const libc::c_char,
    weak: bool,
    place: *mut usize,
    /// The loader made it read-only after relocation.
    protected: bool,
}

/// Goes through an object's references to functions of others, until `visit` gives `false`.
///
/// # Safety
/// `info` is that of a mapped and relocated object.
unsafe fn each(info: &libc::dl_phdr_info, mut visit: impl FnMut(Reference) -> bool) {
    // SAFETY: headers and dynamic section as the loader uses them.
    unsafe {
        let base = info.dlpi_addr as usize;
        let headers = std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into());
        let Some(dynamic) = headers.iter().find(|h| h.p_type == libc::PT_DYNAMIC) else { return };
        let (mut strings, mut symbols, mut rela, mut rela_size, mut jump, mut jump_size) =
            (0, 0, 0, 0, 0, 0);
        let mut relative = 0;
        let mut entry = (base + dynamic.p_vaddr as usize) as *const [usize; 2];
        while (*entry)[0] != 0 {
            let value = (*entry)[1];
            // glibc stores relocated addresses here, except for the vDSO and in other loaders.
            let address = if value < base { value + base } else { value };
            match (*entry)[0] {
                DT_STRTAB => strings = address,
                DT_SYMTAB => symbols = address,
                DT_RELA => rela = address,
                DT_RELASZ => rela_size = value,
                DT_JMPREL => jump = address,
                DT_PLTRELSZ => jump_size = value,
                DT_RELACOUNT => relative = value,
                _ => {}
            }
            entry = entry.add(1);
        }
        if symbols == 0 || strings == 0 {
            return;
        }
        let relro = headers.iter().find(|h| h.p_type == libc::PT_GNU_RELRO).map_or(0..0, |h| {
            let start = base + h.p_vaddr as usize;
            start..start + h.p_memsz as usize
        });
        let count =
            |table: usize, size: usize| if table == 0 { 0 } else { size / size_of::<Rela>() };
        for (table, first, end) in [
            // The relative ones, which are most, come first and name no symbol.
            (rela, relative, count(rela, rela_size)),
            (jump, 0, count(jump, jump_size)),
        ] {
            for k in first..end {
                let rela = &*(table as *const Rela).add(k);
                if !matches!(rela.info as u32, R_64 | R_GLOB_DAT | R_JUMP_SLOT) || rela.addend != 0
                {
                    continue;
                }
                let symbol = &*(symbols as *const libc::Elf64_Sym).add((rela.info >> 32) as usize);
                if symbol.st_shndx != 0 {
                    continue;
                }
                let place = (base + rela.offset as usize) as *mut usize;
                let reference = Reference {
                    name: (strings as *const libc::c_char).add(symbol.st_name as usize),
                    weak: symbol.st_info >> 4 == STB_WEAK,
                    place,
                    protected: relro.contains(&(place as usize)),
                };
                if !visit(reference) {
                    return;
                }
            }
        }
    }
}

/// Writes zero; `protected`: into memory that the loader made read-only after relocation.
///
/// # Safety
/// `place` holds the value of a relocation of a mapped object.
unsafe fn clear(place: *mut usize, protected: bool) {
    let start = (place as usize & !(PAGE - 1)) as *mut c_void;
    let length = if place as usize % PAGE > PAGE - size_of::<usize>() { 2 * PAGE } else { PAGE };
    // SAFETY: the pages are the object's own, private to this process; what was writable stays so.
    unsafe {
        if protected && libc::mprotect(start, length, libc::PROT_READ | libc::PROT_WRITE) != 0 {
            return;
        }
        place.write_unaligned(0);
        if protected {
            libc::mprotect(start, length, libc::PROT_READ);
        }
    }
}
