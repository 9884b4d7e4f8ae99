//! Fortran entry points: the four spellings of mpif.h and `use mpi`, and the two families of mpi_f08.
//!
//! All arguments are addresses; `ierror` comes last (and may be null in mpi_f08); every character
//! argument adds its length at the end. Calls are passed on to the Fortran P-name, so that
//! MPI_IN_PLACE and the other sentinels need no translation.

use crate::prototype::{Parameter, Prototype};
use crate::table::{Action, Call};

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
        let lower = name.to_ascii_lowercase();
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
        let lower = name.to_ascii_lowercase();
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

/// The calls of every binding, in the order of the numbers of their entry points.
pub fn blocks(all: &[Call]) -> Vec<(Binding, Vec<&Call>)> {
    let small = Binding::SMALL.map(|binding| (binding, calls(all)));
    small.into_iter().chain(Binding::LARGE.map(|binding| (binding, large(all)))).collect()
}

/// Whether a call has counts of kind MPI_COUNT_KIND.
pub fn is_large(call: &Call) -> bool {
    call.prototype.name.ends_with("_c")
}

/// The names of the arguments of a call: those of C, `ierror`, and the lengths of characters.
pub fn parameters(prototype: &Prototype) -> Vec<String> {
    // The arguments of `main` exist in C only.
    let of_main = |p: &Parameter| {
        matches!(prototype.name.as_str(), "MPI_Init" | "MPI_Init_thread")
            && matches!(p.name.as_str(), "argc" | "argv")
    };
    let in_fortran: Vec<&Parameter> = prototype.named().filter(|p| !of_main(p)).collect();
    let mut names: Vec<String> = in_fortran.iter().map(|p| p.rust_name()).collect();
    // The standard has none for MPI_PCONTROL, but MPICH writes one.
    names.push("ierror".into());
    let lengths = in_fortran.iter().filter(|p| p.c_type.contains("char")).count();
    names.extend((0..lengths).map(|i| format!("length{i}")));
    names
}

/// What stands in the table of wrappers for a call that is passed on as it is.
pub const THROUGH: &str = "Wrapper::Through";

/// The entry of a call in the table of wrappers.
pub fn entry(binding: Binding, call: &Call) -> String {
    // Of the large ones, the wrapper knows the binding by its place among these.
    let number = match binding {
        Binding::F08Large => 0,
        Binding::F08tsLarge => 1,
        small => small as usize,
    };
    let generated = format!("f_{}::<A, {number}> as *const ()", call.prototype.rust_name());
    let (kind, function) = match &call.action {
        Action::Nothing | Action::Hand { only_c: true, .. } => return THROUGH.into(),
        Action::Hand { function, always, .. } => {
            let types = vec!["P"; parameters(&call.prototype).len()].join(", ");
            let path = format!(
                "fortran::{function}::<A, {number}> as unsafe extern \"C-unwind\" fn({types}) as *const ()"
            );
            (if *always { "Records" } else { "Translates" }, path)
        }
        Action::Translate => ("Translates", generated),
        Action::Record { .. } | Action::Within => ("Records", generated),
    };
    // In MPICH these call MPI_X in C, where everything is seen; only calls of mpi_f08 without choice
    // buffers go straight to the inside.
    let straight = matches!(binding, Binding::F08 | Binding::F08Large);
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
    let wrapper = format!("Wrapper::{kind}({function})");
    if straight || inside {
        wrapper
    } else {
        format!("if A::FORTRAN_CALLS_C {{ {THROUGH} }} else {{ {wrapper} }}")
    }
}
