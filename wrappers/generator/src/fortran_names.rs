//! The names of Fortran entry points and of their arguments: the four spellings of mpif.h and `use mpi`, and the
//! two families of mpi_f08. Also which calls have Fortran entry points.
//!
//! All arguments are addresses. `ierror` comes last, and may be null in mpi_f08. Every character argument adds
//! its length at the end.

use crate::prototype::{Parameter, Prototype};
use crate::table::Call;

/// A Fortran binding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Binding {
    /// mpif.h and `use mpi`.
    F77,
    /// mpi_f08, choice buffers as addresses, and calls without them.
    F08,
    /// mpi_f08, choice buffers as descriptors (TS 29113).
    F08ts,
    /// mpi_f08 with counts of kind MPI_COUNT_KIND, with choice buffers as addresses and as descriptors.
    F08Large,
    F08tsLarge,
}

/// Functions that take a communicator and have a second procedure in mpif.h and `use mpi`, for a base of TYPE(C_PTR).
const WITH_C_POINTER: [&str; 2] = ["MPI_Win_allocate", "MPI_Win_allocate_shared"];

impl Binding {
    /// Bindings in which every call but the large-count twins has an entry.
    pub const SMALL: [Binding; 3] = [Binding::F77, Binding::F08, Binding::F08ts];
    /// Bindings of the large-count twins.
    pub const LARGE: [Binding; 2] = [Binding::F08Large, Binding::F08tsLarge];

    /// The end of the names of its procedures.
    fn suffix(self) -> &'static str {
        match self {
            Binding::F77 => "_",
            Binding::F08 | Binding::F08Large => "_f08_",
            Binding::F08ts | Binding::F08tsLarge => "_f08ts_",
        }
    }

    /// The names that a compiler may refer to.
    pub fn names(self, prototype: &Prototype) -> Vec<String> {
        let (lower, suffix) = (prototype.rust_name(), self.suffix());
        let name = format!("{lower}{suffix}");
        match self {
            Binding::F77 => {
                // The specific procedures with a base of TYPE(C_PTR) (MPI-4.1, section 12.2.2) take the same arguments.
                let with_pointer = WITH_C_POINTER
                    .contains(&prototype.name.as_str())
                    .then(|| format!("{lower}_cptr"));
                let spelled = |lower: String| {
                    [
                        lower.clone(),
                        format!("{lower}_"),
                        format!("{lower}__"),
                        lower.to_ascii_uppercase(),
                    ]
                };
                std::iter::once(lower).chain(with_pointer).flat_map(spelled).collect()
            }
            Binding::F08 | Binding::F08ts => vec![name],
            // MPICH 4 has names of its own.
            Binding::F08Large | Binding::F08tsLarge => {
                let base = prototype.base_name().to_ascii_lowercase();
                vec![name, format!("{base}{suffix}large_")]
            }
        }
    }

    /// The name of the real function in Open MPI and in MPICH. MPICH has two names for functions with large
    /// counts; this is the newer one. For mpi_f08, MPICH has `pmpir_send` where Open MPI has `pmpi_send`.
    pub fn real_names(self, prototype: &Prototype) -> (String, String) {
        let open_mpi = format!("p{}{}", prototype.rust_name(), self.suffix());
        let mpich = match self {
            Binding::F77 => open_mpi.clone(),
            _ => open_mpi.replacen('_', "r_", 1),
        };
        (open_mpi, mpich)
    }
}

/// The calls that have Fortran entry points of the small bindings.
pub fn calls(calls: &[Call]) -> Vec<&Call> {
    // The tools interface exists in C only.
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
    call.prototype.base_name() != call.prototype.name
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
    // The standard has no `ierror` for MPI_PCONTROL, but MPICH writes one.
    names.push("ierror".into());
    let lengths = in_fortran.iter().filter(|p| p.c_type.contains("char")).count();
    names.extend((0..lengths).map(|i| format!("length{i}")));
    names
}
