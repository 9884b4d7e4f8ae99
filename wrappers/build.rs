//! Links the unwinder statically: every process that the library is preloaded into would otherwise
//! load libgcc_s.so.1 for it at start-up, MPI program or not.

use std::io;
use std::path::Path;

fn main() -> io::Result<()> {
    println!("cargo:rerun-if-changed=build.rs");
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
