//! Wrappers of Fortran calls, generic over the ABI and the binding, and their entries in the table of wrappers.
//!
//! Calls are passed on to the Fortran P-name. MPI_IN_PLACE and the other sentinels therefore need no translation.

use crate::fortran_names::{self, Binding};
use crate::prototype::Parameter;
use crate::recorder::{Way, is_count};
use crate::table::{Action, Call};
use std::fmt::Write;

/// Writes the function behind the entries of one call.
pub fn wrapper(text: &mut String, call: &Call) {
    let prototype = &call.prototype;
    let large = fortran_names::is_large(call);
    let names = fortran_names::parameters(prototype);
    let signature: Vec<String> = names.iter().map(|n| format!("{n}: P")).collect();
    let _ = writeln!(
        text,
        "/// `{}` from Fortran{}\npub unsafe extern \"C-unwind\" fn f_{}<A: Abi, const B: usize>({}) {{",
        prototype.name,
        if large { ", counts of kind MPI_COUNT_KIND" } else { "" },
        prototype.rust_name(),
        signature.join(", ")
    );
    text.push_str(
        "    // SAFETY: addresses of the program's own arguments; the real function takes the same.\n    unsafe {\n",
    );
    let recorder = call.recorder();
    if let Some(recorder) = &recorder {
        recorder.plan(text);
        let list = recorder.list(|p| converted(p, large, recorder.at_start));
        let _ = writeln!(text, "        let _ = {};", recorder.call(Way::Either, &list));
    }
    for p in prototype.parameters.iter().filter(|p| p.is_comm()) {
        let name = p.rust_name();
        let seldom = if recorder.is_some_and(|r| r.at_start) { "seldom::" } else { "" };
        let _ = writeln!(text, "        let {name} = arguments::{seldom}effective::<A>({name});");
    }
    if call.action == Action::Within {
        text.push_str("        let _inside = Inside::enter();\n");
    }
    let _ = writeln!(
        text,
        "        next::in_fortran::{}::<B>({});",
        prototype.rust_name(),
        names.join(", ")
    );
    if recorder.is_some_and(|r| r.at_start) {
        text.push_str("        arguments::seldom::keep::<A>(ierror, request, &mut plan);\n");
    }
    text.push_str("    }\n}\n\n");
}

/// A Fortran argument as the recorders take it. With `seldom`, functions convert it that are not in every wrapper.
fn converted(p: &Parameter, large: bool, seldom: bool) -> String {
    let name = p.rust_name();
    let seldom = if seldom { "seldom::" } else { "" };
    // Choice buffers are passed as descriptors in binding 2, and in binding 1 of the large-count calls.
    let descriptor = if large { "B == 1" } else { "B == 2" };
    match p.rust_type().as_str() {
        "c_int" if is_count(&p.name) => format!("i64::from(arguments::int({name}))"),
        "c_int" => format!("arguments::int({name})"),
        "A::Comm" => format!("arguments::{seldom}comm::<A>({name})"),
        "A::Datatype" => format!("arguments::{seldom}datatype::<A>({name})"),
        "A::Op" => format!("arguments::op::<A>({name})"),
        "A::Win" => format!("arguments::win::<A>({name})"),
        "i64" => format!("*{name}.cast::<i64>()"),
        "*const c_int" => format!("{name}.cast::<c_int>().cast_const()"),
        "*const i64" => format!("{name}.cast::<i64>().cast_const()"),
        "*const A::Datatype" => format!("arguments::Types({name}.cast::<c_int>().cast_const())"),
        _ => format!("arguments::{seldom}buffer::<A>({name}, {descriptor})"),
    }
}

/// Whether a call has a wrapper for Fortran.
pub fn has_wrapper(call: &Call) -> bool {
    !matches!(call.action, Action::Nothing | Action::Hand { only_c: true, .. })
}

/// The function behind the entry of a call, for the handles of a family that is named by `abi`.
pub fn function(binding: Binding, call: &Call, abi: &str) -> String {
    // The wrapper of a large-count call knows its binding by the index in `Binding::LARGE`.
    let number = match binding {
        Binding::F08Large => 0,
        Binding::F08tsLarge => 1,
        small => small as usize,
    };
    match &call.action {
        Action::Hand { function, .. } => format!("fortran::{function}::<{abi}, {number}>"),
        _ => format!("f_{}::<{abi}, {number}>", call.prototype.rust_name()),
    }
}

/// The type of this function.
pub fn function_type(call: &Call) -> String {
    let types = vec!["P"; fortran_names::parameters(&call.prototype).len()].join(", ");
    format!("unsafe extern \"C-unwind\" fn({types})")
}

/// Whether the entry of a call leads to its wrapper where the Fortran procedures call MPI_X in C, whose wrapper
/// sees the call, too. In MPICH, only the procedures of mpi_f08 without choice buffers call internal functions
/// directly.
pub fn is_needed_beside_c(binding: Binding, call: &Call) -> bool {
    let straight = matches!(binding, Binding::F08 | Binding::F08Large);
    straight || (binding == Binding::F77 && call.bypasses_c)
}
