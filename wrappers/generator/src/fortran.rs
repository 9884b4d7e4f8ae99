//! Fortran entry points: the four spellings of mpif.h and `use mpi`, and the two families of mpi_f08.
//!
//! All arguments are addresses; `ierror` comes last (and may be null in mpi_f08); every character
//! argument adds its length at the end. Calls are passed on to the Fortran P-name, so that
//! MPI_IN_PLACE and the other sentinels need no translation.

use crate::emit::{Class, class, function, generics, is_count};
use crate::prototype::{Parameter, Prototype};
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
    /// The same two with counts of kind MPI_COUNT_KIND.
    F08Large,
    F08tsLarge,
}

impl Binding {
    /// Bindings in which every call but the large-count twins has an entry.
    pub const SMALL: [Binding; 3] = [Binding::F77, Binding::F08, Binding::F08ts];
    /// Bindings of the large-count twins.
    pub const LARGE: [Binding; 2] = [Binding::F08Large, Binding::F08tsLarge];

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
            // `lower` ends with `_c` here. MPICH 4 has names of its own.
            Binding::F08Large => {
                vec![format!("{lower}_f08_"), format!("{}_f08_large_", base(&lower))]
            }
            Binding::F08tsLarge => {
                vec![format!("{lower}_f08ts_"), format!("{}_f08ts_large_", base(&lower))]
            }
        }
    }

    /// The function to pass on to, in Open MPI and in MPICH (of the two names of MPICH's large
    /// counts the newer one).
    pub fn real_names(self, name: &str) -> (String, String) {
        let lower = function(name);
        match self {
            Binding::F77 => (format!("p{lower}_"), format!("p{lower}_")),
            Binding::F08 | Binding::F08Large => {
                (format!("p{lower}_f08_"), format!("{}_f08_", inner(&lower)))
            }
            Binding::F08ts | Binding::F08tsLarge => {
                (format!("p{lower}_f08ts_"), format!("{}_f08ts_", inner(&lower)))
            }
        }
    }
}

fn base(lower: &str) -> &str {
    lower.strip_suffix("_c").unwrap_or(lower)
}

/// MPICH's name of the function below a Fortran one: `pmpir_send` of `mpi_send`.
fn inner(lower: &str) -> String {
    let (prefix, rest) = lower.split_once('_').unwrap_or(("mpi", lower));
    format!("p{prefix}r_{rest}")
}

/// The calls that have Fortran entry points of the small bindings.
pub fn calls(calls: &[Call]) -> Vec<&Call> {
    // The tools interface is one of C.
    let tools = |call: &Call| call.prototype.name.starts_with("MPI_T_");
    calls.iter().filter(|c| !is_large(c) && !tools(c)).collect()
}

/// The large-count twins, which mpi_f08 has as further specific procedures of the same name.
pub fn large(calls: &[Call]) -> Vec<&Call> {
    calls.iter().filter(|c| is_large(c)).collect()
}

fn is_large(call: &Call) -> bool {
    call.prototype.name.ends_with("_c")
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
        Action::Hand { function, always } => (
            if *always { "Records" } else { "Translates" },
            format!("fortran::handwritten::{function}"),
        ),
        Action::Nothing => return "Wrapper::Through".into(),
        Action::Translate => ("Translates", format!("f_{}", function(&call.prototype.name))),
        Action::Record { .. } | Action::Within => {
            ("Records", format!("f_{}", function(&call.prototype.name)))
        }
    };
    // In MPICH these call MPI_X in C, where everything is seen; only calls of mpi_f08 without choice
    // buffers go straight to the inside.
    let straight = matches!(binding, Binding::F08 | Binding::F08Large);
    // Of the large ones, the wrapper knows the binding by its place among these.
    let number = match binding {
        Binding::F08Large => 0,
        Binding::F08tsLarge => 1,
        small => small as usize,
    };
    let wrapper = format!("Wrapper::{kind}({path}::<A, {number}> as *const ())");
    // MPICH's mpif.h forms of these four do not call MPI_X but something inside; that of MPI_Pcontrol
    // calls it without the arguments that follow the level in C.
    let inside = binding == Binding::F77
        && matches!(
            call.prototype.name.as_str(),
            "MPI_Comm_set_attr"
                | "MPI_Comm_get_attr"
                | "MPI_Attr_put"
                | "MPI_Attr_get"
                | "MPI_Pcontrol"
        );
    if straight || inside {
        wrapper
    } else {
        format!("if A::FORTRAN_CALLS_C {{ Wrapper::Through }} else {{ {wrapper} }}")
    }
}

/// Lengths of character arguments, which come last.
fn lengths(prototype: &Prototype) -> usize {
    prototype.parameters.iter().filter(|p| p.c_type.contains("char")).count()
}

/// Number of arguments of a call, `ierror` and lengths of characters with them.
pub fn arguments(prototype: &Prototype) -> usize {
    prototype.parameters.len() + 1 + lengths(prototype)
}

/// Writes the function behind the entries of one call, generic over ABI and binding.
pub fn wrapper(text: &mut String, number: usize, call: &Call) {
    let prototype = &call.prototype;
    if matches!(call.action, Action::Hand { .. } | Action::Nothing) {
        return;
    }
    let mut names: Vec<String> = prototype.parameters.iter().map(Parameter::rust_name).collect();
    names.push("ierror".into());
    names.extend((0..lengths(prototype)).map(|i| format!("length{i}")));
    let signature: Vec<String> = names.iter().map(|n| format!("{n}: P")).collect();
    let types = vec!["P"; names.len()].join(", ");
    let _ = writeln!(
        text,
        "/// `{}` from Fortran{}\npub unsafe extern \"C-unwind\" fn f_{}<A: Abi, const B: usize>({}) {{",
        prototype.name,
        if is_large(call) { ", counts of kind MPI_COUNT_KIND" } else { "" },
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
            .map(|p| converted(p, is_large(call)))
            .collect();
        let list = passed.join(", ");
        later = *at_start;
        if later {
            text.push_str("        let mut plan = Plan::default();\n");
        }
        let generics = generics(prototype, arguments);
        let call = match class(recorder) {
            Class::Send if later => {
                format!("record::persistent::{recorder}::<A>(&mut plan, {list})")
            }
            Class::Send => format!("record::{recorder}_now::<A>({list})"),
            Class::OneSided => format!("record::onesided::{recorder}::<A>({list})"),
            Class::Uniform => {
                let out = if later {
                    "later(&mut plan)".to_string()
                } else {
                    format!("now({})", prototype.is_nonblocking())
                };
                format!("record::uniform::{recorder}::<A>({list}).{out}")
            }
            Class::Collective(module) => {
                let out = if later {
                    "Out::Later(&mut plan)".to_string()
                } else {
                    format!("Out::Now({})", prototype.is_nonblocking())
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
    let place = if is_large(call) { "fortran_large" } else { "fortran" };
    let _ = writeln!(
        text,
        "        let next: unsafe extern \"C-unwind\" fn({types}) = slots::next(slots::{place}(B, {number}));\n        next({});",
        names.join(", ")
    );
    if later {
        text.push_str("        fortran::keep::<A>(ierror, request, plan);\n");
    }
    text.push_str("    }\n}\n\n");
}

/// A Fortran argument as the recorders take it.
fn converted(p: &Parameter, large: bool) -> String {
    let name = p.rust_name();
    // Descriptors stand in the place of choice buffers in binding 2, and in 1 of the large ones.
    let descriptor = if large { "B == 1" } else { "B == 2" };
    match p.rust_type().as_str() {
        "c_int" if is_count(&p.name) => format!("i64::from(fortran::int({name}))"),
        "c_int" => format!("fortran::int({name})"),
        "A::Comm" => format!("fortran::comm::<A>({name})"),
        "A::Datatype" => format!("fortran::datatype::<A>({name})"),
        "A::Op" => format!("fortran::op::<A>({name})"),
        "A::Win" => format!("fortran::win::<A>({name})"),
        "i64" => format!("*{name}.cast::<i64>()"),
        "*const c_int" => format!("{name}.cast::<c_int>().cast_const()"),
        "*const i64" => format!("{name}.cast::<i64>().cast_const()"),
        "*const A::Datatype" => format!("fortran::Types({name}.cast::<c_int>().cast_const())"),
        _ => format!("fortran::buffer::<A>({name}, {descriptor})"),
    }
}
