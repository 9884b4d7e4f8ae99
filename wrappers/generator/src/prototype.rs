//! C prototypes of MPI functions and their Rust spelling.

use std::collections::BTreeMap;

/// One parameter: C type without the name, the name, and whether it was an array (`name[]`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameter {
    pub c_type: String,
    pub name: String,
    pub array: bool,
}

/// A function: its parameters in order.
#[derive(Debug, Clone)]
pub struct Prototype {
    pub name: String,
    pub parameters: Vec<Parameter>,
    /// The version of the standard in which the function appeared, or in which it was removed.
    pub since: String,
    /// The line in `prototypes.tsv`.
    pub line: usize,
}

impl Prototype {
    /// The name; for a large-count twin, that of the function without `_c`.
    pub fn base_name(&self) -> &str {
        self.name.strip_suffix("_c").unwrap_or(&self.name)
    }

    /// Whether the call returns a request.
    pub fn is_nonblocking(&self) -> bool {
        self.parameters.iter().any(|p| p.name == "request")
    }

    /// Whether the function came after MPI-3.1.
    pub fn is_newer_than_mpi_3_1(&self) -> bool {
        self.since != "3.1" && self.since != "removed-in-3.0"
    }

    /// Whether further arguments of any type may follow.
    pub fn is_variadic(&self) -> bool {
        self.parameters.iter().any(|p| p.c_type == "...")
    }

    /// The parameters that have a name and a type.
    pub fn named(&self) -> impl Iterator<Item = &Parameter> {
        self.parameters.iter().filter(|p| p.c_type != "...")
    }

    /// The name of the function in Rust.
    pub fn rust_name(&self) -> String {
        self.name.to_ascii_lowercase()
    }

    /// The names of the parameters with their types, as a signature has them; generic over `A: Abi`.
    pub fn signature(&self) -> String {
        let all = self.named().map(|p| format!("{}: {}", p.rust_name(), p.rust_type()));
        all.collect::<Vec<_>>().join(", ")
    }

    /// The names of the parameters, as a call has them.
    pub fn arguments(&self) -> String {
        self.named().map(Parameter::rust_name).collect::<Vec<_>>().join(", ")
    }

    /// The type of a pointer to the function, generic over `A: Abi`.
    pub fn function_type(&self) -> String {
        let types: Vec<String> = self.named().map(Parameter::rust_type).collect();
        format!("unsafe extern \"C-unwind\" fn({}) -> c_int", types.join(", "))
    }

    /// A parameter whose type has no counterpart in Rust.
    pub fn without_type(&self) -> Option<&Parameter> {
        self.named().find(|p| p.rust_type() == "c_void")
    }
}

/// All prototypes by name.
pub type Prototypes = BTreeMap<String, Prototype>;

/// Reads `prototypes.tsv`: `name<TAB>parameters<TAB>since`, `#` starts a comment line.
pub fn parse(text: &str) -> Result<Prototypes, String> {
    let mut all = Prototypes::new();
    for (line, row) in crate::rows(text) {
        let fields: Vec<&str> = row.split('\t').collect();
        let &[name, parameters, since, ..] = fields.as_slice() else {
            return Err(format!(
                "wrappers/prototypes.tsv:{line}: three fields with tabs between them are expected: name, \
                 parameters, version of the standard"
            ));
        };
        let parameters = match parameters {
            "void" => Vec::new(),
            list => list
                .split(',')
                .map(parameter)
                .collect::<Result<_, _>>()
                .map_err(|e| format!("wrappers/prototypes.tsv:{line}: {e}"))?,
        };
        let prototype = Prototype { name: name.into(), parameters, since: since.into(), line };
        all.insert(name.into(), prototype);
    }
    Ok(all)
}

fn parameter(text: &str) -> Result<Parameter, String> {
    let text = text.trim();
    if text == "..." {
        return Ok(Parameter { c_type: "...".into(), name: "...".into(), array: false });
    }
    let (text, array) = match text.find('[') {
        Some(at) => (text[..at].trim(), true),
        None => (text, false),
    };
    let start = text
        .rfind(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
        .ok_or_else(|| format!("`{text}` is no type and a name"))?
        + 1;
    Ok(Parameter {
        c_type: text[..start].trim().replace(" *", "*"),
        name: text[start..].to_string(),
        array,
    })
}

impl Parameter {
    /// True for a communicator passed by value.
    pub fn is_comm(&self) -> bool {
        self.c_type == "MPI_Comm" && !self.array
    }

    /// The name in Rust, in small letters and without keywords.
    pub fn rust_name(&self) -> String {
        match self.name.as_str() {
            "type" => "r#type".into(),
            name => name.to_ascii_lowercase(),
        }
    }

    /// The Rust type, generic over `A: Abi` for handles.
    pub fn rust_type(&self) -> String {
        let constant = self.c_type.starts_with("const ");
        let base = self.c_type.trim_start_matches("const ");
        let pointers = base.matches('*').count();
        let scalar = match base.trim_end_matches('*').trim() {
            "int" => "c_int",
            "void" => "c_void",
            "char" => "c_char",
            "MPI_Count" => "i64",
            "MPI_Aint" => "isize",
            "MPI_Offset" => "i64",
            "MPI_Fint" => "c_int",
            "MPI_Comm" => "A::Comm",
            "MPI_Datatype" => "A::Datatype",
            "MPI_Request" => "A::Request",
            "MPI_Win" => "A::Win",
            "MPI_Op" => "A::Op",
            "MPI_Info" => "A::Info",
            "MPI_Group" => "A::Group",
            "MPI_Errhandler" => "A::Errhandler",
            "MPI_Message" => "A::Message",
            "MPI_Session" => "A::Session",
            // Handles of the tools interface are pointers in every ABI.
            name if name.starts_with("MPI_T_") && pointers == 0 && !self.array => "*mut c_void",
            // Statuses, files and callbacks are only passed by address. A parameter by value has no type here.
            _ => "c_void",
        };
        let mut rust = scalar.to_string();
        for level in 0..pointers + usize::from(self.array) {
            let kind = if constant && level == 0 { "*const " } else { "*mut " };
            rust = format!("{kind}{rust}");
        }
        rust
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rust(text: &str) -> String {
        let p = parameter(text).unwrap();
        format!("{}: {}", p.rust_name(), p.rust_type())
    }

    #[test]
    fn types_are_spelled_in_rust() {
        assert_eq!(rust("const void *buf"), "buf: *const c_void");
        assert_eq!(rust("const int sendcounts[]"), "sendcounts: *const c_int");
        assert_eq!(rust("MPI_Comm comm"), "comm: A::Comm");
        assert_eq!(rust("char ***argv"), "argv: *mut *mut *mut c_char");
        assert_eq!(rust("MPI_Request array_of_requests[]"), "array_of_requests: *mut A::Request");
        assert_eq!(rust("const MPI_Datatype sendtypes[]"), "sendtypes: *const A::Datatype");
        assert_eq!(rust("MPI_Status *status"), "status: *mut c_void");
    }
}
