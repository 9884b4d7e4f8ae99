//! Which entry points a program may see: exactly those that its own MPI library has.
//!
//! Programs look for MPI functions by weak references and dlsym, and call what they find. An entry
//! point without a real function would be found and called. Such entries of this library's dynamic
//! symbol table are therefore made undefined in memory (`st_shndx` = SHN_UNDEF and `st_value` = 0,
//! which the loader skips), before the first instruction of the program.
//!
//! - libmpi is mapped already (the program is linked with MPI): the functions that it lacks are hidden. Weak
//!   references were bound before this code runs. Those that were bound to hidden entries are set back
//!   ([`weak_references`](crate::entry::weak_references)).
//! - libmpi is loaded later by dlopen (Python): `rankweave run` reports which C functions it will have
//!   ([`Functions`]). Without that report, functions newer than MPI-3.1 are hidden, because every MPI library
//!   has those of MPI-3.1. If the library that is loaded has more, this library does not see those calls,
//!   [`complete`] reports this, and the ranks of the job are not changed.
//! - libmpi can never be loaded (no mapped object refers to dlopen): nothing is done. Writing to the pages of
//!   the table is the largest part of this library's cost in a small program.
//!
//! Limits: nothing is known of Fortran functions newer than MPI-3.1 before libmpi is mapped.

use crate::entry::next::C_COUNT;
use crate::entry::{
    direct_calls, library_symbols, names, real_functions, slots, timed, weak_references,
};
use crate::mpi::library;
use crate::sys::elf::{
    Object, defined, definers, for_each_object, may_have_mpi, page, range_of, with_any,
};
use libc::c_void;
use rw::options::{FUNCTIONS, Functions, is_c_function};
use std::collections::HashMap;
use std::ffi::{CStr, CString};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

// Miri has no objects of a process to look at.
#[cfg(not(miri))]
#[used]
#[unsafe(link_section = ".init_array")]
static AT_LOAD: extern "C" fn() = at_load;

#[cfg_attr(miri, allow(dead_code))]
extern "C" fn at_load() {
    let _ = std::panic::catch_unwind(|| {
        if !may_have_mpi() {
            return;
        }
        let Some(table) = Symbols::own() else { return };
        if library::is_loaded() {
            // For these families all spellings of the names are known.
            let known = [library::Family::OpenMpi, library::Family::Mpich];
            if library::get().is_some_and(|library| known.contains(&library.family)) {
                let _ = CONSULTED.set(mapped());
            }
            let real = real_functions::all_real();
            let hidden = table.hide(|entry| !real.get(entry).copied().unwrap_or(true));
            weak_references::take_back(&hidden);
            library_symbols::lead_here(c_functions);
        } else if let Some(has) = table.told() {
            TOLD.store(true, Ordering::Relaxed);
            table.hide(|entry| !has.get(&entry).copied().unwrap_or(names::in_mpi_3_1(entry)));
        } else {
            table.hide(|entry| !names::in_mpi_3_1(entry));
        }
    });
}

/// The objects that were searched for the MPI library's functions when this library was loaded. They have none
/// of the hidden functions. They stay mapped as long as the program runs.
static CONSULTED: OnceLock<Vec<usize>> = OnceLock::new();

/// All mapped objects, by the address of their headers.
fn mapped() -> Vec<usize> {
    let mut objects = Vec::new();
    for_each_object(|info| {
        objects.push(info.dlpi_phdr as usize);
        true
    });
    objects
}

/// `rankweave run` reported which functions the MPI library would have.
static TOLD: AtomicBool = AtomicBool::new(false);

/// A function that the program sees although its MPI library lacks it, because another MPI library was loaded
/// than `rankweave run` reported.
pub fn excess() -> Option<String> {
    if !TOLD.load(Ordering::Relaxed) {
        return None;
    }
    let table = Symbols::own()?;
    let lacking = |&i: &usize| {
        let name = table.name(i).to_bytes();
        is_c_function(name) && table.entry(i).is_some_and(|e| real_functions::real_address(e) == 0)
    };
    let found = (1..table.count).find(lacking);
    found.map(|i| table.name(i).to_string_lossy().into_owned())
}

/// The file of another tool that comes before this library and receives calls which this library wraps. A PMPI
/// tool passes them on to `PMPI_X`, and this library does not see them.
pub fn overtaken() -> Option<&'static str> {
    static ANSWER: OnceLock<Option<String>> = OnceLock::new();
    let answer = ANSWER.get_or_init(|| {
        let program = || direct_calls::program_profiles().then(|| "the program itself".to_string());
        Symbols::own()?.overtaken().or_else(program)
    });
    answer.as_deref()
}

/// True if this library sees all calls of the functions that it wraps. It does not if the MPI library has a
/// function that is hidden here, or if another tool before this library receives calls.
pub fn complete() -> bool {
    let Some(table) = Symbols::own() else { return true };
    if overtaken().is_some() {
        return false;
    }
    let behind = |name: &CStr| -> Vec<CString> {
        let name = name.to_string_lossy();
        let names = if let Some(rest) = name.strip_prefix("MPI_") {
            vec![format!("PMPI_{rest}")]
        } else if let Some(rest) = name.strip_prefix("mpi_") {
            vec![format!("pmpi_{rest}"), format!("pmpir_{rest}")]
        } else {
            Vec::new()
        };
        names.into_iter().filter_map(|name| CString::new(name).ok()).collect()
    };
    // There are thousands of names and often a hundred objects. Only objects are searched that were loaded
    // since and that define MPI_Init in some language.
    let consulted = CONSULTED.get().map_or(&[][..], Vec::as_slice);
    let all = (1..table.count).map(|i| table.name(i));
    let inits = all.filter(|name| name.to_bytes().to_ascii_lowercase().starts_with(b"mpi_init"));
    let inits: Vec<CString> = inits.flat_map(behind).collect();
    let inits: Vec<&CStr> = inits.iter().map(CString::as_c_str).collect();
    let unknown = |object: usize| !consulted.contains(&object);
    let libraries = with_any(&inits, unknown);
    if libraries.is_empty() {
        return true;
    }
    let real: Vec<CString> = table.hidden().flat_map(behind).collect();
    let real: Vec<&CStr> = real.iter().map(CString::as_c_str).collect();
    with_any(&real, |object| libraries.contains(&object)).is_empty()
}

/// For each name, whether the program or an object before this library defines it.
pub fn taken_before(names: &[&CStr]) -> Vec<bool> {
    let here = taken_before as *const () as usize;
    defined(names, Some(here))
}

/// Number of the C entry point of each name, `None` for other names.
pub fn c_entries(names: &[&CStr]) -> Vec<Option<usize>> {
    let Some(table) = Symbols::own() else { return vec![None; names.len()] };
    let entry = |name: &&CStr| {
        // SAFETY: this library is mapped.
        let index = unsafe { table.object.definition(name) };
        index.and_then(|index| table.entry(index)).filter(|&entry| entry < C_COUNT)
    };
    names.iter().map(entry).collect()
}

/// The C functions that the program sees.
pub fn c_functions() -> Vec<library_symbols::Function> {
    let Some(table) = Symbols::own() else { return Vec::new() };
    let function = |index| {
        let entry = table.entry(index).filter(|&entry| entry < C_COUNT)?;
        // SAFETY: a number of the symbol table; this library and its names stay mapped as long as its code runs.
        let (symbol, name) =
            unsafe { (&*table.symbols.add(index), CStr::from_ptr(table.name(index).as_ptr())) };
        Some((name, entry, table.base + symbol.st_value as usize))
    };
    (1..table.count).filter_map(function).collect()
}

/// This library's dynamic symbol table, as the loader uses it.
struct Symbols {
    base: usize,
    symbols: *mut libc::Elf64_Sym,
    count: usize,
    object: Object,
}

impl Symbols {
    fn own() -> Option<Symbols> {
        let here = Symbols::own as *const () as usize;
        let mut own = None;
        for_each_object(|info| {
            let ours = range_of(info).contains(&here);
            if ours {
                // SAFETY: this library stays mapped for as long as its code runs.
                own = unsafe { Object::of(info).and_then(|o| Some((o.symbol_count()?, o))) };
            }
            !ours
        });
        let (count, object) = own?;
        let symbols = object.symbols as *mut libc::Elf64_Sym;
        Some(Symbols { base: object.base, symbols, count, object })
    }

    fn name(&self, index: usize) -> &CStr {
        // SAFETY: index is below the count; this library is mapped.
        unsafe { self.object.name(index) }
    }

    fn is_hidden(&self, index: usize) -> bool {
        // SAFETY: index is below the count.
        let symbol = unsafe { &*self.symbols.add(index) };
        symbol.st_shndx == 0 && symbol.st_value == 0
    }

    /// Names that are in the table without a definition.
    fn hidden(&self) -> impl Iterator<Item = &CStr> {
        (1..self.count).filter(|&i| self.is_hidden(i)).map(|i| self.name(i))
    }

    /// The entry point that a symbol defines, if it is one.
    fn entry(&self, index: usize) -> Option<usize> {
        // SAFETY: index is below the count; a defined function's value is its offset in the image.
        unsafe {
            let symbol = &*self.symbols.add(index);
            let function = symbol.st_info & 0xf == 2 && symbol.st_shndx != 0;
            if function { slots::at(self.base + symbol.st_value as usize) } else { None }
        }
    }

    /// File of another object that comes before this library and defines one of its entry points. A profiling
    /// layer that is linked into the program is found by [`direct_calls::program_profiles`].
    fn overtaken(&self) -> Option<String> {
        let wraps = |i: &usize| self.entry(*i).is_some_and(|entry| !timed::is_only_timed(entry));
        let entries = || (1..self.count).filter(wraps);
        let names: Vec<&CStr> = entries().map(|i| self.name(i)).collect();
        let here = Symbols::own as *const () as usize;
        let found = definers(&names, Some(here));
        let mut files = found.into_iter().flatten().filter(|file| !file.is_empty());
        files.next().map(|file| file.to_string_lossy().into_owned())
    }

    /// For each C entry point, whether the MPI library will have its function according to `rankweave run`.
    /// `None` if `rankweave run` gave no list of functions, or if it made the list for another version of this library.
    fn told(&self) -> Option<HashMap<usize, bool>> {
        let text = crate::sys::environment::text(FUNCTIONS)?;
        let defined = || (1..self.count).filter(|&i| !self.is_hidden(i));
        let functions = Functions::decode(&text, defined().map(|i| self.name(i).to_bytes()))?;
        let c = defined().filter(|&i| is_c_function(self.name(i).to_bytes()));
        let numbered = c.enumerate().filter_map(|(number, i)| Some((self.entry(i)?, number)));
        Some(numbered.map(|(entry, number)| (entry, functions.has(number))).collect())
    }

    /// Makes the entry points that are `unwanted` undefined, and returns their addresses.
    fn hide(&self, unwanted: impl Fn(usize) -> bool) -> Vec<usize> {
        let doomed: Vec<usize> =
            (1..self.count).filter(|&i| self.entry(i).is_some_and(&unwanted)).collect();
        let mut hidden = Vec::new();
        if doomed.is_empty() {
            return hidden;
        }
        let page = page();
        let start = self.symbols as usize & !(page - 1);
        let end = self.symbols as usize + self.count * size_of::<libc::Elf64_Sym>();
        let length = end - start;
        // SAFETY: the pages of this library's own symbol table, mapped private and read-only; other
        // threads of the loader only read entries, each of which is valid before and after. No
        // thread of the program runs yet.
        unsafe {
            let start = start as *mut c_void;
            if libc::mprotect(start, length, libc::PROT_READ | libc::PROT_WRITE) != 0 {
                return hidden;
            }
            for index in doomed {
                let symbol = &mut *self.symbols.add(index);
                hidden.push(self.base + symbol.st_value as usize);
                symbol.st_shndx = 0;
                symbol.st_value = 0;
            }
            libc::mprotect(start, length, libc::PROT_READ);
        }
        hidden
    }
}
