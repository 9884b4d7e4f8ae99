//! Generates the entry points and wrappers from the tables (`rankweave-generator`).
//!
//! Also links the unwinder statically. Otherwise every process with the preloaded library would load
//! libgcc_s.so.1 at its start, even if it is no MPI program.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Writes the generated Rust files into `out`. Mistakes in the tables become errors of the build.
fn generate(out: &Path) -> Result<(), String> {
    for table in rankweave_generator::TABLES {
        println!("cargo:rerun-if-changed={table}");
    }
    for (name, text) in rankweave_generator::generate(Path::new("."))?.files {
        let path = out.join(name);
        std::fs::write(&path, text)
            .map_err(|e| format!("{} cannot be written: {e}", path.display()))?;
    }
    Ok(())
}

/// Makes the linker find the static unwinder where it looks for the shared one (`-lgcc_s`).
fn link_unwinder(out: &Path) -> Result<(), String> {
    let script = "/* GNU ld script */\nINPUT ( -lgcc_eh -lgcc )\n";
    let path = out.join("libgcc_s.so");
    std::fs::write(&path, script)
        .map_err(|e| format!("{} cannot be written: {e}", path.display()))?;
    println!("cargo:rustc-link-search=native={}", out.display());
    Ok(())
}

fn build(out: &Path) -> Result<(), String> {
    println!("cargo:rerun-if-changed=build.rs");
    generate(out)?;
    if std::env::var("CARGO_CFG_TARGET_ENV").as_deref() == Ok("gnu") {
        link_unwinder(out)?;
    }
    Ok(())
}

fn main() -> ExitCode {
    let out = std::env::var_os("OUT_DIR").map(PathBuf::from);
    match out.ok_or_else(|| "cargo gave no OUT_DIR".to_string()).and_then(|out| build(&out)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            println!("cargo::error={message}");
            ExitCode::FAILURE
        }
    }
}
