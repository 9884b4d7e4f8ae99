//! Links the unwinder statically: every process that the library is preloaded into would otherwise
//! load libgcc_s.so.1 for it at start-up, MPI program or not.
//!
//! And gives the code that finds orders a number, so that orders which other code found are not taken for
//! its own (`RANKWEAVE_ENGINE`).

use std::io;
use std::path::{Path, PathBuf};

/// Sources that an order depends on, beside the version of the package.
const ENGINE: [&str; 4] = ["decide", "mapping", "metrics", "topology"];

/// FNV-1a, 64 bits, of all files there, in the order of their names; of nothing where they are not.
fn engine(sources: &Path) -> io::Result<u64> {
    let mut files = Vec::new();
    for part in ENGINE {
        let folder = sources.join(part);
        println!("cargo:rerun-if-changed={}", folder.display());
        if folder.is_dir() {
            collect(&folder, &mut files)?;
        }
    }
    files.sort();
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    for file in files {
        let name = file.strip_prefix(sources).unwrap_or(&file).to_string_lossy().into_owned();
        for byte in name.into_bytes().into_iter().chain([0]).chain(std::fs::read(&file)?) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
    Ok(hash)
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        match path.is_dir() {
            true => collect(&path, files)?,
            false if path.extension().is_some_and(|e| e == "rs") => files.push(path),
            false => {}
        }
    }
    Ok(())
}

fn main() -> io::Result<()> {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-env=RANKWEAVE_ENGINE={:016x}", engine(Path::new("../src"))?);
    if std::env::var("CARGO_CFG_TARGET_ENV").as_deref() == Ok("gnu")
        && let Some(out) = std::env::var_os("OUT_DIR")
    {
        // The linker looks for what std asks for (-lgcc_s) here first and finds a script that names
        // the static archives instead.
        let script = "/* GNU ld script */\nINPUT ( -lgcc_eh -lgcc )\n";
        std::fs::write(Path::new(&out).join("libgcc_s.so"), script)?;
        println!("cargo:rustc-link-search=native={}", Path::new(&out).display());
    }
    Ok(())
}
