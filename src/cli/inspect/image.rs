//! The contents of an ELF file that matter here: architecture, interpreter, needed libraries, symbols.
//!
//! Only headers, the dynamic section and the tables of symbols are read, however large the file is. Limits:
//! these tables are found through section headers, so a file without section headers has no symbols here.

use crate::base::file;
use object::elf::{self, FileHeader32, FileHeader64};
use object::read::elf::{Dyn, FileHeader, ProgramHeader, Sym};
use object::{Endianness, ReadCache, ReadRef};
use std::collections::BTreeSet;
use std::io::Read;
use std::path::{Path, PathBuf};

/// A symbol that a file uses without defining it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Symbol {
    /// The name, without its version.
    pub name: String,
    /// True if the file works without the symbol.
    pub weak: bool,
}

/// An ELF file.
#[derive(Debug, Clone, Default)]
pub struct Image {
    /// The path of the file.
    pub path: PathBuf,
    /// True for 64 bits, false for 32 bits.
    pub wide: bool,
    /// True for little-endian.
    pub little: bool,
    /// `e_machine`.
    pub machine: elf::Machine,
    /// The dynamic linker that it asks for.
    pub interpreter: Option<String>,
    /// True if it has a dynamic section. Only then can a library be preloaded into it.
    pub dynamic: bool,
    /// Names of the libraries that it needs, in their order.
    pub needed: Vec<String>,
    /// Its own name as a library.
    pub soname: Option<String>,
    /// The entries of `DT_RPATH`.
    pub rpath: Vec<String>,
    /// The entries of `DT_RUNPATH`. If there are any, `rpath` does not count.
    pub runpath: Vec<String>,
    /// Symbols that it uses without defining them.
    pub undefined: BTreeSet<Symbol>,
    /// Functions and objects that it offers to other files, in the order of its table.
    pub offered: Vec<String>,
    /// Functions `PMPI_…` that it defines, offered or not. A stripped file has none.
    pub linked_in: BTreeSet<String>,
}

/// The reason why a file is not read as an ELF file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotElf {
    /// It cannot be read.
    Unreadable(String),
    /// A script: the line behind `#!`.
    Script(String),
    /// Something else.
    Other,
}

impl Image {
    /// Reads a file.
    pub fn read(path: &Path) -> Result<Image, NotElf> {
        let unreadable = |e: std::io::Error| NotElf::Unreadable(e.to_string());
        let (mut file, _) = file::open(path).map_err(unreadable)?;
        let mut start = Vec::new();
        file.by_ref().take(256).read_to_end(&mut start).map_err(unreadable)?;
        if let Some(line) = start.strip_prefix(b"#!") {
            let line = line.split(|&b| b == b'\n').next().unwrap_or_default();
            return Err(NotElf::Script(String::from_utf8_lossy(line).trim().to_string()));
        }
        if !start.starts_with(b"\x7fELF") {
            return Err(NotElf::Other);
        }
        let cache = ReadCache::new(file);
        let image = match start.get(4) == Some(&elf::ELFCLASS32.0) {
            true => read::<FileHeader32<Endianness>, _>(&cache),
            false => read::<FileHeader64<Endianness>, _>(&cache),
        };
        let image = image.map_err(|error| NotElf::Unreadable(error.to_string()))?;
        Ok(Image { path: path.to_path_buf(), ..image })
    }

    /// True if both files can be in one process.
    pub fn fits(&self, other: &Image) -> bool {
        (self.wide, self.little, self.machine) == (other.wide, other.little, other.machine)
    }

    /// True for a program that is linked statically: nothing can be preloaded into it, and it loads no library.
    pub fn is_static(&self) -> bool {
        !self.dynamic || self.interpreter.is_none() && self.needed.is_empty()
    }

    /// True if it offers this name.
    pub fn offers(&self, name: &str) -> bool {
        self.offered.iter().any(|offered| offered == name)
    }

    /// The name of the architecture.
    pub fn architecture(&self) -> String {
        let name = match self.machine {
            elf::EM_X86_64 if self.wide => "x86-64",
            elf::EM_X86_64 => "x32",
            elf::EM_386 => "32-bit x86",
            elf::EM_AARCH64 => "aarch64",
            elf::EM_ARM => "32-bit arm",
            elf::EM_PPC64 if self.little => "ppc64le",
            elf::EM_PPC64 => "ppc64",
            elf::EM_RISCV => "riscv",
            elf::EM_S390 => "s390x",
            _ => "",
        };
        match name {
            "" => format!("{}-bit machine {}", if self.wide { 64 } else { 32 }, self.machine.0),
            name => name.to_string(),
        }
    }
}

fn read<'data, Elf, R>(data: R) -> object::Result<Image>
where
    Elf: FileHeader<Endian = Endianness>,
    R: ReadRef<'data>,
{
    let header = Elf::parse(data)?;
    let endian = header.endian()?;
    let mut image = Image {
        wide: header.is_type_64(),
        little: header.is_little_endian(),
        machine: header.e_machine(endian),
        ..Image::default()
    };
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    for segment in header.program_headers(endian, data)? {
        if let Some(path) = segment.interpreter(endian, data)? {
            image.interpreter = Some(text(path));
        }
        image.dynamic |= segment.p_type(endian) == elf::PT_DYNAMIC;
    }
    let sections = header.sections(endian, data)?;
    if let Some((entries, link)) = sections.dynamic(endian, data)? {
        let strings = sections.strings(endian, data, link)?;
        let split = |value: String| value.split(':').map(str::to_string).collect::<Vec<_>>();
        for entry in entries {
            let value = || entry.string(endian, strings).map(text);
            match entry.tag(endian) {
                elf::DT_NULL => break,
                elf::DT_NEEDED => image.needed.push(value()?),
                elf::DT_SONAME => image.soname = Some(value()?),
                elf::DT_RPATH => image.rpath = split(value()?),
                elf::DT_RUNPATH => image.runpath = split(value()?),
                _ => {}
            }
        }
    }
    let table = sections.symbols(endian, data, elf::SHT_DYNSYM)?;
    for symbol in table.iter() {
        let name = text(symbol.name(endian, table.strings())?);
        if name.is_empty() {
            continue;
        }
        if symbol.is_undefined(endian) {
            image.undefined.insert(Symbol { name, weak: symbol.st_bind() == elf::STB_WEAK });
        } else if symbol.st_bind() != elf::STB_LOCAL {
            image.offered.push(name);
        }
    }
    let table = sections.symbols(endian, data, elf::SHT_SYMTAB)?;
    for symbol in table.iter() {
        let name = symbol.name(endian, table.strings()).unwrap_or_default();
        if name.starts_with(b"PMPI_") && !symbol.is_undefined(endian) {
            image.linked_in.insert(text(name));
        }
    }
    Ok(image)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_very_program() {
        let image = Image::read(&std::env::current_exe().unwrap()).unwrap();
        assert!(image.wide && image.little && image.dynamic);
        assert!(image.needed.iter().any(|n| n.starts_with("libc.so")), "{:?}", image.needed);
        assert!(image.interpreter.as_deref().is_some_and(|i| i.contains("ld-")));
        assert!(image.undefined.iter().any(|s| s.name == "malloc" && !s.weak));
        assert!(image.linked_in.is_empty());
        assert!(image.fits(&image.clone()));
    }

    #[test]
    fn other_files_are_told_apart() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        assert!(matches!(Image::read(&path), Err(NotElf::Unreadable(_))));
        for (content, wanted) in [
            (&b"#! /usr/bin/env python3 -u\nprint()\n"[..], "/usr/bin/env python3 -u"),
            (b"#!/bin/sh", "/bin/sh"),
        ] {
            std::fs::write(&path, content).unwrap();
            assert_eq!(Image::read(&path).unwrap_err(), NotElf::Script(wanted.into()));
        }
        for content in [&b""[..], b"#", b"hello", b"\x7fEL"] {
            std::fs::write(&path, content).unwrap();
            assert_eq!(Image::read(&path).unwrap_err(), NotElf::Other);
        }
    }

    #[test]
    fn damaged_files_are_errors() {
        let whole = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        for length in [4, 5, 20, 64, 1000] {
            std::fs::write(&path, &whole[..length]).unwrap();
            assert!(matches!(Image::read(&path), Err(NotElf::Unreadable(_))), "{length}");
        }
        let start: Vec<u8> = whole[..4096].to_vec();
        for position in 4..200 {
            let mut bytes = start.clone();
            bytes[position] ^= 0xff;
            std::fs::write(&path, &bytes).unwrap();
            let _ = Image::read(&path);
        }
    }
}
