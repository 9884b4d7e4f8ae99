//! `pmpi.rs`: the MPI functions that the library itself calls.

use crate::HEAD;
use crate::prototype::Prototypes;
use std::fmt::Write;

/// The file: one function for each name in the list.
///
/// # Errors
/// If a name has no prototype, or one that cannot be spelled in Rust; with the line.
pub fn file(list: &str, prototypes: &Prototypes) -> Result<String, String> {
    let mut text = format!("{HEAD}functions! {{\n");
    for (line, name) in crate::rows(list) {
        let fail = |what: &str| format!("wrappers/pmpi.txt:{line}: {what}");
        let (name, often) = match name.trim().split_once(char::is_whitespace) {
            Some((name, mark)) if mark.trim() == "often" => (name, true),
            Some((_, mark)) => return Err(fail(&format!("`{}` is not `often`", mark.trim()))),
            None => (name.trim(), false),
        };
        let prototype = prototypes.get(name).ok_or_else(|| {
            fail(&format!("no prototype of {name}; add it to wrappers/prototypes.tsv"))
        })?;
        let rust = prototype.rust_name();
        let rust = rust.strip_prefix("mpi_").unwrap_or(&rust);
        if prototype.is_variadic() || prototype.without_type().is_some() {
            return Err(fail(&format!("{name} has a parameter without a type in Rust")));
        }
        let inline = if often { "\n    #[inline(always)]" } else { "" };
        let _ = writeln!(text, "    /// {name}.{inline}");
        let _ = writeln!(text, "    {rust} = c\"P{name}\"({});", prototype.signature());
    }
    text.push_str("}\n");
    Ok(text)
}
