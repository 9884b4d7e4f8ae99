//! Generates the last part of `wrappers.rs`: for each family of handles, what stands behind each entry point.
//!
//! A table of addresses would have 8 bytes and a relocation of 24 bytes for each entry point. These tables have 4 bytes,
//! the distance of the function, and a character that says when the wrapper is needed.

use crate::fortran_names::{self, Binding};
use crate::handles::Family;
use crate::table::{Action, Call, Only};
use crate::{c_wrappers, fortran_wrappers};
use std::fmt::Write;

/// This part of the file.
pub fn file(calls: &[Call], families: &[Family]) -> String {
    let mut text = String::new();
    for &family in families {
        table(&mut text, calls, family);
    }
    text.push_str("fn table(family: Family) -> Option<Table> {\n    match family {\n");
    for family in families {
        let (name, symbol) = (family.name, symbol(*family));
        let kinds: String = entries(calls, *family).iter().map(|entry| entry.0).collect();
        let _ = writeln!(
            text,
            "        // SAFETY: a table of this length, above.\n        \
             Family::{name} => Some(Table {{ kinds: b\"{kinds}\", distances: unsafe {{ &{symbol} }} }}),"
        );
    }
    text.push_str("        Family::Unknown => None,\n    }\n}\n\n");
    signatures(&mut text, calls);
    text
}

/// When the wrapper of each entry point is needed, and its function, which is empty where it never is.
fn entries(calls: &[Call], family: Family) -> Vec<(char, String)> {
    let open_mpi = family.name == "OpenMpi";
    let entry = |call: &Call, needed: bool, function: String| {
        let exists = match call.only {
            Only::All => true,
            Only::OpenMpi => open_mpi,
            Only::Mpich => !open_mpi,
        };
        match call.action {
            Action::Nothing => ('-', String::new()),
            _ if !exists || !needed => ('-', String::new()),
            Action::Translate | Action::Hand { always: false, .. } => ('t', function),
            Action::Record { .. } | Action::Within | Action::Hand { .. } => ('r', function),
        }
    };
    let mut all: Vec<(char, String)> = Vec::new();
    for call in calls {
        all.push(entry(call, true, c_wrappers::function(call, family.name, family.narrow)));
    }
    for (binding, block) in fortran_names::blocks(calls) {
        for call in block {
            let needed = fortran_wrappers::has_wrapper(call)
                && (!family.fortran_calls_c || fortran_wrappers::is_needed_beside_c(binding, call));
            let function = match binding {
                _ if !needed => String::new(),
                binding => fortran_wrappers::function(binding, call, family.name),
            };
            all.push(entry(call, needed, function));
        }
    }
    all
}

/// The symbol of a table.
fn symbol(family: Family) -> String {
    format!("rankweave_wrappers_{}", family.name.to_lowercase())
}

/// Writes the table of a family, in the language of the assembler, which is the same for every processor.
fn table(text: &mut String, calls: &[Call], family: Family) {
    let symbol = symbol(family);
    let entries = entries(calls, family);
    let _ = writeln!(
        text,
        "std::arch::global_asm!(\n    \".pushsection .rodata.{symbol},\\\"a\\\"\",\n    \".balign 4\",\n    \
         \".globl {symbol}\",\n    \".hidden {symbol}\",\n    \".type {symbol}, %object\",\n    \"{symbol}:\","
    );
    for (number, (_, function)) in entries.iter().enumerate() {
        let word = if function.is_empty() { "0".into() } else { format!("{{f{number}}} - .") };
        let _ = writeln!(text, "    \".long {word}\",");
    }
    let _ = writeln!(text, "    \".size {symbol}, . - {symbol}\",\n    \".popsection\",");
    for (number, (_, function)) in entries.iter().enumerate().filter(|(_, e)| !e.1.is_empty()) {
        let _ = writeln!(text, "    f{number} = sym {function},");
    }
    let _ =
        writeln!(text, ");\n\nunsafe extern \"C\" {{\n    static {symbol}: [i32; COUNT];\n}}\n");
}

/// Writes a function that is never called: what is written by hand has to have the type of the prototype, and does not
/// compile otherwise.
fn signatures(text: &mut String, calls: &[Call]) {
    text.push_str("#[allow(dead_code)]\nfn signatures<A: Abi>() {\n");
    let by_hand = |call: &&Call| matches!(call.action, Action::Hand { .. });
    // A variadic function is in assembler, without a signature.
    for call in calls.iter().filter(by_hand).filter(|call| !call.prototype.is_variadic()) {
        let function = c_wrappers::function(call, "A", false);
        let _ = writeln!(text, "    let _: {} = {function};", call.prototype.function_type());
    }
    for (binding, block) in fortran_names::blocks(calls) {
        if matches!(binding, Binding::F08 | Binding::F08Large) {
            for call in
                block.into_iter().filter(by_hand).filter(|c| fortran_wrappers::has_wrapper(c))
            {
                let function = fortran_wrappers::function(binding, call, "A");
                let _ = writeln!(
                    text,
                    "    let _: {} = {function};",
                    fortran_wrappers::function_type(call)
                );
            }
        }
    }
    text.push_str("}\n");
}
