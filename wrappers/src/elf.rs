//! Mapped objects as the loader sees them: dynamic section, symbols, references to other objects.
//!
//! Everything is read from memory, as the loader left it; no file is opened. The program, its
//! libraries and this library are looked at in the same way.
//!
//! Limits: x86-64 (relocations of the `Rela` kind, psABI table 4.9).

use libc::{c_int, c_void};
use std::ffi::{CStr, CString};
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

const DT_PLTRELSZ: usize = 2;
const DT_HASH: usize = 4;
const DT_STRTAB: usize = 5;
const DT_SYMTAB: usize = 6;
const DT_RELA: usize = 7;
const DT_RELASZ: usize = 8;
const DT_JMPREL: usize = 23;
const DT_GNU_HASH: usize = 0x6fff_fef5;
const DT_RELACOUNT: usize = 0x6fff_fff9;
const STB_WEAK: u8 = 2;

/// A relocation that puts the plain address of a symbol into a word of data.
const R_64: u32 = 1;
const R_GLOB_DAT: u32 = 6;
const R_JUMP_SLOT: u32 = 7;

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

/// Hash of a name as in DT_GNU_HASH.
fn gnu_hash(name: &[u8]) -> u32 {
    name.iter().fold(5381, |hash: u32, &byte| hash.wrapping_mul(33).wrapping_add(byte.into()))
}

/// Hash of a name as in DT_HASH (System V ABI, chapter 5).
fn old_hash(name: &[u8]) -> u32 {
    name.iter().fold(0, |hash: u32, &byte| {
        let hash = (hash << 4).wrapping_add(byte.into());
        let high = hash & 0xf000_0000;
        (hash ^ high >> 24) & !high
    })
}

/// For each name the file of the first mapped object that defines it (nothing for the program), in
/// the loader's order: of all objects, or of those before the one that holds the address `until`.
/// Much faster than dlsym for many names.
pub fn definers(names: &[&CStr], until: Option<usize>) -> Vec<Option<CString>> {
    let mut files = vec![None; names.len()];
    look_up(names, until, |name, object| {
        // SAFETY: a mapped object, which stays so during the visit.
        files[name] = Some(unsafe { object.path() }.to_owned());
    });
    files
}

/// For each name whether such an object defines it.
pub fn defined(names: &[&CStr], until: Option<usize>) -> Vec<bool> {
    let mut defined = vec![false; names.len()];
    look_up(names, until, |name, _| defined[name] = true);
    defined
}

/// The mapped objects that define any of these names, of those that are `wanted`: all by the address of
/// their headers, which differs between objects (where they start need not).
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

/// True if an MPI library is mapped, or can come later: something besides this library refers to
/// dlopen, or to what finds it. (The modules that the C library loads for itself are not meant.)
/// Allocates nothing: most processes that this library is preloaded into end here.
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

/// Tables of a mapped object.
#[derive(Debug, Clone)]
pub struct Object {
    /// The loader's own text, see [`Self::path`].
    name: *const libc::c_char,
    /// Where the object is mapped: what its addresses are relative to.
    pub base: usize,
    /// Address of its symbol table.
    pub symbols: usize,
    strings: usize,
    gnu_hash: usize,
    /// The hash table of older linkers, which also tells how many symbols there are.
    old_hash: usize,
    /// Address, first and end of the relocations that may name symbols: all but the linkage table's,
    /// and those.
    relocations: [(usize, Range<usize>); 2],
    /// What the loader made read-only after relocation: whole pages.
    read_only: Range<usize>,
}

/// A Bloom filter over the names that an object defines.
struct Filter<'a> {
    /// A power of two of them.
    words: &'a [u64],
    shift: u32,
}

impl Filter<'_> {
    /// False for most names that the object does not define.
    #[inline(always)]
    fn may_have(&self, hash: u32) -> bool {
        let index = (hash as usize / 64) & self.words.len().wrapping_sub(1);
        let bits = |word: &u64| word >> (hash % 64) & word >> ((hash >> self.shift) % 64) & 1;
        self.words.get(index).is_some_and(|word| bits(word) == 1)
    }
}

/// A word that the loader fills with the address of a symbol.
#[derive(Debug)]
pub struct Reference<'a> {
    pub name: &'a CStr,
    /// Zero is an answer.
    pub weak: bool,
    /// The symbol is one of the object's own too.
    pub defined: bool,
    /// It belongs to the tables through which code calls, not to data of the program.
    pub linkage: bool,
    place: usize,
    protected: bool,
}

impl Object {
    /// Reads the dynamic section; `None` without symbols.
    ///
    /// # Safety
    /// `info` is that of an object that is mapped and relocated, and stays so while this is used.
    pub unsafe fn of(info: &libc::dl_phdr_info) -> Option<Object> {
        let base = info.dlpi_addr as usize;
        // SAFETY: by contract.
        let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
        let dynamic = headers.iter().find(|h| h.p_type == libc::PT_DYNAMIC)?;
        let whole = |address: usize| address & !(page() - 1);
        let read_only = headers.iter().find(|h| h.p_type == libc::PT_GNU_RELRO).map_or(0..0, |h| {
            let start = base + h.p_vaddr as usize;
            whole(start)..whole(start + h.p_memsz as usize)
        });
        let (mut symbols, mut strings, mut gnu_hash, mut old_hash) = (0, 0, 0, 0);
        let (mut rela, mut rela_bytes, mut jump, mut jump_bytes, mut relative) = (0, 0, 0, 0, 0);
        let mut entry = (base + dynamic.p_vaddr as usize) as *const [usize; 2];
        // SAFETY: the dynamic section is an array of (tag, value) that ends with tag 0 (DT_NULL).
        unsafe {
            while (*entry)[0] != 0 {
                let value = (*entry)[1];
                // glibc stores relocated addresses here, except for the vDSO; other loaders do not.
                let address = if value < base { value + base } else { value };
                match (*entry)[0] {
                    DT_STRTAB => strings = address,
                    DT_SYMTAB => symbols = address,
                    DT_HASH => old_hash = address,
                    DT_GNU_HASH => gnu_hash = address,
                    DT_RELA => rela = address,
                    DT_RELASZ => rela_bytes = value,
                    DT_JMPREL => jump = address,
                    DT_PLTRELSZ => jump_bytes = value,
                    DT_RELACOUNT => relative = value,
                    _ => {}
                }
                entry = entry.add(1);
            }
        }
        let count =
            |table, bytes| if table == 0 { 0 } else { bytes / size_of::<libc::Elf64_Rela>() };
        // The relative ones, which are most, come first and name no symbol.
        let relocations =
            [(rela, relative..count(rela, rela_bytes)), (jump, 0..count(jump, jump_bytes))];
        (symbols != 0 && strings != 0).then_some(Object {
            name: info.dlpi_name,
            base,
            symbols,
            strings,
            gnu_hash,
            old_hash,
            relocations,
            read_only,
        })
    }

    /// File, as the loader names it: nothing for the program itself.
    ///
    /// # Safety
    /// The object is still mapped.
    pub unsafe fn path(&self) -> &CStr {
        // SAFETY: by contract; the loader keeps the name for as long as the object is mapped.
        if self.name.is_null() { c"" } else { unsafe { CStr::from_ptr(self.name) } }
    }

    /// Name of a symbol.
    ///
    /// # Safety
    /// The object is still mapped; `index` is a number of its symbol table.
    pub unsafe fn name(&self, index: usize) -> &CStr {
        // SAFETY: by contract; names are C strings within the string table.
        unsafe {
            let symbol = &*(self.symbols as *const libc::Elf64_Sym).add(index);
            CStr::from_ptr((self.strings + symbol.st_name as usize) as *const libc::c_char)
        }
    }

    /// The object's references to functions and data, its own included.
    ///
    /// # Safety
    /// The object is still mapped.
    pub unsafe fn references(&self) -> impl Iterator<Item = Reference<'_>> {
        self.relocations.iter().flat_map(move |(table, range)| {
            range.clone().filter_map(move |k| {
                // SAFETY: tables of a mapped object; symbol numbers of its relocations are within
                // its symbol table.
                unsafe {
                    let relocation = &*(*table as *const libc::Elf64_Rela).add(k);
                    let kind = relocation.r_info as u32;
                    let linkage = matches!(kind, R_GLOB_DAT | R_JUMP_SLOT);
                    if !(linkage || kind == R_64) || relocation.r_addend != 0 {
                        return None;
                    }
                    let index = (relocation.r_info >> 32) as usize;
                    let symbol = &*(self.symbols as *const libc::Elf64_Sym).add(index);
                    let place = self.base + relocation.r_offset as usize;
                    Some(Reference {
                        name: self.name(index),
                        weak: symbol.st_info >> 4 == STB_WEAK,
                        defined: symbol.st_shndx != 0,
                        linkage,
                        place,
                        protected: self.read_only.contains(&place),
                    })
                }
            })
        })
    }

    /// Number of the symbol of this name that the object defines and others see.
    ///
    /// # Safety
    /// The object is still mapped.
    pub unsafe fn definition(&self, name: &CStr) -> Option<usize> {
        // SAFETY: by contract.
        unsafe {
            let hash = gnu_hash(name.to_bytes());
            let index = match self.gnu_hash {
                0 => self.by_old_hash(name),
                _ => self.by_gnu_hash(name, hash),
            };
            index.filter(|&index| self.is_definition(index))
        }
    }

    /// Whether the object defines a symbol that others see; `hash` is that of the name.
    ///
    /// # Safety
    /// The object is still mapped.
    unsafe fn defines(&self, name: &CStr, hash: u32) -> bool {
        // SAFETY: by contract.
        unsafe {
            let index = match self.gnu_hash {
                0 => self.by_old_hash(name),
                _ => self.by_gnu_hash(name, hash),
            };
            index.is_some_and(|index| self.is_definition(index))
        }
    }

    /// The filter of the GNU hash table.
    ///
    /// # Safety
    /// The object is still mapped.
    unsafe fn filter(&self) -> Filter<'_> {
        if self.gnu_hash == 0 {
            return Filter { words: &[u64::MAX], shift: 0 };
        }
        // SAFETY: layout of DT_GNU_HASH, see `symbol_count`.
        unsafe {
            let words = self.gnu_hash as *const u32;
            let (count, shift) = (*words.add(2) as usize, *words.add(3));
            let filter = words.add(4).cast::<u64>();
            Filter { words: std::slice::from_raw_parts(filter, count), shift: shift & 31 }
        }
    }

    /// Number of the symbol of this name, by the GNU hash table.
    ///
    /// # Safety
    /// The object is still mapped and has such a table.
    unsafe fn by_gnu_hash(&self, name: &CStr, hash: u32) -> Option<usize> {
        // SAFETY: layout of DT_GNU_HASH, see `symbol_count`: the filter tells most of what is absent.
        unsafe {
            let words = self.gnu_hash as *const u32;
            let (buckets, first, bloom) = (*words, *words.add(1), *words.add(2));
            if buckets == 0 || !self.filter().may_have(hash) {
                return None;
            }
            let bucket = words.add(4).cast::<u64>().add(bloom as usize).cast::<u32>();
            let chain = bucket.add(buckets as usize);
            let mut index = *bucket.add((hash % buckets) as usize);
            if index < first {
                return None;
            }
            loop {
                let other = *chain.add((index - first) as usize);
                if other | 1 == hash | 1 && self.name(index as usize) == name {
                    return Some(index as usize);
                }
                if other & 1 == 1 {
                    return None;
                }
                index += 1;
            }
        }
    }

    /// Number of the symbol of this name, by the table of older linkers.
    ///
    /// # Safety
    /// The object is still mapped.
    unsafe fn by_old_hash(&self, name: &CStr) -> Option<usize> {
        if self.old_hash == 0 {
            return None;
        }
        // SAFETY: layout of DT_HASH: two counts, buckets, chains, which end with symbol 0.
        unsafe {
            let words = self.old_hash as *const u32;
            let buckets = *words;
            if buckets == 0 {
                return None;
            }
            let chain = words.add(2 + buckets as usize);
            let mut index = *words.add(2 + (old_hash(name.to_bytes()) % buckets) as usize) as usize;
            while index != 0 {
                if self.name(index) == name {
                    return Some(index);
                }
                index = *chain.add(index) as usize;
            }
            None
        }
    }

    /// # Safety
    /// The object is still mapped; `index` is a number of its symbol table.
    unsafe fn is_definition(&self, index: usize) -> bool {
        // SAFETY: by contract.
        let symbol = unsafe { &*(self.symbols as *const libc::Elf64_Sym).add(index) };
        symbol.st_shndx != 0 && symbol.st_value != 0
    }

    /// Number of symbols, from the GNU hash table: the end of the longest chain. `None` without one.
    ///
    /// # Safety
    /// The object is still mapped.
    pub unsafe fn symbol_count(&self) -> Option<usize> {
        if self.gnu_hash == 0 {
            return None;
        }
        // SAFETY: layout of DT_GNU_HASH: four words, bloom filter of 64-bit words, buckets, chains.
        unsafe {
            let words = self.gnu_hash as *const u32;
            let (buckets, first, bloom) =
                (*words as usize, *words.add(1) as usize, *words.add(2) as usize);
            let bucket = words.add(4 + 2 * bloom);
            let chain = bucket.add(buckets);
            let mut last = 0;
            for i in 0..buckets {
                last = last.max(*bucket.add(i) as usize);
            }
            if last < first {
                return Some(first);
            }
            while *chain.add(last - first) & 1 == 0 {
                last += 1;
            }
            Some(last + 1)
        }
    }
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

    /// Puts another address there. What the loader made read-only is so again afterwards.
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

    /// The C library refers to functions of others: the tables are read as they are.
    #[test]
    fn references_and_symbols_of_a_mapped_object_are_found() {
        let (mut names, mut symbols): (Vec<CString>, Vec<CString>) = Default::default();
        for_each_object(|info| {
            // SAFETY: names are C strings; the object stays mapped during the visit.
            unsafe {
                let name = CStr::from_ptr(info.dlpi_name).to_bytes();
                if let Some(object) = Object::of(info)
                    && name.windows(6).any(|w| w == b"libc.s")
                {
                    names.extend(object.references().map(|r| r.name.to_owned()));
                    let count = object.symbol_count().unwrap();
                    symbols.extend((1..count).map(|i| object.name(i).to_owned()));
                }
            }
            true
        });
        assert!(names.iter().any(|n| n.as_c_str() == c"malloc"), "{names:?}");
        assert!(symbols.iter().any(|n| n.as_c_str() == c"printf"));
    }

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

    /// The vDSO has both kinds of tables; its functions are in both.
    #[test]
    fn old_hash_tables_tell_the_same() {
        assert_eq!(old_hash(b"printf"), 0x077905a6);
        let mut compared = 0;
        for_each_object(|info| {
            // SAFETY: the object stays mapped during the visit.
            unsafe {
                let Some(object) = Object::of(info) else { return true };
                if let (false, Some(count)) = (object.old_hash == 0, object.symbol_count()) {
                    for name in (1..count).map(|i| object.name(i)) {
                        let hash = gnu_hash(name.to_bytes());
                        let by_old_hash = object.by_old_hash(name);
                        let definition = by_old_hash.filter(|&i| object.is_definition(i));
                        assert_eq!(object.defines(name, hash), definition.is_some());
                        // Several versions of a function have one name.
                        assert_eq!(object.definition(name).is_some(), definition.is_some());
                        compared += 1;
                    }
                    assert_eq!(object.by_old_hash(c"MPI_No_such_function"), None);
                }
            }
            true
        });
        // Where the C library has one table only there is nothing to compare.
        eprintln!("{compared} names compared");
    }

    /// A reference to another object's symbol is no definition.
    #[test]
    fn references_are_not_definitions() {
        let mut seen = 0;
        for_each_object(|info| {
            // SAFETY: the object stays mapped during the visit.
            unsafe {
                let Some(object) = Object::of(info) else { return true };
                if !object.path().is_empty() {
                    for reference in object.references().filter(|r| !r.defined) {
                        let hash = gnu_hash(reference.name.to_bytes());
                        assert!(!object.defines(reference.name, hash), "{:?}", reference.name);
                        seen += 1;
                    }
                }
            }
            true
        });
        assert!(seen > 0);
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
