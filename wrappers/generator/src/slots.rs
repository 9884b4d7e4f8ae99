//! `slots.rs`, `names.rs` and `timed.rs`: the exported names of every entry point, the names of the real
//! functions, and which calls are timed. Also `exports.txt`, the sorted list of the exported names.

use crate::HEAD;
use crate::fortran_names;
use crate::table::{Action, Call};
use std::collections::BTreeSet;
use std::fmt::Write;

/// One entry point.
struct Entry {
    /// The names that programs refer to.
    exported: Vec<String>,
    /// The name of the real function, in Open MPI and in MPICH.
    real: (String, String),
    /// How its calls are timed; see [`timed`].
    timed: u8,
}

/// All entry points by number: those of C first, then one block of the same order for each Fortran
/// binding.
fn entries(calls: &[Call]) -> Vec<Entry> {
    let in_c = calls.iter().map(|call| Entry {
        exported: vec![call.prototype.name.clone()],
        real: (format!("P{}", call.prototype.name), format!("P{}", call.prototype.name)),
        timed: timed(call, call.prototype.parameters.len()),
    });
    let in_fortran = fortran_names::blocks(calls).into_iter().flat_map(|(binding, block)| {
        block.into_iter().map(move |call| Entry {
            exported: binding.names(&call.prototype),
            real: binding.real_names(&call.prototype),
            timed: timed(call, fortran_names::parameters(&call.prototype).len()),
        })
    });
    in_c.chain(in_fortran).collect()
}

/// The names of all entry points, sorted, one on a line: the list that is committed and reviewed.
pub fn exports(calls: &[Call]) -> String {
    let names: BTreeSet<String> = entries(calls).into_iter().flat_map(|e| e.exported).collect();
    names.into_iter().map(|name| name + "\n").collect()
}

/// How a call with this number of arguments is timed, in the encoding that the comment of `ARGUMENTS` describes: 0
/// if it is not timed.
fn timed(call: &Call, arguments: usize) -> u8 {
    let arguments = u8::try_from(arguments).unwrap_or(126).min(126);
    let only = if call.action == Action::Nothing { 128 } else { 0 };
    if call.timed { 1 + arguments + only } else { 0 }
}

/// `slots.rs`: the exported names.
pub fn file(calls: &[Call]) -> String {
    let mut text = format!("{HEAD}entry_points! {{\n");
    for (number, entry) in entries(calls).iter().enumerate() {
        let _ = writeln!(text, "    {number} [{}]", entry.exported.join(" "));
    }
    text.push_str("}\n");
    text
}

/// `names.rs`: the names of the real functions.
pub fn names(calls: &[Call]) -> String {
    let mut text = format!(
        "{HEAD}/// Names of the real functions, two for each entry point: in Open MPI and the MPI-5 ABI, and\n\
         /// in MPICH. One text, so that the loader has no pointers to relocate.\n\
         const NAMES: &str = concat!(\n"
    );
    for entry in entries(calls) {
        let (open_mpi, mpich) = entry.real;
        let _ = writeln!(text, "    \"{open_mpi}\\0{mpich}\\0\",");
    }
    text.push_str(");\n\n");
    newer(&mut text, calls);
    text
}

/// `timed.rs`: which calls are timed.
pub fn timed_file(calls: &[Call]) -> String {
    let bytes = entries(calls).iter().fold(String::new(), |mut text, entry| {
        let _ = write!(text, "\\x{:02x}", entry.timed);
        text
    });
    format!(
        "{HEAD}/// How a call is timed: 0 if it is not, else 1 and the number of its arguments, and 128 for one\n\
         /// whose entry has no other purpose.\n\
         const ARGUMENTS: &[u8; COUNT] = b\"{bytes}\";\n"
    )
}

/// Writes which entry points have functions that came after MPI-3.1.
fn newer(text: &mut String, calls: &[Call]) {
    let list = |calls: &[&Call]| -> String {
        let newer =
            calls.iter().enumerate().filter(|(_, call)| call.prototype.is_newer_than_mpi_3_1());
        newer.map(|(number, _)| number.to_string()).collect::<Vec<_>>().join(", ")
    };
    let all: Vec<&Call> = calls.iter().collect();
    let _ = writeln!(
        text,
        "/// Entry points whose function came after MPI-3.1.\n\
         static NEWER: &[u16] = &[{}];\n\
         /// The same, by number within a Fortran block.\n\
         static NEWER_IN_FORTRAN: &[u16] = &[{}];\n",
        list(&all),
        list(&fortran_names::calls(calls))
    );
}
