//! Generates the MPI entry points of `librankweave.so` from the tables in `wrappers/`.
//!
//! The tables say what every MPI call is: `prototypes.tsv` has the C prototypes of the standard, `calls.tbl`
//! says what the library does at each call. The build script of the library turns them into Rust when
//! the library is built; nothing generated is committed but the names that the library exports.
//!
//! Limits: prototypes are taken as the standard has them; a parameter is a communicator when its
//! type is `MPI_Comm` by value.

mod emit;
mod exports;
mod fortran;
mod prototype;
mod table;

use std::path::Path;

/// The tables, by their names in `wrappers/`.
pub const TABLES: [&str; 2] = ["calls.tbl", "prototypes.tsv"];

/// What is generated from the tables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Generated {
    /// Rust files by name, to be included by the library's own files.
    pub files: Vec<(&'static str, String)>,
    /// The names of all entry points, sorted, one on a line.
    pub exports: String,
}

/// Reads the tables in `folder` and generates the code.
///
/// # Errors
/// If a table cannot be read or has a mistake: the message names the file and the line and says what
/// to do.
pub fn generate(folder: &Path) -> Result<Generated, String> {
    let read = |name: &str| {
        let path = folder.join(name);
        std::fs::read_to_string(&path)
            .map_err(|e| format!("{} cannot be read: {e}", path.display()))
    };
    let prototypes = prototype::parse(&read("prototypes.tsv")?)?;
    let calls = table::parse(&read("calls.tbl")?, &prototypes)?.calls;
    Ok(Generated {
        files: vec![
            ("entries.rs", emit::entries(&calls)),
            ("wrappers.rs", emit::wrappers(&calls)?),
        ],
        exports: exports::list(&calls),
    })
}
