//! The identity of a program, from which the key of a record is made.
//!
//! The same program has to get the same key in every launch. A recompiled program gets a new key, because
//! its communication may have changed. The build id of the linker tells the two apart; without one, the
//! name and the size of the file are used. If the executable is an interpreter, the program is the
//! script. Only its name counts, so its matrix can still be used after a change of the script.

use crate::base::error::{Error, Result};
use crate::base::hash::Fnv1a;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

/// Longest name part of a key, in bytes.
const LONGEST_NAME: usize = 80;

/// Name and hash of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// Base name of the executable or script, in characters that are safe in file names.
    pub name: String,
    /// Hash by which programs with the same name are distinguished.
    pub hash: u32,
}

/// The identity of a program, `args` being its command line with its own name first.
///
/// Errors: the executable cannot be read.
pub fn identity(exe: &Path, args: &[String]) -> Result<Identity> {
    let name = base_name(&exe.to_string_lossy());
    if let Some(script) = script_of(&name, args) {
        let hash = hash(&[family(&name).unwrap_or(&name).as_bytes(), script.as_bytes()]);
        return Ok(Identity { name: safe(&script), hash });
    }
    let mut file = File::open(exe).map_err(|e| Error::io("cannot read the executable", exe, &e))?;
    let hash = match build_id(&mut file) {
        Some(id) => hash(&[b"build-id", &id]),
        None => {
            let size = file.metadata().map_or(0, |m| m.len());
            hash(&[b"size", name.as_bytes(), &size.to_le_bytes()])
        }
    };
    Ok(Identity { name: safe(&name), hash })
}

/// The key of a program at a number of tasks: `NAME-HASH-nTASKS`.
pub fn key_for(identity: &Identity, tasks: usize) -> String {
    format!("{}-n{tasks}", program_id(identity))
}

/// The identity of a program as text: `NAME-HASH`, the key of its records without the number of tasks.
pub fn program_id(identity: &Identity) -> String {
    format!("{}-{:08x}", identity.name, identity.hash)
}

/// The identity of the program in a key. `None` if the key does not have the form of a key that rankweave made.
pub fn program_of_key(key: &str) -> Option<&str> {
    let (program, tasks) = key.rsplit_once("-n")?;
    let (_, hash) = program.rsplit_once('-')?;
    let is_hash = hash.len() == 8 && hash.bytes().all(|b| b.is_ascii_hexdigit());
    (is_hash && !tasks.is_empty() && tasks.bytes().all(|b| b.is_ascii_digit())).then_some(program)
}

/// The GNU build id of an ELF file, if it has one. Anything odd counts as none.
pub fn build_id(file: &mut (impl Read + Seek)) -> Option<Vec<u8>> {
    /// A build id is within the first few notes; more is not read.
    const LARGEST_NOTES: u64 = 64 << 10;
    const NOTES: u64 = 4;
    let header = read_at(file, 0, 64)?;
    if !header.starts_with(b"\x7fELF") {
        return None;
    }
    let wide = header[4] == 2;
    let little = header[5] == 1;
    let number = |bytes: &[u8], start: usize, length: usize| -> Option<u64> {
        let field = bytes.get(start..start.checked_add(length)?)?;
        let push = |value: u64, byte: &u8| value << 8 | u64::from(*byte);
        Some(if little { field.iter().rev().fold(0, push) } else { field.iter().fold(0, push) })
    };
    let (table, entry, count) = if wide {
        (number(&header, 32, 8)?, number(&header, 54, 2)?, number(&header, 56, 2)?)
    } else {
        (number(&header, 28, 4)?, number(&header, 42, 2)?, number(&header, 44, 2)?)
    };
    for k in 0..count {
        let segment = read_at(file, table.checked_add(k * entry)?, if wide { 56 } else { 32 })?;
        if number(&segment, 0, 4)? != NOTES {
            continue;
        }
        let (offset, length) = if wide {
            (number(&segment, 8, 8)?, number(&segment, 32, 8)?)
        } else {
            (number(&segment, 4, 4)?, number(&segment, 16, 4)?)
        };
        let notes = read_at(file, offset, length.min(LARGEST_NOTES) as usize)?;
        let mut rest = notes.as_slice();
        while let (Some(name), Some(body), Some(kind)) =
            (number(rest, 0, 4), number(rest, 4, 4), number(rest, 8, 4))
        {
            let body_start = 12 + (name as usize).next_multiple_of(4);
            let content = rest.get(body_start..body_start.checked_add(body as usize)?)?;
            if kind == 3 && rest.get(12..16) == Some(b"GNU\0") && !content.is_empty() {
                return Some(content.to_vec());
            }
            rest = rest.get(body_start + (body as usize).next_multiple_of(4)..)?;
        }
    }
    None
}

fn read_at(file: &mut (impl Read + Seek), offset: u64, length: usize) -> Option<Vec<u8>> {
    file.seek(SeekFrom::Start(offset)).ok()?;
    let mut bytes = vec![0; length];
    file.read_exact(&mut bytes).ok()?;
    Some(bytes)
}

/// Interpreters: name without version, options that take the next argument as their value, options
/// whose value is the program itself (a module, a class file), options whose value is code. Blanks
/// separate the options.
type Interpreter = (&'static str, &'static str, &'static str, &'static str);

const INTERPRETERS: &[Interpreter] = &[
    ("python", "-W -X --check-hash-based-pycs", "-m", "-c"),
    ("pypy", "-W -X", "-m", "-c"),
    ("perl", "-I", "", "-e -E"),
    ("julia", "-p -t -J -L -H -C -g -O --threads --procs --load", "", "-e -E --eval --print"),
    ("Rscript", "-g", "", "-e"),
    ("R", "-g -d", "-f", "-e"),
    ("lua", "-l", "", "-e"),
    ("luajit", "-l -j", "", "-e"),
    ("ruby", "-I -r", "", "-e"),
    ("octave", "-p --path", "", "--eval"),
    ("octave-cli", "-p --path", "", "--eval"),
    ("node", "-r --require", "", "-e -p"),
    ("bash", "-o -O --rcfile --init-file", "", "-c"),
    ("sh", "-o", "", "-c"),
    ("dash", "-o", "", "-c"),
    ("ksh", "-o", "", "-c"),
    ("zsh", "-o", "", "-c"),
    (
        "java",
        "-cp -classpath --class-path -p --module-path --add-modules --add-opens",
        "-jar -m --module",
        "",
    ),
];

/// The interpreter's name without version (`python3.11` → `python`), if it is one.
fn family(name: &str) -> Option<&'static str> {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-');
    INTERPRETERS.iter().map(|i| i.0).find(|&known| known == stem || known == name)
}

/// The script that an interpreter runs. `None` if the program is no interpreter, or if it runs no script.
fn script_of(name: &str, args: &[String]) -> Option<String> {
    let family = family(name)?;
    let &(_, valued, program, code) = INTERPRETERS.iter().find(|i| i.0 == family)?;
    let is_in = |options: &str, arg: &str| options.split_whitespace().any(|one| one == arg);
    let mut rest = args.iter().skip(1).map(String::as_str);
    while let Some(arg) = rest.next() {
        if is_in(program, arg) {
            return rest.next().map(base_name);
        }
        if is_in(code, arg) {
            // Code has no name. Its text identifies the program.
            return rest.next().map(|text| format!("{family}-{:08x}", hash(&[text.as_bytes()])));
        }
        if family == "python" && arg.starts_with("-m") && arg.len() > 2 {
            return Some(arg[2..].to_string());
        }
        if arg == "--" {
            return rest.next().map(base_name);
        }
        if is_in(valued, arg) {
            rest.next();
        } else if arg.len() == 1 || !arg.starts_with('-') {
            return Some(if arg == "-" { "stdin".into() } else { base_name(arg) });
        }
    }
    None
}

fn base_name(path: &str) -> String {
    path.trim_end_matches('/').rsplit('/').next().unwrap_or(path).to_string()
}

/// Replaces characters that do not belong into a file name, and cuts a name that is too long.
fn safe(name: &str) -> String {
    let clean: String = name
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || "._+-".contains(c) { c } else { '_' })
        .take(LONGEST_NAME)
        .collect();
    if clean.is_empty() { "program".into() } else { clean }
}

/// A hash of the parts, each followed by its length, folded to 32 bits.
fn hash(parts: &[&[u8]]) -> u32 {
    let mut hash = Fnv1a::default();
    for part in parts {
        hash.bytes(part);
        hash.bytes(&(part.len() as u64).to_le_bytes());
    }
    (hash.value() >> 32) as u32 ^ hash.value() as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::Cursor;

    fn script(line: &str) -> Option<String> {
        let args: Vec<String> = line.split(' ').map(str::to_string).collect();
        script_of(&base_name(&args[0]), &args)
    }

    #[test]
    fn programs_of_keys() {
        assert_eq!(program_of_key("app-2-0badcafe-n16"), Some("app-2-0badcafe"));
        for other in ["winter-run", "app-0badcafe", "app-xyz-n4", "app-0badcafe-n", "-n4"] {
            assert_eq!(program_of_key(other), None, "{other}");
        }
    }

    #[test]
    fn scripts_of_interpreters() {
        for (line, want) in [
            ("/usr/bin/python3.11 -u -W ignore dir/train.py --n 3", "train.py"),
            ("python -m mpi4py.run app.py", "mpi4py.run"),
            ("python3 -mmodel x", "model"),
            ("perl -w -I lib run.pl", "run.pl"),
            ("julia --project=. -t 4 heat.jl", "heat.jl"),
            ("Rscript --vanilla fit.R", "fit.R"),
            ("bash -e job.sh", "job.sh"),
            ("java -cp a:b -Xmx1g org.Main", "org.Main"),
            ("java -jar lib/app.jar", "app.jar"),
            ("python3 -- odd.py", "odd.py"),
            ("lua5.4 -l x main.lua", "main.lua"),
        ] {
            assert_eq!(script(line).as_deref(), Some(want), "{line}");
        }
        for line in ["./cg.W.16 input", "python3", "python3 -u", "bash", "pythonish x.py"] {
            assert_eq!(script(line), None, "{line}");
        }
        assert_ne!(script("python3 -c import_a"), script("python3 -c import_b"));
    }

    #[test]
    fn a_script_decides_not_the_version_of_its_interpreter() {
        let of = |exe: &str, script: &str| {
            identity(Path::new(exe), &[exe.to_string(), script.to_string()]).unwrap()
        };
        let a = of("/opt/python3.9", "a.py");
        assert_eq!(a, of("/usr/bin/python3.11", "./a.py"));
        assert_ne!(a.hash, of("/opt/python3.9", "b.py").hash);
        assert_eq!(key_for(&a, 64), format!("a.py-{:08x}-n64", a.hash));
    }

    /// The hash stands in the name of every record: with another one no launch finds its matrix. The value was
    /// worked out by a separate program.
    #[test]
    fn keys_stay_the_same() {
        let of_script = identity(Path::new("/usr/bin/python3"), &["python3".into(), "a.py".into()]);
        assert_eq!(key_for(&of_script.unwrap(), 64), "a.py-a5ef6121-n64");
    }

    /// An ELF file of the given width and byte order with one note segment.
    fn elf(wide: bool, little: bool, id: &[u8]) -> Vec<u8> {
        let put = |bytes: &mut Vec<u8>, at: usize, length: usize, value: u64| {
            let little_endian = value.to_le_bytes();
            for k in 0..length {
                bytes[at + if little { k } else { length - 1 - k }] = little_endian[k];
            }
        };
        let mut bytes = vec![0u8; 200];
        bytes[..4].copy_from_slice(b"\x7fELF");
        bytes[4] = 1 + u8::from(wide);
        bytes[5] = 2 - u8::from(little);
        let notes = 136;
        if wide {
            put(&mut bytes, 32, 8, 64);
            put(&mut bytes, 54, 2, 56);
            put(&mut bytes, 56, 2, 1);
            put(&mut bytes, 64, 4, 4);
            put(&mut bytes, 72, 8, notes);
            put(&mut bytes, 96, 8, 16 + 16 + id.len() as u64);
        } else {
            put(&mut bytes, 28, 4, 64);
            put(&mut bytes, 42, 2, 32);
            put(&mut bytes, 44, 2, 1);
            put(&mut bytes, 64, 4, 4);
            put(&mut bytes, 68, 4, notes);
            put(&mut bytes, 80, 4, 16 + 16 + id.len() as u64);
        }
        let notes = notes as usize;
        // First a note of another kind, then the build id.
        put(&mut bytes, notes, 4, 4);
        put(&mut bytes, notes + 8, 4, 1);
        bytes[notes + 12..notes + 16].copy_from_slice(b"GNU\0");
        put(&mut bytes, notes + 16, 4, 4);
        put(&mut bytes, notes + 20, 4, id.len() as u64);
        put(&mut bytes, notes + 24, 4, 3);
        bytes[notes + 28..notes + 32].copy_from_slice(b"GNU\0");
        bytes[notes + 32..notes + 32 + id.len()].copy_from_slice(id);
        bytes
    }

    #[test]
    fn build_ids_of_every_width_and_order() {
        for (wide, little) in [(true, true), (true, false), (false, true), (false, false)] {
            let bytes = elf(wide, little, &[1, 2, 3, 4]);
            assert_eq!(build_id(&mut Cursor::new(&bytes)), Some(vec![1, 2, 3, 4]));
            assert_eq!(build_id(&mut Cursor::new(&bytes[..150])), None);
        }
        assert_eq!(build_id(&mut Cursor::new(b"#!/bin/sh\n")), None);
    }

    #[test]
    fn without_a_build_id_size_and_name_count() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("solver v2");
        let of = |content: &str| {
            std::fs::write(&path, content).unwrap();
            identity(&path, &[]).unwrap()
        };
        let a = of("12345");
        assert_eq!(a.name, "solver_v2");
        assert_eq!(a, of("54321"));
        assert_ne!(a.hash, of("123456").hash);
        assert!(identity(&dir.path().join("absent"), &[]).is_err());
    }

    proptest! {
        #[test]
        fn any_file_and_arguments_are_survived(
            mut bytes in prop::collection::vec(any::<u8>(), 0..300),
            is_elf in any::<bool>(),
            args in prop::collection::vec(".{0,8}", 0..5),
        ) {
            if is_elf && bytes.len() > 4 {
                bytes[..4].copy_from_slice(b"\x7fELF");
            }
            let _ = build_id(&mut Cursor::new(&bytes));
            let _ = script_of("python3", &args);
            let name = safe(&args.concat());
            prop_assert!(name.len() <= LONGEST_NAME && !name.contains('/'));
        }
    }
}
