//! Generates `next.rs`: the numbers of entry points, and a typed function for the next function of each.

use crate::HEAD;
use crate::fortran_names::{self, Binding};
use crate::fortran_wrappers;
use crate::table::{Action, Call};
use std::fmt::Write;

/// The file. C calls have the first numbers, then comes a block for each Fortran binding, in the same
/// order.
pub fn file(calls: &[Call]) -> String {
    let mut text = String::from(HEAD);
    counts(&mut text, calls);
    text.push_str("c_functions! {\n");
    let wrapped = |call: &Call| call.action != Action::Nothing && !call.prototype.is_variadic();
    for (number, call) in calls.iter().enumerate().filter(|(_, c)| wrapped(c)) {
        let prototype = &call.prototype;
        let (name, signature) = (prototype.rust_name(), prototype.signature());
        let _ = writeln!(text, "    {number} {} {name}({signature});", prototype.name);
    }
    text.push_str("}\n\n/// The next functions behind entry points of Fortran, by binding.\npub mod in_fortran {\n    use super::{Argument, fortran, fortran_large, function};\n\n    fortran_functions! {\n");
    for (place, block) in
        [("fortran", fortran_names::calls(calls)), ("fortran_large", fortran_names::large(calls))]
    {
        let wrapped = block.iter().enumerate().filter(|(_, c)| fortran_wrappers::has_wrapper(c));
        for (number, call) in wrapped {
            let prototype = &call.prototype;
            let list = fortran_names::parameters(prototype).join(", ");
            let _ = writeln!(
                text,
                "        {place} {number} {} {}({list});",
                prototype.name,
                prototype.rust_name()
            );
        }
    }
    text.push_str("    }\n}\n");
    text
}

fn counts(text: &mut String, calls: &[Call]) {
    let (small, large) = (fortran_names::calls(calls).len(), fortran_names::large(calls).len());
    let count = calls.len() + small * Binding::SMALL.len() + large * Binding::LARGE.len();
    for (what, name, value) in [
        ("Number of entry points.", "COUNT", count),
        ("Number of C entry points; those of Fortran follow.", "C_COUNT", calls.len()),
        ("Number of entry points of each Fortran binding.", "FORTRAN_COUNT", small),
        (
            "Number of entry points of each Fortran binding with large counts.",
            "FORTRAN_LARGE_COUNT",
            large,
        ),
    ] {
        let _ = writeln!(text, "/// {what}\npub const {name}: usize = {value};");
    }
    text.push('\n');
}
