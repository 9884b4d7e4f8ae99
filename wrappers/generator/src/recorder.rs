//! How a recorder of `wrappers/src/record` is called.

use crate::prototype::{Parameter, Prototype};
use std::fmt::Write;

/// Where a recorder lives, which decides how it is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    Send,
    OneSided,
    /// Collectives with blocks of the same size.
    Uniform,
    /// The other collectives, by the module of their recorders.
    Collective(&'static str),
}

/// The class of a recorder by its name in `calls.tbl`.
pub fn class(recorder: &str) -> Class {
    match recorder {
        "send" => Class::Send,
        "put" | "get" | "get_accumulate" | "fetch_and_op" | "compare_and_swap" => Class::OneSided,
        "barrier"
        | "bcast"
        | "reduce"
        | "allreduce"
        | "scan"
        | "exscan"
        | "reduce_scatter_block"
        | "gather"
        | "scatter"
        | "allgather"
        | "alltoall" => Class::Uniform,
        name if name.starts_with("neighbor_") => Class::Collective("neighbour"),
        _ => Class::Collective("collective"),
    }
}

/// A recorder with the arguments that a call gives it.
#[derive(Debug, Clone, Copy)]
pub struct Recorder<'a> {
    pub prototype: &'a Prototype,
    /// Its name.
    pub name: &'a str,
    /// Names of parameters of the prototype.
    pub arguments: &'a [String],
    /// Recorded at every start of a persistent request instead of at once.
    pub at_start: bool,
}

impl Recorder<'_> {
    /// Where it lives.
    pub fn class(&self) -> Class {
        class(self.name)
    }

    /// The arguments, each spelled by `spell`.
    pub fn list(&self, spell: impl Fn(&Parameter) -> String) -> String {
        let parameters = &self.prototype.parameters;
        let found = self.arguments.iter().filter_map(|a| parameters.iter().find(|p| p.name == *a));
        found.map(spell).collect::<Vec<_>>().join(", ")
    }

    /// Type arguments: the ABI, and one to be inferred for each kind of array it reads.
    fn generics(&self) -> String {
        let reads = |types: &[&str]| {
            let mut parameters = self.prototype.parameters.iter();
            parameters.any(|p| {
                self.arguments.contains(&p.name) && types.contains(&p.rust_type().as_str())
            })
        };
        let mut text = String::from("<A");
        if reads(&["*const c_int", "*const i64"]) {
            text.push_str(", _");
        }
        if reads(&["*const A::Datatype"]) {
            text.push_str(", _");
        }
        text.push('>');
        text
    }

    /// The call of a recorder of collectives whose blocks differ in size.
    pub fn collective(&self, module: &str, list: &str) -> String {
        let out = if self.at_start {
            "Out::Later(&mut plan)".to_string()
        } else {
            format!("Out::Now({})", self.prototype.is_nonblocking())
        };
        format!("record::{module}::{}::{}({out}, {list})", self.name, self.generics())
    }

    /// Writes the variable that takes what is recorded at every start.
    pub fn plan(&self, text: &mut String) {
        if self.at_start {
            let _ = writeln!(text, "        let mut plan = PersistentSends::default();");
        }
    }
}

/// Whether a parameter of this name counts elements.
pub fn is_count(name: &str) -> bool {
    name.contains("count") || name == "n"
}
