//! Generates `wrappers.rs`: the wrapper of each entry point, generic over the ABI, and the table of all
//! wrappers.

use crate::HEAD;
use crate::c_wrappers::{self, is_plain_send};
use crate::table::{Action, Call};
use crate::{fortran_names, fortran_wrappers};
use std::fmt::Write;

/// The file.
pub fn file(calls: &[Call]) -> String {
    let mut text = String::from(HEAD);
    let generated = |call: &Call| !matches!(call.action, Action::Hand { .. } | Action::Nothing);
    for (number, call) in calls.iter().enumerate().filter(|(_, call)| generated(call)) {
        c_wrappers::wrapper(&mut text, number, call);
    }
    let in_fortran = fortran_names::calls(calls).into_iter().chain(fortran_names::large(calls));
    for call in in_fortran.filter(|call| generated(call)) {
        fortran_wrappers::wrapper(&mut text, call);
    }
    table(&mut text, calls);
    text
}

/// Writes the table. Functions written by hand are coerced to the type of the prototype, so that a function
/// with another signature does not compile.
fn table(text: &mut String, calls: &[Call]) {
    text.push_str(
        "/// The wrapper of every entry point, by its number.\n\
         pub fn table<A: Abi>() -> [Wrapper; COUNT] {\n    [\n",
    );
    for call in calls {
        let _ = writeln!(text, "        {},", c_entry(call));
    }
    for (binding, block) in fortran_names::blocks(calls) {
        for call in block {
            let _ = writeln!(text, "        {},", fortran_wrappers::entry(binding, call));
        }
    }
    text.push_str("    ]\n}\n");
}

/// The entry of a C call in the table.
fn c_entry(call: &Call) -> String {
    let name = call.prototype.rust_name();
    match &call.action {
        Action::Nothing => fortran_wrappers::THROUGH.into(),
        Action::Translate => format!("Wrapper::Translates({name}::<A> as *const ())"),
        Action::Record { .. } if is_plain_send(call) => format!(
            "Wrapper::Records(if A::NARROW {{ {name}_narrow::<A> as *const () }} else {{ {name}_wide::<A> as *const () }})"
        ),
        Action::Record { .. } | Action::Within => {
            format!("Wrapper::Records({name}::<A> as *const ())")
        }
        Action::Hand { function, always, .. } => {
            let kind = if *always { "Records" } else { "Translates" };
            // A variadic function is in assembler, without a signature.
            let coerced = if call.prototype.is_variadic() {
                String::new()
            } else {
                format!(" as {}", call.prototype.function_type())
            };
            format!("Wrapper::{kind}({function}::<A>{coerced} as *const ())")
        }
    }
}
