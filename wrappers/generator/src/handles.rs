//! Reads `handles.tsv`, which has what each binary interface of MPI fixes, and generates the implementations of
//! the trait `Abi`.

use crate::HEAD;
use std::fmt::Write;

/// The interfaces in the order of the columns: the name of the type, and what it is.
const FAMILIES: [(&str, &str); 3] = [
    ("OpenMpi", "Open MPI: handles point at objects of libmpi, found by their symbols."),
    (
        "Mpich",
        "MPICH, MVAPICH, Intel MPI, Cray MPICH: handles are ints with the kind in the upper bits.",
    ),
    ("Standard", "The ABI that MPI-5.0 standardises (libmpi_abi)."),
];

/// What a row can be.
const KINDS: [&str; 7] = ["type", "number", "fact", "address", "handle", "to_c", "to_fortran"];

/// One row.
#[derive(Debug)]
struct Row<'a> {
    /// One of [`KINDS`].
    kind: &'a str,
    rust_type: &'a str,
    name: &'a str,
    values: [&'a str; 3],
    /// The line of the table.
    line: usize,
}

/// Generates `handles.rs`: one type with an implementation of `Abi` for each family.
///
/// # Errors
/// If a row is not as the head of the table says. The error names the line.
pub fn file(table: &str) -> Result<String, String> {
    let rows = parse(table)?;
    let mut text = String::from(HEAD);
    for (column, (family, what)) in FAMILIES.into_iter().enumerate() {
        let _ = writeln!(
            text,
            "/// {what}\n#[derive(Debug, Clone, Copy)]\npub struct {family};\n\nimpl Abi for {family} {{"
        );
        // Facts are for the tables of wrappers; see `families`.
        for row in rows.iter().filter(|row| row.kind != "fact") {
            let item = row.item(column, &rows).map_err(|e| {
                format!(
                    "wrappers/handles.tsv:{}: {e}; the head of the file says what can stand here",
                    row.line
                )
            })?;
            let _ = writeln!(text, "    {item}");
        }
        text.push_str("}\n\n");
    }
    Ok(text)
}

/// What the tables of wrappers depend on in a family of handles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Family {
    /// The name of the type.
    pub name: &'static str,
    /// Handles have 32 bits.
    pub narrow: bool,
    /// mpif.h, and the calls of mpi_f08 with choice buffers, call MPI_X in C.
    pub fortran_calls_c: bool,
}

/// The families of a table.
///
/// # Errors
/// If a row that they are read from is missing, or the table has a mistake.
pub fn families(table: &str) -> Result<[Family; 3], String> {
    let rows = parse(table)?;
    let values = |kind: &str, name: &str| {
        let row = rows.iter().find(|row| row.kind == kind && row.name == name);
        row.map(|row| row.values)
            .ok_or_else(|| format!("wrappers/handles.tsv: no row of kind {kind} is named {name}"))
    };
    let (comm, calls_c) = (values("type", "Comm")?, values("fact", "FORTRAN_CALLS_C")?);
    let mut columns = 0..;
    Ok(FAMILIES.map(|(name, _)| {
        let column = columns.next().unwrap_or_default();
        Family { name, narrow: comm[column] == "int", fortran_calls_c: calls_c[column] == "true" }
    }))
}

fn parse(table: &str) -> Result<Vec<Row<'_>>, String> {
    let mut rows: Vec<Row> = Vec::new();
    for (line, row) in crate::rows(table) {
        let fail = |what: &str| format!("wrappers/handles.tsv:{line}: {what}");
        let fields: Vec<&str> = row.split('\t').collect();
        let &[kind, rust_type, name, _, open_mpi, mpich, standard] = fields.as_slice() else {
            return Err(fail("seven fields with tabs between them are expected"));
        };
        if !KINDS.contains(&kind) {
            return Err(fail(&format!("no kind {kind}; write one of {}", KINDS.join(", "))));
        }
        if rows.iter().any(|row| row.name == name && row.kind == kind) {
            return Err(fail(&format!("{name} stands here twice; remove one of the lines")));
        }
        let values = [open_mpi, mpich, standard];
        rows.push(Row { kind, rust_type, name, values, line });
    }
    Ok(rows)
}

impl Row<'_> {
    /// The item of the implementation for the family of this column.
    fn item(&self, column: usize, rows: &[Row]) -> Result<String, String> {
        let (name, value) = (self.name, self.values[column]);
        let handle = || {
            let of = |row: &&Row| row.kind == "type" && row.name == self.rust_type;
            rows.iter().find(of).map_or_else(
                || Err(format!("no row of kind type is named {}", self.rust_type)),
                |row| row.handle(column),
            )
        };
        Ok(match self.kind {
            "type" => format!("type {name} = {};", self.handle(column)?),
            "number" if self.rust_type == "usize" => {
                format!("const {name}: usize = {}_isize as usize;", number(value)?)
            }
            "number" => format!("const {name}: {} = {};", self.rust_type, number(value)?),
            "address" => {
                let value = match value.strip_prefix('*') {
                    Some(symbol) => format!("pointer(c\"{symbol}\")"),
                    None => format!("{}_isize as usize", number(value)?),
                };
                format!("fn {name}() -> usize {{ {value} }}")
            }
            "handle" => {
                let value = match value.strip_prefix('&') {
                    // This address is needed at every call, so that the library keeps it.
                    Some("ompi_mpi_comm_world") => "library::open_mpi_world()".to_string(),
                    Some(symbol) => {
                        format!(
                            "{{ static SYMBOL: Symbol = Symbol::new(c\"{symbol}\"); SYMBOL.address() }}"
                        )
                    }
                    None => number(value)?.to_string(),
                };
                let handle = handle()?;
                format!("#[inline(always)]\n    fn {name}() -> {handle} {{ {handle}({value}) }}")
            }
            "to_c" if value == "=" => {
                let handle = handle()?;
                format!("fn {name}(number: c_int) -> {handle} {{ {handle}(number) }}")
            }
            "to_c" => format!(
                "#[inline({3})]\n    fn {name}(number: c_int) -> {0} {{ {1} {0}(FUNCTION.to_c(number).unwrap_or({2})) }}",
                handle()?,
                conversion(value),
                if value.ends_with('?') { "number as usize" } else { "0" },
                // Each message has a communicator and a datatype. For the others a call costs less than the code.
                if matches!(self.rust_type, "Comm" | "Datatype") { "always" } else { "never" }
            ),
            "to_fortran" if value == "=" => {
                format!("fn {name}(handle: {}) -> c_int {{ handle.0 }}", handle()?)
            }
            // The last of the kinds: to_fortran.
            _ => format!(
                "fn {name}(handle: {}) -> c_int {{ {} FUNCTION.to_fortran(handle.0).unwrap_or({}) }}",
                handle()?,
                conversion(value),
                if value.ends_with('?') { "handle.0 as c_int" } else { "0" }
            ),
        })
    }

    /// The Rust type of the handles that a row of kind type names.
    fn handle(&self, column: usize) -> Result<&'static str, String> {
        match self.values[column] {
            "pointer" => Ok("PointerHandle"),
            "int" => Ok("IntHandle"),
            other => Err(format!("`{other}` is neither pointer nor int")),
        }
    }
}

/// The declaration of the function that converts a handle.
fn conversion(value: &str) -> String {
    let name = value.trim_end_matches('?');
    format!("static FUNCTION: Symbol = Symbol::new(c\"{name}\");")
}

/// A number, decimal or hexadecimal, as it is.
fn number(value: &str) -> Result<&str, String> {
    let digits = value.strip_prefix('-').unwrap_or(value);
    let parsed = match digits.strip_prefix("0x") {
        Some(digits) => i64::from_str_radix(digits, 16),
        None => digits.parse(),
    };
    parsed.map(|_| value).map_err(|_| format!("`{value}` is no number"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_becomes_an_item() {
        let table = "type\tComm\tComm\tMPI_Comm\tpointer\tint\tpointer\n\
                     number\tc_int\tROOT\tMPI_ROOT\t-4\t-3\t-4\n\
                     address\tusize\tnothing\t-\t-1\t*NOTHING\t2\n\
                     handle\tComm\tworld\t-\t&world\t0x44\t0x101\n\
                     to_c\tComm\tcomm\t-\tf2c\t=\tfromint?\n";
        let text = file(table).unwrap();
        for item in [
            "type Comm = IntHandle;",
            "const ROOT: c_int = -3;",
            "fn nothing() -> usize { -1_isize as usize }",
            "fn nothing() -> usize { pointer(c\"NOTHING\") }",
            "static SYMBOL: Symbol = Symbol::new(c\"world\"); SYMBOL.address()",
            "fn world() -> IntHandle { IntHandle(0x44) }",
            "fn comm(number: c_int) -> IntHandle { IntHandle(number) }",
            "unwrap_or(number as usize)",
        ] {
            assert!(text.contains(item), "{item}\n{text}");
        }
    }

    #[test]
    fn facts_are_read_and_become_no_item() {
        let table = "type\tComm\tComm\tMPI_Comm\tpointer\tint\tpointer\n\
                     fact\tbool\tFORTRAN_CALLS_C\t-\tfalse\ttrue\ttrue\n";
        assert!(!file(table).unwrap().contains("FORTRAN_CALLS_C"));
        let facts = families(table).unwrap().map(|f| (f.name, f.narrow, f.fortran_calls_c));
        let expected =
            [("OpenMpi", false, false), ("Mpich", true, true), ("Standard", false, true)];
        assert_eq!(facts, expected);
        assert!(families("").unwrap_err().contains("no row of kind type is named Comm"));
    }

    #[test]
    fn mistakes_are_named() {
        for (table, what) in [
            ("type\tComm", ":1: seven fields"),
            ("# x\nkind\tComm\tComm\t-\tint\tint\tint", ":2: no kind kind"),
            ("type\tComm\tComm\t-\tint\tint\tlong", ":1: `long` is neither"),
            ("number\tc_int\tROOT\t-\tx\t1\t1", ":1: `x` is no number"),
            ("handle\tComm\tworld\t-\t1\t1\t1", "no row of kind type is named Comm"),
        ] {
            let error = file(table).unwrap_err();
            assert!(error.contains(what), "{error}");
        }
    }
}
