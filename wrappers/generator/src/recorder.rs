//! How a recorder of `wrappers/src/record` is called.

use crate::prototype::{Parameter, Prototype};
use std::fmt::Write;

/// The module of a recorder, which decides how it is called.
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

/// Which form of a recorder of [`Class::Send`], [`Class::OneSided`] or [`Class::Uniform`] is called. The others
/// have one form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// The form that returns `None` if the thread has not used the objects of the call before.
    Fast,
    /// The form that is called after the fast form returned `None`.
    Slow,
    /// The fast form, and the slow form if the fast one returns `None`.
    Either,
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
    /// The module of the recorder.
    pub fn class(&self) -> Class {
        class(self.name)
    }

    /// The arguments, each spelled by `spell`.
    pub fn list(&self, spell: impl Fn(&Parameter) -> String) -> String {
        let parameters = &self.prototype.parameters;
        let found = self.arguments.iter().filter_map(|a| parameters.iter().find(|p| p.name == *a));
        found.map(spell).collect::<Vec<_>>().join(", ")
    }

    /// The type arguments: the ABI, and a type to be inferred for each kind of array that the recorder reads.
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

    /// Whether the recorder has a fast form, after which a call of the slow form may have to follow.
    pub fn may_give_none(&self) -> bool {
        !self.at_start && matches!(self.class(), Class::Send | Class::OneSided | Class::Uniform)
    }

    /// The call of the recorder with these arguments.
    pub fn call(&self, way: Way, list: &str) -> String {
        let (name, later) = (self.name, self.at_start);
        let nonblocking = self.prototype.is_nonblocking();
        let (send, again) = match way {
            Way::Fast => ("", "again"),
            Way::Slow => ("_slow", "first"),
            Way::Either => ("_now", "now"),
        };
        match self.class() {
            Class::Send if later => format!("record::persistent::{name}::<A>(&mut plan, {list})"),
            Class::Send => format!("record::{name}{send}::<A>({list})"),
            Class::OneSided => format!("record::onesided::{name}::<A>({list}).{again}()"),
            Class::Uniform if later => {
                format!("record::uniform::{name}::<A>({list}).later(&mut plan)")
            }
            Class::Uniform => {
                format!("record::uniform::{name}::<A>({list}).{again}({nonblocking})")
            }
            Class::Collective(module) => {
                let out = if later {
                    "Out::Later(&mut plan)".to_string()
                } else {
                    format!("Out::Now({nonblocking})")
                };
                format!("record::{module}::{name}::{}({out}, {list})", self.generics())
            }
        }
    }

    /// Writes the variable for the plan of a persistent request.
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
