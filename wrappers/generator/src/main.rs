//! Generates the MPI entry points of `librankweave.so` from `calls.tbl` and `prototypes.tsv`.
//!
//! The tables say what every MPI call is; this program turns them into `entries.rs` (the exported
//! symbols and their numbers) and `wrappers.rs` (one function per call, generic over the ABI).
//! The output is committed, so that building the library needs nothing but cargo; with `--check`
//! the program compares instead of writing and fails if the committed files are stale.
//!
//! Limits: prototypes are taken as the standard has them; a parameter is a communicator when its
//! type is `MPI_Comm` by value.

mod emit;
mod fortran;
mod prototype;
mod table;

use std::path::Path;
use std::process::ExitCode;

fn run(wrappers: &Path, check: bool) -> Result<(), String> {
    let read = |name: &str| {
        std::fs::read_to_string(wrappers.join(name)).map_err(|e| format!("{name}: {e}"))
    };
    let prototypes = prototype::parse(&read("prototypes.tsv")?)?;
    let table = table::parse(&read("calls.tbl")?, &prototypes)?;
    let calls = table.calls;
    let outputs = [("entries.rs", emit::entries(&calls)), ("wrappers.rs", emit::wrappers(&calls)?)];
    for (name, text) in outputs {
        let path = wrappers.join("src/entry/generated").join(name);
        if check {
            let old = std::fs::read_to_string(&path).unwrap_or_default();
            if old != text {
                return Err(format!(
                    "{} is stale; run: cargo run -p rankweave-generator",
                    path.display()
                ));
            }
        } else {
            std::fs::write(&path, text).map_err(|e| format!("{}: {e}", path.display()))?;
        }
    }
    println!(
        "{} entry points from {} prototypes, {} functions left alone",
        calls.len(),
        prototypes.len(),
        table.left.len()
    );
    Ok(())
}

fn main() -> ExitCode {
    let check = std::env::args().any(|a| a == "--check");
    let wrappers = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    match run(&wrappers, check) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("rankweave-generator: {message}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    /// The committed files are what the tables say.
    #[test]
    fn generated_files_are_fresh() {
        let wrappers = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        super::run(&wrappers, true).unwrap();
    }
}
