//! Which entry points a program may see: exactly those that its own MPI library has.
//!
//! Programs probe for MPI functions by weak references and dlsym; one that this library exports but
//! the MPI library lacks would be found and called. So the entries of this library's own dynamic
//! symbol table that have nothing behind them are made undefined in memory (`st_shndx` = SHN_UNDEF
//! and `st_value` = 0: the loader skips such entries), before the program's first instruction.
//!
//! - libmpi is mapped already (a program linked with MPI): what it lacks is hidden. Weak references
//!   were bound before this runs; those that were bound to hidden entries are taken back
//!   ([`references`](crate::references)).
//! - libmpi comes later by dlopen (Python): `rankweave run` says which C functions it will have
//!   ([`Functions`]). Without that, what is not in MPI-3.1, which every MPI has, is hidden; if the
//!   library that comes has more, those calls pass by unseen, [`complete`] says so, and the ranks of
//!   that job are not reordered.
//!
//! Limits: of Fortran functions newer than MPI-3.1 nothing is known before libmpi is mapped.

use crate::{library, references, slots};
use libc::{c_int, c_void};
use rw::options::{FUNCTIONS, Functions, is_c_function};
use std::collections::HashMap;
use std::ffi::CStr;
use std::sync::atomic::{AtomicBool, Ordering};

#[used]
#[unsafe(link_section = ".init_array")]
static AT_LOAD: extern "C" fn() = at_load;

extern "C" fn at_load() {
    let _ = std::panic::catch_unwind(|| {
        let Some(table) = Symbols::own() else { return };
        if library::is_loaded() {
            let hidden = table.hide(|entry| slots::real_address(entry) == 0);
            references::take_back(hidden);
        } else if let Some(has) = table.told() {
            TOLD.store(true, Ordering::Relaxed);
            table.hide(|entry| !has.get(&entry).copied().unwrap_or(slots::in_mpi_3_1(entry)));
        } else {
            table.hide(|entry| !slots::in_mpi_3_1(entry));
        }
    });
}

/// `rankweave run` said which functions the MPI library would have.
static TOLD: AtomicBool = AtomicBool::new(false);

/// A function that the program sees and its MPI library lacks, because another MPI library came
/// than `rankweave run` said.
pub fn excess() -> Option<&'static str> {
    if !TOLD.load(Ordering::Relaxed) {
        return None;
    }
    let table = Symbols::own()?;
    let lacking = |&i: &usize| {
        let name = table.name(i).to_bytes();
        is_c_function(name) && table.entry(i).is_some_and(|e| slots::real_address(e) == 0)
    };
    (1..table.count).find(lacking).and_then(|i| table.name(i).to_str().ok())
}

/// The file of another tool that comes before this library and takes calls which this one wraps. A
/// PMPI tool hands them to `PMPI_X`, past this library.
pub fn overtaken() -> Option<String> {
    let program = || references::program_profiles().then(|| "the program itself".to_string());
    Symbols::own()?.overtaken().or_else(program)
}

/// True if every function of the MPI library that this library wraps is seen by it: none is hidden
/// that the library turned out to have, none is taken by another tool before.
pub fn complete() -> bool {
    let Some(table) = Symbols::own() else { return true };
    if overtaken().is_some() {
        return false;
    }
    let has = |real: String| std::ffi::CString::new(real).is_ok_and(|n| library::symbol(&n) != 0);
    table.hidden().filter_map(|name| name.to_str().ok()).all(|name| {
        if let Some(rest) = name.strip_prefix("MPI_") {
            !has(format!("PMPI_{rest}"))
        } else if let Some(rest) = name.strip_prefix("mpi_") {
            !has(format!("pmpi_{rest}")) && !has(format!("pmpir_{rest}"))
        } else {
            true
        }
    })
}

/// This library's dynamic symbol table, as the loader uses it.
struct Symbols {
    base: usize,
    symbols: *mut libc::Elf64_Sym,
    count: usize,
    strings: *const libc::c_char,
}

#[derive(Default)]
struct Own {
    base: usize,
    dynamic: usize,
}

impl Symbols {
    fn own() -> Option<Symbols> {
        unsafe extern "C" fn visit(
            info: *mut libc::dl_phdr_info,
            _size: usize,
            data: *mut c_void,
        ) -> c_int {
            // SAFETY: the loader passes a valid info with its headers; data is the `Own` below.
            unsafe {
                let (info, own) = (&*info, &mut *data.cast::<Own>());
                let headers = std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into());
                let base = info.dlpi_addr as usize;
                let here = Symbols::own as *const () as usize;
                let ours = headers.iter().any(|h| {
                    let start = base + h.p_vaddr as usize;
                    h.p_type == libc::PT_LOAD && (start..start + h.p_memsz as usize).contains(&here)
                });
                if ours && let Some(d) = headers.iter().find(|h| h.p_type == libc::PT_DYNAMIC) {
                    *own = Own { base, dynamic: base + d.p_vaddr as usize };
                    return 1;
                }
            }
            0
        }
        let mut own = Own::default();
        // SAFETY: the callback matches and the data outlives the call.
        unsafe { libc::dl_iterate_phdr(Some(visit), (&raw mut own).cast()) };
        if own.dynamic == 0 {
            return None;
        }
        let (mut symbols, mut strings, mut hash) = (0, 0, 0);
        let mut entry = own.dynamic as *const [usize; 2];
        // SAFETY: the dynamic section is an array of (tag, value) that ends with tag 0.
        unsafe {
            while (*entry)[0] != 0 {
                let value = (*entry)[1];
                // glibc stores relocated addresses here, other loaders may not.
                let address = if value < own.base { value + own.base } else { value };
                match (*entry)[0] {
                    5 => strings = address,
                    6 => symbols = address,
                    0x6fff_fef5 => hash = address,
                    _ => {}
                }
                entry = entry.add(1);
            }
        }
        if symbols == 0 || strings == 0 || hash == 0 {
            return None;
        }
        // SAFETY: the address of this library's own GNU hash table.
        let count = unsafe { symbols_in_gnu_hash(hash) };
        Some(Symbols {
            base: own.base,
            symbols: symbols as *mut _,
            count,
            strings: strings as *const _,
        })
    }

    fn name(&self, index: usize) -> &'static CStr {
        // SAFETY: index is below the count; names are C strings in the mapped string table.
        unsafe { CStr::from_ptr(self.strings.add((*self.symbols.add(index)).st_name as usize)) }
    }

    fn is_hidden(&self, index: usize) -> bool {
        // SAFETY: index is below the count.
        let symbol = unsafe { &*self.symbols.add(index) };
        symbol.st_shndx == 0 && symbol.st_value == 0
    }

    /// Names that are in the table without a definition.
    fn hidden(&self) -> impl Iterator<Item = &'static CStr> + '_ {
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

    /// File of another object that defines one of this library's entry points and comes before it.
    fn overtaken(&self) -> Option<String> {
        // SAFETY: no preconditions.
        let program = unsafe { libc::getauxval(libc::AT_ENTRY) } as usize;
        (1..self.count).filter(|&i| self.entry(i).is_some()).find_map(|i| {
            // SAFETY: the index is below the count; dlsym has no requirement but a C string.
            let (own, first) = unsafe {
                let own = self.base + (*self.symbols.add(i)).st_value as usize;
                (own, libc::dlsym(libc::RTLD_DEFAULT, self.name(i).as_ptr()) as usize)
            };
            // An executable that takes a function's address may stand for it itself, without
            // defining it; what is linked into the program is looked for by other means.
            let file = || library::file_of(first as *mut c_void);
            (first != 0 && first != own && !library::same_object(first, program)).then(file)
        })
    }

    /// What `rankweave run` says of the C entry points, if it says it to this library.
    fn told(&self) -> Option<HashMap<usize, bool>> {
        let text = std::env::var(FUNCTIONS).ok()?;
        let defined = || (1..self.count).filter(|&i| !self.is_hidden(i));
        let functions = Functions::decode(&text, defined().map(|i| self.name(i).to_bytes()))?;
        let c = defined().filter(|&i| is_c_function(self.name(i).to_bytes()));
        let numbered = c.enumerate().filter_map(|(number, i)| Some((self.entry(i)?, number)));
        Some(numbered.map(|(entry, number)| (entry, functions.has(number))).collect())
    }

    /// Makes the entry points that are `unwanted` undefined; gives their addresses.
    fn hide(&self, unwanted: impl Fn(usize) -> bool) -> Vec<usize> {
        let doomed: Vec<usize> =
            (1..self.count).filter(|&i| self.entry(i).is_some_and(&unwanted)).collect();
        let mut hidden = Vec::new();
        if doomed.is_empty() {
            return hidden;
        }
        let page = 4096;
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

/// Number of symbols of an object, from its GNU hash table: the end of the longest chain.
unsafe fn symbols_in_gnu_hash(table: usize) -> usize {
    // SAFETY: layout of DT_GNU_HASH: four words, bloom filter of 64-bit words, buckets, chains.
    unsafe {
        let words = table as *const u32;
        let (buckets, first, bloom) =
            (*words as usize, *words.add(1) as usize, *words.add(2) as usize);
        let bucket = words.add(4 + 2 * bloom);
        let chain = bucket.add(buckets);
        let mut last = 0;
        for i in 0..buckets {
            last = last.max(*bucket.add(i) as usize);
        }
        if last < first {
            return first;
        }
        while *chain.add(last - first) & 1 == 0 {
            last += 1;
        }
        last + 1
    }
}
