//! Fortran entry points: the four spellings of mpif.h and `use mpi`, and the two families of mpi_f08.
//!
//! All arguments are addresses; `ierror` comes last (and may be null in mpi_f08); every character
//! argument adds its length at the end. Calls are passed on to the Fortran P-name, so that
//! MPI_IN_PLACE and the other sentinels need no translation.

use crate::emit::{Class, class, function, generics, is_count};
use crate::prototype::Parameter;
use crate::table::{Action, Call};
use std::fmt::Write;

/// A Fortran binding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Binding {
    /// mpif.h and `use mpi`.
    F77,
    /// mpi_f08, choice buffers as addresses, and calls without them.
    F08,
    /// mpi_f08, choice buffers as descriptors (TS 29113).
    F08ts,
}

impl Binding {
    pub const ALL: [Binding; 3] = [Binding::F77, Binding::F08, Binding::F08ts];

    /// The names a compiler may refer to.
    pub fn names(self, name: &str) -> Vec<String> {
        let lower = function(name);
        match self {
            Binding::F77 => vec![
                lower.clone(),
                format!("{lower}_"),
                format!("{lower}__"),
                name.to_ascii_uppercase(),
            ],
            Binding::F08 => vec![format!("{lower}_f08_")],
            Binding::F08ts => vec![format!("{lower}_f08ts_")],
        }
    }

    /// The function to pass on to, in Open MPI and in MPICH.
    pub fn real_names(self, name: &str) -> (String, String) {
        let lower = function(name);
        match self {
            Binding::F77 => (format!("p{lower}_"), format!("p{lower}_")),
            Binding::F08 => (format!("p{lower}_f08_"), format!("pmpir_{}_f08_", &lower[4..])),
            Binding::F08ts => (format!("p{lower}_f08ts_"), format!("pmpir_{}_f08ts_", &lower[4..])),
        }
    }
}

/// The calls that have Fortran entry points: large-count twins have other names there.
pub fn calls(calls: &[Call]) -> Vec<&Call> {
    calls.iter().filter(|c| !c.prototype.name.ends_with("_c")).collect()
}

/// The entry of a call in the table of wrappers.
pub fn entry(binding: Binding, call: &Call) -> String {
    let (kind, path) = match &call.action {
        Action::Hand { function, .. }
            if matches!(
                function.as_str(),
                "comm_create_errhandler"
                    | "errhandler_create"
                    | "comm_create_keyval"
                    | "keyval_create"
            ) =>
        {
            return "Wrapper::Through".into();
        }
        Action::Hand { function, always } => {
            (if *always { "Records" } else { "Translates" }, format!("fortran::hand::{function}"))
        }
        Action::Translate => ("Translates", format!("f_{}", function(&call.prototype.name))),
        Action::Record { .. } | Action::Within => {
            ("Records", format!("f_{}", function(&call.prototype.name)))
        }
    };
    // In MPICH these call MPI_X in C, where everything is seen; only calls of mpi_f08 without choice
    // buffers go straight to the inside.
    let below = if binding == Binding::F08 { "" } else { " if A::FORTRAN_CALLS_C" };
    let wrapper = format!("Wrapper::{kind}({path}::<A, {}> as *const ())", binding as usize);
    // MPICH's mpif.h forms of these four do not call MPI_X but something inside.
    let inside = binding == Binding::F77
        && matches!(
            call.prototype.name.as_str(),
            "MPI_Comm_set_attr" | "MPI_Comm_get_attr" | "MPI_Attr_put" | "MPI_Attr_get"
        );
    if below.is_empty() || inside {
        wrapper
    } else {
        format!("if A::FORTRAN_CALLS_C {{ Wrapper::Through }} else {{ {wrapper} }}")
    }
}

/// Writes the function behind the entries of one call, generic over ABI and binding.
pub fn wrapper(text: &mut String, number: usize, call: &Call) {
    let prototype = &call.prototype;
    if matches!(call.action, Action::Hand { .. }) {
        return;
    }
    let mut names: Vec<String> = prototype.parameters.iter().map(Parameter::rust_name).collect();
    names.push("ierror".into());
    let lengths = prototype.parameters.iter().filter(|p| p.c_type.contains("char")).count();
    names.extend((0..lengths).map(|i| format!("length{i}")));
    let signature: Vec<String> = names.iter().map(|n| format!("{n}: P")).collect();
    let types = vec!["P"; names.len()].join(", ");
    let _ = writeln!(
        text,
        "/// `{}` from Fortran\npub unsafe extern \"C-unwind\" fn f_{}<A: Abi, const B: usize>({}) {{",
        prototype.name,
        function(&prototype.name),
        signature.join(", ")
    );
    text.push_str(
        "    // SAFETY: addresses of the program's own arguments; the real function takes the same.\n    unsafe {\n",
    );
    let mut later = false;
    if let Action::Record { recorder, arguments, at_start } = &call.action {
        let passed: Vec<String> = arguments
            .iter()
            .filter_map(|a| prototype.parameters.iter().find(|p| p.name == *a))
            .map(converted)
            .collect();
        let list = passed.join(", ");
        later = *at_start;
        if later {
            text.push_str("        let mut plan = Plan::default();\n");
        }
        let generics = generics(prototype, arguments);
        let call = match class(recorder) {
            Class::Send if later => format!("record::later::{recorder}::<A>(&mut plan, {list})"),
            Class::Send => format!("record::{recorder}_now::<A>({list})"),
            Class::OneSided => format!("record::onesided::{recorder}::<A>({list})"),
            Class::Collective(module) => {
                let out = if later {
                    "Out::Later(&mut plan)".to_string()
                } else {
                    format!(
                        "Out::Now({})",
                        prototype.parameters.iter().any(|p| p.name == "request")
                    )
                };
                format!("record::{module}::{recorder}::{generics}({out}, {list})")
            }
        };
        let _ = writeln!(text, "        let _ = {call};");
    }
    for p in prototype.parameters.iter().filter(|p| p.is_comm()) {
        let name = p.rust_name();
        let _ = writeln!(text, "        let {name} = fortran::effective::<A>({name});");
    }
    if call.action == Action::Within {
        text.push_str("        let _inside = Inside::enter();\n");
    }
    let _ = writeln!(
        text,
        "        let next: unsafe extern \"C-unwind\" fn({types}) = slots::next(slots::fortran(B, {number}));\n        next({});",
        names.join(", ")
    );
    if later {
        text.push_str("        fortran::keep::<A>(ierror, request, plan);\n");
    }
    text.push_str("    }\n}\n\n");
}

/// A Fortran argument as the recorders take it.
fn converted(p: &Parameter) -> String {
    let name = p.rust_name();
    match p.rust_type().as_str() {
        "c_int" if is_count(&p.name) => format!("i64::from(fortran::int({name}))"),
        "c_int" => format!("fortran::int({name})"),
        "A::Comm" => format!("fortran::comm::<A>({name})"),
        "A::Datatype" => format!("fortran::datatype::<A>({name})"),
        "A::Op" => format!("fortran::op::<A>({name})"),
        "A::Win" => format!("fortran::win::<A>({name})"),
        "*const c_int" => format!("{name}.cast::<c_int>().cast_const()"),
        "*const A::Datatype" => format!("fortran::Types({name}.cast::<c_int>().cast_const())"),
        _ => format!("fortran::buffer::<A, B>({name})"),
    }
}
