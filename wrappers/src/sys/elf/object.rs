//! The tables of one mapped object: dynamic section, symbols and their hash tables, relocations.

use super::reference::{Reference, page};
use crate::arch::{R_ADDRESS, R_GLOB_DAT, R_JUMP_SLOT};
use std::ffi::CStr;
use std::ops::Range;

const DT_PLTRELSZ: usize = 2;
const DT_HASH: usize = 4;
const DT_STRTAB: usize = 5;
const DT_SYMTAB: usize = 6;
const DT_RELA: usize = 7;
const DT_RELASZ: usize = 8;
const DT_STRSZ: usize = 10;
const DT_JMPREL: usize = 23;
const DT_GNU_HASH: usize = 0x6fff_fef5;
const DT_RELACOUNT: usize = 0x6fff_fff9;
const STB_WEAK: u8 = 2;

/// Hash of a name as in DT_GNU_HASH.
pub fn gnu_hash(name: &[u8]) -> u32 {
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

/// Tables of a mapped object.
#[derive(Debug, Clone)]
pub struct Object {
    /// The name in the memory of the loader, see [`Self::path`].
    name: *const libc::c_char,
    /// The address to which the object's own addresses are relative.
    pub base: usize,
    /// Address of its symbol table.
    pub symbols: usize,
    strings: usize,
    string_bytes: usize,
    gnu_hash: usize,
    /// The hash table of older linkers. It also contains the number of symbols.
    old_hash: usize,
    /// Two tables with the address of each and the range of its relocations that may name symbols: the general
    /// table, and that of the linkage table.
    relocations: [(usize, Range<usize>); 2],
    /// The pages that the loader made read-only after relocation.
    read_only: Range<usize>,
}

/// A Bloom filter over the names that an object defines.
pub struct Filter<'a> {
    /// The words of the filter. Their number is a power of two.
    words: &'a [u64],
    shift: u32,
}

impl Filter<'_> {
    /// False for most names that the object does not define.
    #[inline(always)]
    pub fn may_have(&self, hash: u32) -> bool {
        let index = (hash as usize / 64) & self.words.len().wrapping_sub(1);
        let bits = |word: &u64| word >> (hash % 64) & word >> ((hash >> self.shift) % 64) & 1;
        self.words.get(index).is_some_and(|word| bits(word) == 1)
    }
}

impl Object {
    /// Reads the dynamic section. `None` if the object has no table of symbols.
    ///
    /// # Safety
    /// `info` is that of an object that is mapped and relocated, and stays so while this is used.
    pub unsafe fn of(info: &libc::dl_phdr_info) -> Option<Object> {
        let base = info.dlpi_addr as usize;
        // SAFETY: `info` describes a mapped object, whose program headers are mapped with it.
        let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
        let dynamic = headers.iter().find(|h| h.p_type == libc::PT_DYNAMIC)?;
        let whole = |address: usize| address & !(page() - 1);
        let read_only = headers.iter().find(|h| h.p_type == libc::PT_GNU_RELRO).map_or(0..0, |h| {
            let start = base + h.p_vaddr as usize;
            whole(start)..whole(start + h.p_memsz as usize)
        });
        let (mut symbols, mut strings, mut gnu_hash, mut old_hash) = (0, 0, 0, 0);
        let mut string_bytes = 0;
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
                    DT_STRSZ => string_bytes = value,
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
        // Relative relocations name no symbol. They come first, and are most of them.
        let relocations =
            [(rela, relative..count(rela, rela_bytes)), (jump, 0..count(jump, jump_bytes))];
        (symbols != 0 && strings != 0).then_some(Object {
            name: info.dlpi_name,
            base,
            symbols,
            strings,
            string_bytes,
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
        // SAFETY: the caller says that the object is mapped, and the loader keeps the name that long.
        if self.name.is_null() { c"" } else { unsafe { CStr::from_ptr(self.name) } }
    }

    /// Addresses at which the object has nothing but tables of names and symbols, and no code. Linkers place the hash
    /// tables, the symbols and their names in this order. Empty if the names do not follow the symbols directly.
    ///
    /// # Safety
    /// The object is still mapped.
    pub unsafe fn tables(&self) -> Range<usize> {
        let hashes = [self.gnu_hash, self.old_hash];
        let first = hashes.into_iter().filter(|&hash| hash != 0 && hash < self.symbols).min();
        // SAFETY: as the caller says.
        let count = unsafe { self.symbol_count() }.unwrap_or(0);
        let end = self.symbols + count * size_of::<libc::Elf64_Sym>();
        match first {
            Some(first) if self.strings == end => first..end + self.string_bytes,
            _ => 0..0,
        }
    }

    /// Name of a symbol.
    ///
    /// # Safety
    /// The object is still mapped; `index` is a number of its symbol table.
    pub unsafe fn name(&self, index: usize) -> &CStr {
        // SAFETY: the object is mapped and `index` is in its symbol table, as the caller says; names are
        // C strings within the string table.
        unsafe {
            let symbol = &*(self.symbols as *const libc::Elf64_Sym).add(index);
            CStr::from_ptr((self.strings + symbol.st_name as usize) as *const libc::c_char)
        }
    }

    /// The object's references to functions and data, including those that the object defines itself.
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
                    if !(linkage || kind == R_ADDRESS) || relocation.r_addend != 0 {
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

    /// Number of the symbol with this name, if the object defines it for other objects.
    ///
    /// # Safety
    /// The object is still mapped.
    pub unsafe fn definition(&self, name: &CStr) -> Option<usize> {
        // SAFETY: the object is mapped, as the caller says, and with it the hash table that its dynamic
        // section names; indices in that are indices of the symbol table.
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
    pub unsafe fn defines(&self, name: &CStr, hash: u32) -> bool {
        // SAFETY: the object is mapped, as the caller says, and with it the hash table that its dynamic
        // section names; indices in that are indices of the symbol table.
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
    pub unsafe fn filter(&self) -> Filter<'_> {
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
        // SAFETY: the object is mapped and `index` is in its symbol table, as the caller says.
        let symbol = unsafe { &*(self.symbols as *const libc::Elf64_Sym).add(index) };
        symbol.st_shndx != 0 && symbol.st_value != 0
    }

    /// Number of symbols, from the GNU hash table: the end of the longest chain. `None` if the object has no such table.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::elf::for_each_object;
    use std::ffi::CString;

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
}
