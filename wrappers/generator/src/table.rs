//! The calls table: what the library does at each MPI call.

use crate::prototype::{Prototype, Prototypes};
use crate::recorder::Recorder;
use std::collections::BTreeSet;

/// What is done at a call before it is passed on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Replace MPI_COMM_WORLD if it is passed; record nothing.
    Translate,
    /// Call a recorder with these arguments, now or (persistent calls) at every start.
    Record { recorder: String, arguments: Vec<String>, at_start: bool },
    /// Replace MPI_COMM_WORLD, and record nothing that the MPI library calls during the call.
    Within,
    /// Nothing: the entry is there so that calls can be timed.
    Nothing,
    /// A function written by hand, as `module::name` below `wrappers/src/entry` and its folder `fortran`;
    /// `always`, or only while the world is replaced; `only_c`: there is none for Fortran.
    Hand { function: String, always: bool, only_c: bool },
}

/// One entry point.
#[derive(Debug, Clone)]
pub struct Call {
    pub prototype: Prototype,
    pub action: Action,
    /// Its time counts as time in MPI.
    pub timed: bool,
    /// In MPICH, its mpif.h form does not call the C function, or calls it without some arguments.
    pub bypasses_c: bool,
    /// The families that have the function.
    pub only: Only,
}

/// The families that have a function. The others have no function of this name, so that they need no wrapper.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Only {
    All,
    OpenMpi,
    /// MPICH and its descendants, with their own handles and with those of the standard ABI.
    Mpich,
}

impl Call {
    /// The recorder that is called, if there is one.
    pub fn recorder(&self) -> Option<Recorder<'_>> {
        let Action::Record { recorder, arguments, at_start } = &self.action else { return None };
        let (prototype, name, at_start) = (&self.prototype, recorder.as_str(), *at_start);
        Some(Recorder { prototype, name, arguments, at_start })
    }
}

/// The possible reasons why a function has no entry point: `~REASON NAME …`.
const REASONS: &str = "buffer completion datatype error file group handle info lifecycle local status \
                       tools window";

/// What can stand in front of a list of names.
const MARKS: [&str; 4] = ["@timed", "@bypass", "@openmpi", "@mpich"];

/// The whole table.
#[derive(Debug, Default)]
pub struct Table {
    /// Calls that have entry points, each followed by its large-count twin.
    pub calls: Vec<Call>,
    /// Functions that are left alone.
    pub left: BTreeSet<String>,
}

/// Reads `calls.tbl` and adds the large-count twins. Every function with a prototype must occur in the table
/// once.
pub fn parse(text: &str, prototypes: &Prototypes) -> Result<Table, String> {
    let table = read(text, prototypes)?;
    let known = |name: &str| {
        let base = name.strip_suffix("_c").filter(|base| prototypes.contains_key(*base));
        let name = base.unwrap_or(name);
        table.left.contains(name) || table.calls.iter().any(|c| c.prototype.name == name)
    };
    match prototypes.keys().find(|name| !known(name)) {
        Some(name) => Err(format!(
            "wrappers/prototypes.tsv:{}: no line of wrappers/calls.tbl says what is done at {name}: add one, or \
             add the name behind the `~REASON` for which it is left alone",
            prototypes[name].line
        )),
        None => Ok(table),
    }
}

fn read(text: &str, prototypes: &Prototypes) -> Result<Table, String> {
    let mut table = Table::default();
    let mut marked = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        let fail = |what: &str| format!("wrappers/calls.tbl:{}: {what}", number + 1);
        let (name, action) = line.split_once(char::is_whitespace).ok_or_else(|| {
            fail("no action behind the name; write one of those that the head of the file lists")
        })?;
        let fresh = |table: &Table, name: &str| {
            if table.left.contains(name) || table.calls.iter().any(|c| c.prototype.name == name) {
                return Err(fail(&format!("{name} stands here twice; remove one of the lines")));
            }
            prototypes.get(name).ok_or_else(|| {
                fail(&format!("no prototype of {name}; add it to wrappers/prototypes.tsv"))
            })
        };
        if MARKS.contains(&name) {
            marked.extend(action.split_whitespace().map(|of| (name, of, number + 1)));
            continue;
        }
        if let Some(reason) = name.strip_prefix('~') {
            if !REASONS.split_whitespace().any(|known| known == reason) {
                return Err(fail(&format!("no reason {reason}; write one of: {REASONS}")));
            }
            for name in action.split_whitespace() {
                fresh(&table, name)?;
                table.left.insert(name.to_string());
            }
            continue;
        }
        let prototype = fresh(&table, name)?;
        let action = parse_action(action.trim()).map_err(|e| fail(&e))?;
        // The calls that make persistent requests are not timed. MPI_Start is.
        let timed = matches!(action, Action::Nothing | Action::Record { at_start: false, .. });
        let twin = prototypes.get(&format!("{name}_c"));
        for prototype in std::iter::once(prototype).chain(twin) {
            check(prototype, &action).map_err(|e| fail(&e))?;
            let mut action = action.clone();
            if let Action::Hand { function, .. } = &mut action
                && prototype.name != name
            {
                function.push_str("_c");
            }
            table.calls.push(Call {
                prototype: prototype.clone(),
                action,
                timed,
                bypasses_c: false,
                only: Only::All,
            });
        }
    }
    for (mark, name, line) in marked {
        let mut calls =
            table.calls.iter_mut().filter(|c| c.prototype.base_name() == name).peekable();
        if calls.peek().is_none() {
            return Err(format!(
                "wrappers/calls.tbl:{line}: no entry of {name}, which stands behind {mark}; give it a line of its \
                 own"
            ));
        }
        for call in calls {
            match mark {
                "@timed" => call.timed = true,
                "@bypass" => call.bypasses_c = true,
                "@openmpi" => call.only = Only::OpenMpi,
                _ => call.only = Only::Mpich,
            }
        }
    }
    Ok(table)
}

fn parse_action(text: &str) -> Result<Action, String> {
    match text {
        "-" => return Ok(Action::Translate),
        "within" => return Ok(Action::Within),
        "timed" => return Ok(Action::Nothing),
        _ => {}
    }
    if let Some(function) = text.strip_prefix(['!', '+', '=']) {
        let in_c = function.strip_suffix(" in C").map(str::trim_end);
        return Ok(Action::Hand {
            function: in_c.unwrap_or(function).to_string(),
            always: !text.starts_with('='),
            only_c: in_c.is_some(),
        });
    }
    let later = text.strip_prefix("start ");
    let (at_start, text) = (later.is_some(), later.unwrap_or(text));
    let inner = text.strip_suffix(')').and_then(|t| t.split_once('('));
    let (recorder, arguments) = inner.ok_or_else(|| {
        format!("no action is spelled `{text}`; the head of the file lists what can be written")
    })?;
    Ok(Action::Record {
        recorder: recorder.trim().to_string(),
        arguments: arguments.split(',').map(|a| a.trim().to_string()).collect(),
        at_start,
    })
}

fn check(prototype: &Prototype, action: &Action) -> Result<(), String> {
    if let Some(parameter) = prototype.without_type() {
        return Err(format!(
            "{} takes a {} by value, which has no type in Rust: add one to `rust_type` in \
             wrappers/generator/src/prototype.rs",
            prototype.name, parameter.c_type
        ));
    }
    if prototype.is_variadic() && !matches!(action, Action::Hand { .. }) {
        return Err(format!(
            "{} is variadic: write it by hand (`!module::function`)",
            prototype.name
        ));
    }
    if let Action::Record { arguments, at_start, .. } = action {
        for argument in arguments {
            if !prototype.parameters.iter().any(|p| p.name == *argument) {
                return Err(format!(
                    "{} has no parameter {argument}; those of wrappers/prototypes.tsv:{} can be named",
                    prototype.name, prototype.line
                ));
            }
        }
        if *at_start && !prototype.parameters.iter().any(|p| p.name == "request") {
            return Err(format!("{} makes no request to start; remove `start`", prototype.name));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prototypes() -> Prototypes {
        crate::prototype::parse(
            "MPI_X\tint count, MPI_Comm comm\t3.1\nMPI_X_c\tMPI_Count count, MPI_Comm comm\t4.0\n\
             MPI_Z\tint count\t3.1\n",
        )
        .unwrap()
    }

    #[test]
    fn twins_follow_their_base() {
        let table = parse("MPI_X  send(comm, count) # why\n~local MPI_Z", &prototypes()).unwrap();
        assert_eq!(table.calls.len(), 2);
        assert_eq!(table.calls[1].action, table.calls[0].action);
        assert!(table.left.contains("MPI_Z"));
    }

    #[test]
    fn some_calls_are_timed() {
        let timed = |text: &str| -> Vec<bool> {
            let table = parse(text, &prototypes()).unwrap();
            table.calls.iter().map(|c| c.timed).collect()
        };
        assert_eq!(timed("MPI_X send(comm, count)\n~local MPI_Z"), [true, true]);
        assert_eq!(timed("MPI_X -\nMPI_Z timed"), [false, false, true]);
        assert_eq!(timed("MPI_X -\n~local MPI_Z\n@timed MPI_X"), [true, true]);
    }

    #[test]
    fn some_calls_bypass_the_c_function() {
        let table = parse("MPI_X -\nMPI_Z -\n@bypass MPI_Z", &prototypes()).unwrap();
        let marked: Vec<bool> = table.calls.iter().map(|c| c.bypasses_c).collect();
        assert_eq!(marked, [false, false, true]);
        assert!(table.calls.iter().all(|c| !c.timed));
    }

    #[test]
    fn some_calls_exist_in_one_family() {
        let table = parse("MPI_X -\nMPI_Z -\n@openmpi MPI_X\n@mpich MPI_Z", &prototypes()).unwrap();
        let marked: Vec<Only> = table.calls.iter().map(|c| c.only).collect();
        assert_eq!(marked, [Only::OpenMpi, Only::OpenMpi, Only::Mpich]);
    }

    #[test]
    fn mistakes_are_named() {
        for (text, what) in [
            ("MPI_X send(nope)", "no parameter nope"),
            ("MPI_Y -", "no prototype"),
            ("MPI_X", "no action"),
            ("MPI_X start send(comm)", "no request"),
            ("MPI_X -\nMPI_X -", "twice"),
            ("MPI_X -\n~local MPI_X", "twice"),
            ("~local MPI_Y", "no prototype"),
            ("~laziness MPI_X", "no reason"),
            ("MPI_X -", "what is done at MPI_Z"),
            ("MPI_X -\n@timed MPI_Z", "no entry of MPI_Z"),
            ("MPI_X -\n@bypass MPI_Z", "no entry of MPI_Z"),
        ] {
            let error = parse(text, &prototypes()).unwrap_err();
            assert!(error.contains(what), "{error}");
        }
    }
}
